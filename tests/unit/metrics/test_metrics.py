"""Figures of metrics, computed by hand beside ledgers that the program itself wrote."""

import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.app.store import Store
from ringi.config.keys import RoleHow
from ringi.config.rules import Value
from ringi.engine.design import TargetPath
from ringi.engine.document import (
    CompletionDocument,
    CompletionSummary,
    PlanningDocument,
    Subtask,
    TaskDecomposition,
)
from ringi.engine.process import ActionRecord, ActionState, Process
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.kernel import codec
from ringi.kernel.tokens import tokens
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.metrics.document import Figure, FigureName, Metrics, Unit, meets
from ringi.metrics.figures import share, spread
from ringi.metrics.measure import measure
from ringi.models.usage import Spent, TokenUsage
from ringi.plans.document import DropHunks, NewContent
from ringi.runs.document import Attempt, Run, StepState
from ringi.tools.effects import ErrorKind
from tests.fakes.config import config_with
from tests.fakes.models import Desk, ScriptedModel, ShownProject
from tests.helpers import approve, create, open_scratch, proposed, set_clock, undo, write
from tests.tables import each
from tests.unit.runs.run_samples import plan_of, step_of

F = FigureName
NOW = "2026-06-01T00:00:00.000000Z"
PRICED = {"llm.prices": ("openai:priced 1 10",)}


def measured(ledger: Store, root: Path, since: str = "", **values: Value) -> Metrics:
    config = config_with(**PRICED, **values)
    return measure(ledger, config, root, NOW, lambda text: text.replace("hunter2", "[masked]"), since)


def of(metrics: Metrics, name: FigureName) -> tuple[float | None, int]:
    figure = metrics.figure(name)
    return figure.value, figure.of


# ---------------------------------------------------------------- sessions


@pytest.mark.req("PP-13", "PP-21")
def test_a_session_that_was_sent_back_once_and_given_up(tmp_path: Path):
    desk = Desk(tmp_path)
    session_id = desk.at_review()
    asked = len(desk.model.asked)
    desk.tool.reject(session_id, "Use the hunter2 of the table.")
    desk.led(session_id)
    again = len(desk.model.asked) - asked
    desk.tool.cancel(session_id)
    found = measured(desk.ledger, tmp_path)
    calls = asked + again
    assert of(found, F.LLM_CALLS) == (calls, 1)
    assert found.figure(F.LLM_CALLS).parts == {"planning": calls, "execution": 0, "reflection": 0}
    assert of(found, F.TOKENS_USED) == (120 * calls, 1)
    tokens = {"input": 100 * calls, "output": 20 * calls, "cached": 0, "material": 0}
    assert found.figure(F.TOKENS_USED).parts == tokens
    assert of(found, F.API_COST) == (0.5 * calls, 1)
    assert of(found, F.PLANNING_TIME) == (0.25 * calls, 1)
    assert of(found, F.PLANNING_TOKENS) == (120 * calls, 1)
    assert of(found, F.TASK_COMPLETION_RATE) == (0.0, 1)
    assert of(found, F.FIRST_TRY_SUCCESS_RATE) == (0.0, 1)
    assert of(found, F.REVISION_RATE) == (1.0, 1)
    assert of(found, F.AVG_REVISIONS) == (1.0, 1)
    assert of(found, F.PLANNING_ACCURACY) == (None, 0)
    assert of(found, F.REJECT_RATE) == (1.0, 1)
    assert [one.text for one in found.reasons] == ["Use the [masked] of the table."]
    assert measured(desk.ledger, tmp_path, **{"logs.confidential": True}).reasons == ()


@pytest.mark.req("PP-13")
def test_the_three_times_of_planning_come_from_what_was_asked(tmp_path: Path):
    desk = Desk(tmp_path)
    desk.at_review()
    asked = [str(prompt.purpose) for prompt in desk.model.asked]
    found = measured(desk.ledger, tmp_path)
    for name, purposes in ((F.GOAL_TIME, {"files", "discovery"}), (F.DECOMPOSITION_TIME, {"design"}),
                           (F.ACTIONS_TIME, {"review"})):  # fmt: skip
        count = sum(one in purposes for one in asked)
        assert of(found, name) == (0.25 * count, 1)
        assert found.figure(name).met is True


