"""What the process of a task needs from outside: tools, and its place in the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ringi.ledger.ports import SessionStore, SessionTransaction

if TYPE_CHECKING:
    from ringi.engine.process import ActionRecord, Feedback, Process, Recovery, StoredProcess
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

    def offered(self) -> Sequence[ToolInfo]:
        """Those that may be planned and called; a forbidden one is not among them."""

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        """From several threads at once. An OUTSIDE tool is not called: NOT_ALLOWED."""


class CheckedTools(Tools, Protocol):
    def check(self, name: str, arguments: Mapping[str, Any]) -> ToolResult | None:
        """What is wrong with a call, before anybody is asked about it; None if nothing is."""


class ProcessTransaction(Protocol):
    def save_process(self, process: Process, records: Sequence[ActionRecord], revision: int) -> None:
        """With the records that are new or changed. Raises RunRace if somebody saved it since that revision
        was read; 0 is a new one.
        """

    def add_feedback(self, feedback: Feedback) -> None:
        """Noted in the log of its run, which stays as it is."""

    def note_recovery(self, kind: ErrorKind, tool: str, strategy: str, *, helped: bool) -> None: ...


class RunTransaction(SessionTransaction, ProcessTransaction, Protocol):
    """A run together with its processes."""


class ProcessStore(Protocol):
    """The part of the ledger about processes."""

    def transaction(self) -> AbstractContextManager[ProcessTransaction]: ...
    def stored_process(self, process_id: str) -> StoredProcess | None: ...
    def processes(self, run_id: str = "") -> list[Process]:
        """Of a run, or all; in the order they began."""

    def feedback(self, run_id: str) -> tuple[Feedback, ...]:
        """In the order it was given."""

    def recoveries(self, kind: ErrorKind) -> tuple[Recovery, ...]: ...


class RunStore(SessionStore, ProcessStore, Protocol):
    def transaction(self) -> AbstractContextManager[RunTransaction]: ...


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
