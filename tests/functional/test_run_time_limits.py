"""Which limit ends what, and that whoever hits one is told which setting moves it, and what it is now."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringi.engine.run_plan import RunRole
from ringi.errors import ModelTimeout, RoleTimeout
from ringi.models.prompt import Budget, ModelAnswer, NewVerdict, Prompt
from ringi.models.usage import Purpose, TokenUsage
from ringi.runs.document import StopCode
from ringi.runs.role_model import BudgetedModel, ModelLimits, TurnTime
from tests.fakes.model_server import ModelServer, Never
from tests.functional.beside_desk import walled
from tests.functional.role_desk import RoleDesk, role_desk
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, project

pytestmark = pytest.mark.req("RN-6", "RN-9")
FOR_EVER = "while :; do sleep 0.1; done"
QUESTION = Prompt(Purpose.VERDICT, "rules", ())


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[RoleDesk]:
    with role_desk(monkeypatch, first_commit) as made:
        yield made


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project")


# A role


def test_a_command_that_takes_too_long_is_told_whose_limit_it_was(desk: RoleDesk):
    desk.configure(reviewer={"command": desk.script("maker", FOR_EVER), "timeout_sec": 1})
    desk.change()
    done = desk.judge(RunRole.REVIEWER)
    assert (done.timed_out, done.code) == (True, StopCode.ROLE_TIMEOUT)
    assert "did not end within 1 s (roles.reviewer.timeout_sec)" in str(done.problem)


@walled
def test_the_plans_limit_is_for_tests_and_ends_no_role(root: Path):
    desk = RunDesk(root, implementer=f"sleep 1.5; {FIX}")
    desk.start(a_plan(a_step(1), limits={"timeout_sec": 1}))
    run = desk.go()
    [attempt] = run.steps[0].attempts
    assert (attempt.exit_code, attempt.problem) == (0, "")


# A model in a role


def ask_model(desk: RoleDesk, server: ModelServer, llm: float, turn: float) -> Any:
    desk.environment = dict(server.environment())
    desk.configure(
        implementer={"model": "openai:gpt-5", "timeout_sec": turn},
        llm={"base_url": f"{server.url}/v1", "timeout_sec": llm},
    )
    return desk.work()


def test_a_whole_turn_of_a_model_that_takes_too_long(desk: RoleDesk):
    with ModelServer([Never()]) as server:
        done = ask_model(desk, server, 600, 1)
    assert (done.timed_out, done.code) == (True, StopCode.ROLE_TIMEOUT)
    assert "did not end within 1 s (roles.implementer.timeout_sec)" in str(done.problem)
    assert "llm.timeout_sec" not in str(done.problem)


class Slow:
    """A model that takes its time, by a clock that only it moves."""

    name = "slow"
    sees_project = False

    def __init__(self, *takes: float) -> None:
        self.now = 0.0
        self.takes = list(takes)
        self.budgets: list[Budget] = []

    def monotonic(self) -> float:
        return self.now

    def ask(self, prompt: Prompt, kind: type, budget: Budget, on_progress: object) -> ModelAnswer[Any]:
        del prompt, kind, on_progress
        self.budgets.append(budget)
        needed = self.takes.pop(0)
        self.now += min(needed, budget.seconds)
        if needed > budget.seconds:
            raise ModelTimeout(model=self.name, seconds=f"{budget.seconds:g}", key=budget.key)
        return ModelAnswer(NewVerdict(True), TokenUsage(), (), self.name)

    def caller(self, question: float, turn: float) -> BudgetedModel:
        time = TurnTime("roles.qa.timeout_sec", turn, self.monotonic)
        return BudgetedModel(self, ModelLimits((), None), Budget(question, 100), time)


def test_questions_share_the_time_of_the_turn():
    model = Slow(100, 100, 100)
    caller = model.caller(question=120, turn=250)
    for _ in range(2):
        caller.ask(QUESTION, NewVerdict)
    assert caller.seconds_left() == 50
    with pytest.raises(RoleTimeout) as caught:
        caller.ask(QUESTION, NewVerdict)
    assert [one.seconds for one in model.budgets] == [120, 120, 50]
    assert str(caught.value) == "slow did not end within 250 s (roles.qa.timeout_sec)."
    with pytest.raises(RoleTimeout):  # nothing is asked when the time is up
        caller.ask(QUESTION, NewVerdict)
    assert len(model.budgets) == 3


def test_a_question_keeps_its_own_limit_within_the_turn():
    model = Slow(240, 700)
    caller = model.caller(question=600, turn=3_600)
    caller.ask(QUESTION, NewVerdict)
    with pytest.raises(ModelTimeout) as caught:
        caller.ask(QUESTION, NewVerdict)
    assert str(caught.value) == "slow did not answer within 600 seconds (llm.timeout_sec)."


# What a run tests with


@walled
@pytest.mark.parametrize(
    ("limits", "checks", "told", "then"),
    [
        ({"timeout_sec": 1}, "", "1 s (limits.timeout_sec of the plan)", "raise limits.timeout_sec in"),
        ({}, "checks: {after: [sleep 600], timeout_sec: 1}\n", "1 s (checks.timeout_sec)", "raise checks."),
    ],
)
def test_a_test_that_takes_too_long(root: Path, limits: dict[str, Any], checks: str, told: str, then: str):
    desk = RunDesk(root, implementer=FIX)
    command = f"{desk.scripts / 'implementer'} {{brief}}"
    desk.configure(f"roles:\n  implementer:\n    command: {command}\n{checks}")
    unit = "true" if checks else "sleep 600"
    desk.start(a_plan(a_step(1, commands={"unit": [unit]}), limits={"max_autofix_cycles": 0, **limits}))
    stop = desk.go().stop
    assert stop
    assert stop.reason_code is StopCode.TEST_TIMEOUT
    assert told in str(stop.why)
    assert then in str(stop.todo)


def test_tests_of_a_plan_made_here_have_the_time_of_checks(root: Path):
    desk = RunDesk(root)
    desk.configure("checks: {timeout_sec: 77}\n")
    with desk.open() as workspace:
        assert workspace.outline("Add a line").planning_json.limits.timeout_sec == 77