class _Reading(ScriptedModel):
    """Is shown much of the project."""

    def ask(self, *given: Any) -> Any:
        took = TokenUsage(requests=1, input_tokens=3_000, output_tokens=50)
        return super().ask(*given)._replace(usage=took)


@pytest.mark.req("PP-13")
def test_material_of_the_project_is_not_counted_against_the_targets(tmp_path: Path):
    project = {f"src/module_{number}.py": "" for number in range(320)}
    shown = tokens("\n".join(project))
    assert 2_000 < shown < 3_000
    desk = Desk(tmp_path, _Reading(), code=ShownProject(project, whole=True))
    desk.at_review()
    calls = len(desk.model.asked)
    found = measured(desk.ledger, tmp_path)
    figure, beside = found.figure(F.PLANNING_TOKENS), 3_050 - shown
    assert (figure.value, figure.met) == (beside * calls, beside * calls < 2_000)
    assert found.figure(F.TOKENS_USED).parts["material"] == shown * calls


def test_an_open_session_is_no_finished_task(tmp_path: Path):
    desk = Desk(tmp_path)
    desk.at_review()
    found = measured(desk.ledger, tmp_path)
    completion = found.figure(F.TASK_COMPLETION_RATE)
    assert (completion.value, completion.of, completion.without) == (None, 0, 1)


@pytest.mark.req("PP-21")
def test_an_empty_ledger_has_figures_without_values(tmp_path: Path):
    found = measured(Desk(tmp_path).ledger, tmp_path)
    figures = [figure for group in found.groups for figure in group.figures]
    assert {figure.name for figure in figures} == set(FigureName)
    assert [figure.name for figure in figures if figure.value is not None] == []
    assert [figure.name for figure in figures if figure.met is not None] == []
    assert found.events == 0


# ---------------------------------------------------------------- runs


def a_run(name: str, phase: RunPhase, *steps: StepState, **more: Any) -> Run:
    return Run(
        run_id=name, planning_session_id="", phase=phase, instruction="Make it add.", steps=steps,
        created_at="2026-02-01T00:00:00.000000Z", updated_at="2026-02-01T01:00:00.000000Z", **more,
    )  # fmt: skip


def saved(ledger: Store, run: Run, *reasons: tuple[EventKind, str], steps: int = 0) -> None:
    plan = plan_of(*(step_of(number, ["AC-01"]) for number in range(1, steps + 1))) if steps else None
    if plan:
        run = replace(run, plan_sha256=codec.digest(codec.canonical(plan)))
    with ledger.transaction() as transaction:
        transaction.runs.add(run, NewEvent(EventKind.RUN_CREATED, Actor.USER), plan)
        for kind, reason in reasons:
            transaction.runs.save(run, NewEvent(kind, Actor.SYSTEM, reason))


def turn(role: RunRole, seconds: int, **more: Any) -> Attempt:
    how = more.pop("how", RoleHow.MODEL)
    return Attempt(
        role=role, how=how, who=more.pop("who", "openai:priced"), cycle=0,
        started_at="2026-02-01T00:00:00.000000Z", ended_at=f"2026-02-01T00:00:{seconds:02}.000000Z", **more,
    )  # fmt: skip


AGAIN = EventKind.RUN_ADVANCED


