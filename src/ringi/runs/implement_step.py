"""A role works on a step, and what it changed is measured (RN-6, RN-9)."""

import shlex
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ringi.config.keys import RoleHow
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import StepStatus
from ringi.errors import CopyFailed
from ringi.kernel.text import Text
from ringi.models.prompt import Severity
from ringi.models.usage import Spent
from ringi.runs import machine
from ringi.runs.document import Attempt, Run, StopCode
from ringi.runs.gates import TreeChanges, Violation, violations
from ringi.runs.machine import with_step
from ringi.runs.role_work import RoleWork
from ringi.runs.run_context import RunContext, stop_of

_S = StepStatus
_SHOWN_OUTPUT: Final = 2_000
_MOST_ALLOWED: Final = 8
"""More paths than this outside of a step are no oversight: better made anew than allowed."""


def start(context: RunContext, index: int) -> None:
    run = context.run
    base = machine.tree_before(context.run, index)
    state = run.steps[index]
    fresh = with_step(
        run,
        index,
        status=_S.WORKING,
        base_tree=base,
        plan_id=context.workspace.ids(),
        started_at=context.workspace.clock.now(),
    )
    context.save(fresh, f"{state.step_id}: working")


def work(context: RunContext, index: int) -> None:
    run, step, state = context.at(index)
    if context.is_lost(run):
        return
    *earlier, newest = state.attempts or (None,)
    if newest and _is_persons_turn(newest):
        ended = replace(newest, ended_at=context.workspace.clock.now(), exit_code=0)
        _measure(context, index, ended, tuple(earlier))
        return
    context.bench.checkout(run, state.tree or state.base_tree)
    if step.role is not RunRole.IMPLEMENTER:
        _looks_on(context, index)
    elif newest and newest.problem and state.tree and not _problems(context, index)[1]:
        # A person has allowed since what it did.
        _measure(context, index, replace(newest, problem=""), tuple(earlier))
    else:
        _take_turn(context, index)


def _take_turn(context: RunContext, index: int) -> None:
    context.listen(index)
    before = context.run.steps[index].attempts
    attempt, done = context.turn(index, RunRole.IMPLEMENTER)
    if done.waits:
        code, why = done.code or StopCode.HELP_NEEDED, done.problem or Text("")
        waiting = with_step(context.run, index, pending=attempt.spent)
        context.halt(stop_of(code, why, done.waits, context.plan.steps[index]), waiting)
    elif done.how is RoleHow.PERSON and done.exit_code is None:
        _for_person(context, index, replace(attempt, ended_at=""), before)
    elif done.exit_code or done.problem is not None:
        role_failed(context, index, done, attempt, before)
    else:
        _measure(context, index, attempt, before)


def _for_person(context: RunContext, index: int, attempt: Attempt, earlier: tuple[Attempt, ...]) -> None:
    run, step, _ = context.at(index)
    where = context.bench.copy(run).tree
    waiting = with_step(run, index, attempts=(*earlier, attempt))
    message = Text("this step is yours: {title}", title=step.title)
    next_action = Text("edit in {folder}, then: ringi continue {run}", folder=str(where), run=run.run_id)
    stop = stop_of(StopCode.PERSON_NEEDED, message, next_action, step)
    context.halt(stop, waiting)


def role_failed(
    context: RunContext, index: int, work: RoleWork, attempt: Attempt, earlier: tuple[Attempt, ...]
) -> None:
    run, step, state = context.at(index)
    code = work.code or (StopCode.ROLE_TIMEOUT if work.timed_out else StopCode.ROLE_FAILED)
    if work.problem is not None:
        why = work.problem
    elif work.timed_out:
        why = Text("{who} did not end in time", who=work.who)
    else:
        why = Text("{who} ended with exit code {code}", who=work.who, code=work.exit_code)
    ended = (*earlier, replace(attempt, problem=str(why)))
    noted = with_step(run, index, attempts=ended, pending=Spent())
    if step.fallback and not state.fallback and state.status is _S.WORKING:
        context.save(with_step(noted, index, fallback=True), f"{step.step_id}: falling back, {code}")
        return
    stop = stop_of(code, why, f"ringi continue {run.run_id} --retry", step)
    context.halt(replace(stop, detail=_last_output(context, attempt)), noted)


