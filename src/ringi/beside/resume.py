"""Resumes an agent in its copy, with the person's feedback on its plan."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.agents.command_line import resume_command
from ringi.agents.record import LONGEST_WORD
from ringi.agents.table import agent_of
from ringi.beside.copies import agent_copies, copy_of_plan, plan_of
from ringi.beside.message import APPLIED, CUT_OFF, UNDONE, message_of
from ringi.errors import (
    BegunInEditor,
    InvalidSpecs,
    NothingToResume,
    NotNow,
    PathRefused,
    RingiError,
    StorageFailed,
)
from ringi.kernel.codec import digest
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.process.program import program_name
from ringi.kernel.text import Text
from ringi.plans.approve import require_open
from ringi.plans.document import OPEN, PlanAnswer, PlanStatus
from ringi.plans.preview import effects
from ringi.tree.copy import CopyRecord, Supervisor, WorkCopy, put
from ringi.tree.copy_layout import carry_over
from ringi.tree.copy_run import lay_over
from ringi.tree.difference import CopyChange
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

FEEDBACK: Final = "feedback.md"


class Resumption(NamedTuple):
    """How to start the agent again."""

    argv: tuple[str, ...]
    feedback: Path
    """The file with the message to the agent."""
    at: str
    """The message covers what the person said up to this time."""
    as_file: bool
    """The agent cannot take a message: the person has to point it to the file."""
    laid: tuple[str, ...]
    """Files the person dropped or edited, now updated in the copy."""
    not_laid: tuple[str, ...]
    """Such files that were not updated, because the agent had changed them since."""


def find_copy(workspace: Workspace, name: str = "") -> WorkCopy:
    """The named plan's copy. Without a name, an interrupted one first, then the newest.

    Raises NothingToResume.
    """
    found = sorted(agent_copies(workspace), key=lambda copy: copy.record.ended_at or copy.record.created_at)
    if name:
        plan_id = workspace.plan.find(name)
        plan = workspace.plan.ref(plan_id)
        copies = [copy for copy in found if copy.record.plan_id == plan_id]
        if plan.status not in OPEN | {PlanStatus.COMPLETED}:
            raise NothingToResume(why=Text("{plan} is not open any more.", plan=plan.name))
        if not copies:
            raise NothingToResume(why=Text("{plan} has no copy, or it is gone.", plan=plan.name))
        if needs_editor(copies[-1]):
            raise BegunInEditor(agent=program_name(copies[-1].record.command))
        _refuse_unusable(copies[-1], gone_too=plan.status is PlanStatus.COMPLETED)
        return copies[-1]
    newest_first = [copy for copy in reversed(found) if not needs_editor(copy)]
    for copy in sorted(newest_first, key=_was_cut_off, reverse=True):
        if not copy.is_running and not copy.is_gone and _can_go_on(workspace, copy):
            return copy
    for copy in newest_first:
        if not copy.is_running and copy.record.command and is_applied(workspace, copy):
            return copy
    if found and not newest_first:
        raise BegunInEditor(agent=program_name(found[-1].record.command))
    raise NothingToResume(why=Text("no copy of an open plan is left."))


def agent_to_resume(workspace: Workspace, plan_id: str) -> str:
    """The name of the agent that can continue its work on the plan; empty if none can."""
    try:
        command = find_copy(workspace, plan_id).record.command
    except NothingToResume:
        return ""
    return program_name(command) if command else ""


def refuse_closed(workspace: Workspace, plan_id: str) -> None:
    """Raises if nobody can decide about the plan as it is; if it was sent back, how its agent goes on."""
    try:
        require_open(workspace, workspace.plan.stored(plan_id))
    except NotNow as error:
        copy, name = copy_of_plan(workspace, plan_id), workspace.plan_name(plan_id)
        if error.details["current"] == PlanStatus.PROPOSED and copy:
            error.details["todo"] = _go_on(copy, name)
        raise


def _go_on(copy: WorkCopy, plan: str) -> Text:
    if copy.is_running or needs_editor(copy):
        return Text(
            "Go on in your editor's thread; or open it as it is: ringi request {plan} --pending", plan=plan
        )
    return Text(
        "Let its agent go on: ringi with --resume {plan}; or decide as it is: ringi request {plan} --pending",
        plan=plan,
    )


def _refuse_unusable(copy: WorkCopy, *, gone_too: bool) -> None:
    if copy.is_running:
        pid = copy.record.supervisor.pid if copy.record.supervisor else 0
        raise NothingToResume(why=Text("an agent is working in its copy now (process {pid}).", pid=pid))
    if copy.is_gone and not gone_too:
        raise NothingToResume(why=Text("its copy {path} is gone.", path=str(copy.tree)))


def needs_editor(copy: WorkCopy) -> bool:
    """Whether its command waits for messages of an editor, and nothing else starts the agent."""
    return copy.record.by_editor and agent_of(copy.record.command).resume is None


def _was_cut_off(copy: WorkCopy) -> bool:
    """Interrupted before it became a plan."""
    return not copy.record.taken and not copy.record.plan_id


def is_applied(workspace: Workspace, copy: WorkCopy) -> bool:
    """Whether its plan was carried out: then the agent continues in a fresh copy."""
    plan = plan_of(workspace, copy)
    return plan is not None and plan.status is PlanStatus.COMPLETED


def _can_go_on(workspace: Workspace, copy: WorkCopy) -> bool:
    if not copy.record.command:
        return False
    if _was_cut_off(copy):
        return True
    plan = plan_of(workspace, copy)
    return plan is not None and plan.status in OPEN


def resume_in(
    workspace: Workspace, copy: WorkCopy, more: Sequence[str] = (), *, terminal: bool = True
) -> Resumption:
    """Prepares the copy: applies the person's own changes and writes their feedback to a file."""
    plan = plan_of(workspace, copy)
    answer = workspace.plan.answer(plan.id) if plan else None
    laid, not_laid = lay_in(workspace, copy, answer) if answer else ((), ())
    now = workspace.clock.now()
    text = _message(workspace, copy, answer)
    feedback = copy.folder / FEEDBACK
    put(feedback, text.encode("utf-8", "backslashreplace"))
    copy.note(
        supervisor=Supervisor.this_process(),
        taken=False,
        planned_tree=copy.difference().tree if plan else "",
        planned_version=plan.version if plan else 0,
    )
    argv, told = _command(copy.record, text, feedback, more, terminal=terminal)
    return Resumption(argv, feedback, now, not told, laid, not_laid)


