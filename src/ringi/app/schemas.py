"""The documents, by their names in `ringi check --schema`."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ringi.approvals import document as approval
from ringi.approvals import grant_document as grant
from ringi.approvals import statement as provenance
from ringi.engine import document as planning
from ringi.engine import run_plan
from ringi.kernel import problems
from ringi.kernel.open_documents import without_extra
from ringi.ledger import event as events
from ringi.metrics import document as metrics
from ringi.plans import change_plan, execution, extract, verdict
from ringi.plans import document as plan
from ringi.plans import review_data as review
from ringi.project import state as project_state
from ringi.provenance import verdict as provenance_verdict
from ringi.runs import document as run
from ringi.sessions import document as session
from ringi.tree import action_spec

SCHEMAS: Final[Mapping[str, Any]] = {
    "plan": plan.PlanDocument,
    "action-specs": tuple[action_spec.ActionSpec, ...],
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
    "approval-statement": provenance.InToto,
    "approval-envelope": provenance.Envelope,
    "sync": provenance.Synced,
    "grant": grant.Grant,
    "grant-subject": grant.GrantSubject,
    "signers-subject": approval.SignersSubject,
    "command-start": execution.CommandStart,
    "command-end": execution.CommandEnd,
    "plan-comparison": plan.PlanComparison,
    "extraction": extract.Extraction,
    "plan-answer": plan.PlanAnswer,
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
