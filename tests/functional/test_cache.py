"""The cache: the same request on the same files takes no call, and only what came to a good end is used."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from ringi.approvals.document import TypedAnswer
from ringi.engine.run_state import RunPhase
from ringi.runs.document import Review, Run
from ringi.sessions.document import ApprovalPending, ApprovedSession
from tests.crash.killing import FULL
from tests.fakes.model_server import ModelServer, Request
from tests.functional.desk import Desk
from tests.functional.run_desk import RunDesk, at_home, git, project
from tests.functional.screens import Screen
from tests.helpers import approve

pytestmark = pytest.mark.req("PP-12")
REQUEST = "Make it add, and say so in README.md"
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
FIXED = {"patch": "", "files": [{"path": "calc.py", "content": "def add(a, b):\n    return a + b\n"}]}
SAID = {"patch": "", "files": [{"path": "README.md", "content": "# Calc\nIt adds.\n"}]}
OUTLINE = {
    "goal_understanding": {"main_objective": "It adds", "success_criteria": ["the tests pass"]},
    "task_decomposition": {
        "subtasks": [
            {"id": "task_1", "description": "Add in calc.py", "dependencies": [], "reads": ["calc.py"],
             "writes": [{"path": "calc.py"}], "required_tools": ["patch"], "criteria": [1]},
        ]
    },
    "action_plan": {
        "actions": [{"task_id": "task_1", "tool": "patch", "purpose": "add", "expected_outcome": "it adds",
                     "fallback_strategy": "ask"}]
    },
}  # fmt: skip
PASSED = {"passed": True, "findings": []}
ROLES = "roles:\n" + "".join(
    f"  {role}:\n    model: openai:gpt-5\n" for role in ("planner", "implementer", "reviewer")
)


def says(request: Request) -> Any:
    """By what it is asked for."""
    if "judge one step" in request.text:
        return PASSED
    if "make one step" in request.text:
        return FIXED if "S01 (1/2)" in request.text else SAID
    return DESIGN


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunDesk]:
    with at_home(monkeypatch) as base:
        desk = RunDesk(project(base / "project"))
        desk.configure(ROLES)
        yield desk


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(says) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def planned(desk: RunDesk, request: str = REQUEST) -> str:
    """By the model; a person approves it."""
    with desk.open() as workspace:
        tool, planner = workspace.planning, workspace.roles(None).planner()
        assert planner is not None
        session = tool.start(request, agent_brings=True).session_id
        view = planner.bring(tool, session)
        assert isinstance(view.pending, ApprovalPending)
        asked = tool.request(session)
        view = tool.approve(session, "person", TypedAnswer(asked.digest, "yes"))
        assert isinstance(view.pending, ApprovedSession)
        return view.pending.run_id


def carried_out(desk: RunDesk, run_id: str, review: Review = Review.END) -> Run:
    """Up to its commits; a person approves the steps."""
    desk.run_id, done = run_id, set[str]()
    run = desk.go(review=review)
    while due := [one for one in run.steps if one.plan_id not in {"", *done} and one.tree]:
        with desk.open() as workspace:
            for step in due:
                there = workspace.of_plan(step.plan_id)
                approve(there, step.plan_id)
                there.plan.execute(step.plan_id)
        done |= {one.plan_id for one in due}
        run = desk.go(review=review)
    assert run.phase is RunPhase.COMPLETED, run.stop
    return run


def sent(request: Request) -> str:
    """Without the fences, which differ from session to session."""
    marks = set(re.findall("<data ([0-9a-f]{8}) ", request.text))
    text = request.text
    for mark in marks:
        text = text.replace(mark, "MARK")
    return text


# With the others the next test shows it: from a cache, too, only the same prompt has an answer.
@pytest.mark.parametrize("review", [*Review] if FULL else [Review.EACH])
def test_the_same_request_is_the_same_prompt(desk: RunDesk, server: ModelServer, review: Review):
    desk.configure(f"{ROLES}planning:\n  cache:\n    enabled: false\n")
    carried_out(desk, planned(desk), review)
    first = [*map(sent, server.requests)]
    server.requests.clear()
    carried_out(desk, planned(desk), review)
    assert [*map(sent, server.requests)] == first
    assert len(first) == 5


def test_the_same_request_takes_no_call_from_request_to_commit(desk: RunDesk, server: ModelServer):
    first = carried_out(desk, planned(desk))
    asked = len(server.requests)
    again = carried_out(desk, planned(desk))
    assert len(server.requests) == asked == 5
    branches = [run.work_branch for run in (first, again)]
    assert [git(desk.root, "rev-parse", f"{one}^{{tree}}") for one in branches] == [
        git(desk.root, "rev-parse", f"{branches[0]}^{{tree}}")
    ] * 2
    assert first.spent.reused == 0
    assert again.spent.reused == 5
    assert again.spent.saved_tokens == first.spent.input_tokens + first.spent.output_tokens > 0


def test_a_changed_file_or_no_approval_means_a_new_call(desk: RunDesk, server: ModelServer):
    planned(desk)
    planned(desk)
    assert len(server.requests) == 1
    planned(desk, f"{REQUEST}, please")
    assert len(server.requests) == 2
    (desk.root / "calc.py").write_text("def add(a, b):\n    return a * b\n")
    with desk.open() as workspace:
        planner = workspace.roles(None).planner()
        assert planner is not None
        for _ in range(2):
            session = workspace.planning.start(REQUEST, agent_brings=True).session_id
            planner.bring(workspace.planning, session)
            workspace.planning.cancel(session)
    assert len(server.requests) == 4


# --- plans for similar requests

PARAPHRASE = "Please make it add, and say so in README.md."


def test_a_similar_request_is_offered_the_plan_and_a_person_decides(desk: RunDesk, server: ModelServer):
    planned(desk)
    assert len(server.requests) == 1
    with Screen.ringi(desk.root, "run", PARAPHRASE, columns=100, rows=50) as screen:
        screen.wait(r"There is a plan for a similar request \(\d\d% alike, made just now\):")
        screen.wait(f"{REQUEST}[^$]*Use it\\? \\[y/N\\]")
        screen.type("y", enter=True)
        screen.wait(r"S02  Say that it adds[^$]*\[a\]pprove")
        assert "This design was approved before, for a similar request." in screen.text
        screen.type("q", enter=True)
        assert screen.exit_code == 3
    assert len(server.requests) == 1, "nobody was asked"
    with desk.open() as workspace:
        assert workspace.cache.counts().saved_calls == 1


def test_no_is_no_and_without_a_person_it_is_only_data(desk: RunDesk, server: ModelServer):
    planned(desk)
    with Screen.ringi(desk.root, "run", PARAPHRASE, columns=100, rows=50) as screen:
        screen.wait(r"Use it\? \[y/N\]")
        screen.type("", enter=True)
        screen.wait(r"S02  Say that it adds[^$]*\[a\]pprove")
        screen.type("q", enter=True)
        assert screen.exit_code == 3
    assert len(server.requests) == 2
    done = Desk(desk.root).run("--json", "run", PARAPHRASE)
    assert done.returncode == 3, done.stderr
    similar = json.loads(done.stdout)["similar"]
    assert (similar["task"], similar["used"]) == (REQUEST, False)
    assert 0.5 < similar["alike"] < 1
    assert len(server.requests) == 3
    done = Desk(desk.root).run("--json", "run", "--no-cache", PARAPHRASE)
    assert "similar" not in json.loads(done.stdout)
    for near in ("Make it add, and do not say so in README.md", "Make it add, and say so in README.txt"):
        assert "similar" not in json.loads(Desk(desk.root).run("--json", "run", near).stdout)
    (desk.root / "calc.py").write_text("def add(a, b):\n    return a * b\n")
    done = Desk(desk.root).run("--json", "run", PARAPHRASE)
    assert "similar" not in json.loads(done.stdout), "it was made for another calc.py"


def test_an_outline_of_a_similar_request(desk: RunDesk, server: ModelServer):
    desk.configure("model: openai:gpt-5\n")
    server.say(lambda _: OUTLINE)
    first = json.loads(Desk(desk.root).run("--json", "run", "--outline", REQUEST).stdout)
    assert (first["outcome"], first["calls"]) == ("planned", 1)
    again = json.loads(Desk(desk.root).run("--json", "run", "--outline", REQUEST).stdout)
    assert (again["calls"], again["usage"]["outline"]["reused"], again["plan"]) == (0, 1, first["plan"])
    assert "similar" not in again
    with Screen.ringi(desk.root, "run", "--outline", PARAPHRASE, columns=100, rows=50) as screen:
        screen.wait(r"Use it\? \[y/N\]")
        screen.type("y", enter=True)
        screen.wait("answers from the cache: 1, made just now")
        assert screen.exit_code == 0
    assert len(server.requests) == 1
    shown = Desk(desk.root).run("--json", "doctor", "--cache")
    assert json.loads(shown.stdout)["saved_calls"] == 2
    assert (
        json.loads(Desk(desk.root).run("--json", "run", "--outline", "--no-cache", REQUEST).stdout)["calls"]
        == 1
    )
    assert "removed: 2" in Desk(desk.root).run("doctor", "--clear-cache").stdout
    assert json.loads(Desk(desk.root).run("--json", "run", "--outline", PARAPHRASE).stdout)["calls"] == 1
