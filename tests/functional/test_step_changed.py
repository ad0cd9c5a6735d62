"""A review drops or edits a part of a step: its tests run again on exactly what would be committed."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import CheckFailed
from ringi.forges.progress import describe_run
from ringi.plans.document import NewContent
from ringi.runs.changed_steps import follow_plans
from ringi.runs.document import StopCode
from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.run_desk import RunDesk, a_plan, a_step, at_home, by_step, git, project
from tests.functional.screens import Screen
from tests.functional.warm import RINGI
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
        seen = screen.wait(r"exit code 0, \d|tests not run|failed with")
        assert "tests: exit code 0, 1 passed" in seen, seen
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
        screen.wait("tests: exit code 0, 1 passed")
        screen.press("a")
        screen.wait("Subject:")
        screen.press("enter")
        screen.wait("Acceptance criteria")
        assert screen.exit_code == 0
    assert "a + b" in desk.file("calc.py")


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


# What is said about the step until its run goes on.

# Without spaces: a line may be folded anywhere.
TOLD = r"test\\?_calc\.py`?[:,、](?:exitcode|終了コード){code}(?!\d)"
PASSED = re.compile(rf"tests:exitcode0|テスト:終了コード0|{TOLD.format(code=0)}")
FAILED = re.compile(rf"test\\?_calc\.py(?:failed|は失敗)|{TOLD.format(code=1)}")
UNTESTED = re.compile("changedsinceitwastested|テスト後に変更あり")


def said(desk: RunDesk, *, files: bool = True) -> dict[str, str]:
    """Everything that shows the run, in both languages; with the files that are written for people."""
    there, found = Desk(desk.root), dict[str, str]()
    for language in ("en", "ja"):
        for words in (["status", desk.run_id], ["report"]):
            found[f"{language} {words[0]}"] = there.run("--lang", language, *words).stdout
            found[f"{language} {words[0]} --json"] = there.run("--lang", language, "--json", *words).stdout
    with desk.open() as workspace:
        run, plan = workspace.store.runs.get(desk.run_id), workspace.store.runs.plan(desk.run_id)
        found["forge"] = describe_run(follow_plans(workspace.store, run, plan), plan).body
    for name in ("report.md", "stage.json") if files else ():
        [path] = desk.root.glob(f".agent/runs/*/*/{name}")
        found[name] = path.read_text()
    return {name: text if text.startswith("{") else "".join(text.split()) for name, text in found.items()}


def steps_in(found: dict[str, str]) -> dict[str, Any]:
    """The step in each of the documents."""
    steps = {name: json.loads(text)["steps"][0] for name, text in found.items() if text.startswith("{")}
    assert len(steps) >= 4
    return steps


def claims(found: dict[str, str]) -> list[str]:
    """Where the tests are said to have passed."""
    shown = [name for name, text in found.items() if PASSED.search(text)]
    ran = {name: step.get("evidence", []) for name, step in steps_in(found).items()}
    return [*shown, *(name for name, results in ran.items() if any(not one["exit_code"] for one in results))]


def require_untested(desk: RunDesk, *, files: bool = True) -> None:
    found = said(desk, files=files)
    assert not claims(found)
    for name, text in found.items():
        assert UNTESTED.search(text) or text.startswith("{"), name
    for name, step in steps_in(found).items():
        assert step["changed_since_tested"] is True, name


def require_failed(desk: RunDesk) -> None:
    found = said(desk)
    assert not claims(found)
    for name, text in found.items():
        assert FAILED.search(text) or text.startswith("{"), name
    for name, step in steps_in(found).items():
        assert [(one["command"], one["exit_code"]) for one in step["evidence"]] == [(UNIT, 1)], name
        assert "changed_since_tested" not in step


@pytest.mark.req("RN-10", "RN-12")
@walled
def test_a_dropped_hunk_takes_its_passed_tests_along(desk: RunDesk) -> None:
    assert len(claims(said(desk))) > 10
    there = Desk(desk.root)
    assert there.run("amend", "p1", "--drop", "calc.py#1", "--no-check").returncode == 0
    require_untested(desk)
    assert "2 files, 3 lines" in there.run("status", desk.run_id).stdout
    there.run("amend", "p1", "--drop", "notes.md")
    require_failed(desk)


@pytest.mark.req("RN-10")
@walled
def test_who_is_killed_between_an_edit_and_its_tests_leaves_it_untested(desk: RunDesk) -> None:
    (desk.root / ".venv/bin/check").write_text("#!/bin/sh\nexec sleep 100\n")
    words = [*RINGI, "amend", "p1", "--drop", "notes.md"]
    with subprocess.Popen(words, cwd=desk.root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "version 2" in process.stdout.readline()
        process.kill()
    require_untested(desk, files=False)  # whoever commits next writes them


# Steps that were tested together.

APART = "import a, b\n\nassert (a.X, b.Y) not in {(2, 9), (3, 2)}, 'not together'\n"


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunDesk]:
    with at_home(monkeypatch) as base:
        files = {"a.py": "X = 1\n", "b.py": "Y = 1\n", "test_calc.py": APART}
        made = RunDesk(
            project(base / "project", files), implementer=by_step("echo X = 2 > a.py", "echo Y = 2 > b.py")
        )
        steps = [a_step(at, scope={"target_paths": [name]}) for at, name in enumerate(("a.py", "b.py"), 1)]
        made.start(a_plan(*steps))
        done = Desk(made.root).process("continue", made.run_id)
        assert " ".join(done.stdout.split()).count("tests: exit code 0") == 2, done.stdout
        yield made


def write(desk: RunDesk, plan: str, name: str, text: str) -> str:
    new = desk.root.parent / "new"
    new.write_text(text)
    return Desk(desk.root).run("amend", plan, "--write", f"{name}={new}").stdout


def carry_out(desk: RunDesk, step_id: str, *, tested: bool = True) -> int:
    plan_id = desk.plan_of(step_id)
    with desk.open() as workspace:
        approve(workspace.of_plan(plan_id), plan_id)
        name = workspace.plan_name(plan_id)
    done = Desk(desk.root).run("execute", name)
    assert ("running python3" in done.stdout + done.stderr) == tested, done.stderr
    return done.returncode


def facts_of(desk: RunDesk) -> list[str]:
    """What is said of the tests of each step."""
    shown = Desk(desk.root).json("status", desk.run_id)["shown"]["steps"]
    return [one["facts"][-1] for one in shown]


@pytest.mark.req("RN-10", "RN-12")
@walled
def test_a_step_built_on_one_that_was_changed_is_tested_again(two: RunDesk) -> None:
    assert "tests: exit code 0" in write(two, "p1", "a.py", "X = 3\n")
    assert facts_of(two) == ["tests: exit code 0", "changed since it was tested"]
    assert carry_out(two, "S01", tested=False) == 0
    assert carry_out(two, "S02") == 6
    assert facts_of(two) == ["tests: exit code 0", "python3 test_calc.py failed"]
    assert len(two.commits()) == 1


@pytest.mark.req("RN-10")
@walled
def test_steps_that_stay_as_they_were_tested_are_not_tested_again(two: RunDesk) -> None:
    assert [carry_out(two, step_id, tested=False) for step_id in ("S01", "S02")] == [0, 0]
    assert facts_of(two) == ["tests: exit code 0"] * 2
    run = two.go()
    assert (run.phase, len(two.commits())) == (RunPhase.COMPLETED, 2)
