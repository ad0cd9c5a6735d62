"""What models may take in a run, and what they took, by phase (PP-13).

What a model reads of the project is counted apart: a limit of a phase is about what is asked and answered, so
that none makes a model plan blind. The limits of a whole run count everything.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.kernel.tokens import tokens
from ringi.models.prompt import Prompt
from ringi.models.usage import Purpose, RunBudget, Spent, TokenUsage

READ: Final = frozenset(["project", "code", "files", "diff", "diffs", "changed", "results"])
"""Names of material that was read from the project."""


class SpentOn(StrEnum):
    PLANNING = "planning"
    EXECUTION = "execution"
    REFLECTION = "reflection"


_PLANNING: Final = frozenset(
    [
        *(Purpose.FILES, Purpose.DISCOVERY, Purpose.DESIGN, Purpose.REVISION, Purpose.REVIEW),
        *(Purpose.TARGETS, Purpose.OUTLINE, Purpose.GOAL, Purpose.SUBTASKS, Purpose.ACTIONS),
    ]
)
_REFLECTION: Final = frozenset([Purpose.REPLAN, Purpose.REFLECTION])


def phase_of(purpose: Purpose) -> SpentOn:
    if purpose in _PLANNING:
        return SpentOn.PLANNING
    return SpentOn.REFLECTION if purpose in _REFLECTION else SpentOn.EXECUTION


class Forecast(NamedTuple):
    """What models may take at most from here on."""

    tokens: int | None
    """None: no limit."""
    dollars: float | None
    """None if prices are not known, or there is no limit."""
    spent: int
    """Tokens, so far."""


def limit_of(budget: RunBudget, phase: SpentOn) -> int | None:
    limit: int | None = getattr(budget, f"{phase}_tokens")
    return limit


def own_tokens(usage: TokenUsage) -> int:
    """Without what was read from the project."""
    return max(0, usage.input_tokens - usage.material_tokens) + usage.output_tokens


def sum_spent(usages: Mapping[SpentOn, TokenUsage], dollars: float) -> Spent:
    whole = TokenUsage.total(usages.values())
    return Spent(
        input_tokens=whole.input_tokens,
        output_tokens=whole.output_tokens,
        dollars=round(dollars, 6),
        seconds=round(whole.duration_sec, 3),
        calls=whole.requests,
        material_tokens=whole.material_tokens,
        planning_tokens=own_tokens(usages.get(SpentOn.PLANNING, TokenUsage())),
        reflection_tokens=own_tokens(usages.get(SpentOn.REFLECTION, TokenUsage())),
        reused=whole.reused,
        saved_tokens=whole.saved_tokens,
        reused_from=whole.reused_from,
    )


def count_planning(usage: TokenUsage) -> Spent:
    """What a planning session took, as a run counts it."""
    return replace(sum_spent({SpentOn.PLANNING: usage}, usage.cost_usd or 0.0), seconds=0.0)


def by_phase(spent: Spent) -> dict[SpentOn, int]:
    """Tokens, without what was read from the project."""
    own = max(0, spent.input_tokens - spent.material_tokens) + spent.output_tokens
    execution = max(0, own - spent.planning_tokens - spent.reflection_tokens)
    return {
        SpentOn.PLANNING: spent.planning_tokens,
        SpentOn.EXECUTION: execution,
        SpentOn.REFLECTION: spent.reflection_tokens,
    }


def count_read_tokens(prompt: Prompt) -> int:
    """Of what it shows of the project."""
    return sum(tokens(one.text) for one in prompt.material if one.name in READ)


def count_asked_tokens(prompt: Prompt) -> int:
    """Of what we say, and of what else it shows."""
    others = sum(tokens(one.text) for one in prompt.material if one.name not in READ)
    return tokens(prompt.rules) + tokens(prompt.task) + others


def with_material(usage: TokenUsage, prompt: Prompt) -> TokenUsage:
    """The usage of a call, with how much of it was read from the project."""
    read = min(usage.input_tokens, count_read_tokens(prompt) * max(1, usage.requests))
    return replace(usage, material_tokens=read)
