"""The loop: turns of a model, planned actions, failures, waits, and going on after a kill."""

import contextlib
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ringi.engine.document import NEEDS_PERSON
from ringi.engine.process import PROCESS_TRANSITIONS, ActionState, Process, ProcessPhase, RunFeedback, Wait
from ringi.engine.run_state import RunPhase
from ringi.errors import ModelTimeout
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.document import Run
from ringi.runs.process.coordinator import ExecutionCoordinator
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolResult
from tests.helpers import PATIENCE_SEC
from tests.unit.runs.process_desk import ProcessDesk, plan, shown

pytestmark = pytest.mark.req("PP-4", "PP-7")
RUN = "20260102-030405-0a0b0c"
EARLY = "planning.execution.early_termination.enabled"
NONE = {"planning.reflection.enabled": False}
WRITE = {"files": [{"path": "app.py", "content": "x = 1\n"}]}


def desk(tmp_path: Path, *said: Any, **more: Any) -> ProcessDesk:
    return ProcessDesk(tmp_path / "state", *said, **more)


def in_a_run(made: ProcessDesk) -> ProcessDesk:
    run = Run(run_id=RUN, planning_session_id="", phase=RunPhase.EXECUTING, instruction="", created_at="",
              updated_at="")  # fmt: skip
    with made.ledger.transaction() as transaction:
        transaction.runs.add(run, NewEvent(EventKind.RUN_CREATED, Actor.USER))
    made.task = made.task._replace(run_id=RUN)
    return made


def say(made: ProcessDesk, text: str, *, agent: bool = False) -> None:
    one = RunFeedback(feedback_id=f"f{text[:3]}", run_id=RUN, at="now", who="ann", text=text, agent=agent)
    with made.ledger.transaction() as transaction:
        transaction.processes.add_feedback(one)


@pytest.mark.parametrize("current", ProcessPhase)
def test_the_table_of_phases_decides(tmp_path: Path, current: ProcessPhase):
    for target in ProcessPhase:
        made = ProcessDesk(tmp_path / target)
        coordinator = ExecutionCoordinator(made.services())
        assert not coordinator.transition_phase(ProcessPhase.INITIAL, ProcessPhase.GOAL_UNDERSTANDING)
        waiting = Process(process_id=made.task.process_id, task="x", phase=current, waits=Wait.PERSON)
        with made.ledger.transaction() as transaction:
            transaction.processes.save(waiting, (), 0)
        made.task = made.task._replace(plan=None)
        phase = _phase_of(coordinator, made)
        allowed = target in PROCESS_TRANSITIONS[phase]
        assert coordinator.transition_phase(phase, target) is allowed
        assert coordinator.get_current_phase() is (target if allowed else phase)
        stored = made.ledger.processes.get(made.task.process_id)
        assert stored
        assert not allowed or stored.process.phase is target


def _phase_of(coordinator: ExecutionCoordinator, made: ProcessDesk) -> ProcessPhase:
    """Where a task that waits for a person is; one without a plan cannot begin."""
    with contextlib.suppress(ValueError):
        coordinator.execute_with_planning(made.task)
    return coordinator.get_current_phase()


def test_one_answer_is_enough(tmp_path: Path):
    made = desk(tmp_path, {**WRITE, "note": "the smallest change"})
    process = made.go()
    assert process.phase is ProcessPhase.COMPLETION
    assert process.completion
    assert process.completion.done
    assert process.completion.summary.key_outcomes == ("the smallest change",)
    assert process.execution.calls == 1
    assert process.execution.input_tokens == 100
    assert made.tools.files == {"app.py": "x = 1\n"}
    assert made.go() == process
    assert made.model.calls == 1


def test_it_looks_before_it_changes_and_sees_what_it_read(tmp_path: Path):
    made = desk(tmp_path, {"read": ["app.py"], "search": ["login"], "done": False}, WRITE)
    made.tools.files["app.py"] = "x = 0\n"
    assert made.go().phase is ProcessPhase.COMPLETION
    *looked, last = [name for name, _ in made.tools.called]
    assert (sorted(looked), last) == (["read", "search"], "write")  # those that only read run at once
    assert "x = 0" in shown(made.model.asked[1])
    assert "x = 0" not in shown(made.model.asked[0])


