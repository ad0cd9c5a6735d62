"""What differs between models: how a call gets there and back. The rest is the same for all, in `client`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Turn(NamedTuple):
    """One message of the exchange; the last one is for the model to answer."""

    role: str
    """system, user or assistant."""
    text: str


def _unheard(_: str) -> None:
    pass


class Call(NamedTuple):
    turns: Sequence[Turn]
    schema: Mapping[str, Any]
    """JSON Schema of the answer, for services that take one."""
    seconds: float
    """What is left of the budget."""
    output_tokens: int
    on_tokens: Callable[[int], None]
    """Called with the count so far, several times a second, also while nothing arrives. An exception from it
    stops the call.
    """
    on_text: Callable[[str], None] = _unheard
    """Called with each piece of the answer if it comes in pieces: the log keeps them after a failure."""


class Reply(NamedTuple):
    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    cut_short: bool = False
    """The limit of output tokens ended it."""


class RetryLater(Exception):
    """The service takes no call now; `after` is its own wish in seconds, if it named one."""

    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.after = after


class ConnectionCut(Exception):
    """The connection ended in the middle of a call."""


class Backend(Protocol):
    @property
    def name(self) -> str:
        """As people name it in the configuration."""

    def prepare(self) -> None:
        """Loads what a call needs, outside of the budget."""

    def send(self, call: Call) -> Reply:
        """Raises RetryLater, ConnectionCut, or a ModelFailed that says what happened.

        The words of an error never hold a key.
        """
