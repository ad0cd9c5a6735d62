"""A review drops or edits a part of a step: its tests run again on exactly what would be committed."""

from collections.abc import Iterator

import pytest

from ringi.errors import CheckFailed
from ringi.plans.answer_document import NewContent
from ringi.runs.document import RunPhase, StepStatus, StopCode
from tests.functional.beside_desk import walled
from tests.functional.desk import MENU, Desk
from tests.functional.run_desk import RunDesk, a_plan, a_step, at_home, git, project
from tests.functional.screens import Screen
from tests.helpers import approve

FILLER = "".join(f"# {number}\n" for number in range(20))
CALC = f"def add(a, b):\n    return a - b\n\n\n{FILLER}\n\ndef name():\n    return 'calc'\n"
TEST = "import calc\n\nassert calc.add(2, 3) == 5, 'it does not add'\nprint('1 passed')\n"
BOTH = "sed -i 's/a - b/a + b/; s/.calc.$/\"Calc\"/' calc.py; echo notes > notes.md"
"""Two hunks of one file, and another file."""
SCOPE = {"target_paths": ["calc.py", "notes.md"]}
# Not committed, and not in a clone: a run finds it where the person has it.
UNIT = ".venv/bin/check test_calc.py"
CHECK = '#!/bin/sh\nexec python3 -B "$PWD/$1"\n'


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunDesk]:
    with at_home(monkeypatch) as base:
        root = project(base / "project", {"calc.py": CALC, "test_calc.py": TEST, ".gitignore": ".venv\n"})
        tool = root / ".venv/bin/check"
        tool.parent.mkdir(parents=True)
        (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
        tool.write_text(CHECK)
        tool.chmod(0o755)
        made = RunDesk(root, implementer=BOTH)
        made.start(a_plan(a_step(1, scope=SCOPE, commands={"unit": [UNIT]})))
        # In a process of its own: below the one that looks after the copy, all would count as an agent's.
        done = Desk(root).process("continue", made.run_id)
        assert made.run().steps[0].status is StepStatus.PROPOSED, done.stderr
        yield made


def amend(desk: RunDesk, old: str, new: str) -> str:
    """As `e` does, without the tests; answers with the plan's id."""
    plan_id = desk.plan_of("S01")
    with desk.open() as workspace:
        there = workspace.of_plan(plan_id)
        spec = next(one for one in there.plan.get_state(plan_id).action_specs if one.base.path == "calc.py")
        text = CALC.replace("a - b", "a + b").replace("'calc'", '"Calc"')
        there.plan.amend(plan_id, [NewContent(spec.id, text.replace(old, new))])
    return plan_id


@pytest.mark.req("PT-16", "RN-10")
@walled
def test_a_hunk_dropped_on_the_screen_is_tested_before_the_commit(desk: RunDesk) -> None:
    with Screen.ringi(desk.root, "continue", columns=100, rows=40) as screen:
        screen.wait(r"\[a\]pply")
        screen.press("n", "d")
        seen = screen.wait("tests passed|tests not run|failed with")
        assert "tests passed: 1 passed" in seen, seen
        screen.press("a")
        screen.wait("Subject:")
        screen.press("enter")
        screen.wait("Acceptance criteria")
        assert screen.exit_code == 0
    run = desk.run()
    [step] = run.steps
    assert (run.phase, step.plan_version) == (RunPhase.COMPLETED, 2)
    assert '"Calc"' not in desk.file("calc.py")
    assert [(one.command, one.exit_code, one.tree, one.sandboxed) for one in step.evidence] == [
        (UNIT, 0, step.tree, True)
    ]


@pytest.mark.req("PT-16", "RN-10")
@walled
def test_what_breaks_the_tests_is_not_committed_from_a_review(desk: RunDesk) -> None:
    with Screen.ringi(desk.root, "continue", columns=100, rows=40) as screen:
        screen.wait(r"\[a\]pply")
        screen.press("d")  # the hunk that mends it
        assert "failed with exit code 1" in screen.wait("it does not add")
        screen.press("a")
        screen.wait("committed only if its tests pass")
        screen.press("u")
        screen.wait("tests passed: 1 passed")
        screen.press("a")
        screen.wait("Subject:")
        screen.press("enter")
        screen.wait("Acceptance criteria")
        assert screen.exit_code == 0
    assert "a + b" in desk.file("calc.py")


@pytest.mark.req("PT-16", "RN-10")
@walled
def test_a_line_edited_in_the_dialogue_outside_of_the_run_is_tested(desk: RunDesk) -> None:
    terminal = Desk(desk.root).terminal("review", "p1", "--plain")
    terminal.answer(MENU, "e")
    terminal.answer("As 2:14", "1:2")
    terminal.answer("The line instead", "    return b + a")
    assert "tests passed: 1 passed" in terminal.answer(MENU, "a")
    terminal.answer("The line instead", "")  # the subject of the commit, as it is
    assert terminal.end()[0] == 0
    assert "b + a" in desk.file("calc.py")
    run = desk.go()
    assert run.phase is RunPhase.COMPLETED, run.stop
    assert [one.tree for one in run.steps[0].evidence] == [run.steps[0].tree]


@pytest.mark.req("PT-16", "RN-10")
@walled
def test_what_amend_changes_is_tested_and_red_stops_the_commit(desk: RunDesk) -> None:
    there = Desk(desk.root)
    done = there.run("amend", "p1", "--drop", "calc.py#1")
    assert "it does not add" in done.stdout + done.stderr
    assert "failed with exit code 1" in done.stdout + done.stderr
    plan_id = desk.plan_of("S01")
    with desk.open() as workspace:
        approve(workspace.of_plan(plan_id), plan_id)
    executed = there.run("execute", "p1")
    assert (executed.returncode, "nothing was changed" in executed.stderr) == (6, True), executed.stderr
    done = there.run("continue")
    assert done.returncode == 6, done.stderr
    assert "nothing was committed" in done.stdout
    assert "→ ringi review p1" in done.stdout
    run = desk.run()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code) == (RunPhase.NEEDS_INPUT, StopCode.UNIT_TEST_FAILED)
    assert "it does not add" in run.stop.detail
    assert git(desk.root, "branch", "--list", "aiflow/*") == ""
    # What was dropped goes back in, and the run goes on.
    amend(desk, "", "")
    with desk.open() as workspace:
        approve(workspace.of_plan(plan_id), plan_id)
    assert desk.go().phase is RunPhase.COMPLETED
    assert "a + b" in desk.file("calc.py")


