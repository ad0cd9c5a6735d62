"""Carries out the actions of a process: what reads at once, what changes the copy one by one."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ringi.engine.document import PlannedAction
from ringi.engine.instruction import language_of
from ringi.engine.process import RUN, ActionRecord, ActionState, Wait
from ringi.kernel import codec
from ringi.kernel.telemetry.port import (
    ACTION_ID,
    OUTCOME,
    RUN_ID,
    STEP_ID,
    TOOL_ARGUMENTS,
    TOOL_RESULT,
    Component,
    LogLevel,
    Phase,
    tool_call,
)
from ringi.kernel.text import Text, in_language
from ringi.runs.process.context import ProcessContext
from ringi.runs.process.due import actions_of
from ringi.runs.process.evaluation import CAUSES
from ringi.runs.process.process_record import ProcessRecord
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolInfo, ToolResult

_S = ActionState
# What a tool found is for the model alone and stays as it is. What is said about it (`message`) is read by
# people, too, in a stop or a revision: it is in the language of the task.
_NOT_DONE: Final = Text("not done: an action before it failed")
_OUTCOMES: Final = {
    _S.SUCCESS: Text("done"),
    _S.PARTIAL: Text("partly done"),
    _S.FAILURE: Text("failed"),
}


class Meant(NamedTuple):
    """What is to be done."""

    action_id: str
    action: PlannedAction
    tool: str
    arguments: dict[str, Any]


class Actions:
    def __init__(self, context: ProcessContext, book: ProcessRecord) -> None:
        self._context = context
        self._book = book

    def begin(self, meant: Sequence[Meant], group: int) -> None:
        """Records the intent of each, before any of it is done."""
        book, known, now = self._book, self._tools_by_name(), self._context.clock.now()
        for one in meant:
            info = known.get(one.tool)
            book.put(
                ActionRecord(
                    number=len(book.records) + 1,
                    action_id=one.action_id,
                    task_id=one.action.task_id or "",
                    tool=one.tool,
                    arguments=one.arguments,
                    purpose=one.action.purpose or "",
                    expect=str(one.action.extra.get("expect", "")),
                    effect=info.effect if info else ToolEffect.READS,
                    group=group,
                    # Known before it is proposed, so that a crash in between makes no second one.
                    plan_id=self._context.ids() if info and info.effect is ToolEffect.OUTSIDE else "",
                    revised=book.process.revised,
                    started_at=now,
                )
            )
        book.set(actions=len(book.records))
        book.save()

    def carry_out(self, begun: Sequence[ActionRecord]) -> tuple[ActionRecord, ...]:
        """The next of these, with their outcomes; none if it waits for a person. Nothing is saved yet."""
        known = self._tools_by_name()
        reading = [*_reading(begun, known)]
        if reading:
            return self._run_at_once(reading)
        record = begun[0]
        # No person is asked about a call that cannot be made.
        wrong = self._context.tools.check(record.tool, record.arguments)
        if record.effect is ToolEffect.OUTSIDE and wrong is None:
            self._context.outside.propose(record)
            self._book.put(replace(record, state=_S.WAITING))
            return ()
        began = self._context.seconds()
        result = wrong or self._unmet(record) or self._call(record)
        ended = self._end(record, result, self._context.seconds() - began)
        if ended.error is not None:
            for later in begun[1:]:
                self._book.put(replace(later, state=_S.SKIPPED, message=self._say(_NOT_DONE)))
        return (ended,)

    def look_outside(self, record: ActionRecord) -> tuple[ActionRecord, ...]:
        """What became of the call that a person decides about; none if it still waits."""
        result = self._context.outside.result(record.plan_id)
        if result is None:
            since = self._book.process.waiting_since or self._context.clock.now()
            self._book.set(waits=Wait.CALL, waiting_since=since)
            return ()
        self._book.set(waits=None, waiting_since="")
        return (self._end(record, result),)

    def find_planned(self, record: ActionRecord) -> PlannedAction | None:
        """As the plan has it; None if a turn of the model wanted it."""
        return dict(actions_of(self._book.process.plan, record.task_id)).get(record.action_id)

    def _tools_by_name(self) -> Mapping[str, ToolInfo]:
        return {one.name: one for one in self._context.tools.list_tools()}

    def _run_at_once(self, records: Sequence[ActionRecord]) -> tuple[ActionRecord, ...]:
        """The results are taken in the order of the plan, whichever came first."""
        began = self._context.seconds()
        if len(records) == 1:
            results = [self._unmet(records[0]) or self._call(records[0])]
        else:
            pool = ThreadPoolExecutor(max(1, min(self._context.width, len(records))))
            try:
                results = [*pool.map(lambda record: self._unmet(record) or self._call(record), records)]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
        took = self._context.seconds() - began
        return tuple(self._end(*one, took) for one in zip(records, results, strict=True))

    def _call(self, record: ActionRecord) -> ToolResult:
        spans, process = self._context.telemetry.spans, self._book.process
        about = {ACTION_ID: record.action_id, RUN_ID: process.run_id, STEP_ID: process.step_id}
        left = min(self._book.seconds_left(), self._context.model.seconds_left())
        seconds = max(1.0, min(self._context.config.planning.execution.action_timeout, left))
        with spans.span(Phase.EXECUTE_ACTION, about) as span, tool_call(spans, record.tool) as called:
            result = self._context.tools.call(record.tool, record.arguments, seconds)
            called.content(TOOL_ARGUMENTS, codec.canonical(record.arguments).decode())
            called.content(TOOL_RESULT, result.text)
            span.note({OUTCOME: str(result.error or "success")})
            if result.error:
                called.note_failure(str(result.error))
                span.note_failure(str(result.error))
        return result

    def _unmet(self, record: ActionRecord) -> ToolResult | None:
        """What a planned action needs must be there."""
        action = self.find_planned(record)
        needed = action.extra.get("requires", ()) if action else ()
        missing = [str(path) for path in needed if not self._context.place.has(str(path))]
        if not missing:
            return None
        message = self._say(Text("not there: {names}", names=", ".join(missing)))
        return ToolResult("", ErrorKind.PRECONDITION, message)

    def _say(self, text: Text) -> str:
        return in_language(language_of(self._book.process.task))(text)

    def _end(self, record: ActionRecord, result: ToolResult, seconds: float = 0.0) -> ActionRecord:
        result, left = self._without_leavings(record, result)
        error, message = result.error, result.message or left
        state = _S.FAILURE if error else _S.PARTIAL if result.partial else _S.SUCCESS
        if error is None and record.expect and record.expect not in result.text:
            error, state = ErrorKind.UNEXPECTED, _S.PARTIAL
            message = self._say(Text("the result does not contain: {words}", words=record.expect))
        elif error is None and (beyond := self._context.place.beyond(result.changed)):
            error, state = ErrorKind.SIDE_EFFECT, _S.PARTIAL
            named = ", ".join(beyond)
            message = self._say(Text("it also changed what the task must not change: {names}", names=named))
        ended = replace(
            record,
            state=state,
            result=result.text,
            cut=result.cut,
            error=error,
            message=message,
            changed=result.changed,
            tree=result.tree,
            duration_sec=round(seconds, 3),
        )
        self._book.put(ended)
        if result.tree:
            self._book.set(tree=result.tree)
        self._tell(ended)
        return ended

    def _without_leavings(self, record: ActionRecord, result: ToolResult) -> tuple[ToolResult, str]:
        """What tests leave behind is not part of the change, whether they pass or not."""
        beyond, tree = self._context.place.beyond(result.changed), self._book.process.tree
        if record.tool != RUN or not beyond or beyond != result.changed or not tree:
            return result, ""
        self._context.place.checkout(tree)
        told = Text("what it left behind was removed again: {names}", names=", ".join(beyond))
        return result._replace(changed=(), tree=tree), self._say(told)

    def _tell(self, record: ActionRecord) -> None:
        level = LogLevel.WARN if record.error else LogLevel.INFO
        words = f"Action {record.state}: {record.tool}"
        self._book.say(Component.EXECUTION, words, record.message, level)
        outcome = CAUSES[record.error] if record.error else _OUTCOMES[record.state]
        self._context.on_event(Text("{tool}: {outcome}", tool=record.tool, outcome=outcome))


def _reading(records: Sequence[ActionRecord], known: Mapping[str, ToolInfo]) -> Sequence[ActionRecord]:
    """Those at the beginning that can run beside each other."""
    found: list[ActionRecord] = []
    for record in records:
        info = known.get(record.tool)
        if record.effect is not ToolEffect.READS or (info is not None and not info.parallel):
            break
        found.append(record)
    return found
