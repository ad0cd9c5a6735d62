"""Carries a run on (RN-4 to RN-10), from where it stopped to where a person is needed, or to its end.

What is due follows from the run alone; each transition is saved before the next begins. A process that was
killed leaves at most one transition half done, and all effects can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from ringi.agents.sandbox import agent_sandbox
from ringi.approvals.forge import task_of
from ringi.approvals.who import actor_at
from ringi.engine.process import StoredProcess
from ringi.engine.run_plan import RunPlan, RunRole
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import BranchRefused, CopyFailed, NotFound, RunOver
from ringi.kernel.telemetry.port import (
    OPERATION,
    OUTCOME,
    RUN_ID,
    SESSION_ID,
    WORKFLOW,
    Component,
    LogLevel,
    Value,
)
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.document import PlanStatus
from ringi.runs import machine
from ringi.runs.amendment import RunAmendment, amend_run
from ringi.runs.document import Review, Run, RunEvent, StepState, Stop, StopCode, StoredRun, stop_for
from ringi.runs.feedback import find_unheard, hand_on, reopen_step
from ringi.runs.files import RunFiles
from ringi.runs.finish_step import decide
from ringi.runs.gates import find_obstacle
from ringi.runs.implement_step import start, work
from ringi.runs.machine import RunAct
from ringi.runs.model_budget import run_budget
from ringi.runs.process.process_record import is_stuck, resume
from ringi.runs.ref_damage import mend_run
from ringi.runs.run_context import RunContext, refusal
from ringi.runs.run_workspace import RunWorkspace
from ringi.runs.start import covering, require_current, require_open
from ringi.runs.testing import judge, test

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


class RunOptions(NamedTuple):
    review: Review | None = None
    in_place: bool = False
    max_steps: int = 0
    allow: tuple[str, ...] = ()
    """Paths that the steps may change, too."""
    tests: tuple[str, ...] = ()
    """Commands that test the steps, instead of those of the plan."""
    retry: bool = False
    """The current step anew, also after it failed."""
    role: str = ""
    """The command that implements from now on."""


def run_steps(
    workspace: Workspace,
    run_id: str,
    options: RunOptions = RunOptions(),  # noqa: B008  # a tuple
    on_event: Callable[[RunEvent], None] = lambda _: None,
) -> Run:
    """The caller holds the lock of the run. It asks no questions; a stop says what is needed.

    Raises RunOver, NotPermitted.
    """
    stored = workspace.store.runs.get_stored(run_id)
    workspace = workspace.for_task(task_of(stored.run.forge))
    workspace.permits.require_allowed(stored.run.created_by, workspace.person.user())
    for line in (line for mended in mend_run(workspace, run_id) for line in mended.lines):
        workspace.tell(line)
    bench = RunWorkspace(workspace, dict(workspace.environment), agent_sandbox(workspace))
    plan = workspace.store.runs.plan(run_id)
    require_current(stored.run)
    if plan is None:
        raise NotFound(what=Text("planning.json"), name=run_id, see=f"ringi status {run_id}")
    wanted = RunAmendment(options.allow, options.tests)
    amended, given = amend_run(workspace, stored.run, plan, wanted, retry=options.retry)
    ready = _prepare(workspace, bench, amended, plan, options)
    if ready.stop is None:
        _end_replaced(workspace, ready)
    if ready != stored.run:
        reason = "retried" if options.retry else "continued"
        if given.reason:
            reason = workspace.mask(f"{reason}, {given.reason}")
        _save(
            workspace,
            stored,
            ready,
            EventKind.RUN_RESUMED,
            reason,
            _stuck_processes(workspace, stored.run, ready),
        )
    for words in given.words():
        on_event(RunEvent(ready, "", words))
    return _trace(_context(workspace, bench, ready, options, on_event))


def _trace(context: RunContext) -> Run:
    """Carries it on as one turn of its trace."""
    run = context.run
    spans, log = context.workspace.telemetry
    about: dict[str, Value] = {RUN_ID: run.run_id, OPERATION: "invoke_workflow", WORKFLOW: "run"}
    if run.planning_session_id:
        about[SESSION_ID] = run.planning_session_id
    begun = "started" if run.phase is RunPhase.PLANNING else "resumed"
    log(Component.EXECUTION, LogLevel.INFO, f"Run {begun}: {run.run_id}")
    with spans.root("ringi.run", run.run_id, about) as span:
        run = carry_on(context)
        span.note({OUTCOME: str(run.phase)})
    if run.stop is None:
        log(Component.EXECUTION, LogLevel.INFO, f"Run {run.phase}: {run.run_id}")
    else:
        log(Component.EXECUTION, LogLevel.WARN, f"Run stopped, {run.stop.reason_code}", run.stop.message)
    return run


def _context(
    workspace: Workspace,
    bench: RunWorkspace,
    run: Run,
    options: RunOptions,
    on_event: Callable[[RunEvent], None],
) -> RunContext:
    command = options.role or run.implementer
    roles = workspace.roles({RunRole.IMPLEMENTER: command} if command else None)
    files = RunFiles(
        workspace.places.root,
        run.request_id,
        run.run_id,
        workspace.mask,
        confidential=workspace.config.logs.confidential,
    )
    return RunContext(
        workspace,
        run.run_id,
        bench=bench,
        roles=roles.by_model() if run.by_model else roles,
        files=files,
        on_event=on_event,
    )


def _prepare(workspace: Workspace, bench: RunWorkspace, run: Run, plan: RunPlan, options: RunOptions) -> Run:
    """The run as the loop can go on with it."""
    if options.role and actor_at(workspace.person) is Actor.USER:  # an agent's choice is for its own call
        run = replace(run, implementer=options.role)
    if run.phase is RunPhase.PLANNING or run.stopped_in is RunPhase.PLANNING:
        run = _apply_options(run, options, sandboxed=bench.uses_sandbox())
        if covering(workspace, run.run_id) is None:
            return _stop_for_approval(run)
    if workspace.permits.check_always_asked(run.created_by, workspace.person.user()):
        run = replace(run, review=Review.EACH)
    run = replace(run, budget=run_budget(workspace.config.runs))
    current = machine.current(run)
    tested_again = run.phase is RunPhase.FAILED and options.tests
    if run.phase is RunPhase.NEEDS_INPUT or tested_again or (run.phase is RunPhase.FAILED and options.retry):
        run = machine.resume_run(run)
    if options.retry and run.phase is RunPhase.EXECUTING:
        run = _start_again(bench, run, current)
    elif run.phase is RunPhase.EXECUTING:
        run = _with_feedback(workspace, bench, run, current)
    if machine.is_paused(run):
        run = replace(run, most_steps=run.most_steps + (options.max_steps or plan.limits.max_steps_per_run))
    return run


def _apply_options(run: Run, options: RunOptions, *, sandboxed: bool) -> Run:
    return replace(
        run,
        # Without a sandbox nothing can be tested before it is approved.
        review=options.review or run.review if sandboxed else Review.EACH,
        in_place=options.in_place or run.in_place,
        most_steps=options.max_steps or run.most_steps,
    )


def _stop_for_approval(run: Run) -> Run:
    message = Text("nobody has approved the plan of this run yet")
    stop = stop_for(StopCode.APPROVAL_NEEDED, message, f"ringi run {run.run_id}")
    return run if run.stop == stop else machine.stop_run(machine.resume_run(run) if run.stop else run, stop,
                                                        RunPhase.NEEDS_INPUT)  # fmt: skip


def _start_again(bench: RunWorkspace, run: Run, index: int) -> Run:
    """The steps from this one on; in another copy if theirs is lost, with all that are not committed."""
    lost = False
    try:
        bench.require_copy(run)
    except CopyFailed:
        lost, index = True, run.current_step_index
    for step in run.steps[index:]:
        bench.throw_away(step)
    run = machine.anew_from(run, index)
    if not lost:
        return run
    begun = bench.new_copy(run)
    run = replace(run, copy_id=begun.copy_id)
    done = [at for at, step in enumerate(run.steps[:index]) if step.tree]
    if done:
        return machine.with_step(run, done[-1], tree=begun.base_tree)
    return replace(run, base_tree=begun.base_tree)


def _with_feedback(workspace: Workspace, bench: RunWorkspace, run: Run, index: int) -> Run:
    """A step that waits or stopped is made again if a person has said since what should be different.

    An agent's words reach the next turn, but take back nothing that waits for a person.
    """
    said = find_unheard(run, workspace.store.processes.feedback(run.run_id))
    if index >= len(run.steps) or all(one.agent for one in said) or _is_decided(workspace, run.steps[index]):
        return run
    mask = workspace.mask
    for step in run.steps[index + 1 :]:
        if step.status is not StepStatus.WAITING:
            bench.throw_away(step)
    return reopen_step(hand_on(run, index, [replace(one, text=mask(one.text)) for one in said]), index)


def _is_decided(workspace: Workspace, step: StepState) -> bool:
    """Whether a person has answered what it changed: then their words are for what comes next."""
    if step.status is not StepStatus.PROPOSED:
        return False
    return workspace.plan.get_state(step.plan_id).status not in {
        PlanStatus.PROPOSED,
        PlanStatus.PENDING_REVIEW,
    }


def _end_replaced(workspace: Workspace, run: Run) -> None:
    """The run that this one replaces is over: its copy and plans are not needed."""
    with suppress(NotFound, RunOver):
        if run.replaces:
            cancel_run(workspace, run.replaces)


def cancel_run(workspace: Workspace, run_id: str) -> Run:
    """What was committed stays on its branch. Raises RunOver."""
    stored = workspace.store.runs.get_stored(run_id)
    run = stored.run
    require_open(run)
    bench = RunWorkspace(workspace, dict(workspace.environment), agent_sandbox(workspace))
    for step in run.steps:
        if step.status is not StepStatus.DONE:
            bench.throw_away(step)
    ended = replace(machine.in_phase(run, RunPhase.CANCELLED), stop=None, stopped_in=None)
    bench.tidy(ended)
    _save(workspace, stored, ended, EventKind.RUN_CANCELLED, "")
    return ended


def _stuck_processes(workspace: Workspace, stopped: Run, ready: Run) -> Sequence[StoredProcess]:
    """The processes that a person was needed for, if that is what the run stopped for: they go on with it."""
    asked = stopped.stop is not None and stopped.stop.reason_code is StopCode.HELP_NEEDED
    if not asked or ready.stop is not None:
        return ()
    stuck = [one.process_id for one in workspace.store.processes.of(stopped.run_id) if is_stuck(one)]
    return [found for one in stuck if (found := workspace.store.processes.get(one))]


def _save(
    workspace: Workspace,
    stored: StoredRun,
    run: Run,
    kind: EventKind,
    reason: str,
    going_on: Sequence[StoredProcess] = (),
) -> None:
    now = workspace.clock.now()
    with workspace.store.transaction() as transaction:
        event = NewEvent(kind, actor_at(workspace.person), reason)
        transaction.runs.save(replace(run, updated_at=now), event, stored.revision)
        for process, _, revision in going_on:
            transaction.processes.save(replace(resume(process), updated_at=now), (), revision)


def carry_on(context: RunContext) -> Run:
    """Until it is done, paused, or needs a person. The caller holds the lock of the run."""
    while (due := machine.due(context.run)) is not None:
        try:
            if due.act in _OF_RUN:
                _OF_RUN[due.act](context)
            else:
                _OF_STEP[due.act](context, due.step)
        except BranchRefused as error:
            context.halt(refusal(context.run, error))
    return context.run


def _begin(context: RunContext) -> None:
    run, plan = context.run, context.plan
    if stop := find_obstacle(run, plan) or context.roles.check(plan):
        context.halt(stop)
        return
    context.say("", Text("preparing the branch and a copy"))
    begun = context.bench.begin(run, plan)
    if isinstance(begun, Stop):
        context.halt(begun)
        return
    context.save(
        replace(
            machine.in_phase(run, RunPhase.EXECUTING),
            base_commit=begun.base_commit,
            base_tree=begun.base_tree,
            copy_id=begun.copy_id,
            most_steps=run.most_steps or plan.limits.max_steps_per_run,
        ),
        "begun",
    )


def _integrate(context: RunContext) -> None:
    context.save(machine.in_phase(context.run, RunPhase.INTEGRATING), "integrating")


def _finish(context: RunContext) -> None:
    if stop := context.bench.publish(context.run):
        context.halt(stop)
        return
    # Before it is over: a run that is over is not looked after.
    context.bench.tidy(context.run)
    done = machine.in_phase(context.run, RunPhase.COMPLETED)
    context.save(done, "completed", EventKind.RUN_COMPLETED)


_OF_RUN: Final[Mapping[RunAct, Callable[[RunContext], None]]] = {
    RunAct.BEGIN: _begin,
    RunAct.INTEGRATE: _integrate,
    RunAct.FINISH: _finish,
}
_OF_STEP: Final[Mapping[RunAct, Callable[[RunContext, int], None]]] = {
    RunAct.START: start,
    RunAct.WORK: work,
    RunAct.TEST: test,
    RunAct.JUDGE: judge,
    RunAct.DECIDE: decide,
}