def test_a_failure_is_shown_to_the_next_turn_and_skips_what_follows(tmp_path: Path):
    answer = {"patch": "--- a\n", "run": ["pytest"]}
    made = desk(tmp_path, answer, WRITE)
    made.tools.answers["patch"] = [ToolResult("", ErrorKind.MISMATCH, "hunk 1 does not fit")]
    process = made.go()
    assert process.completion
    assert process.completion.done is True
    assert not process.completion.summary.goal_achieved, "nobody has checked it"
    assert "Nothing has checked" in str(process.completion.summary.reason)
    states = [(record.tool, record.state) for record in made.records()]
    assert states == [
        ("patch", ActionState.FAILURE),
        ("run", ActionState.SKIPPED),
        ("write", ActionState.SUCCESS),
    ]
    assert "hunk 1 does not fit" in shown(made.model.asked[1])


@pytest.mark.req("PP-9")
def test_three_failures_in_a_row_need_a_person_and_go_on_afterwards(tmp_path: Path):
    bad = {"read": ["gone.py"], "done": False}
    made = desk(tmp_path, *[bad] * 3, WRITE, config=NONE)
    process = made.go()
    assert process.waits is Wait.PERSON
    assert process.completion
    assert process.completion.status == NEEDS_PERSON
    assert process.completion.summary.recommendations
    assert made.go().phase is ProcessPhase.COMPLETION
    assert made.tools.files == {"app.py": "x = 1\n"}


def test_a_success_in_between_counts_anew(tmp_path: Path):
    bad, good = {"read": ["gone.py"], "done": False}, {"search": ["x"], "done": False}
    made = desk(tmp_path, bad, bad, good, bad, bad, WRITE, config=NONE)
    assert made.go().waits is None


def test_failures_do_not_stop_if_that_is_switched_off(tmp_path: Path):
    bad = {"read": ["gone.py"], "done": False}
    made = desk(tmp_path, *[bad] * 9, config={EARLY: False}, bounds={"most_turns": 9})
    process = made.go()
    assert process.completion
    assert "in a row" not in (process.completion.summary.reason or "")
    assert len([record for record in made.records() if record.error]) >= 3


def test_a_model_that_does_nothing_needs_a_person(tmp_path: Path):
    made = desk(tmp_path, *[{"done": False}] * 3)
    process = made.go()
    assert process.waits is Wait.PERSON
    assert made.tools.called == []


def test_turns_are_limited(tmp_path: Path):
    made = desk(tmp_path, *[{"search": ["x"], "done": False}] * 9, bounds={"most_turns": 4})
    assert made.go().waits is Wait.PERSON
    assert made.model.calls == 4


def test_the_whole_time_is_limited_also_over_several_programs(tmp_path: Path):
    def slow(_: Any) -> dict[str, Any]:
        made.seconds += 40
        return {"search": ["x"], "done": False}

    made = desk(tmp_path, slow, ModelTimeout(model="m", seconds="1"), slow, WRITE, WRITE,
                config={"planning.execution.total_timeout": 70})  # fmt: skip
    with pytest.raises(ModelTimeout):
        made.go()
    process = made.go()
    assert process.waits is Wait.PERSON
    assert process.completion
    assert "70 s (planning.execution.total_timeout)" in (process.completion.summary.reason or "")


def test_a_tool_has_no_more_time_than_the_turn(tmp_path: Path):
    made = desk(tmp_path, {"search": ["x"], "done": False}, WRITE)
    made.model.seconds = 7.0
    made.go()
    assert made.tools.seconds[0] == 7.0


def test_reading_actions_of_a_group_run_at_once_and_their_results_are_in_order(tmp_path: Path):
    together = threading.Barrier(4, timeout=PATIENCE_SEC)

    def answer(arguments: Any) -> ToolResult:
        together.wait()  # passes only if all four are under way
        return ToolResult(f"content of {arguments['path']}")

    made = desk(tmp_path, {"read": ["a", "b", "c", "d"], "done": False}, WRITE)
    made.tools.answers["read"] = [answer] * 4
    made.go()
    assert [record.result for record in made.records()[:4]] == [f"content of {name}" for name in "abcd"]