@pytest.mark.req("PP-13", "PP-21", "PP-26")
def test_turns_of_models_by_phase_with_their_price(tmp_path: Path):
    ledger = Desk(tmp_path).ledger
    done = StepState(
        step_id="S01", status=StepStatus.DONE, lines=10, commit="c" * 40, grant="g",
        attempts=(
            turn(RunRole.IMPLEMENTER, 10, spent=Spent(input_tokens=1_000, output_tokens=100, calls=2,
                                                     material_tokens=600)),
            turn(RunRole.REVIEWER, 4, spent=Spent(input_tokens=300, output_tokens=50, calls=1), findings=3),
            turn(RunRole.QA, 6, spent=Spent(input_tokens=900, output_tokens=50, calls=1), findings=1),
        ),
    )  # fmt: skip
    seen = StepState(
        step_id="S02", status=StepStatus.DONE, lines=30, commit="d" * 40,
        attempts=(
            turn(RunRole.IMPLEMENTER, 20, how=RoleHow.COMMAND, who="claude"),
            turn(RunRole.PLANNER, 0, spent=Spent(reused=1, saved_tokens=600)),
        ),
    )  # fmt: skip
    saved(
        ledger, a_run("20260201-000000-aaaaaa", RunPhase.COMPLETED, done, seen),
        (AGAIN, "S01: again, UNIT_TEST_FAILED"), (EventKind.RUN_STOPPED, "S02: APPROVAL_NEEDED"),
        (AGAIN, "S02: again, OUT_OF_SCOPE"), steps=2,
    )  # fmt: skip
    found = measured(ledger, tmp_path)
    calls = found.figure(F.LLM_CALLS)
    assert (calls.value, calls.without) == (4, 1)
    assert calls.parts == {"planning": 0, "execution": 2, "reflection": 2}
    assert of(found, F.TOKENS_USED) == (2_400, 1)
    cost = found.figure(F.API_COST)
    # A dollar for a million tokens read, ten for a million written.
    assert cost.value == pytest.approx((2_200 + 10 * 200) / 1_000_000)
    assert (cost.of, cost.without) == (3, 1)
    # One answer of five, and 600 tokens of 3,000, came from the cache.
    assert (of(found, F.SAVED_CALLS), of(found, F.SAVED_TOKENS)) == ((0.2, 5), (0.2, 3_000))
    assert of(found, F.EXECUTION_TIME) == (30.0, 1)
    assert of(found, F.REFLECTION_TIME) == (10.0, 1)
    assert of(found, F.TOTAL_TIME) == (40.0, 1)
    assert of(found, F.SIMPLE_TIME) == (40.0, 1)
    reflection = found.figure(F.REFLECTION_TOKENS)
    assert (reflection.value, reflection.of, reflection.met) == (650.0, 2, False)
    # What the program took is not known, so neither is the whole task.
    assert (of(found, F.TASK_TOKENS), found.figure(F.TASK_TOKENS).without) == ((None, 0), 1)
    assert of(found, F.ERROR_RECOVERY_RATE) == (1.0, 2)
    assert of(found, F.UNSEEN_STEPS) == (0.5, 2)
    # 10 and 30 lines: both between half and twice the median, which is 20.
    assert of(found, F.GRANULARITY) == (1.0, 2)
    assert of(found, F.DEPENDENCIES) == (0.5, 2)
    assert of(found, F.SUBTASKS_SIMPLE) == (2, 1)
    assert of(found, F.SUBTASKS_FIT) == (1.0, 1)
    assert of(found, F.PLANNING_ACCURACY) == (1.0, 1)


@pytest.mark.req("PP-21")
def test_a_run_that_was_planned_anew_is_one_task_with_a_revision(tmp_path: Path):
    ledger = Desk(tmp_path).ledger
    first, second = "20260201-000000-aaaaaa", "20260201-000100-bbbbbb"
    stuck = StepState(step_id="S01", status=StepStatus.WORKING)
    saved(
        ledger, a_run(first, RunPhase.FAILED, stuck, replaced_by=second),
        (EventKind.RUN_STOPPED, "S01: STEP_TOO_LARGE"), steps=1,
    )  # fmt: skip
    done = StepState(step_id="S01", status=StepStatus.DONE, lines=4)
    saved(ledger, a_run(second, RunPhase.COMPLETED, done, replaces=first), steps=2)
    found = measured(ledger, tmp_path)
    assert of(found, F.TASK_COMPLETION_RATE) == (1.0, 1)
    assert of(found, F.FIRST_TRY_SUCCESS_RATE) == (0.0, 1)
    assert of(found, F.PLANNING_ACCURACY) == (0.0, 1)
    assert of(found, F.AVG_REVISIONS) == (1.0, 1)
    assert of(found, F.ERROR_RECOVERY_RATE) == (1.0, 1)
    assert of(found, F.SUBTASKS_FIT) == (0.5, 2)
    assert [task.task for task in found.tasks] == [second]


