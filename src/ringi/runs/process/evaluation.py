"""Judges the result of an action by rules alone (PP-8, PP-10, PP-28)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from ringi.engine.document import ActionStatus, PlannedAction, Reflection
from ringi.engine.instruction import language_of
from ringi.engine.order import normal
from ringi.engine.process import RUN, ActionRecord, ActionState, Process
from ringi.kernel.text import Text, in_language
from ringi.runs.process.strategies import find_planned_action, paths_of, subtask_of
from ringi.tools.effects import ErrorKind, ToolEffect

_E = ErrorKind
SOFT: Final = frozenset([_E.UNEXPECTED, _E.SIDE_EFFECT, _E.PRECONDITION])
"""Whether these matter can be judged."""
_LONGEST: Final = 300
_MOST_NAMED: Final = 10
CAUSES: Final[Mapping[ErrorKind, Text]] = {
    _E.NOT_FOUND: Text("The path is wrong, or the file does not exist yet."),
    _E.MISMATCH: Text("The file is not as the change expects it."),
    _E.INVALID_ARGUMENTS: Text("The tool was called with arguments that it does not take."),
    _E.NOT_ALLOWED: Text("The rules for tools do not allow the call."),
    _E.UNKNOWN_TOOL: Text("There is no tool of that name."),
    _E.TIMEOUT: Text("It took longer than an action may take."),
    _E.DIED: Text("The tool's server stopped."),
    _E.FLOODED: Text("The tool's server sent more than a result may hold."),
    _E.TOOL_ERROR: Text("The tool reports an error of its own."),
    _E.COMMAND_FAILED: Text("The command ended with an error; its output says why."),
    _E.UNEXPECTED: Text("The result is not the expected one."),
    _E.SIDE_EFFECT: Text("It changed files that neither the action nor its task names."),
    _E.PRECONDITION: Text("Something that the action relies on is not there."),
    _E.DECLINED: Text("A person said no."),
    _E.UNKNOWN_OUTCOME: Text("It was interrupted, and nobody knows how it ended."),
    _E.NO_ANSWER: Text("The model gave no answer that can be used."),
}


def judge_result(action: PlannedAction, result: ActionRecord, mask: Callable[[str], str]) -> Reflection:
    say = in_language(language_of(action.purpose or action.description or result.purpose))
    kind, status = kind_of(result), _status(result)
    error = result.message or (say(CAUSES[kind]) if kind else "")
    return Reflection(
        action_id=result.action_id,
        status=status,
        evaluation=say(_evaluation(result, kind, status)),
        alignment_with_plan=say(_alignment(action, result, kind)),
        issues_identified=tuple(say(one) for one in _issues(result, kind)),
        error=mask(error) if kind else UNSET,
        root_cause_analysis=say(CAUSES[kind]) if kind else UNSET,
        plan_revision_needed=bool(kind) or _half_done(result),
    )


def judge_in_plan(
    process: Process, record: ActionRecord, evaluation: Reflection
) -> tuple[Reflection, ErrorKind | None]:
    """With what only the plan can tell: files that a command changed, and that its task does not name."""
    kind, task = kind_of(record), subtask_of(process.plan, record.task_id)
    planned = find_planned_action(process.plan, record)
    allowed = [one.path for one in (task.writes or ())] if task else []
    allowed += [planned.file] if planned and planned.file else []
    beside = _outside(record.changed, allowed) if record.tool == RUN else ()
    if kind or not beside:
        return evaluation, kind
    say = in_language(language_of(process.task))
    found = replace(
        evaluation,
        status=ActionStatus.PARTIAL,
        evaluation=say(CAUSES[_E.SIDE_EFFECT]),
        issues_identified=(*(evaluation.issues_identified or ()), say(_describe_side_effects(beside))),
        root_cause_analysis=say(CAUSES[_E.SIDE_EFFECT]),
        plan_revision_needed=True,
    )
    return found, _E.SIDE_EFFECT


def kind_of(record: ActionRecord) -> ErrorKind | None:
    """Its error; or what is not as expected although it worked. What cannot be judged is a problem."""
    if record.error is not None:
        return record.error
    if record.state is ActionState.FAILURE:
        return _E.TOOL_ERROR
    if record.state in {ActionState.STARTED, ActionState.WAITING}:
        return _E.UNKNOWN_OUTCOME
    if record.state is ActionState.SKIPPED:
        return None
    if _unlike(record):
        return _E.UNEXPECTED
    return _E.SIDE_EFFECT if _outside(record.changed, paths_of(record)) else None


def _unlike(record: ActionRecord) -> bool:
    if record.expect and record.expect.casefold() not in record.result.casefold():
        return True
    # A look may find nothing; a planned reading is for something.
    return record.effect is ToolEffect.READS and bool(record.purpose) and not record.result.strip()


def _outside(changed: Sequence[str], named: Sequence[str]) -> tuple[str, ...]:
    """Nothing, if it names none: a command may write where its task lets it."""
    places = [normal(one) for one in named]
    return tuple(one for one in changed if places and not any(_below(one, place) for place in places))


def _below(path: str, place: str) -> bool:
    return place in {".", path} or path.startswith(f"{place}/")


def _is_uncertain(record: ActionRecord, kind: ErrorKind | None) -> bool:
    """It cannot be told whether it is good (PP-10)."""
    if kind is _E.UNKNOWN_OUTCOME:
        return True
    return kind is _E.UNEXPECTED and (record.cut or not record.result.strip())


def _half_done(record: ActionRecord) -> bool:
    """A part of a change is worse than none; a part of a reading may be enough."""
    enough = record.expect or record.effect is ToolEffect.READS
    return record.state is ActionState.PARTIAL and not enough


def _status(record: ActionRecord) -> ActionStatus:
    kind = kind_of(record)
    if record.state is ActionState.PARTIAL or (
        kind is _E.SIDE_EFFECT and record.state is not ActionState.FAILURE
    ):
        return ActionStatus.PARTIAL
    return ActionStatus.SUCCESS if kind is None else ActionStatus.FAILURE


def _evaluation(record: ActionRecord, kind: ErrorKind | None, status: ActionStatus) -> Text:
    if _is_uncertain(record, kind):
        return Text("The result cannot be judged, so it counts as a problem.")
    if kind is _E.SIDE_EFFECT:
        return Text("It worked, and changed more than it should.")
    if kind is _E.UNEXPECTED:
        return Text("It worked, and the result is not the expected one.")
    if status is ActionStatus.PARTIAL:
        if _half_done(record):
            return Text("Only a part of it worked, which is not enough.")
        return Text("Only a part of it worked; what the plan needs is there.")
    return Text("It worked.") if kind is None else Text("It failed.")


def _alignment(action: PlannedAction, record: ActionRecord, kind: ErrorKind | None) -> Text:
    if action.tool and action.tool != record.tool:
        return Text("The plan names {planned}; {used} was called.", planned=action.tool, used=record.tool)
    if kind is None:
        return Text("As planned.")
    return Text("The plan has to change to go on from here.")


def _issues(record: ActionRecord, kind: ErrorKind | None) -> Iterator[Text]:
    if kind is not None:
        yield CAUSES[kind]
    if record.expect and kind is _E.UNEXPECTED and record.result.strip():
        yield Text("The result does not contain: {expected}", expected=short(record.expect, _LONGEST))
    if kind is _E.UNEXPECTED and not record.result.strip():
        yield Text("The result is empty.")
    if record.cut and kind is _E.UNEXPECTED:
        yield Text("The result was too long to keep whole.")
    if beside := _outside(record.changed, paths_of(record)):
        yield _describe_side_effects(beside)
    if record.state is ActionState.PARTIAL and kind is None:
        yield Text("Only a part of it worked.")


def _describe_side_effects(paths: Sequence[str]) -> Text:
    more = " …" if len(paths) > _MOST_NAMED else ""
    return Text("It also changed: {paths}", paths=", ".join(paths[:_MOST_NAMED]) + more)


def short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
