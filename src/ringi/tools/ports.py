"""Servers with tools, and the tools that change something: a person approves each call of those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ringi.kernel.text import Text
    from ringi.tools.ports_process import ToolInfo, ToolResult


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
