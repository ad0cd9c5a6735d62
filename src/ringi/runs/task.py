"""A task: a run in which models have every role (PP-28); approvals, gates and report are those of any run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi.approvals.forge import ForgeTerms
from ringi.approvals.who import actor_at
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.document import GoalUnderstanding
from ringi.engine.language import language_of
from ringi.engine.run_parts import PartsInput, RunWishes
from ringi.engine.run_plan import MAIN_BRANCH, RunRole
from ringi.engine.run_state import run_id
from ringi.errors import BadInstruction, NoTaskModel
from ringi.ledger.event import Actor
from ringi.models.usage import PLAYBOOK
from ringi.plans.document import title_of
from ringi.runs.document import Run
from ringi.runs.start import add_run, planner_of
from ringi.sessions.document import SessionView
from ringi.sessions.operations import LONGEST_INSTRUCTION, unfit
from ringi.sessions.request_files import next_id
from ringi.tree.copy_layout import branch_of

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def begin_task(
    workspace: Workspace, request: str, actor: Actor, forge: ForgeTerms | None = None
) -> SessionView | Run:
    """A session that the planner is to bring the design of; with planning.enabled false a run of one step.

    A person approves either. Raises NoTaskModel, BadInstruction, NotPermitted.
    """
    for role in (RunRole.PLANNER, RunRole.IMPLEMENTER):
        if workspace.config.role(role).model in {"", PLAYBOOK}:
            raise NoTaskModel
    if not workspace.config.planning.enabled:
        return _unplanned(workspace, request, forge)
    return workspace.planning.start(request, actor=actor, agent_brings=True, by_model=True, forge=forge)


def plan_task(workspace: Workspace, request: str) -> SessionView | Run:
    """Begun, and planned as far as a model can. Raises BadBrought, ModelFailed, and like `begin_task`."""
    begun = begin_task(workspace, request, actor_at(workspace.person))
    if isinstance(begun, Run):
        return begun
    planner = planner_of(workspace, by_model=True)
    assert planner is not None  # noqa: S101  # a task has a model
    return planner.bring(workspace.planning, begun.session_id)


def _unplanned(workspace: Workspace, request: str, forge: ForgeTerms | None) -> Run:
    words = request.strip()
    if why := unfit(words, LONGEST_INSTRUCTION):
        raise BadInstruction(why=why)
    now = workspace.clock.now()
    planned = PartsInput(
        words,
        goal=GoalUnderstanding(main_objective=title_of(words)),
        project=workspace.code.gather(words).project,
        language=language_of(words),
    )
    base = branch_of(workspace.places.root) or MAIN_BRANCH
    names = RunNames(next_id(workspace), run_id(now, workspace.ids()), now, base)
    plan = compile_run_plan(planned, names, RunWishes(timeout_sec=workspace.config.checks.timeout_sec))
    return add_run(workspace, plan, "", words, by_model=True, forge=forge)
