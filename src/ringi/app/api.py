"""The public Python API; `ringi` re-exports it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ringi.app.workspace import Workspace, open_workspace
from ringi.approvals.document import ApprovedPlan, SignedAnswer, TypedAnswer
from ringi.approvals.grant_document import GrantScope
from ringi.errors import RingiError
from ringi.plans.document import (
    DiffSummary,
    DropHunks,
    DropSpec,
    MessageRef,
    NewContent,
    PlanPreview,
    PlanRef,
    ValidationReport,
)
from ringi.plans.execution import ExecutionResult, FileOpOutcome
from ringi.plans.tool import PlanTool
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, SpecSelection

if TYPE_CHECKING:
    from ringi.plans.verify import verify_plan
    from ringi.runs.check_document import check_document
    from ringi.sessions.tool import PlanningTool

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

_LATER: Final = {
    "PlanningTool": "ringi.sessions.tool",
    "check_document": "ringi.runs.check_document",
    "verify_plan": "ringi.plans.verify",
}
"""Loaded on first use: who opens a workspace mostly plans nothing."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(name)
