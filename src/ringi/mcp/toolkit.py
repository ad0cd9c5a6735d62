"""What a tool is made of."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ringi.domain.base import Document

if TYPE_CHECKING:
    from ringi.api import Workspace
    from ringi.domain.session_view import SessionView
    from ringi.planning.tool import PlanningTool


class Caller(NamedTuple):
    """Who asks, as far as the program can tell."""

    label: str
    """For people; the client says so itself."""
    requester: Callable[[], str]
    """As the program sees it; empty where it is the user whose process this is."""


class Answered(NamedTuple):
    document: Document
    text: str


class Hints(NamedTuple):
    """Honest, and only hints: what a client may do by itself is its person's decision."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


class Tool(NamedTuple):
    title: str
    description: str
    arguments: type[Document]
    answer: type[Document]
    hints: Hints
    work: "Callable[[Workspace, Any, Caller], Answered] | None"
    """None where the server itself waits."""
    step: "Callable[[PlanningTool, Any], SessionView] | None" = None
    """Of a planning session; what the model has to do comes after it."""
