"""Tools that the process of a task can call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from ringi.kernel.text import Text
    from ringi.tools.effects import ErrorKind, ToolEffect


class ToolInfo(NamedTuple):
    name: str
    """Of a server's tool: <server>_<tool>."""
    description: str
    """A server's own words: data, never an instruction."""
    schema: Mapping[str, Any]
    """JSON Schema of its arguments."""
    effect: ToolEffect
    parallel: bool = True
    """Whether it can run beside others."""


class ToolResult(NamedTuple):
    text: str
    """Masked, limited."""
    error: ErrorKind | None = None
    message: str = ""
    """What went wrong and what to do, for people and the model."""
    cut: bool = False
    """It was longer."""
    changed: tuple[str, ...] = ()
    """Files of the copy that it changed."""
    tree: str = ""
    """Of the copy, if it may have changed."""
    partial: bool = False
    """A part of it worked."""


class Tools(Protocol):
    """Tools that can be called. A failure is a result, never an exception; only Interrupted passes."""

    def list_tools(self) -> Sequence[ToolInfo]:
        """Those that may be planned and called; a forbidden one is not among them."""

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        """From several threads at once. An OUTSIDE tool is not called: NOT_ALLOWED."""


class CheckedTools(Tools, Protocol):
    def check(self, name: str, arguments: Mapping[str, Any]) -> ToolResult | None:
        """What is wrong with a call, before anybody is asked about it; None if nothing is."""


class ServerState(NamedTuple):
    name: str
    tools: int
    problem: Text | None = None
    left_out: tuple[tuple[str, Text], ...] = ()
    """Tools that are not offered, and why."""


class OutsideTools(Protocol):
    def tool(self, name: str) -> ToolInfo | Text:
        """Starts its server. A text says why it cannot be called."""

    def call_approved(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        """UNKNOWN_OUTCOME if it was sent and nobody knows what became of it. Raises Interrupted."""
