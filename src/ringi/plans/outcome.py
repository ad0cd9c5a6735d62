"""What became of an execution, written down once."""

from typing import Final

import msgspec

from ringi.domain.approval import SubjectKind
from ringi.domain.events import Actor, EventKind
from ringi.domain.execution import ExecutionIntent, ExecutionResult, FileOpOutcome, OpStatus
from ringi.domain.plan import PLAN_MACHINE, ExecutionLink, PlanStatus, with_state
from ringi.plans.parts import Parts
from ringi.ports import NewEvent, Transaction

Statuses = dict[str, OpStatus]
_TROUBLED: Final = frozenset([OpStatus.CONFLICT, OpStatus.FAILED])
_EVENTS: Final = {
    (SubjectKind.EXECUTE, True): EventKind.COMPLETED,
    (SubjectKind.EXECUTE, False): EventKind.ABORTED,
    (SubjectKind.UNDO, True): EventKind.UNDONE,
    (SubjectKind.UNDO, False): EventKind.UNDO_ABORTED,
}


def record(
    parts: Parts,
    intent: ExecutionIntent,
    statuses: Statuses,
    detail: str,
    kept: tuple[str, ...],
    *,
    recovered: bool = False,
) -> ExecutionResult:
    """A path without a status was not touched; `detail` says why the group was taken back."""
    if detail and not _TROUBLED.intersection(statuses.values()):
        failed = next((c.path for c in intent.changes if c.path not in statuses), intent.changes[-1].path)
        statuses[failed] = OpStatus.FAILED
    outcomes = [(change, statuses.get(change.path, OpStatus.UNTOUCHED)) for change in intent.changes]
    result = ExecutionResult(
        execution_id=intent.id,
        plan_id=intent.plan_id,
        kind=intent.kind,
        overall_success=all(status is OpStatus.DONE for _, status in outcomes),
        results=tuple(
            FileOpOutcome(change.spec_id, change.path, status, detail if status in _TROUBLED else "")
            for change, status in outcomes
        ),
        started_at=intent.started_at,
        finished_at=parts.clock.now(),
        recovered=recovered,
        kept=kept,
    )
    with parts.store.transaction() as transaction:
        _save(parts, transaction, result)
    return result


def _save(parts: Parts, transaction: Transaction, result: ExecutionResult) -> None:
    stored = transaction.plan(result.plan_id)
    state = stored.document.state
    link = ExecutionLink(result.execution_id, str(result.kind), result.finished_at, result.overall_success)
    status = state.status
    if result.kind is SubjectKind.EXECUTE:
        target = PlanStatus.COMPLETED if result.overall_success else PlanStatus.ABORTED
        status = PLAN_MACHINE.advance(status, target)
        if result.overall_success and parts.store.current() == result.plan_id:
            transaction.set_current(None)
    document = with_state(stored.document, status=status, executions=(*state.executions, link))
    document = msgspec.structs.replace(document, result="result.json")
    reason = "recovered after a crash" if result.recovered else ""
    event = NewEvent(_EVENTS[result.kind, result.overall_success], Actor.SYSTEM, reason, result)
    transaction.add_result(result)
    transaction.save_plan(stored, document, event)
