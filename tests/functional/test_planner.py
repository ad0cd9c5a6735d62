"""The role planner: a command or a model plans a run, and a step that became too large."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringi.engine.run_state import RunPhase
from ringi.errors import BadBrought
from ringi.runs.document import Run, StopCode
from ringi.runs.replan import replan
from ringi.sessions.document import ApprovalPending
from tests.functional import warm
from tests.functional.beside_desk import walled
from tests.functional.role_desk import RoleDesk, role_desk
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step, project
from tests.functional.screens import Screen
from tests.helpers import PATIENCE_SEC

pytestmark = pytest.mark.req("RN-9")
DESIGN: dict[str, Any] = {
    "summary": "It adds.",
    "acceptance_criteria": [{"given": "2 and 3", "when": "added", "then": "it is 5"}],
    "target_paths": [{"path": "calc.py"}, {"path": "README.md"}],
    "test_commands": ["python3 test_calc.py"],
    "steps": [
        {"title": "Add instead of subtracting", "target_paths": ["calc.py"], "criteria": [1]},
        {"title": "Say that it adds", "target_paths": ["README.md"]},
    ],
}
WRONG = {**DESIGN, "target_paths": [{"path": "calk.py"}], "test_commands": ["no-such-program"]}
BOTH = by_step(FIX, "echo 'It adds.' >> README.md")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project")


def says(first: object, then: object | None = None) -> str:
    """A planner that answers, and otherwise if it is told what was wrong."""
    answers = "cat <<'END'\nSome words first.\n{}\nEND"
    if then is None:
        return answers.format(json.dumps(first))
    again, once = answers.format(json.dumps(then)), answers.format(json.dumps(first))
    return f'if grep -q "its problem" "$1"; then\n{again}\nelse\n{once}\nfi'


def ringi(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return warm.run([*warm.RINGI, *words], cwd=root, timeout=PATIENCE_SEC)


@pytest.mark.req("RN-3", "RN-16")
@walled
def test_a_planner_plans_and_two_approvals_lead_to_commits(root: Path):
    RunDesk(root, implementer=BOTH, planner=says(DESIGN))
    with Screen.ringi(root, "run", "Make it add", columns=100, rows=60) as screen:
        screen.wait("planner plans")
        screen.wait(r"S02  Say that it adds[^$]*\[a\]pprove")
        screen.type("a", enter=True)
        screen.wait(r"Approve\? \[y/n\]")
        screen.type("y", enter=True)
        screen.wait("2 finished steps wait for you[^$]*pprove all")
        screen.type("a", enter=True)
        screen.wait("→ ringi report")
        assert screen.exit_code == 0
        assert "Brought by the agent" in screen.text, "whose words it is"
    log = subprocess.run(
        ["git", "log", "--format=%s", "--branches=aiflow/*", "--not", "main"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert log.splitlines() == ["Say that it adds", "Add instead of subtracting"]


@pytest.mark.req("RN-2", "RN-3")
def test_everything_that_is_wrong_is_told_and_asked_for_once_more(root: Path):
    asked = root.parent / "roles" / "asked"
    desk = RunDesk(root, planner=f'cat "$1" >> {asked} || true\n{says(WRONG, DESIGN)}')
    with desk.open() as workspace:
        planner = workspace.roles(None).planner()
        assert planner is not None
        session = workspace.planning.start("Make it add", agent_brings=True).session_id
        view = planner.bring(workspace.planning, session)
        assert isinstance(view.pending, ApprovalPending)
        assert view.pending.run_plan
        assert [step.title for step in view.pending.run_plan.steps] == [
            one["title"] for one in DESIGN["steps"]
        ]
        assert view.model == "planner"
    desk = RunDesk(root, planner=says(WRONG))
    with desk.open() as workspace:
        planner = workspace.roles(None).planner()
        assert planner is not None
        session = workspace.planning.start("Make it add", agent_brings=True).session_id
        with pytest.raises(BadBrought) as caught:
            planner.bring(workspace.planning, session)
    for words in ("the project has no calk.py", "no-such-program does not run here"):
        assert words in str(caught.value.details["why"])


def test_if_the_planner_fails_the_model_goes_on(root: Path):
    RunDesk(root, planner="echo I would rather not")
    done = ringi(root, "--json", "run", "Make it add")
    assert done.returncode == 3, done.stderr
    assert "it printed no JSON object" in done.stderr
    assert "Going on with playbook" in done.stderr
    assert json.loads(done.stdout)["model"] == "playbook"


@pytest.mark.req("RN-14", "RN-7")
@pytest.mark.parametrize("usable", [True, False])
def test_a_step_that_was_too_large_is_planned_anew_by_it(root: Path, usable: bool):
    pieces = {
        "steps": [
            {"title": "Count down", "target_paths": ["calc.py"]},
            {"title": "Count up", "target_paths": ["calc.py", "README.md" if usable else "setup.py"]},
        ]
    }
    outside = {"steps": [{"title": "Else", "target_paths": ["lib.py"]}] * 2}
    planner = says(outside, pieces) if usable else says(pieces)
    desk = RunDesk(root, implementer="seq 150 | sed 's/^/# /' >> calc.py", planner=planner)
    scope = {"target_paths": ["calc.py", "README.md"]}
    desk.start(a_plan(a_step(1, title="Count", scope=scope)))
    run = desk.go()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code) == (RunPhase.FAILED, StopCode.STEP_TOO_LARGE)
    with desk.open() as workspace:
        anew = replan(workspace, desk.run_id)
        assert isinstance(anew, Run)
        plan = workspace.store.runs.plan(anew.run_id)
    assert plan is not None
    wanted = ["Count down", "Count up"] if usable else ["Count (1 of 2)", "Count (2 of 2)"]
    assert [step.title for step in plan.steps] == wanted
    assert [step.step_id for step in plan.steps] == ["S01", "S02"]
    assert all(step.commands.unit == ("python3 test_calc.py",) for step in plan.steps)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[RoleDesk]:
    with role_desk(monkeypatch, first_commit) as made:
        yield made
