"""A call that changes something outside the copy: a plan with one spec, which a person decides about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ringi.engine.process import ActionRecord
from ringi.errors import NotFound
from ringi.kernel.text import Text, in_language, restore_text
from ringi.ledger.subject import requester_of_run
from ringi.plans.document import PlanStatus
from ringi.plans.tool import PlanTool
from ringi.policy.spec_kind import SpecKind
from ringi.tools.effects import ErrorKind
from ringi.tools.ports_process import ToolResult
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import OpStatus

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_TAG: Final = "call"
_ENDED_BADLY: Final = {
    OpStatus.UNKNOWN: (ErrorKind.UNKNOWN_OUTCOME, Text("it was started, and nobody knows how it ended")),
    OpStatus.FAILED: (ErrorKind.TOOL_ERROR, Text("it failed")),
}


class PlannedCalls:
    """Implements `Outside`, for one run."""

    def __init__(self, workspace: Workspace, run_id: str, proposer: str, language: str) -> None:
        """In this language it says what became of a call: to the model, and in a stop to people."""
        self._workspace = workspace
        self._plan = PlanTool(workspace)
        self._run_id = run_id
        self._proposer = proposer
        self._say = in_language(language)

    def propose(self, record: ActionRecord) -> None:
        """Again with the same id it is the same plan."""
        title = self._say(Text("Call {tool}", tool=record.tool))
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
            return self._decline(Text("its plan is gone"))
        status = document.state.status
        if status is PlanStatus.DISCARDED:
            return self._decline(Text("a person threw the call away"))
        said = [one for one in self._plan.answer(plan_id).feedback if one.is_rejection]
        if said and status in {PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW}:
            return self._decline(Text("a person declined the call: {words}", words=said[-1].text))
        outcomes = [
            outcome
            for stored in self._workspace.store.executions.of(plan_id)
            if stored.result is not None
            for outcome in stored.result.results
        ]
        if not outcomes or status not in {PlanStatus.COMPLETED, PlanStatus.ABORTED}:
            return None
        last = outcomes[-1]
        if last.status is OpStatus.DONE:
            return ToolResult(last.output or "")
        kind, words = _ENDED_BADLY.get(last.status, _ENDED_BADLY[OpStatus.FAILED])
        # Details are stored as they were said, often by a server.
        why = Text("{what}: {words}", what=words, words=restore_text(last.detail)) if last.detail else words
        return ToolResult(last.output or "", kind, self._say(why))

    def _decline(self, why: Text) -> ToolResult:
        return ToolResult("", ErrorKind.DECLINED, self._say(why))