def test_planned_actions_run_without_the_model(tmp_path: Path):
    made = desk(tmp_path)
    made.task = made.task._replace(
        plan=plan(
            {"tool": "write", "arguments": {"path": "a", "content": "1"}},
            {"tool": "read", "arguments": {"path": "a"}, "extra": {"expect": "1", "requires": ["a"]}},
        )
    )
    process = made.go()
    assert process.completion
    assert process.completion.summary.tasks_completed == 2
    assert [record.action_id for record in made.records()] == ["task_1_action_1", "task_2_action_1"]
    assert made.model.calls == 0


def test_a_planned_action_without_arguments_gets_them_from_the_model(tmp_path: Path):
    made = desk(tmp_path, WRITE)
    made.task = made.task._replace(plan=plan({"tool": "write", "purpose": "the login"}, {"tool": "read",
                                             "arguments": {"path": "app.py"}}))  # fmt: skip
    assert made.go().completion
    assert [name for name, _ in made.tools.called] == ["write", "read"]
    assert "[now] task_1" in shown(made.model.asked[0])


@pytest.mark.parametrize("early", [True, False])
def test_it_ends_early_if_the_success_criteria_are_met(tmp_path: Path, early: bool):
    made = desk(tmp_path, WRITE | {"finished": True}, {"done": True}, config={EARLY: early})
    made.task = made.task._replace(plan=plan({"tool": "write"}, {"tool": "search", "purpose": "look around"}))
    process = made.go()
    assert process.completion
    assert process.completion.summary.tasks_completed == 2
    assert made.model.calls == (1 if early else 2)
    assert "finished" in made.model.asked[0].task


def test_it_does_not_end_early_after_a_failure(tmp_path: Path):
    said = {"read": ["gone.py"], "finished": True}
    made = desk(tmp_path, said, WRITE, {"done": True})
    made.task = made.task._replace(plan=plan({"tool": "write"}, {"tool": "search"}))
    made.go()
    assert made.model.calls == 3


def test_what_an_action_needs_is_looked_for_first(tmp_path: Path):
    made = desk(tmp_path, *[{"done": False}] * 5)
    action = {"tool": "read", "arguments": {"path": "a"}, "extra": {"requires": ["b"]}}
    made.task = made.task._replace(plan=plan(action))
    made.go()
    assert made.records()[0].error is ErrorKind.PRECONDITION
    assert ("read", {"path": "a"}) not in made.tools.called


def test_an_unexpected_result_and_a_side_effect_are_noticed(tmp_path: Path):
    made = desk(tmp_path, *[{"done": False}] * 9)
    made.tools.files["a"] = "1"
    made.task = made.task._replace(
        plan=plan({"tool": "read", "arguments": {"path": "a"}, "extra": {"expect": "2"}})
    )
    made.go()
    assert made.records()[0].error is ErrorKind.UNEXPECTED
    other = ProcessDesk(tmp_path / "other", WRITE, {"done": True})
    other.place.allowed = ("README.md",)
    other.go()
    assert other.records()[0].error is ErrorKind.SIDE_EFFECT
    assert "app.py" in other.records()[0].message


@pytest.mark.req("PP-7")
def test_what_tests_leave_behind_is_removed_whether_they_pass_or_not(tmp_path: Path):
    made = desk(
        tmp_path, {**WRITE, "done": False}, {"run": ["test"], "done": False}, {"run": ["test"], "done": True}
    )
    made.place.allowed = ("app.py",)
    left = {"changed": ("cache.pyc",), "tree": "[('cache.pyc', '')]"}
    failed = ToolResult("1 failed", ErrorKind.COMMAND_FAILED, "It ended with exit code 1.", **left)
    made.tools.answers["run"] = [failed, ToolResult("passed", **left)]
    made.go()
    runs = [one for one in made.records() if one.tool == "run"]
    assert [one.error for one in runs] == [ErrorKind.COMMAND_FAILED, None]
    assert [one.changed for one in runs] == [(), ()]
    assert runs[0].message == "It ended with exit code 1."
    assert "cache.pyc" in runs[1].message
    assert "cache.pyc" not in made.tools.files
    assert "cache.pyc" not in runs[-1].tree


# What changes something outside.


