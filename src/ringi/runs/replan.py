"""Planning again (RN-14): only for the named reasons, always as a new run that a person approves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ringi.approvals.who import actor_at
from ringi.engine.instruction import language_of
from ringi.engine.request import Request
from ringi.engine.run_parts import line
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import run_id
from ringi.engine.split import split
from ringi.errors import CannotReplan, CopyFailed, Interrupted, NotFound, RingiError
from ringi.kernel.text import Text
from ringi.ledger.event import EventKind
from ringi.models.prompt import NewStep
from ringi.models.usage import Language
from ringi.runs.document import Run, StepState, StopCode
from ringi.runs.start import add_run, planner_of, require_current, with_run_id
from ringi.sessions.document import FromRequest, SessionView
from ringi.sessions.operations import LONGEST_INSTRUCTION
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_steps import line_counts, since

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

ANEW: Final = frozenset(
    [StopCode.INPUT_CONTRADICTION, StopCode.NO_CHANGES, StopCode.UNIT_TEST_FAILED, StopCode.E2E_FAILED]
)
"""Another design is needed."""
_HAPPENED: Final[Mapping[Language, tuple[str, str]]] = {
    "en": ("## What happened before", "Run {run} stopped at step {step} ({title}): {code}: {message}"),
    "ja": ("## これまでの経緯", "実行 {run} はステップ {step} ({title}) で止まりました: {code}: {message}"),
}
_LONGEST_DETAIL: Final = 4_000


def replan(workspace: Workspace, name: str, because: StopCode | None = None) -> Run | SessionView:
    """A new run with smaller steps, to be approved; or a planning session about another design.

    `because` is why it stopped, unless given. Raises CannotReplan, RunOver, NotFound.
    """
    run = workspace.store.runs.get(workspace.store.runs.find(name))
    require_current(run)
    plan = workspace.store.runs.plan(run.run_id)
    if run.stop is None or plan is None or because not in {None, run.stop.reason_code}:
        raise CannotReplan(run=run.run_id, why=Text("it did not stop for a reason that planning could mend"))
    step = next((one for one in run.steps if one.step_id == run.stop.step_id), run.step)
    code = run.stop.reason_code
    if code is StopCode.STEP_TOO_LARGE and step is not None:
        return _smaller(workspace, run, plan, step)
    targets = next((one.scope.target_paths for one in plan.steps if step and one.step_id == step.step_id), ())
    if code not in ANEW or (code is StopCode.NO_CHANGES and targets):
        why = Text("{code} is no reason to plan again", code=str(code))
        raise CannotReplan(run=run.run_id, why=why)
    return _design_anew(workspace, run, plan)


def _smaller(workspace: Workspace, run: Run, plan: RunPlan, step: StepState) -> Run:
    tried = _count_splits(workspace, run)
    if tried >= plan.gates.max_step_too_large_retries:
        why = Text("its steps were split already, as often as the plan allows")
        raise CannotReplan(run=run.run_id, why=why)
    made = with_run_id(plan, run_id(workspace.clock.now(), workspace.ids()))
    changed, language = _lines_by_file(workspace, run, step), language_of(plan.context.summary)
    planned: Sequence[NewStep] = ()
    if planner := planner_of(workspace, by_model=run.by_model):
        try:
            planned = planner.split(plan, step, changed)
        except Interrupted:
            raise
        except RingiError:
            pass  # it is split by what was changed
    smaller = split(made, step.step_id, changed, language, planned)
    if smaller is None:
        raise CannotReplan(run=run.run_id, why=Text("it would have too many steps"))
    reason = f"{StopCode.STEP_TOO_LARGE} {step.step_id}"
    return add_run(
        workspace,
        smaller,
        run.planning_session_id,
        run.instruction,
        reason=reason,
        replaces=run.run_id,
    )


def _count_splits(workspace: Workspace, run: Run) -> int:
    """How often steps were split on the way to this run."""
    count, seen = 0, {run.run_id}
    while run.replaces and run.replaces not in seen:
        events = (logged.event for logged in workspace.store.events(run.run_id))
        count += any(
            one.event is EventKind.RUN_CREATED and one.reason.startswith(StopCode.STEP_TOO_LARGE)
            for one in events
        )
        try:
            run = workspace.store.runs.get(run.replaces)
        except NotFound:
            break
        seen.add(run.run_id)
    return count


def _lines_by_file(workspace: Workspace, run: Run, step: StepState) -> dict[str, int]:
    """Lines by file, as the role left them; empty if its copy is gone or was changed since."""
    if not (run.copy_id and step.base_tree):
        return {}
    try:
        copy = WorkCopy.open(workspace.places.copies / run.copy_id)
        found = since(copy, step.base_tree).difference()
        return line_counts(copy, found) if step.tree in {"", found.tree} else {}
    except CopyFailed:
        return {}


def _design_anew(workspace: Workspace, run: Run, plan: RunPlan) -> SessionView:
    instruction, request = run.instruction, None
    if not run.planning_session_id:  # what its plan demands was written by a person
        request = FromRequest(plan.request_id, "", _request(plan))
    else:
        try:
            stored = workspace.store.sessions.get(run.planning_session_id)
        except NotFound:
            pass
        else:
            instruction, request = stored.session.instruction, stored.facts.request
    return _start_session(workspace, run, plan, instruction, request)


def _request(plan: RunPlan) -> Request:
    context = plan.context
    return Request(
        title=line(context.summary),
        acceptance_criteria=context.acceptance_criteria,
        constraints=context.constraints,
        test_instructions={**context.test_instructions, **_commands(plan)},
    )


def _commands(plan: RunPlan) -> dict[str, tuple[str, ...]]:
    """Those of all steps."""
    unit = dict.fromkeys(command for step in plan.steps for command in step.commands.unit or ())
    return {"unit": tuple(unit)[:20]} if unit else {}


def _start_session(
    workspace: Workspace, run: Run, plan: RunPlan, instruction: str, request: FromRequest | None
) -> SessionView:
    stop = run.stop
    assert stop is not None  # noqa: S101  # replan looked
    heading, told = _HAPPENED[language_of(instruction)]
    title = next((one.title for one in plan.steps if one.step_id == stop.step_id), "")
    happened = told.format(
        run=run.run_id, step=stop.step_id, title=title, code=stop.reason_code, message=stop.message
    )
    more = f"{heading}\n\n{happened}\n\n{stop.detail[-_LONGEST_DETAIL:]}".rstrip()
    room = LONGEST_INSTRUCTION - len(more) - 2
    return workspace.planning.start(
        f"{instruction[:room]}\n\n{more}",
        actor=actor_at(workspace.person),
        request=request,
        replaces=run.run_id,
        agent_brings=planner_of(workspace, by_model=run.by_model) is not None,
        by_model=run.by_model,
        forge=run.forge,
    )
