"""The documents, by their names in `ringi schema`."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ringi.domain import (
    answer,
    approval,
    change_plan,
    events,
    execution,
    extraction,
    grant,
    metrics,
    plan,
    planning,
    problems,
    project_state,
    provenance,
    provenance_verdict,
    review,
    run,
    run_plan,
    session,
    signers,
    verdict,
)
from ringi.domain.open_documents import without_extra

SCHEMAS: Final[Mapping[str, Any]] = {
    "plan": plan.PlanDocument,
    "action-specs": tuple[plan.ActionSpec, ...],
    "plan-preview": plan.PlanPreview,
    "plan-review": review.PlanReviewDocument,
    "validation-report": plan.ValidationReport,
    "plan-index": plan.PlanIndex,
    "plan-page": plan.PlanPage,
    "approval": approval.ApprovalHistory,
    "approval-subject": approval.ApprovalSubject,
    "approval-outcome": approval.ApprovalOutcome,
    "execution-intent": execution.ExecutionIntent,
    "execution-result": execution.ExecutionResult,
    "statement": approval.Statement,
    "approval-statement": provenance.InToto,
    "approval-envelope": provenance.Envelope,
    "sync": provenance.Synced,
    "grant": grant.Grant,
    "grant-subject": grant.GrantSubject,
    "signers-subject": signers.SignersSubject,
    "command-start": execution.CommandStart,
    "command-end": execution.CommandEnd,
    "plan-comparison": answer.PlanComparison,
    "extraction": extraction.Extraction,
    "plan-answer": answer.PlanAnswer,
    "proven": verdict.Proven,
    "proven-session": verdict.ProvenSession,
    "range-verdict": provenance_verdict.RangeVerdict,
    "line-verdict": provenance_verdict.LineVerdict,
    "event": events.LoggedEvent,
    "change-plan": change_plan.ChangePlan,
    "project-state": project_state.ProjectState,
    "editor-state": project_state.EditorState,
    "planning-session": session.PlanningSession,
    "planning-facts": session.SessionFacts,
    "planning-subject": approval.SessionSubject,
    "planning-approval": approval.SessionApproval,
    "run-subject": approval.RunSubject,
    "revision-subject": approval.RevisionSubject,
    "planning-view": session.SessionView,
    "run": run.Run,
    "run-plan": run_plan.RunPlan,
    "problems": tuple[problems.ProblemRow, ...],
    "goal-understanding": planning.GoalUnderstanding,
    "task-decomposition": planning.TaskDecomposition,
    "action-plan": planning.ActionPlan,
    "planning-document": planning.PlanningDocument,
    "execution-document": planning.ExecutionDocument,
    "reflection-document": planning.ReflectionDocument,
    "completion-document": planning.CompletionDocument,
    "outline": planning.Outline,
    "metrics": metrics.Metrics,
}


def json_schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = without_extra(msgspec.json.schema(SCHEMAS[name]))
    return found
