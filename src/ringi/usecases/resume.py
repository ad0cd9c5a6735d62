"""An agent goes on in the copy it worked in, with what a person said about its plan."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ringi.agents.record import LONGEST_WORD
from ringi.agents.table import agent_of
from ringi.domain.answer import PlanAnswer
from ringi.domain.codec import digest
from ringi.domain.plan import OPEN
from ringi.errors import InvalidSpecs, NothingToResume, PathRefused, StorageFailed
from ringi.fs import OsFileSystem
from ringi.text import Text
from ringi.usecases.agent_copies import of_agents, plan_of
from ringi.usecases.feedback import CUT_OFF, message_of
from ringi.usecases.workspace import OpenWorkspace
from ringi.workspace.copy import CopyChange, Supervisor, WorkCopy, put
from ringi.workspace.copy_run import lay_over
from ringi.workspace.tree import Tree

FEEDBACK: Final = "feedback.md"


class Resumption(NamedTuple):
    """How the agent is started again."""

    argv: tuple[str, ...]
    feedback: Path
    """What it is told, as a file."""
    at: str
    """What the person says later is not in it."""
    as_file: bool
    """The agent was not told otherwise: somebody has to point it to the file."""
    laid: tuple[str, ...]
    """What the person had dropped or edited and is in the copy now."""
    not_laid: tuple[str, ...]
    """The same, where the agent's own copy of the file had gone on."""


def find_copy(workspace: OpenWorkspace, name: str = "") -> WorkCopy:
    """That of the named plan. Else one that was cut off, which nothing else brings back, or the newest.

    Raises NothingToResume.
    """
    found = sorted(of_agents(workspace), key=lambda copy: copy.record.ended_at or copy.record.created_at)
    if name:
        plan_id = workspace.plan.find(name)
        plan = workspace.plan.ref(plan_id)
        copies = [copy for copy in found if copy.record.plan_id == plan_id]
        if plan.status not in OPEN:
            raise NothingToResume(why=Text("{plan} is not open any more.", plan=plan.name))
        if not copies:
            raise NothingToResume(why=Text("{plan} has no copy, or it is gone.", plan=plan.name))
        _refuse_unusable(copies[-1])
        return copies[-1]
    newest_first = found[::-1]
    for copy in sorted(newest_first, key=_was_cut_off, reverse=True):
        if not copy.is_running and not copy.is_gone and _can_go_on(workspace, copy):
            return copy
    raise NothingToResume(why=Text("no copy of an open plan is left."))


def _refuse_unusable(copy: WorkCopy) -> None:
    if copy.is_running:
        pid = copy.record.supervisor.pid if copy.record.supervisor else 0
        raise NothingToResume(why=Text("an agent is working in its copy now (process {pid}).", pid=pid))
    if copy.is_gone:
        raise NothingToResume(why=Text("its copy {path} is gone.", path=str(copy.tree)))


def _was_cut_off(copy: WorkCopy) -> bool:
    """Before it was a plan."""
    return not copy.record.taken and not copy.record.plan_id


def _can_go_on(workspace: OpenWorkspace, copy: WorkCopy) -> bool:
    if not copy.record.command:
        return False
    if _was_cut_off(copy):
        return True
    plan = plan_of(workspace, copy)
    return plan is not None and plan.status in OPEN


def resume_in(workspace: OpenWorkspace, copy: WorkCopy, more: Sequence[str] = ()) -> Resumption:
    """Makes the copy ready: the person's own changes laid in, what they said written down."""
    plan = plan_of(workspace, copy)
    answer = workspace.plan.answer(plan.id) if plan else None
    laid, not_laid = _lay_in(workspace, copy, answer) if answer else ((), ())
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
    argv, told = _command(copy.record.command, text, feedback, more)
    return Resumption(argv, feedback, now, not told, laid, not_laid)


def _message(workspace: OpenWorkspace, copy: WorkCopy, answer: PlanAnswer | None) -> str:
    if answer is None:
        return CUT_OFF + "\n"
    checks = workspace.plan.get_state(answer.plan_id).checks
    return message_of(answer, checks, since=copy.record.told_at)


def _command(
    command: Sequence[str], text: str, feedback: Path, more: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """And whether the agent is told by it."""
    agent = agent_of(command)
    if not agent.resume:
        return (*command, *more), False
    if len(text.encode()) > LONGEST_WORD:
        text = f"Read the file {feedback}: it says what a person thinks of your change. Then go on with it."
    return agent.resumed(command[0], text, more), True


def _lay_in(
    workspace: OpenWorkspace, copy: WorkCopy, answer: PlanAnswer
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The person's version of each file that they changed, where the copy still has the proposer's."""
    paths = {one.path for one in answer.changed}
    state = workspace.plan.get_state(answer.plan_id)
    if not paths or not state.amended_from:
        return (), ()
    specs = workspace.services.store.specs(answer.plan_id, state.amended_from) or ()
    theirs = {file.path: file.after for spec in specs for file in spec.touched if file.path in paths}
    here = {change.path: change for change in copy.difference().changes}
    try:
        wanted = _wanted(workspace, answer.plan_id)
        files: dict[str, tuple[bytes, int] | None] = {}
        for path, after in theirs.items():
            change = here.get(path)
            if change is not None and _hash(change) == (after.sha256 if after else None):
                files[path] = wanted[path] if path in wanted else _before(change)
        lay_over(Tree(OsFileSystem(), copy.tree), files)
    except (InvalidSpecs, PathRefused, StorageFailed, OSError):
        # The workspace went on: what the plan would leave now is not known. The agent is told in words.
        return (), tuple(sorted(theirs))
    return tuple(sorted(files)), tuple(sorted(theirs.keys() - files.keys()))


def _wanted(workspace: OpenWorkspace, plan_id: str) -> Mapping[str, tuple[bytes, int] | None]:
    """What the plan as it is now leaves of its files."""
    return {
        effect.path: (effect.new, int(effect.after.mode, 8))
        if effect.after and effect.new is not None
        else None
        for effects in workspace.plan.effects(plan_id)
        for effect in effects
    }


def _hash(change: CopyChange) -> str | None:
    return None if change.after is None else digest(change.after)


def _before(change: CopyChange) -> tuple[bytes, int] | None:
    if change.before is None:
        return None
    return change.before, 0o755 if change.before_mode == "100755" else 0o644
