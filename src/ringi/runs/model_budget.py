"""What models may still take in a run (PP-13)."""

from collections.abc import Iterator, Mapping
from typing import Final

from ringi.config.keys import MOST_TOKENS, Config, Llm, RoleConfig, RunsConfig, to_limit
from ringi.errors import BudgetUsed
from ringi.models.budget import (
    SpentOn,
    by_phase,
    count_asked_tokens,
    count_planning,
    count_read_tokens,
    limit_of,
    own_tokens,
)
from ringi.models.prompt import Prompt
from ringi.models.usage import PLAYBOOK, RunBudget, Spent, TokenUsage
from ringi.runs.role_model import LEAST_ANSWER, BudgetLimit, ModelLimits

_FREE: Final = ("ollama:", PLAYBOOK)


def price_of(model: str, prices: Mapping[str, tuple[float, float]]) -> tuple[float, float] | None:
    """None if it is not known."""
    return (0.0, 0.0) if model.startswith(_FREE) else prices.get(model)


def run_budget(runs: RunsConfig) -> RunBudget:
    phases = runs.budget
    return RunBudget(
        tokens=to_limit(runs.max_tokens, MOST_TOKENS),
        dollars=runs.dollar_limit,
        planning_tokens=to_limit(phases.planning_tokens, MOST_TOKENS),
        execution_tokens=to_limit(phases.execution_tokens, MOST_TOKENS),
        reflection_tokens=to_limit(phases.reflection_tokens, MOST_TOKENS),
    )


def run_left(budget: RunBudget, spent: Spent) -> Iterator[BudgetLimit]:
    """Of a whole run, and of each phase."""
    yield from _left("runs", budget.tokens, budget.dollars, spent)
    taken = by_phase(spent)
    for phase in SpentOn:
        if (most := limit_of(budget, phase)) is not None:
            yield BudgetLimit(f"runs.budget.{phase}_tokens", tokens=most - taken[phase], phase=phase)


def role_left(name: str, role: RoleConfig, spent: Spent) -> Iterator[BudgetLimit]:
    yield from _left(f"roles.{name}", role.token_limit, role.dollar_limit, spent)


def _left(name: str, tokens: int | None, dollars: float | None, spent: Spent) -> Iterator[BudgetLimit]:
    if tokens is not None:
        yield BudgetLimit(f"{name}.max_tokens", tokens=tokens - spent.input_tokens - spent.output_tokens)
    if dollars is not None:
        yield BudgetLimit(f"{name}.max_dollars", dollars=dollars - spent.dollars)


def require_left(config: Config, prompt: Prompt, model: str, used: TokenUsage) -> None:
    """For the calls of a planning session: they count for the run that it becomes. Raises BudgetUsed."""
    price = price_of(model, config.llm.price_by_model)
    limits = ModelLimits(tuple(run_left(run_budget(config.runs), count_planning(used))), price)
    read = count_read_tokens(prompt)
    least = TokenUsage(0, count_asked_tokens(prompt) + read, LEAST_ANSWER, material_tokens=read)
    if key := limits.exceeded(least, {SpentOn.PLANNING: own_tokens(least)}):
        raise BudgetUsed(model=model, key=key)


def priced(llm: Llm, model: str, usage: TokenUsage) -> TokenUsage:
    """With its cost, if the model's price is known."""
    return ModelLimits((), price_of(model, llm.price_by_model)).priced(usage)
