"""--test and --allow in every state of a run: they act, or it is said why not and which command would."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import NoChannel, NotAmended, RunOver
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.document import NewContent
from ringi.runs.document import Run, RunEvent, StopCode
from ringi.runs.drive import RunOptions, cancel_run, run_steps
from tests.fakes.people import AgentAtWork
from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.run_desk import CALC, FIX, UNIT, RunDesk, a_plan, a_step, at_home, git, project
from tests.helpers import rewinding

# Whoever may change extra.py does so: the brief names what a step may change.
ROLE = f'{FIX}; if grep -q "^- .extra.py" "$1"; then echo "x = 1" > extra.py; fi'
OTHER = "python3 -B test_calc.py"
RED = "python3 no_such_tests.py"
FORBIDDEN = {"target_paths": ["calc.py"], "forbidden_paths": ["setup.py"]}

pytestmark = walled


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project")


def begin(
    root: Path, role: str = ROLE, *steps: dict[str, Any], approved: bool = True, **fields: Any
) -> RunDesk:
    desk = RunDesk(root, **({"implementer": role} if role else {}))
    desk.start(a_plan(*(steps or (a_step(1, scope=FORBIDDEN),)), **fields), approved=approved)
    return desk


def cut_off(desk: RunDesk, at: str) -> None:
    """As by Ctrl-C, once this is said."""

    def hear(event: RunEvent) -> None:
        if at in str(event.what):
            raise KeyboardInterrupt

    with desk.open() as workspace, pytest.raises(KeyboardInterrupt):
        run_steps(workspace, desk.run_id, RunOptions(), hear)


def unapproved(root: Path) -> RunDesk:
    return begin(root, approved=False)


def approved(root: Path) -> RunDesk:
    return begin(root)


def without_tests(root: Path) -> RunDesk:
    desk = begin(root, ROLE, a_step(1, commands={}))
    assert stopped(desk.go()) is StopCode.NO_UNIT_COMMAND
    return desk


def interrupted_at_work(root: Path) -> RunDesk:
    desk = begin(root)
    cut_off(desk, "implementer works")
    return desk


def interrupted_in_its_tests(root: Path) -> RunDesk:
    desk = begin(root)
    cut_off(desk, "running python3")
    return desk


def waiting(root: Path) -> RunDesk:
    desk = begin(root)
    assert stopped(desk.go()) is StopCode.APPROVAL_NEEDED
    return desk


def changed_in_a_review(root: Path) -> RunDesk:
    desk = waiting(root)
    with desk.open() as workspace:
        there = workspace.of_plan(desk.plan_of("S01"))
        [spec] = there.plan.get_state(desk.plan_of("S01")).action_specs
        there.plan.amend(desk.plan_of("S01"), [NewContent(spec.id, CALC.replace("a - b", "b + a"))])
    return desk


def failed_in_its_tests(root: Path) -> RunDesk:
    desk = begin(root, ROLE, a_step(1, commands={"unit": [RED]}), limits={"max_autofix_cycles": 0})
    assert stopped(desk.go()) is StopCode.UNIT_TEST_FAILED
    return desk


def failed_end_to_end(root: Path) -> RunDesk:
    step = a_step(1, commands={"unit": [UNIT], "e2e": [RED]})
    desk = begin(root, ROLE, step, limits={"max_autofix_cycles": 0})
    assert stopped(desk.go()) is StopCode.E2E_FAILED
    return desk


def out_of_scope(root: Path) -> RunDesk:
    desk = begin(root, f"{FIX}; echo 'x = 1' > extra.py", limits={"max_autofix_cycles": 0})
    assert stopped(desk.go()) is StopCode.OUT_OF_SCOPE
    return desk


def too_large(root: Path) -> RunDesk:
    step = a_step(1, scope={"max_diff_lines": 1})
    desk = begin(root, ROLE, step, gates={"max_step_too_large_retries": 0})
    assert stopped(desk.go()) is StopCode.STEP_TOO_LARGE
    return desk


def thrown_away(root: Path) -> RunDesk:
    desk = waiting(root)
    with desk.open() as workspace:
        workspace.of_plan(desk.plan_of("S01")).plan.discard(desk.plan_of("S01"))
    assert stopped(desk.go()) is StopCode.DECLINED
    return desk


def a_persons_turn(root: Path) -> RunDesk:
    desk = begin(root, "")
    desk.configure("roles:\n  implementer:\n    how: person\n")
    run = desk.go()
    assert stopped(run) is StopCode.PERSON_NEEDED
    calc = desk.copy_of(run) / "calc.py"
    calc.write_text(CALC.replace("a - b", "a + b"))
    (calc.parent / "extra.py").write_text("x = 1\n")
    return desk


def paused(root: Path) -> RunDesk:
    desk = begin(root, ROLE, a_step(1), a_step(2, scope={"target_paths": ["notes.md"]}))
    desk.scripts.joinpath("implementer").write_text(
        f'#!/bin/sh\ncase "$(head -n 5 $1)" in *S01*) {FIX};; *) echo n > notes.md;; esac\n'
        'if grep -q "^- .extra.py" "$1"; then echo "x = 1" > extra.py; fi\n'
    )
    desk.go(max_steps=1)
    run = desk.decide("S01")
    assert (run.phase, run.stop) == (RunPhase.EXECUTING, None)
    return desk


def completed(root: Path) -> RunDesk:
    desk = waiting(root)
    assert desk.decide("S01").phase is RunPhase.COMPLETED
    return desk


def all_done(root: Path) -> RunDesk:
    """Cut off between its last step and its end."""
    desk = completed(root)
    with desk.open() as workspace:
        run, revision = workspace.store.runs.get_stored(desk.run_id)
        with workspace.store.transaction() as transaction:
            event = NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM, "integrating")
            transaction.runs.save(replace(run, phase=RunPhase.INTEGRATING), event, revision)
    return desk


def cancelled(root: Path) -> RunDesk:
    desk = waiting(root)
    with desk.open() as workspace:
        cancel_run(workspace, desk.run_id)
    return desk


def stopped(run: Run) -> StopCode:
    assert run.stop is not None, run.phase
    return run.stop.reason_code


ACTS = ""
RETRY = r"ringi continue \S+ --retry --{option} "
OVER = 'ringi run "…"'
STATES: dict[Callable[[Path], RunDesk], tuple[str, str]] = {
    # What --test does, what --allow does: acts, or the command that is named.
    unapproved: (ACTS, ACTS),
    approved: (ACTS, ACTS),
    without_tests: (ACTS, "ringi continue \\S+ --test"),
    interrupted_at_work: (ACTS, ACTS),
    interrupted_in_its_tests: (ACTS, ACTS),
    waiting: (ACTS, ACTS),
    changed_in_a_review: ("ringi review p1", ACTS),
    failed_in_its_tests: (ACTS, RETRY),
    failed_end_to_end: (RETRY, RETRY),
    out_of_scope: (ACTS, ACTS),
    too_large: (RETRY, RETRY),
    thrown_away: (RETRY, RETRY),
    a_persons_turn: (ACTS, ACTS),
    paused: (ACTS, ACTS),
    all_done: ("ringi continue ", "ringi continue "),
    completed: (OVER, OVER),
    cancelled: (OVER, OVER),
}


def give(desk: RunDesk, **options: Any) -> Run | str:
    """The run afterwards, or what was said instead."""
    try:
        run = desk.go(**options)
    except (NotAmended, RunOver) as error:
        return error.hint.format(**error.details)
    if run.stop and run.stop.reason_code is StopCode.APPROVAL_NEEDED and not run.steps[0].base_tree:
        desk.approve_plan()
        run = desk.go()
    return run


def assert_refused(desk: RunDesk, option: str, said: str, **options: Any) -> None:
    """It is said what would do it, and nothing is half recorded."""
    before = desk.run()
    found = give(desk, **options)
    words = found if isinstance(found, str) else found.stop and found.stop.next_action
    assert words
    assert re.search(said.format(option=option), words), words
    if isinstance(found, str):
        assert desk.run() == before


RETRIED = {failed_in_its_tests, failed_end_to_end, too_large, thrown_away, waiting}


@pytest.mark.req("RN-6", "RN-8", "RN-10")
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_each_option_acts_or_is_refused_with_the_command_that_would(
    root: Path, state: Callable[[Path], RunDesk]
) -> None:
    desk, (of_tests, of_paths) = state(root), STATES[state]
    with rewinding(root.parent) as rewind:
        if of_tests:
            assert_refused(desk, "test", of_tests, tests=(OTHER,))
        else:
            assert_test_is_added(desk, state)
        rewind()
        if of_paths:
            assert_refused(desk, "allow", of_paths, allow=("extra.py",))
        else:
            assert_path_is_allowed(desk, state)
        if state in RETRIED:
            rewind()
            assert_retry_takes_both(desk, state)


def assert_test_is_added(desk: RunDesk, state: Callable[[Path], RunDesk]) -> None:
    found = give(desk, tests=(OTHER,))
    assert isinstance(found, Run), found
    step = found.steps[-1]
    if state in {out_of_scope, a_persons_turn}:  # extra.py still has to be allowed
        step = desk.go(allow=("extra.py",)).steps[-1]
    assert [one.command for one in step.evidence] == [OTHER], found.stop
    assert step.status is StepStatus.PROPOSED


def assert_path_is_allowed(desk: RunDesk, state: Callable[[Path], RunDesk]) -> None:
    found = give(desk, allow=("extra.py",))
    assert isinstance(found, Run), found
    assert found.allowed == ("extra.py",)
    if state in {waiting, changed_in_a_review, interrupted_in_its_tests}:  # from the next turn on
        with desk.open() as workspace:
            workspace.of_plan(desk.plan_of("S01")).plan.reject(desk.plan_of("S01"), "Add extra.py, too.")
        found = desk.go()
    assert found.steps[-1].status is StepStatus.PROPOSED, found.stop
    with desk.open() as workspace:
        specs = workspace.plan.get_state(desk.plan_of(found.steps[-1].step_id)).action_specs
    assert "extra.py" in [one.base.path for one in specs]


def assert_retry_takes_both(desk: RunDesk, state: Callable[[Path], RunDesk]) -> None:
    run = desk.go(retry=True, tests=(OTHER,), allow=("extra.py",))
    step = run.steps[0]
    assert (step.files, run.tests, run.allowed) == (2, (OTHER,), ("extra.py",)), run.stop
    if state is not too_large:
        assert step.evidence[0].command == OTHER


@pytest.mark.req("RN-6")
def test_a_path_that_no_step_may_get(root: Path) -> None:
    desk = out_of_scope(root)
    for allow, why in (
        ("setup.py", "forbids step S01"),
        ("../x", "no path inside"),
        ("/etc/passwd", "no path inside"),
        ("", "''"),
    ):
        with pytest.raises(NotAmended, match=re.escape(why)):
            desk.go(allow=(allow,))
        assert desk.run().allowed == (), allow


@pytest.mark.req("RN-6")
def test_a_path_that_is_allowed_already_changes_nothing(root: Path) -> None:
    desk, there = waiting(root), Desk(root)
    assert desk.go(allow=("extra",)).allowed == ("extra",)
    before = desk.run()
    for path in ("extra", "extra/more.py", "calc.py"):  # given before, inside of it, in the plan
        done = there.run("continue", desk.run_id, "--allow", path)
        assert done.returncode == 6
        assert f"the steps may change {path} already" in " ".join(done.stderr.split())
        assert f"ringi continue {desk.run_id}" in done.stderr
        assert "may also change" not in done.stdout + done.stderr
    assert desk.run() == before
    said = list[str]()
    with desk.open() as workspace:
        options = RunOptions(allow=("extra", "notes.md"))
        run_steps(workspace, desk.run_id, options, lambda event: said.append(str(event.what)))
    assert (desk.run().allowed, said[0]) == (("extra", "notes.md"), "the steps may also change notes.md")
    with desk.open() as workspace:
        reasons = [one.event.reason for one in workspace.store.events(desk.run_id)]
    assert "continued, --allow notes.md" in reasons


def test_a_path_is_meant_as_it_is_typed(root: Path) -> None:
    desk = out_of_scope(root)
    run = desk.go(allow=(f"{root}/./extra.py",))
    assert (run.allowed, run.steps[0].status) == (("extra.py",), StepStatus.PROPOSED)


def test_an_agent_adds_nothing(root: Path) -> None:
    desk = failed_in_its_tests(root)
    desk.person = AgentAtWork()
    with pytest.raises(NoChannel):
        desk.go(tests=("true",))
    assert desk.run().tests == ()


@pytest.mark.req("RN-12")
def test_the_log_and_the_report_name_what_was_added(root: Path) -> None:
    desk = failed_in_its_tests(root)
    done = Desk(root).run("continue", "--test", OTHER)
    assert f"the steps are tested with {OTHER} instead of what the plan names" in done.stdout
    report = Desk(root).run("report").stdout
    assert f"`{OTHER}`" in report
    assert "instead of what the plan names" in report
    assert f"--test {OTHER}" in Desk(root).run("log", desk.run_id).stdout
    planned = next(root.glob(".agent/runs/*/*/planning.json")).read_text()
    assert RED in planned
    assert OTHER not in planned
    assert git(root, "status", "--porcelain") == ""
