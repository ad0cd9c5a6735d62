"""The public Python API; `ringi` re-exports it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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
from ringi.plans.tool import PlanTool

if TYPE_CHECKING:
    from ringi.planning.tool import PlanningTool
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

_LATER: Final = {
    "PlanningTool": "ringi.planning.tool",
    "check_document": "ringi.usecases.check_document",
    "verify_plan": "ringi.usecases.verify",
}
"""Loaded on first use: who opens a workspace mostly plans nothing."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(name)
