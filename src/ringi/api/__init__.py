"""The public Python API; `ringi` re-exports it."""

from ringi.api.workspace import Workspace, open_workspace
from ringi.domain.approval import TypedAnswer
from ringi.domain.plan import ActionSpec, MessageRef, SpecKind, SpecSelection
from ringi.errors import RingiError
from ringi.plans.tool import PlanTool

__all__ = [
    "ActionSpec",
    "MessageRef",
    "PlanTool",
    "RingiError",
    "SpecKind",
    "SpecSelection",
    "TypedAnswer",
    "Workspace",
    "open_workspace",
]
