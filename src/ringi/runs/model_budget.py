"""What models may take in a run: what is left, and a forecast before they are asked (PP-13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from ringi.config.keys import MOST_TOKENS, Config, Llm, RoleConfig, RoleHow, RunsConfig, to_limit
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import StepStatus
from ringi.errors import BudgetUsed
from ringi.models.budget import (
    Forecast,
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

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

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
    yield from _limits_of("runs", budget.tokens, budget.dollars, spent)
    taken = by_phase(spent)
    for phase in SpentOn:
        if (most := limit_of(budget, phase)) is not None:
            yield BudgetLimit(f"runs.budget.{phase}_tokens", tokens=most - taken[phase], phase=phase)


def role_left(name: str, role: RoleConfig, spent: Spent) -> Iterator[BudgetLimit]:
    yield from _limits_of(f"roles.{name}", role.token_limit, role.dollar_limit, spent)


def _limits_of(name: str, tokens: int | None, dollars: float | None, spent: Spent) -> Iterator[BudgetLimit]:
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
    if key := limits.find_exceeded(least, {SpentOn.PLANNING: own_tokens(least)}):
        raise BudgetUsed(model=model, key=key)


def add_cost(llm: Llm, model: str, usage: TokenUsage) -> TokenUsage:
    """With its cost, if the model's price is known."""
    return ModelLimits((), price_of(model, llm.price_by_model)).with_cost(usage)


def forecast_planning(config: Config, model: str, *, by_model: bool = False) -> Forecast | None:
    """What planning and carrying out may take at most; None if no model plans."""
    planner = config.role(RunRole.PLANNER, by_model=by_model)
    if planner.worker is RoleHow.MODEL:
        return _forecast(config, planner.model, Spent())
    if planner.worker is RoleHow.COMMAND or model == PLAYBOOK:
        return None
    return _forecast(config, model, Spent())


def forecast_run(workspace: Workspace, run_id: str, command: str = "") -> Forecast | None:
    """What the steps that are left may take at most; None if no model works on them.

    A command, if given, implements them.
    """
    run = workspace.store.runs.get(run_id)
    if workspace.store.runs.plan(run_id) is None:
        return None
    by_command, config = command or run.implementer, workspace.config
    names = []
    for role in (RunRole.IMPLEMENTER, RunRole.REVIEWER, RunRole.QA):
        told = config.role(role, by_model=run.by_model)
        if told.worker is not RoleHow.MODEL or (role is RunRole.IMPLEMENTER and by_command):
            continue
        names.append(told.model)
    is_left = any(step.status is not StepStatus.DONE for step in run.steps)
    return _forecast(config, max(names), run.spent) if names and is_left else None


def _forecast(config: Config, model: str, spent: Spent) -> Forecast:
    budget, price = run_budget(config.runs), price_of(model, config.llm.price_by_model)
    taken = spent.input_tokens + spent.output_tokens
    tokens = None if budget.tokens is None else max(0, budget.tokens - taken)
    dollars = None if budget.dollars is None else max(0.0, budget.dollars - spent.dollars)
    if dollars is None and price is not None and any(price) and tokens is not None:
        dollars = tokens * max(price) / 1_000_000
    return Forecast(tokens, dollars, taken)
