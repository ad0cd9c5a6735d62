"""The gate between an AI coding agent and a repository: exact changes, approved by a person."""

from typing import TYPE_CHECKING, Any

from ringi._version import __version__

if TYPE_CHECKING:
    from ringi.app.api import (
        ActionSpec,
        ApprovedPlan,
        DiffSummary,
        DropHunks,
        DropSpec,
        ExecutionResult,
        FileOpOutcome,
        GrantScope,
        MessageRef,
        NewContent,
        PlanningTool,
        PlanPreview,
        PlanRef,
        PlanTool,
        RingiError,
        SignedAnswer,
        SpecKind,
        SpecSelection,
        TypedAnswer,
        ValidationReport,
        Workspace,
        check_document,
        open_workspace,
        verify_plan,
    )

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
    "__version__",
    "check_document",
    "open_workspace",
    "verify_plan",
]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line starts without it.
    if name in __all__:
        from ringi.app import api  # noqa: PLC0415  # see above

        return getattr(api, name)
    raise AttributeError(name)
