"""The part that differs between models: sending a call. Everything else is in `client`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ringi.kernel.text import Text


class ChatMessage(NamedTuple):
    """One message of the conversation; the model answers the last one."""

    role: str
    """system, user or assistant."""
    text: str


def _unheard(_: str) -> None:
    pass


class Call(NamedTuple):
    turns: Sequence[ChatMessage]
    schema: Mapping[str, Any]
    """JSON Schema of the answer, for services that take one."""
    seconds: float
    """The rest of the budget."""
    output_tokens: int
    on_tokens: Callable[[int], None]
    """Called several times a second with the count so far, even if nothing arrives. An exception from it
    stops the call.
    """
    on_text: Callable[[str], None] = _unheard
    """Called with each piece of a streamed answer, so that the log has them after a failure."""


class Reply(NamedTuple):
    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    cut_short: bool = False
    """It hit the limit of output tokens."""
    cached_tokens: int = 0
    """Of the input tokens, those that the service had read before."""


class RetryLater(Exception):
    """The service is busy; `after` is the wait in seconds that it asked for, if any."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class ConnectionCut(Exception):
    """The connection ended in the middle of a call."""


class Backend(Protocol):
    @property
    def name(self) -> str:
        """As in the configuration."""

    @property
    def sees_project(self) -> bool:
        """It reads the project by itself."""

    def prepare(self) -> Text | None:
        """Loads what a call needs, before the budget starts. What the person should know while they wait."""

    def send(self, call: Call) -> Reply:
        """Raises RetryLater, ConnectionCut, or a ModelFailed that says what happened.

        An error's text never contains a key.
        """
