"""What is due next in a run: a function of the run alone, so that any process can go on with it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from ringi.engine.run_state import RUN_MACHINE, STEP_MACHINE, RunPhase, StepStatus
from ringi.runs.document import Review, Run, StepState, Stop

_S = StepStatus
_MADE: Final = frozenset([_S.PROPOSED, _S.DONE])


class RunAct(StrEnum):
    BEGIN = "begin"
    START = "start"
    WORK = "work"
    TEST = "test"
    JUDGE = "judge"
    DECIDE = "decide"
    INTEGRATE = "integrate"
    FINISH = "finish"


_ACTS: Final[Mapping[StepStatus, RunAct]] = {
    _S.WAITING: RunAct.START,
    _S.WORKING: RunAct.WORK,
    _S.TESTING: RunAct.TEST,
    _S.REVIEWING: RunAct.JUDGE,
    _S.PROPOSED: RunAct.DECIDE,
}


class Due(NamedTuple):
    act: RunAct
    step: int = -1
    """Its place in the plan."""


def due(run: Run) -> Due | None:
    """None if it is over, stopped, or has done as many steps as it may for now."""
    if run.phase is RunPhase.PLANNING:
        return Due(RunAct.BEGIN)
    if run.phase is RunPhase.INTEGRATING:
        return Due(RunAct.FINISH)
    if run.phase is not RunPhase.EXECUTING:
        return None
    open_steps = [(at, step) for at, step in enumerate(run.steps) if step.status is not _S.DONE]
    if not open_steps:
        return Due(RunAct.INTEGRATE)
    within = [(at, step) for at, step in open_steps if not run.most_steps or at < run.most_steps]
    unmade = [(at, step) for at, step in within if step.status not in _MADE]
    chosen = (within[:1] if run.review is Review.EACH else unmade) or within
    return Due(_ACTS[chosen[0][1].status], chosen[0][0]) if chosen else None


def is_paused(run: Run) -> bool:
    """Whether it has done as many steps as it may for now, and others are left."""
    return run.phase is RunPhase.EXECUTING and due(run) is None


def current(run: Run) -> int:
    """The place of the step at which it stopped, or that is due; those before it may wait for a person."""
    for at, step in enumerate(run.steps):
        if run.stop and step.step_id == run.stop.step_id and step.status is not _S.DONE:
            return at
    found = due(msgspec.structs.replace(run, phase=run.stopped_in or run.phase))
    return found.step if found and found.step >= 0 else run.current_step_index


def tree_before(run: Run, index: int) -> str:
    """What a step begins with."""
    trees = [step.tree for step in run.steps[:index] if step.tree]
    return trees[-1] if trees else run.base_tree


def with_step(run: Run, index: int, **changes: Any) -> Run:
    """The run with this step changed; a status only as the machine allows it."""
    step = run.steps[index]
    status = changes.get("status", step.status)
    if status is not step.status:
        STEP_MACHINE.advance(step.status, status)
    steps = (*run.steps[:index], msgspec.structs.replace(step, **changes), *run.steps[index + 1 :])
    first = next((at for at, one in enumerate(steps) if one.status is not _S.DONE), len(steps))
    return msgspec.structs.replace(run, steps=steps, current_step_index=first)


def anew_from(run: Run, index: int) -> Run:
    """The steps from this one on, as if untouched; their attempts stay in the record.

    Their plans were thrown away, and none that ended is proposed again.
    """
    for at in range(index, len(run.steps)):
        step = run.steps[at]
        blank = StepState(step_id=step.step_id, attempts=step.attempts, pending=step.pending)
        fresh = {name: getattr(blank, name) for name in blank.__struct_fields__}
        run = with_step(run, at, **fresh)
    return run


def in_phase(run: Run, phase: RunPhase) -> Run:
    return msgspec.structs.replace(run, phase=RUN_MACHINE.advance(run.phase, phase))


def stop_run(run: Run, stop: Stop, phase: RunPhase) -> Run:
    """`phase` is needs_input or failed."""
    moved = in_phase(run, phase)
    return msgspec.structs.replace(moved, stop=stop, stopped_in=run.phase)


def resume_run(run: Run) -> Run:
    """Back in the phase in which it stopped."""
    moved = in_phase(run, run.stopped_in or RunPhase.PLANNING)
    return msgspec.structs.replace(moved, stop=None, stopped_in=None)
