"""What models may take at most, before they are asked (PP-13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi.config.keys import Config, RoleHow
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import StepStatus
from ringi.models.budget import Forecast
from ringi.models.usage import PLAYBOOK, Spent
from ringi.runs.model_budget import price_of, run_budget

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


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
