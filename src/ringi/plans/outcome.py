"""What became of an execution, written down once."""

from typing import Final

import msgspec

from ringi.domain.approval import Act, FileChange
from ringi.domain.events import Actor, EventKind
from ringi.domain.execution import ExecutionIntent, ExecutionResult, FileOpOutcome, OpStatus, Step
from ringi.domain.plan import PLAN_MACHINE, ExecutionLink, PlanStatus, with_state
from ringi.plans.parts import Parts
from ringi.plans.units import Unit
from ringi.ports import NewEvent, Transaction

Statuses = dict[str, OpStatus]
_TROUBLED: Final = frozenset([OpStatus.CONFLICT, OpStatus.FAILED])
_EVENTS: Final = {
    (Act.EXECUTE, True): EventKind.COMPLETED,
    (Act.EXECUTE, False): EventKind.ABORTED,
    (Act.UNDO, True): EventKind.UNDONE,
    (Act.UNDO, False): EventKind.UNDO_ABORTED,
}
WRITTEN_SINCE: Final = "somebody wrote to it since"


class Progress:
    """What has become of each file and each step so far; what is not named was not touched."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[OpStatus, str]] = {}
        self._steps: dict[str, FileOpOutcome] = {}
        self.units: set[int] = set()
        """Those of files that are done."""

    def done(self, unit: Unit) -> None:
        self.units.add(unit.number)
        self._files |= {change.path: (OpStatus.DONE, "") for change in unit.changes}

    def taken_back(self, unit: Unit, statuses: Statuses, detail: str) -> None:
        """A path without a status was not touched; `detail` says why the unit was taken back."""
        self.units.discard(unit.number)
        if not _TROUBLED.intersection(statuses.values()):
            paths = [change.path for change in unit.changes]
            statuses[next((path for path in paths if path not in statuses), paths[-1])] = OpStatus.FAILED
        for change in unit.changes:
            status = statuses.get(change.path, OpStatus.UNTOUCHED)
            self._files[change.path] = status, detail if status in _TROUBLED else ""

    def stepped(self, outcome: FileOpOutcome) -> None:
        self._steps[outcome.spec_id] = outcome

    def of_change(self, change: FileChange) -> FileOpOutcome:
        status, detail = self._files.get(change.path, (OpStatus.UNTOUCHED, ""))
        return FileOpOutcome(change.spec_id, change.path, status, detail)

    def of_step(self, step: Step) -> FileOpOutcome:
        return self._steps.get(step.spec_id) or FileOpOutcome(step.spec_id, step.path, OpStatus.UNTOUCHED)


def record(
    parts: Parts,
    intent: ExecutionIntent,
    progress: Progress,
    kept: tuple[str, ...],
    *,
    recovered: bool = False,
) -> ExecutionResult:
    refused = intent.refused or ()
    ended = [
        (change.unit or 0, bool(change.optional), progress.of_change(change)) for change in intent.changes
    ]
    ended += [(step.unit, step.optional, progress.of_step(step)) for step in intent.steps or ()]
    result = ExecutionResult(
        execution_id=intent.id,
        plan_id=intent.plan_id,
        kind=intent.kind,
        overall_success=not refused
        and all(optional or outcome.status is OpStatus.DONE for _, optional, outcome in ended),
        results=(
            *(outcome for _, _, outcome in sorted(ended, key=lambda one: one[0])),
            *(FileOpOutcome("", path, OpStatus.CONFLICT, WRITTEN_SINCE) for path in refused),
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
    if result.kind is Act.EXECUTE:
        target = PlanStatus.COMPLETED if result.overall_success else PlanStatus.ABORTED
        status = PLAN_MACHINE.advance(status, target)
        if result.overall_success and parts.store.current() == result.plan_id:
            transaction.set_current(None)
        checks = state.planned_checks and state.planned_checks.after
        if result.overall_success and (checks or state.commit):
            transaction.set_checking(result.plan_id)
    else:
        transaction.set_checking(None)
    document = with_state(stored.document, status=status, executions=(*state.executions, link))
    document = msgspec.structs.replace(document, result="result.json")
    reason = "recovered after a crash" if result.recovered else ""
    event = NewEvent(_EVENTS[result.kind, result.overall_success], Actor.SYSTEM, reason, result)
    transaction.add_result(result)
    transaction.save_plan(stored, document, event)