@pytest.mark.req("PP-21")
def test_errors_of_a_run_that_is_not_over_are_not_judged_yet(tmp_path: Path):
    ledger = Desk(tmp_path).ledger
    stuck = StepState(step_id="S01", status=StepStatus.WORKING)
    stopped = (EventKind.RUN_STOPPED, "S01: UNIT_TEST_FAILED")
    saved(ledger, a_run("20260201-000000-aaaaaa", RunPhase.NEEDS_INPUT, stuck), stopped)
    assert of(measured(ledger, tmp_path), F.ERROR_RECOVERY_RATE) == (None, 0)
    saved(ledger, a_run("20260201-000000-bbbbbb", RunPhase.FAILED, stuck), stopped)
    assert of(measured(ledger, tmp_path), F.ERROR_RECOVERY_RATE) == (0.0, 1)


def test_runs_that_replace_each_other_end(tmp_path: Path):
    """Nobody writes such a ledger; whoever does gets figures all the same."""
    ledger = Desk(tmp_path).ledger
    one, two = "20260201-000000-aaaaaa", "20260201-000000-bbbbbb"
    saved(ledger, a_run(one, RunPhase.COMPLETED, replaces=two))
    saved(ledger, a_run(two, RunPhase.COMPLETED, replaces=one))
    assert of(measured(ledger, tmp_path), F.TASK_COMPLETION_RATE)[0] == 1.0


# ---------------------------------------------------------------- processes


def a_process(name: str, **more: Any) -> Process:
    return Process(process_id=name, task="Add an install section.", created_at=NOW, **more)


@pytest.mark.req("PP-13", "PP-21", "PP-26")
def test_a_task_of_its_own(tmp_path: Path):
    ledger = Desk(tmp_path).ledger
    tasks = (
        Subtask(id="task_1", description="write", writes=(TargetPath("a.md"),)),
        Subtask(id="task_2", description="check", reads=("a.md",)),
        Subtask(id="task_3", description="tell", dependencies=("task_2",)),
    )
    process = a_process(
        "one",
        plan=PlanningDocument(task_decomposition=TaskDecomposition(subtasks=tasks)),
        revised=1,
        planning=Spent(input_tokens=900, output_tokens=100, seconds=3.0, calls=1),
        execution=Spent(input_tokens=500, output_tokens=100, seconds=2.0, calls=2),
        reflection=Spent(input_tokens=700, output_tokens=100, seconds=1.0, calls=2),
        completion=CompletionDocument(summary=CompletionSummary(goal_achieved=False), done=True),
    )
    records = [
        ActionRecord(number=number, action_id=f"a{number}", task_id="task_1", tool="read", group=1,
                     state=ActionState.SUCCESS, duration_sec=2.0) for number in (1, 2)
    ]  # fmt: skip
    records.append(
        ActionRecord(number=3, action_id="a3", task_id="task_2", tool="run", state=ActionState.FAILURE,
                     error=ErrorKind.TIMEOUT, duration_sec=4.0)
    )  # fmt: skip
    with ledger.transaction() as transaction:
        transaction.processes.save(process, records, 0)
    found = measured(ledger, tmp_path)
    assert of(found, F.TASK_COMPLETION_RATE) == (1.0, 1)
    assert of(found, F.REVISION_RATE) == (1.0, 1)
    assert of(found, F.SUBTASKS_SIMPLE) == (3, 1)
    # task_2 reads what task_1 writes, and nobody said so.
    assert found.figure(F.DEPENDENCIES).value == pytest.approx(2 / 3)
    assert found.figure(F.LLM_CALLS).parts == {"planning": 1, "execution": 2, "reflection": 2}
    assert of(found, F.TASK_TOKENS) == (2_400, 1)
    assert of(found, F.REFLECTION_TOKENS) == (400, 2)
    # Two of 2 s at once and one of 4 s: 6 s instead of 8, and 2 s of the model.
    assert of(found, F.EXECUTION_TIME) == (8.0, 1)
    assert of(found, F.PARALLEL_TIME) == (0.25, 1)
    assert found.figure(F.PARALLEL_TIME).met is True
    assert of(found, F.ERROR_RECOVERY_RATE) == (1.0, 1)


