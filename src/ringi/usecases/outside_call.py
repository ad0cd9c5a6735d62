"""A call that changes something outside the copy: a plan with one spec, which a person decides about."""

from typing import Final

from ringi.approvals.run_terms import requester_of_run
from ringi.domain.execution import OpStatus
from ringi.domain.plan import ActionSpec, PlanStatus, SpecKind
from ringi.domain.process import ActionRecord, ErrorKind
from ringi.errors import NotFound
from ringi.plans.services import Services
from ringi.plans.tool import PlanTool
from ringi.ports.process import ToolResult
from ringi.text import Text

_TAG: Final = "call"
_ENDED_BADLY: Final = {
    OpStatus.UNKNOWN: (ErrorKind.UNKNOWN_OUTCOME, "it was started, and nobody knows how it ended"),
    OpStatus.FAILED: (ErrorKind.TOOL_ERROR, "it failed"),
}


class PlannedCalls:
    """Implements `Outside`, for one run."""

    def __init__(self, services: Services, run_id: str, proposer: str) -> None:
        self._services = services
        self._plan = PlanTool(services)
        self._run_id = run_id
        self._proposer = proposer

    def propose(self, record: ActionRecord) -> None:
        """Again with the same id it is the same plan."""
        title = Text("Call {tool}", tool=record.tool)
        self._plan.propose(
            f"{title}\n\n{record.purpose}".strip(),
            tags=(_TAG,),
            proposer=self._proposer,
            requester=requester_of_run(self._run_id),
            plan_id=record.plan_id,
        )
        if not self._plan.get(record.plan_id).state.action_specs:
            spec = ActionSpec(kind=SpecKind.CALL, tool=record.tool, arguments=record.arguments)
            self._plan.set_action_specs(record.plan_id, [spec])

    def result(self, plan_id: str) -> ToolResult | None:
        try:
            document = self._plan.get(plan_id)
        except NotFound:
            return ToolResult("", ErrorKind.DECLINED, "its plan is gone")
        status = document.state.status
        if status is PlanStatus.DISCARDED:
            return ToolResult("", ErrorKind.DECLINED, "a person threw the call away")
        said = [one for one in self._plan.answer(plan_id).feedback if one.is_rejection]
        if said and status in {PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW}:
            return ToolResult("", ErrorKind.DECLINED, f"a person declined the call: {said[-1].text}")
        outcomes = [
            outcome
            for stored in self._services.store.executions(plan_id)
            if stored.result is not None
            for outcome in stored.result.results
        ]
        if not outcomes or status not in {PlanStatus.COMPLETED, PlanStatus.ABORTED}:
            return None
        last = outcomes[-1]
        if last.status is OpStatus.DONE:
            return ToolResult(last.output or "")
        kind, words = _ENDED_BADLY.get(last.status, _ENDED_BADLY[OpStatus.FAILED])
        return ToolResult(last.output or "", kind, last.detail or words)
