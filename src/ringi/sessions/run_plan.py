"""planning.json of a session in review (RN-3): compiled before the person reads the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.document import GoalUnderstanding
from ringi.engine.request import next_request_id
from ringi.engine.run_parts import PartsInput, RunWishes
from ringi.engine.run_plan_rules import run_plan_problems
from ringi.engine.run_state import run_id
from ringi.errors import NotFound
from ringi.kernel import codec
from ringi.kernel.problems import Level
from ringi.models.prompt import QuestionType
from ringi.plans.document import title_of
from ringi.sessions import operations
from ringi.sessions.document import PlanningSession, SessionStatus
from ringi.sessions.operations import SessionState

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_SHOWN: Final = 5


def planner(workspace: Workspace, state: SessionState) -> Callable[[], SessionState]:
    """Gives the state its planning.json if a person is to approve it, else leaves it as it is.

    To be called inside the transaction that saves it: no two sessions get the same request id.
    """
    session = state.session
    due = session.status is SessionStatus.REVIEW and session.design_summary and not state.facts.run_plan
    if not due:
        return lambda: state
    branch = workspace.base_branch()
    return lambda: _planned(workspace, state, branch)


def _planned(workspace: Workspace, state: SessionState, branch: str) -> SessionState:
    plan = compile_run_plan(_found(state), _names(workspace, state, branch), _wishes(workspace))
    raw = msgspec.json.decode(codec.canonical(plan))
    faults = [one for one in run_plan_problems(raw) if one.level is Level.FAIL]
    if not faults:
        return state.knowing(run_plan=plan)
    words = "; ".join(f"{one.path}: {one.message}" for one in faults[:_SHOWN])
    return operations.failed(state, f"planning.json: {words}")


def _wishes(workspace: Workspace) -> RunWishes:
    return RunWishes(timeout_sec=workspace.config.checks.timeout_sec)


def _names(workspace: Workspace, state: SessionState, branch: str) -> RunNames:
    now = workspace.clock.now()
    run = run_id(now, workspace.ids())
    if request := state.facts.request:
        return RunNames(request.request_id, run, now, branch, request.path)
    return RunNames(_replaced(workspace, state) or free_request_id(workspace, run[:8]), run, now, branch)


def _replaced(workspace: Workspace, state: SessionState) -> str:
    """The request id of the run that is planned anew."""
    try:
        return workspace.store.runs.get(state.facts.replaces).request_id if state.facts.replaces else ""
    except NotFound:
        return ""


def free_request_id(workspace: Workspace, day: str) -> str:
    return next_request_id(day, {*workspace.requests(), *workspace.store.runs.request_ids(day)})


def _found(state: SessionState) -> PartsInput:
    session, facts = state
    return PartsInput(
        session.instruction,
        goal=GoalUnderstanding(
            main_objective=title_of(session.instruction), constraints=tuple(_constraints(session))
        ),
        design=facts.design,
        project=facts.project,
        language=facts.language,
        request=facts.request.request if facts.request else None,
    )


def _constraints(session: PlanningSession) -> Iterator[str]:
    for question in session.questions:
        if question.type is QuestionType.CONSTRAINT and question.answer is not None:
            yield f"{question.question} → {question.answer}"