def test_what_a_process_took_is_not_counted_again_in_its_turn(tmp_path: Path):
    ledger = Desk(tmp_path).ledger
    name, spent = "20260201-000000-aaaaaa", Spent(input_tokens=100, output_tokens=10, calls=1)
    step = StepState(
        step_id="S01", status=StepStatus.DONE, attempts=(turn(RunRole.IMPLEMENTER, 9, spent=spent),)
    )
    saved(ledger, a_run(name, RunPhase.COMPLETED, step))
    with ledger.transaction() as transaction:
        process = a_process("one", run_id=name, step_id="S01", execution=spent)
        transaction.processes.save(process, (), 0)
    assert of(measured(ledger, tmp_path), F.TOKENS_USED) == (110, 1)


# ---------------------------------------------------------------- people


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return open_scratch(tmp_path)


@pytest.mark.req("PP-21")
def test_how_people_decide(workspace: Workspace):
    clock = set_clock(workspace)
    yes = workspace.plan.propose_specs("One", [write("README.md", "a\n")], proposer="claude")
    clock.pass_by(60)
    approve(workspace, yes)
    workspace.plan.execute(yes)
    no = workspace.plan.propose_specs(
        "Two", [create("b.py", "def (:\n"), create("c.py", "c = 1\n")], proposer="codex"
    )
    clock.pass_by(600)
    workspace.plan.reject(no, "hunter2 is a secret")
    undo(workspace, yes)
    found = workspace.metrics()
    decision = found.figure(F.DECISION_TIME)
    assert (decision.value, decision.of, decision.p90) == (330.0, 2, 600.0)
    assert of(found, F.REJECT_RATE) == (0.5, 2)
    assert of(found, F.UNDO_RATE) == (1.0, 1)
    assert of(found, F.SYNTAX_ERRORS) == (0.5, 2)
    assert of(found, F.REVIEW_REMARKS) == (0.5, 2)
    proof = found.figure(F.STRONG_APPROVALS)
    assert (proof.value, proof.of, proof.parts) == (0.0, 2, {"typed": 2})
    assert [(one.agent, one.plans, one.approved, one.rejected, one.undone) for one in found.agents] == [
        ("claude", 1, 1, 0, 1),
        ("codex", 1, 0, 1, 0),
    ]
    assert [(one.what, one.text) for one in found.reasons] == [("p2", "hunter2 is a secret")]
    [day] = found.days
    assert (day.approved, day.granted, day.rejected, day.undone) == (1, 0, 1, 1)


@pytest.mark.req("PP-21")
def test_only_what_was_decided_since_counts_with_the_whole_wait(workspace: Workspace):
    clock = set_clock(workspace)
    plan = proposed(workspace, write("README.md", "a\n"))
    clock.pass_by(100)
    since = clock.now()
    clock.pass_by(100)
    approve(workspace, plan)
    found = workspace.metrics(since)
    assert of(found, F.DECISION_TIME) == (200.0, 1)
    assert of(found, F.REVIEW_REMARKS) == (None, 0)
    clock.pass_by(1)
    assert of(workspace.metrics(clock.now()), F.DECISION_TIME) == (None, 0)