@pytest.mark.req("PT-16", "RN-10")
@walled
def test_without_any_test_in_the_review_they_run_before_it_is_written(desk: RunDesk) -> None:
    plan_id = amend(desk, "a + b", "a * b")
    with desk.open() as workspace:
        there = workspace.of_plan(plan_id)
        approve(there, plan_id)
        with pytest.raises(CheckFailed):
            there.plan.execute(plan_id)
    assert git(desk.root, "branch", "--list", "aiflow/*") == ""
    amend(desk, "a + b", "b + a")
    run = desk.decide("S01")
    assert run.phase is RunPhase.COMPLETED
    assert [(one.exit_code, one.tree) for one in run.steps[0].evidence] == [(0, run.steps[0].tree)]


@pytest.mark.req("PT-16")
@walled
def test_it_is_tested_on_the_branch_and_not_on_what_the_person_writes_meanwhile(desk: RunDesk) -> None:
    """An editable install leads to the project's own folder, where other bytes are by now."""
    (desk.root / "calc.py").write_text(CALC.replace("a - b", "a + b"))
    (desk.root / "test_calc.py").write_text("print('0 passed')\n")
    (desk.root / "sitecustomize.py").write_text("raise SystemExit(3)\n")
    tool = desk.root / ".venv/bin/check"
    tool.write_text(f"#!/bin/sh\ncd {desk.root}\nexec python3 -B {desk.root}/$1\n")
    done = Desk(desk.root).run("amend", "p1", "--drop", "calc.py#1")
    assert "it does not add" in done.stdout + done.stderr
    done = Desk(desk.root).run("amend", "p1", "--drop", "notes.md")
    assert "it does not add" in done.stdout + done.stderr