def resume_from(
    workspace: Workspace,
    before: WorkCopy,
    fresh: WorkCopy,
    more: Sequence[str] = (),
    *,
    terminal: bool = True,
) -> Resumption:
    """The same conversation in a fresh copy, after its plan was carried out."""
    plan = plan_of(workspace, before)
    if plan is None:
        raise NothingToResume(why=Text("no copy of an open plan is left."))
    _take_along(before, fresh)
    now = workspace.clock.now()
    answer = workspace.plan.answer(plan.id)
    checks = workspace.plan.get_state(plan.id).checks
    done = UNDONE if plan.undone else APPLIED
    text = message_of(answer, checks, since=before.record.told_at, applied=done)
    feedback = fresh.folder / FEEDBACK
    put(feedback, text.encode("utf-8", "backslashreplace"))
    fresh.note(conversation=before.record.conversation)
    argv, told = _command(before.record, text, feedback, more, terminal=terminal)
    return Resumption(argv, feedback, now, not told, (), ())


def _take_along(before: WorkCopy, fresh: WorkCopy) -> None:
    """What the agent leaves in its folder and needs to continue, such as the history of its chat."""
    for pattern in before.record.ignored:
        for path in before.tree.glob(pattern):
            target = fresh.tree / path.name
            if not path.is_symlink() and not os.path.lexists(target):
                with suppress(RingiError):
                    carry_over(before.tree, fresh.tree, path.name)


def _message(workspace: Workspace, copy: WorkCopy, answer: PlanAnswer | None) -> str:
    if answer is None:
        return CUT_OFF + "\n"
    checks = workspace.plan.get_state(answer.plan_id).checks
    return message_of(answer, checks, since=copy.record.told_at)


def _command(
    record: CopyRecord, text: str, feedback: Path, more: Sequence[str], *, terminal: bool
) -> tuple[tuple[str, ...], bool]:
    """The command, and whether it passes the message to the agent."""
    command, conversation = record.command, record.conversation
    agent = agent_of(command)
    if agent.resume is None:
        return (*command, *more), False
    if len(text.encode()) > LONGEST_WORD:
        text = f"Read {feedback}: a person's feedback on your change. Then continue your work."
    words = resume_command(agent.resume, command, text, more, conversation=conversation, terminal=terminal)
    return words, True


def lay_in(
    workspace: Workspace, copy: WorkCopy, answer: PlanAnswer
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Writes the person's version of each file they changed, unless the agent has changed it since."""
    paths = {one.path for one in answer.changed}
    state = workspace.plan.get_state(answer.plan_id)
    if not paths or not state.amended_from:
        return (), ()
    specs = workspace.store.plans.specs(answer.plan_id, state.amended_from)
    theirs = {file.path: file.after for spec in specs for file in spec.touched if file.path in paths}
    here = {change.path: change for change in copy.difference().changes}
    try:
        wanted = _contents_after(workspace, answer.plan_id)
        files: dict[str, tuple[bytes, int] | None] = {}
        for path, after in theirs.items():
            change = here.get(path)
            if change is not None and _hash(change) == (after.sha256 if after else None):
                files[path] = wanted[path] if path in wanted else _before(change)
        lay_over(Tree(OsFileSystem(), copy.tree), files)
    except (InvalidSpecs, PathRefused, StorageFailed, OSError):
        # The workspace changed, so the plan's result is unknown. The message describes the changes.
        return (), tuple(sorted(theirs))
    return tuple(sorted(files)), tuple(sorted(theirs.keys() - files.keys()))


def _contents_after(workspace: Workspace, plan_id: str) -> Mapping[str, tuple[bytes, int] | None]:
    """The content of its files after the current plan."""
    return {
        effect.path: (effect.new, int(effect.after.mode, 8))
        if effect.after and effect.new is not None
        else None
        for found in effects(workspace, workspace.plan.stored(plan_id))
        for effect in found
    }


def _hash(change: CopyChange) -> str | None:
    return None if change.after is None else digest(change.after)


def _before(change: CopyChange) -> tuple[bytes, int] | None:
    if change.before is None:
        return None
    return change.before, 0o755 if change.before_mode == "100755" else 0o644
