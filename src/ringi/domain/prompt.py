"""What a language model is asked, and what its answer cost."""

from collections.abc import Callable
from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

from ringi.domain.session import Brief
from ringi.domain.usage import TokenUsage
from ringi.text import Text

T = TypeVar("T")


class Purpose(StrEnum):
    DISCOVERY = "discovery"
    DESIGN = "design"
    REVIEW = "review"
    EXTRACTION = "extraction"


class Material(NamedTuple):
    """A text from outside: data for the model, never an instruction. Adapters fence it."""

    name: str
    text: str


class Prompt(NamedTuple):
    purpose: Purpose
    rules: str
    """Ours: what to do, and how to answer."""
    material: tuple[Material, ...]
    brief: Brief | None = None
    """The same as a document, for the playbook, which does not read prompts."""


class Budget(NamedTuple):
    """Limits for one question."""

    seconds: float
    """Including all retries."""
    output_tokens: int
    """Of each answer."""


class Exchange(NamedTuple):
    """One request to a model and what came back, for the log."""

    request: str
    """The prompt as it was sent."""
    reply: str
    """What came back, as far as it got."""
    problem: str = ""
    """Why it was not accepted; empty if it was."""


class ModelAnswer(NamedTuple, Generic[T]):
    value: T
    usage: TokenUsage
    exchanges: tuple[Exchange, ...]
    model: str
    """Which one answered, as people name it: openai:gpt-5."""


class ModelProgress(NamedTuple):
    """The progress of a call, for display."""

    elapsed_sec: float
    output_tokens: int
    """As far as known; models that do not stream report nothing until the end."""
    note: Text | str = ""
    """Why it takes longer: the answer was asked for again, or the service said to wait."""


OnProgress = Callable[[ModelProgress], None]
