"""Which commands a step has to pass, and what is missing before it begins."""

import pytest
from msgspec.structs import replace

from ringi.engine.run_plan import CriterionType, RunPlan, RunStep, e2e_commands
from ringi.runs.document import Run, StopCode
from ringi.runs.gates import find_obstacle, find_stop_condition, unit_commands
from tests.tables import each
from tests.unit.runs.plans import a_plan, a_step
from tests.unit.runs.test_machine import a_run

RUN = a_run()
NO_COMMANDS = {"unit": (), "e2e": ()}


def told(plan: RunPlan, **instructions: object) -> RunPlan:
    return replace(plan, context=replace(plan.context, test_instructions=instructions))


def regression(plan: RunPlan) -> RunPlan:
    criteria = tuple(replace(one, type=CriterionType.REGRESSION) for one in plan.context.acceptance_criteria)
    gates = replace(plan.gates, require_e2e_for_regression_ac=True)
    return replace(plan, context=replace(plan.context, acceptance_criteria=criteria), gates=gates)


def code(run: Run, plan: RunPlan) -> StopCode | None:
    stop = find_obstacle(run, plan)
    return stop.reason_code if stop else None


@pytest.mark.req("RN-8")
def test_the_steps_own_command_then_the_plans_then_the_persons():
    step = a_step(commands={"unit": ("make a", "make b")})
    assert unit_commands(RUN, a_plan(step), step) == ("make a", "make b")
    step = a_step(commands=NO_COMMANDS)
    plan = told(a_plan(step), unit="make test\n\n make lint ")
    assert unit_commands(RUN, plan, step) == ("make test", "make lint")
    assert unit_commands(RUN, told(plan, unit=["x"]), step) == ("x",)
    run = replace(RUN, tests=("pytest",))
    assert unit_commands(run, told(plan, unit=""), step) == ("pytest",)


@pytest.mark.req("RN-8")
def test_tests_have_to_pass_so_there_must_be_some():
    step = a_step(commands=NO_COMMANDS)
    plan = told(a_plan(step), unit="", e2e="")
    assert code(RUN, plan) is StopCode.NO_UNIT_COMMAND
    assert code(replace(RUN, tests=("true",)), plan) is None
    lax = replace(plan, gates=replace(plan.gates, require_unit_pass=False))
    assert code(RUN, lax) is None


@pytest.mark.req("RN-8")
def test_a_regression_criterion_wants_an_end_to_end_test():
    step = a_step(commands={"e2e": ()})
    plan = regression(told(a_plan(step), unit="true", e2e=""))
    assert code(RUN, plan) is StopCode.E2E_REQUIRED
    with_one = told(plan, unit="true", e2e="make e2e")
    assert code(RUN, with_one) is None
    assert e2e_commands(with_one, step) == ("make e2e",)
    unlinked: RunStep = replace(step, links_to_ac=())
    assert code(RUN, replace(plan, steps=(unlinked,))) is None
    assert e2e_commands(with_one, unlinked) == ()


@each("condition", ["UNIT_TEST_FAILED", "stop if unit test failed", "UNIT_TEST_FAILED: stop"])
def test_a_step_can_say_where_it_stops(condition: str):
    step = a_step(stop_conditions=(condition,))
    assert find_stop_condition(step, StopCode.UNIT_TEST_FAILED)
    assert not find_stop_condition(step, StopCode.OUT_OF_SCOPE)
    assert not find_stop_condition(a_step(), StopCode.UNIT_TEST_FAILED)


def test_a_step_that_may_change_none_of_its_paths():
    scope = {"target_paths": ("src/a", "src/b.py"), "forbidden_paths": ("src",)}
    assert code(RUN, a_plan(a_step(scope=scope))) is StopCode.INPUT_CONTRADICTION
    assert code(RUN, a_plan(a_step(scope={**scope, "forbidden_paths": ("src/a",)}))) is None
