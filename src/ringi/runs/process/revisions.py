"""Revisions of a plan (PP-8, PP-9, PP-14): as small as possible, checked, counted, and never in a circle."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ringi.config.keys import RevisionConfig
from ringi.engine.document import (
    AddAction,
    ModifyAction,
    PlannedAction,
    PlanningDocument,
    PlanRevision,
    RemoveAction,
    Subtask,
)
from ringi.engine.instruction import language_of
from ringi.engine.order import Order, order_subtasks
from ringi.engine.plan_checks import PlanRules, findings
from ringi.engine.process import Process, RevisionRecord
from ringi.engine.revise import apply_revision, least
from ringi.kernel import codec
from ringi.kernel.text import Text, in_language
from ringi.runs.process.reflection import HUMAN, Suggestion

_DIGEST: Final = 12
_LINE: Final = 200
LIMIT: Final = Text("the limit of revisions is reached")
LOOP: Final = Text("the revisions repeat themselves")
NOTHING: Final = Text("the revision changes nothing")
EVERYTHING: Final = Text("the revision removes everything that is left to do")
REFUSED: Final = Text("the revised plan is refused")
NO_WAY: Final = Text("there is no other way to try")
CHANGED: Final = Text("the plan changed after the revision was proposed")
_ADVICE: Final = {
    LIMIT: Text("Look at what was tried, and say what should be done differently."),
    LOOP: Text("The same fixes were tried again and again: say which one is right, or suggest another."),
    NOTHING: Text("Say what the plan should do differently."),
    EVERYTHING: Text("Say what should remain of the plan, or cancel the run."),
    REFUSED: Text("Check the rules for tools and paths, or say what to do within them."),
    NO_WAY: Text("Say what the plan should do differently."),
    CHANGED: Text("Continue the run: the plan is evaluated again."),
}


class Revised(NamedTuple):
    process: Process
    record: RevisionRecord


class Stuck(NamedTuple):
    reason: Text
    recommendations: tuple[str, ...]


def revise(
    process: Process, suggestion: Suggestion, settings: RevisionConfig, rules: PlanRules, now: str
) -> Revised | Stuck:
    """The plan with the suggested changes, or why it has to stay as it is."""
    by_person = suggestion.reflection.feedback_type == HUMAN
    if suggestion.revision is None:
        return _stuck(process, NO_WAY if suggestion.recommendations else NOTHING, suggestion)
    if not by_person and process.attempts >= settings.max_revisions:
        return _stuck(process, LIMIT, suggestion)
    revision = least(process.plan, suggestion.revision, process.done)
    if revision is None:
        return _stuck(process, NOTHING, suggestion)
    plan = apply_revision(process.plan, revision)
    if _removes_everything(process, revision, plan):
        return _stuck(process, EVERYTHING, suggestion)
    found = findings(plan, rules)
    if found or not isinstance(order_subtasks(plan.subtasks), Order):
        named = tuple(f"{one.task}: {one.kind} {one.subject}".lstrip(": ") for one in found)
        return _stuck(process, REFUSED, suggestion, named)
    record = RevisionRecord(
        number=process.revised + 1,
        at=now,
        reflection=suggestion.reflection,
        revision=revision,
        digest=plan_digest(plan),
        before=plan_digest(process.plan),
        by=suggestion.by,
        strategy=suggestion.strategy,
    )
    # A person may go back to what was before.
    if not by_person and _repeats(process, record):
        return _stuck(process, LOOP, suggestion)
    return Revised(_with(process, plan, record, settings), record)


def accept(process: Process, settings: RevisionConfig) -> Process | Stuck:
    """With the revision that a person approved: exactly that one, or none."""
    record = process.proposed
    if record is None or plan_digest(process.plan) != record.before:
        return _stuck(process, CHANGED)
    plan = apply_revision(process.plan, record.revision)
    if plan_digest(plan) != record.digest:
        return _stuck(process, CHANGED)
    approved = _with(process, plan, replace(record, approved=True), settings)
    return replace(approved, proposed=None, waits=None, waiting_since="")


def decline(process: Process, settings: RevisionConfig) -> Process:
    """Without the revision that a person declined, which is not proposed again."""
    record = process.proposed
    if record is None:
        return process
    kept = _with(process, process.plan, replace(record, approved=False), settings)
    # The plan is as it was, but it was an attempt.
    kept = replace(kept, revised=process.revised, attempts=process.attempts + 1)
    return replace(kept, proposed=None, waits=None, waiting_since="")


def plan_digest(plan: PlanningDocument) -> str:
    # The same plan has the same order, however it was written down.
    same = apply_revision(plan, PlanRevision())
    parts = (same.task_decomposition, same.action_plan)
    return codec.digest(b"\n".join(codec.canonical(part) for part in parts if part))


def _stuck(
    process: Process, reason: Text, suggestion: Suggestion | None = None, also: Sequence[str] = ()
) -> Stuck:
    say = in_language(language_of(process.task))
    given = suggestion.recommendations if suggestion else ()
    return Stuck(reason, tuple(dict.fromkeys([*also, *(given or (say(_ADVICE[reason]),))])))


def _removes_everything(process: Process, revision: PlanRevision, plan: PlanningDocument) -> bool:
    """A plan that shares no task with the one before is no revision of it."""
    if not any(isinstance(one, RemoveAction) for one in revision.changes or ()):
        return False
    before = {one.id for one in apply_revision(process.plan, PlanRevision()).subtasks} - set(process.done)
    return not before & {one.id for one in plan.subtasks}


def _repeats(process: Process, record: RevisionRecord) -> bool:
    """A plan that there was before, or the same changes once more."""
    seen = {record.before} | {digest for one in process.revisions for digest in (one.digest, one.before)}
    short = {line.rpartition(" ")[2] for line in process.history}
    if record.digest in seen or record.digest[:_DIGEST] in short:
        return True
    changes = _essence(record.revision)
    return any(_essence(one.revision) == changes for one in process.revisions)


def _essence(revision: PlanRevision) -> bytes:
    """Its changes without the names that added tasks happen to have."""
    parts = [
        replace(one, action=replace(one.action, task_id=UNSET)) if isinstance(one, AddAction) else one
        for one in revision.changes or ()
    ]
    return b"\n".join(one.encode() if isinstance(one, str) else codec.canonical(one) for one in parts)


# --- history ---


def _with(
    process: Process, plan: PlanningDocument, record: RevisionRecord, settings: RevisionConfig
) -> Process:
    by_person = record.reflection.feedback_type == HUMAN
    records = (*process.revisions, record)
    in_memory, on_disk = settings.max_history_in_memory, settings.max_history_on_disk
    most = max(1, in_memory if settings.auto_summarize else max(in_memory, on_disk))
    older, newest = records[:-most], records[-most:]
    room = max(0, on_disk - len(newest))
    history = (*process.history, *(_summary(one) for one in older)) if settings.auto_summarize else ()
    return replace(
        process,
        plan=plan,
        revisions=newest,
        revised=process.revised + 1,
        attempts=0 if by_person else process.attempts + 1,
        history=history[-room:] if room else (),
    )


def _summary(record: RevisionRecord) -> str:
    """One line; its last word is for noticing circles."""
    what = ", ".join(_change_words(record.revision))
    words = " ".join(f"{record.number} {record.by} {record.strategy} {what}".split())
    return f"{words[:_LINE]} {record.digest[:_DIGEST]}"


def _change_words(revision: PlanRevision) -> Iterator[str]:
    for change in revision.changes or ():
        match change:
            case AddAction():
                yield f"+{change.action.task_id or change.action.tool or ''}"
            case ModifyAction():
                yield f"~{change.action_id}"
            case RemoveAction():
                yield f"-{change.action_id}"


# --- as a diff ---


def difference(before: PlanningDocument, after: PlanningDocument) -> tuple[str, ...]:
    """Every line that differs, each below its task: what is approved is all there."""
    old, new = list(_lines(before)), list(_lines(after))
    found: list[str] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            found += [f"- {words}" for _, words in old[a:b]]
            found += [f"+ {words}" for _, words in new[c:d]]
    return tuple(found)


def _lines(plan: PlanningDocument) -> Iterator[tuple[str, str]]:
    """Each field of a task names the task, so that a single changed line tells what it is about."""
    subtasks = apply_revision(plan, PlanRevision()).subtasks
    order = {one: at for at, one in enumerate(plan.execution_order)}
    for task in sorted(subtasks, key=lambda one: order.get(one.id, len(order))):
        own = [one for one in plan.actions if one.task_id == task.id]
        yield task.id, " ".join(f"{task.id} {_head(own)}".split()) + f": {task.description}"
        for name, words in _facts(task, own):
            yield task.id, f"{task.id}   {name}: {words}"


def _head(actions: Sequence[PlannedAction]) -> str:
    return ", ".join(dict.fromkeys(f"{one.tool or ''} {one.file or ''}".strip() for one in actions))


def _facts(task: Subtask, actions: Sequence[PlannedAction]) -> Iterator[tuple[str, str]]:
    if task.dependencies:
        yield "after", ", ".join(task.dependencies)
    if task.writes:
        yield "writes", ", ".join(one.path for one in task.writes)
    for action in actions:
        if action.description and action.description != task.description:
            yield "description", action.description
        if action.purpose and action.purpose not in {action.description, task.description}:
            yield "purpose", action.purpose
        if action.arguments:
            yield "arguments", codec.canonical(action.arguments).decode()
        if action.expected_outcome:
            yield "expected", action.expected_outcome
        if action.fallback_strategy:
            yield "if it fails", action.fallback_strategy