@pytest.mark.req("PP-15")
def test_an_outside_call_waits_for_a_person_and_is_never_called_by_the_loop(tmp_path: Path):
    said = {"call": [{"tool": "tracker_close", "arguments": '{"issue": 7}'}], "done": True}
    made = desk(tmp_path, said)
    made.tools.infos["tracker_close"] = ToolEffect.OUTSIDE
    process = made.go()
    assert process.waits is Wait.CALL
    (plan_id,) = made.person.proposed
    assert made.person.proposed[plan_id].arguments == {"issue": 7}
    assert made.go().waits is Wait.CALL
    assert list(made.person.proposed) == [plan_id]
    made.person.decided[plan_id] = ToolResult("closed")
    assert made.go().phase is ProcessPhase.COMPLETION
    assert made.tools.called == []
    assert made.records()[0].result == "closed"


@pytest.mark.req("PP-15")
def test_a_declined_call_is_told_to_the_model(tmp_path: Path):
    said = {"call": [{"tool": "tracker_close"}], "done": True}
    made = desk(tmp_path, said, {"done": True, "note": "without it"})
    made.tools.infos["tracker_close"] = ToolEffect.OUTSIDE
    made.go()
    (plan_id,) = made.person.proposed
    made.person.decided[plan_id] = ToolResult("", ErrorKind.DECLINED, "a person declined the call: no")
    process = made.go()
    assert "a person declined the call: no" in shown(made.model.asked[1])
    assert process.phase is ProcessPhase.COMPLETION


# Killed.


@pytest.mark.parametrize("killed_at", range(1, 12))
def test_killed_at_any_save_it_comes_to_the_same_end(tmp_path: Path, killed_at: int):
    """Nothing that changes the copy is done on other files than it was meant for."""
    said = [{"read": ["app.py"], "done": False}, WRITE | {"run": ["pytest"]}]

    class Killed(BaseException):
        pass

    made = desk(tmp_path, *said)
    made.tools.files["app.py"] = "x = 0\n"
    begun = made.tools.tree()
    real, count = made.ledger.transaction, 0

    def transaction() -> Any:
        nonlocal count
        count += 1
        if count == killed_at:
            raise Killed
        return real()

    services = made.services()
    store = SimpleNamespace(processes=made.ledger.processes, transaction=transaction)
    try:
        ExecutionCoordinator(services._replace(store=store)).execute_with_planning(made.task)
    except Killed:
        # Whatever it did since the last save may be there, and what it was told is lost with it.
        stored = made.ledger.processes.get(made.task.process_id)
        turns = stored.process.turns if stored else 0
        made.model.said = said[turns:]
        if not (stored and stored.process.tree):
            made.place.checkout(begun)
    process = made.go()
    assert process.phase is ProcessPhase.COMPLETION
    assert made.tools.files == {"app.py": "x = 1\n"}
    assert [record.tool for record in made.records()] == ["read", "write", "run"]
    assert {record.state for record in made.records()} == {ActionState.SUCCESS}


# What people say.


@pytest.mark.req("PP-20")
def test_words_of_a_person_reach_the_next_turn(tmp_path: Path):
    def first(_: Any) -> dict[str, Any]:
        say(made, "Use TypeScript, please")
        return {"search": ["login"], "done": False}

    made = in_a_run(desk(tmp_path, first, WRITE))
    process = made.go()
    assert process.heard == ("fUse",)
    assert "Use TypeScript, please" in shown(made.model.asked[1])
    assert process.revised == 1


@pytest.mark.req("PP-12", "PP-13")
def test_the_oldest_results_are_shortened_first_and_decisions_never(tmp_path: Path):
    said = [{"read": [f"f{at}"], "note": f"decision {at}", "done": False} for at in range(6)]
    made = desk(tmp_path, *said, WRITE, bounds={"context_tokens": 400})
    made.tools.files = {f"f{at}": f"content {at} " * 60 for at in range(6)}
    made.go()
    last = shown(made.model.asked[-1])
    assert "content 5" in last
    assert "content 0" not in last
    assert all(f"decision {at}" in last for at in range(6))


def test_an_action_costs_at_most_three_saves(tmp_path: Path):
    made = desk(tmp_path, {"read": ["a", "b", "c"], "done": False}, WRITE | {"run": ["pytest"]})
    made.tools.files = dict.fromkeys("abc", "")
    made.go()
    stored = made.ledger.processes.get(made.task.process_id)
    assert stored
    assert stored.revision <= 3 * len(stored.records)
