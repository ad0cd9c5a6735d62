"""The public Python API; `ringi` re-exports it."""

from ringi.api.workspace import Workspace, open_workspace
from ringi.domain.answer import DropHunks, DropSpec, NewContent
from ringi.domain.approval import ApprovedPlan, SignedAnswer, TypedAnswer
from ringi.domain.execution import ExecutionResult, FileOpOutcome
from ringi.domain.grant import GrantScope
from ringi.domain.plan import (
    ActionSpec,
    DiffSummary,
    MessageRef,
    PlanPreview,
    PlanRef,
    SpecKind,
    SpecSelection,
    ValidationReport,
)
from ringi.errors import RingiError
from ringi.planning.tool import PlanningTool
from ringi.plans.tool import PlanTool
from ringi.usecases.check_document import check_document
from ringi.usecases.verify import verify_plan

__all__ = [
    "ActionSpec",
    "ApprovedPlan",
    "DiffSummary",
    "DropHunks",
    "DropSpec",
    "ExecutionResult",
    "FileOpOutcome",
    "GrantScope",
    "MessageRef",
    "NewContent",
    "PlanPreview",
    "PlanRef",
    "PlanTool",
    "PlanningTool",
    "RingiError",
    "SignedAnswer",
    "SpecKind",
    "SpecSelection",
    "TypedAnswer",
    "ValidationReport",
    "Workspace",
    "check_document",
    "open_workspace",
    "verify_plan",
]
