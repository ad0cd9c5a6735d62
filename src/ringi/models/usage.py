"""What a model is asked for and what its answers cost."""

from collections.abc import Iterable
from enum import StrEnum
from functools import reduce
from typing import Final, Literal

from ringi.kernel.document import CamelDocument, Document

Language = Literal["en", "ja"]


PLAYBOOK: Final = "playbook"
"""The built-in model, which needs no service and costs nothing."""


class TokenUsage(CamelDocument, frozen=True):
    """What calls to a language model cost."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """As far as prices are known; None if unknown."""
    duration_sec: float = 0.0
    cached_tokens: int = 0
    """Of the input tokens, those that the service had read before."""
    material_tokens: int = 0
    """Of the input tokens, about so many were read from the project."""
    reused: int = 0
    """Answers from the cache: nothing was sent for them."""
    saved_tokens: int = 0
    """What those took when they were new."""
    reused_from: str = ""
    """When the oldest of them was made."""

    def plus(self, other: "TokenUsage") -> "TokenUsage":
        known = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return TokenUsage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(known) if known else None,
            duration_sec=self.duration_sec + other.duration_sec,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            material_tokens=self.material_tokens + other.material_tokens,
            reused=self.reused + other.reused,
            saved_tokens=self.saved_tokens + other.saved_tokens,
            reused_from=min(filter(None, (self.reused_from, other.reused_from)), default=""),
        )

    @staticmethod
    def total(usages: Iterable["TokenUsage"]) -> "TokenUsage":
        return reduce(TokenUsage.plus, usages, TokenUsage())


class Purpose(StrEnum):
    """What a language model is asked for."""

    FILES = "files"
    """Which files it wants to read first."""
    DISCOVERY = "discovery"
    DESIGN = "design"
    REVISION = "revision"
    """What feedback on a design changes."""
    REVIEW = "review"
    TARGETS = "targets"
    """Other paths and commands for those of a summary that do not exist."""
    OUTLINE = "outline"
    """Goal, subtasks and action plan of a small task at once."""
    GOAL = "goal"
    SUBTASKS = "subtasks"
    ACTIONS = "actions"
    REPLAN = "replan"
    """What feedback changes in a plan."""
    EXTRACTION = "extraction"
    EXPLANATION = "explanation"
    STEP = "step"
    """What is done next for one step of a run."""
    REFLECTION = "reflection"
    """What a result means for the plan."""
    VERDICT = "verdict"
    """Whether that change is good."""


class Spent(Document, frozen=True, kw_only=True, omit_defaults=True):
    """What models took, as far as it is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0
    calls: int = 0
    """Of a model; 0 beside tokens: recorded before they were counted."""
    material_tokens: int = 0
    """Of the input tokens, about so many were read from the project."""
    planning_tokens: int = 0
    """Of the others, in and out, those for planning."""
    reflection_tokens: int = 0
    reused: int = 0
    """Answers from the cache."""
    saved_tokens: int = 0
    """What those took when they were new."""
    reused_from: str = ""
    """When the oldest of them was made."""


def total(spent: Iterable[Spent]) -> Spent:
    found = [*spent]
    numbers = [name for name in Spent.__struct_fields__ if name != "reused_from"]
    return Spent(
        **{name: sum(getattr(one, name) for one in found) for name in numbers},
        reused_from=min((one.reused_from for one in found if one.reused_from), default=""),
    )


def since(now: Spent, before: Spent) -> Spent:
    """What was spent in between."""
    numbers = [name for name in Spent.__struct_fields__ if name != "reused_from"]
    return Spent(
        **{name: round(getattr(now, name) - getattr(before, name), 6) for name in numbers},
        reused_from=now.reused_from if now.reused > before.reused else "",
    )


class RunBudget(Document, frozen=True, kw_only=True, omit_defaults=True):
    """What models may take, as configured when somebody last went on with the run; None: no limit."""

    tokens: int | None = None
    """In all."""
    dollars: float | None = None
    planning_tokens: int | None = None
    """Of a phase, without what was read from the project."""
    execution_tokens: int | None = None
    reflection_tokens: int | None = None