LINES = [f"line {number}" for number in range(60)]


@pytest.mark.req("PP-21")
def test_share_of_hunks_that_a_person_dropped_or_edited(workspace: Workspace):
    (workspace.places.root / "long.txt").write_text("\n".join(LINES))
    changed = [f"{line}!" if at in {5, 30, 55} else line for at, line in enumerate(LINES)]
    specs = [write("long.txt", "\n".join(changed)), create("new.txt", "x\n")]
    plan = workspace.plan.propose_specs("Four hunks", specs, proposer="claude")
    [agent] = workspace.metrics().agents
    assert (agent.hunks, agent.dropped, agent.edited) == (4, 0, 0)
    [long, new] = workspace.plan.get(plan).state.action_specs
    workspace.plan.amend(plan, [DropHunks(long.id, (2,))])
    [agent] = workspace.metrics().agents
    assert (agent.hunks, agent.dropped, agent.edited) == (4, 1, 0)
    workspace.plan.amend(plan, [NewContent(new.id, "y\n")])
    [agent] = workspace.metrics().agents
    assert (agent.hunks, agent.dropped, agent.edited) == (4, 1, 1)
    figure = workspace.metrics().figure(F.HUNKS_CHANGED)
    assert (figure.value, figure.of, figure.parts) == (0.5, 4, {"dropped": 1, "edited": 1})


# ---------------------------------------------------------------- rules that hold for all


@pytest.mark.req("PP-21")
@given(st.lists(st.floats(0, 1e9)))
def test_median_and_p90_are_in_range(values: list[float]):
    found = spread(values)
    if not values:
        assert found == {"median": None, "p90": None}
        return
    low, high = round(min(values), 6), round(max(values), 6)
    assert low <= found["median"] <= found["p90"] <= high
    assert sum(one <= found["p90"] + 1e-6 for one in values) >= 0.9 * len(values)
    assert found["median"] == round(statistics.median(values), 6)


@pytest.mark.req("PP-21")
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_share_is_between_0_and_1_or_nothing(hits: int, of_all: int):
    value = share(hits, of_all).value
    assert (value is None) == (of_all == 0)
    assert value is None or 0 <= value <= 1


@pytest.mark.req("PP-21")
@each(
    ("value", "target", "good"),
    [
        (0.8, "80%", True), (0.79, "80%", False), (0.3, "<30%", False), (0.29, "<30%", True),
        (1.5, "<=1.5", True), (0.91, ">90%", True), (0.9, ">90%", False), (0.9, ">=90%", True),
        (3, "2-5", True), (5.1, "2-5", False), (None, "80%", None), (1, "", None), (2, "=2", True),
    ],
)  # fmt: skip
def test_targets(value: float | None, target: str, good: bool | None):
    assert meets(value, target) is good


@pytest.mark.req("PP-26")
def test_targets_words_units_and_parts_are_those_of_the_configuration(tmp_path: Path):
    values: dict[str, Value] = {
        "resource_metrics.llm_calls.measure": "asked",
        "resource_metrics.llm_calls.breakdown": ("reflection", "planning"),
        "performance_metrics.planning_time.unit": "minutes",
        "quality_metrics.task_completion_rate.calculation": "all of them",
        "quality_metrics.task_completion_rate.target": "<3",
    }
    desk = Desk(tmp_path)
    desk.tool.cancel(desk.at_review())
    found = measured(desk.ledger, tmp_path, **values)
    calls: Figure = found.figure(F.LLM_CALLS)
    assert (calls.target, calls.measure, calls.calculation) == ("", "asked", "")
    rate = found.figure(F.TASK_COMPLETION_RATE)
    assert (rate.target, rate.met, rate.measure, rate.calculation) == ("<3", True, "", "all of them")
    assert [*calls.parts][:2] == ["reflection", "planning"]
    assert (found.figure(F.PLANNING_TIME).shown_in, found.figure(F.PLANNING_TIME).unit) == (
        "minutes",
        Unit.SECONDS,
    )
