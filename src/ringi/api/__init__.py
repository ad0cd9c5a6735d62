"""The public Python API; `ringi` re-exports it."""

from ringi.api.workspace import Workspace, open_workspace
from ringi.domain.answer import DropHunks, DropSpec, NewContent
from ringi.domain.approval import SignedAnswer, TypedAnswer
from ringi.domain.grant import GrantScope
from ringi.domain.plan import ActionSpec, MessageRef, SpecKind, SpecSelection
from ringi.errors import RingiError
from ringi.planning.tool import PlanningTool
from ringi.plans.tool import PlanTool
from ringi.usecases.verify import verify_plan

__all__ = [
    "ActionSpec",
    "DropHunks",
    "DropSpec",
    "GrantScope",
    "MessageRef",
    "NewContent",
    "PlanTool",
    "PlanningTool",
    "RingiError",
    "SignedAnswer",
    "SpecKind",
    "SpecSelection",
    "TypedAnswer",
    "Workspace",
    "open_workspace",
    "verify_plan",
]
