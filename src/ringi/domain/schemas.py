"""The documents by the names `ringi schema` knows them by."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ringi.domain import approval, change_view, events, execution, plan, project_state

SCHEMAS: Final[Mapping[str, Any]] = {
    "plan": plan.PlanDocument,
    "action-specs": tuple[plan.ActionSpec, ...],
    "plan-preview": plan.PlanPreview,
    "validation-report": plan.ValidationReport,
    "plan-index": plan.PlanIndex,
    "plan-page": plan.PlanPage,
    "approval": approval.ApprovalHistory,
    "approval-subject": approval.ApprovalSubject,
    "approval-outcome": approval.ApprovalOutcome,
    "execution-intent": execution.ExecutionIntent,
    "execution-result": execution.ExecutionResult,
    "event": events.LoggedEvent,
    "change-plan": change_view.ChangePlan,
    "project-state": project_state.ProjectState,
    "editor-state": project_state.EditorState,
}


def json_schema(name: str) -> dict[str, Any]:
    return msgspec.json.schema(SCHEMAS[name])