def _last_output(context: RunContext, attempt: Attempt) -> str:
    """Its last words."""
    return context.workspace.mask(context.files.tail(attempt.log, _SHOWN_OUTPUT))


def _measure(context: RunContext, index: int, attempt: Attempt, earlier: tuple[Attempt, ...]) -> None:
    run, step, state = context.at(index)
    try:
        changes, found = _problems(context, index)
    except CopyFailed:
        if not context.is_lost(run):
            raise
        return
    problem = "; ".join(str(one.message) for one in found)
    noted = with_step(
        run,
        index,
        attempts=(*earlier, replace(attempt, problem=problem)),
        pending=Spent(),
        tree=changes.tree,
        lines=changes.total,
        files=len(changes.lines),
        evidence=(),
        findings=(),
    )
    if found:
        _handle_violations(context, index, noted, found, problem)
        return
    patch = context.bench.patch(run, state.base_tree, changes.tree)
    context.files.write(step.outputs.patch_path, patch)
    context.save(with_step(noted, index, status=_S.TESTING, feedback=""), f"{step.step_id}: testing")


def _problems(context: RunContext, index: int) -> tuple[TreeChanges, tuple[Violation, ...]]:
    run, step, state = context.at(index)
    changes = context.bench.measure(run, state.base_tree)
    found = tuple(violations(step, context.plan.limits, changes, run.allowed))
    if not changes.lines and not found:
        found = (Violation(StopCode.NO_CHANGES, Text("nothing was changed")),)
    return changes, found


def _handle_violations(
    context: RunContext, index: int, run: Run, found: Sequence[Violation], problem: str
) -> None:
    step, first = context.plan.steps[index], found[0]
    too_large = next((one for one in found if one.code is StopCode.STEP_TOO_LARGE), None)
    person = run.steps[index].attempts[-1].how is RoleHow.PERSON
    # Within its own paths it may be small enough.
    strayed = first.code is StopCode.OUT_OF_SCOPE
    if (too_large is None or strayed) and not person and context.again(index, run, first.code, problem):
        return
    stopping = too_large or first
    if too_large is not None and _can_be_split(context):
        next_action = f"ringi run --again {run.run_id}"
    elif too_large is None and 0 < len(first.paths) <= _MOST_ALLOWED:
        options = shlex.join(word for path in first.paths for word in ("--allow", path))
        next_action = f"ringi continue {run.run_id} {options}"
    else:
        next_action = f"ringi continue {run.run_id} --retry"
    stop = stop_of(stopping.code, Text("{problem}", problem=problem), next_action, step)
    if stopping.code is StopCode.NO_CHANGES:  # the brief says: change nothing and say why
        stop = replace(stop, detail=_last_output(context, run.steps[index].attempts[-1]))
    if person:  # it goes on in the same copy once the person has mended it
        attempts = run.steps[index].attempts
        run = with_step(run, index, tree="", attempts=(*attempts[:-1], replace(attempts[-1], ended_at="")))
    context.halt(stop, run)


def _can_be_split(context: RunContext) -> bool:
    """Whether this run was planned anew less often than its plan allows."""
    run = context.run
    for _ in range(context.plan.gates.max_step_too_large_retries):
        if not run.replaces:
            return True
        run = context.workspace.store.runs.get_stored(run.replaces).run
    return False


def _looks_on(context: RunContext, index: int) -> None:
    """A step that changes nothing: a role looks at what is there."""
    run, step, state = context.at(index)
    attempt, work = context.turn(index, step.role)
    if work.problem is not None:
        role_failed(context, index, work, attempt, state.attempts)
        return
    noted = with_step(run, index, attempts=(*state.attempts, attempt), findings=work.findings)
    errors = [one for one in work.findings if one.severity is Severity.ERROR]
    if errors:
        message = Text("{role} found: {what}", role=str(step.role), what=errors[0].message)
        next_action = f"ringi continue {run.run_id} --retry"
        context.halt(stop_of(StopCode.REVIEW_FINDINGS, message, next_action, step), noted)
        return
    now = context.workspace.clock.now()
    done = with_step(noted, index, status=_S.DONE, tree=state.base_tree, ended_at=now)
    context.save(done, f"{step.step_id}: done")


def _is_persons_turn(attempt: Attempt) -> bool:
    return attempt.how is RoleHow.PERSON and not attempt.ended_at
