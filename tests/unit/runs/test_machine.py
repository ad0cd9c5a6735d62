"""What is due follows from the run alone, and every way through it ends."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.engine.run_state import OVER, STEP_TRANSITIONS, STOPPED, RunPhase, StepStatus
from ringi.errors import BadTransition
from ringi.runs.document import Review, Run, StepState, Stop, StopCode
from ringi.runs.machine import (
    Due,
    RunAct,
    anew_from,
    current,
    due,
    in_phase,
    is_paused,
    resume_run,
    stop_run,
    with_step,
)
from tests.tables import each

S = StepStatus


def a_run(*statuses: StepStatus, **fields: Any) -> Run:
    steps = tuple(StepState(step_id=f"S{at:02}", status=status) for at, status in enumerate(statuses, 1))
    first = next((at for at, status in enumerate(statuses) if status is not S.DONE), len(statuses))
    given_ = {"phase": RunPhase.EXECUTING, "steps": steps, "current_step_index": first, **fields}
    return Run(
        run_id="r",
        planning_session_id="",
        instruction="",
        created_at="",
        updated_at="",
        **given_,
    )


@pytest.mark.req("RN-4")
@each(
    ("statuses", "review", "expected"),
    [
        ((S.WAITING, S.WAITING), Review.END, Due(RunAct.START, 0)),
        ((S.WORKING, S.WAITING), Review.END, Due(RunAct.WORK, 0)),
        ((S.TESTING, S.WAITING), Review.END, Due(RunAct.TEST, 0)),
        ((S.REVIEWING, S.WAITING), Review.END, Due(RunAct.JUDGE, 0)),
        # The next one begins before this one is decided, or not.
        ((S.PROPOSED, S.WAITING), Review.END, Due(RunAct.START, 1)),
        ((S.PROPOSED, S.WAITING), Review.EACH, Due(RunAct.DECIDE, 0)),
        ((S.PROPOSED, S.PROPOSED), Review.END, Due(RunAct.DECIDE, 0)),
        ((S.DONE, S.PROPOSED), Review.END, Due(RunAct.DECIDE, 1)),
        ((S.DONE, S.WAITING), Review.EACH, Due(RunAct.START, 1)),
        # One that was merged is tested before anybody decides.
        ((S.DONE, S.TESTING, S.PROPOSED), Review.END, Due(RunAct.TEST, 1)),
        ((S.DONE, S.DONE), Review.END, Due(RunAct.INTEGRATE)),
    ],
)
def test_what_is_due(statuses: tuple[StepStatus, ...], review: Review, expected: Due):
    assert due(a_run(*statuses, review=review)) == expected


@each("phase", RunPhase)
def test_phases(phase: RunPhase):
    found = due(a_run(S.WAITING, phase=phase))
    acts = {
        RunPhase.PLANNING: RunAct.BEGIN,
        RunPhase.EXECUTING: RunAct.START,
        RunPhase.INTEGRATING: RunAct.FINISH,
    }
    assert (found.act if found else None) == acts.get(phase)


@pytest.mark.req("RN-6")
def test_it_pauses_after_as_many_steps_as_it_may_take():
    run = a_run(S.DONE, S.WAITING, most_steps=1)
    assert due(run) is None
    assert is_paused(run)
    assert due(replace(run, most_steps=2)) == Due(RunAct.START, 1)
    assert due(a_run(S.PROPOSED, S.WAITING, most_steps=1)) == Due(RunAct.DECIDE, 0)
    assert not is_paused(a_run(S.DONE, most_steps=1))


_statuses = st.lists(st.sampled_from(list(S)), min_size=1, max_size=6)
_AFTER = {
    RunAct.START: [S.WORKING],
    RunAct.WORK: [S.TESTING, S.DONE],
    RunAct.TEST: [S.REVIEWING],
    RunAct.JUDGE: [S.PROPOSED],
    RunAct.DECIDE: [S.DONE],
}


@given(_statuses, st.sampled_from(list(Review)), st.data())
def test_each_act_brings_it_nearer_its_end(statuses: list[StepStatus], review: Review, data: st.DataObject):
    run = a_run(*statuses, review=review)
    for _ in range(len(statuses) * len(S) + 2):
        found = due(run)
        if found is None:
            break
        if found.act is RunAct.INTEGRATE:
            run = in_phase(run, RunPhase.INTEGRATING)
        elif found.act is RunAct.FINISH:
            run = in_phase(run, RunPhase.COMPLETED)
        else:
            run = with_step(run, found.step, status=data.draw(st.sampled_from(_AFTER[found.act])))
    assert run.phase is RunPhase.COMPLETED
    assert run.current_step_index == len(statuses)


@given(_statuses, st.integers(0, 5), st.sampled_from(list(S)))
def test_only_what_the_table_allows(statuses: list[StepStatus], at: int, target: StepStatus):
    at %= len(statuses)
    run = a_run(*statuses)
    if target is statuses[at] or target in STEP_TRANSITIONS[statuses[at]]:
        assert with_step(run, at, status=target).steps[at].status is target
    else:
        with pytest.raises(BadTransition):
            with_step(run, at, status=target)


@each("phase", sorted(STOPPED))
@each("before", [RunPhase.PLANNING, RunPhase.EXECUTING, RunPhase.INTEGRATING])
def test_a_stop_is_resumed_where_it_was(before: RunPhase, phase: RunPhase):
    stop = Stop(reason_code=StopCode.NO_CHANGES, message="nothing", next_action="ringi continue --retry")
    run = a_run(S.WORKING, phase=before)
    halted = stop_run(run, stop, phase)
    assert (halted.phase, halted.stop, due(halted)) == (phase, stop, None)
    assert resume_run(halted) == run


@each(
    ("statuses", "named", "place"),
    [
        ([S.PROPOSED, S.WORKING, S.WAITING], "", 1),
        ([S.PROPOSED, S.WORKING, S.WAITING], "S02", 1),
        ([S.PROPOSED, S.PROPOSED], "S02", 1),
        ([S.DONE, S.PROPOSED], "S01", 1),
        ([S.DONE, S.PROPOSED, S.PROPOSED], "", 1),
        ([S.DONE, S.DONE], "", 2),
    ],
)
@each("halted", [False, True])
def test_the_current_step_is_not_one_that_only_waits(
    statuses: list[StepStatus], named: str, place: int, halted: bool
):
    run = a_run(*statuses)
    if halted or named:
        stop = Stop(reason_code=StopCode.NO_CHANGES, message="", next_action="", step_id=named)
        run = stop_run(run, stop, RunPhase.NEEDS_INPUT)
    assert current(run) == place


def test_steps_are_made_anew_with_their_history():
    run = a_run(S.DONE, S.PROPOSED, S.WORKING, S.WAITING)
    again = anew_from(run, 1)
    assert [step.status for step in again.steps] == [S.DONE, S.WAITING, S.WAITING, S.WAITING]
    assert again.current_step_index == 1


@each("phase", sorted(OVER))
def test_what_is_over_stays_over(phase: RunPhase):
    with pytest.raises(BadTransition):
        in_phase(a_run(S.DONE, phase=phase), RunPhase.EXECUTING)
