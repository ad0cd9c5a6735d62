"""`ringi run --models`: a run in which models have every role, from the request to the commit."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ringi.app.api import open_workspace
from ringi.ledger.event import Actor
from ringi.runs.start import begin_task
from ringi.sessions.document import ApprovalPending, SessionView
from tests.fakes.model_server import ModelServer, Request, tokens
from tests.functional import warm
from tests.functional.beside_desk import walled
from tests.functional.mcp_desk import RawClient, talks
from tests.functional.run_desk import RunDesk, at_home, git, project
from tests.functional.screens import Screen
from tests.helpers import PATIENCE_SEC

talk = talks

README = "# Sample\n\nA small tool.\n\n## Usage\n\nRun it.\n"
FILES = {
    "README.md": README,
    "pyproject.toml": '[project]\nname = "sample"\nversion = "1.0"\n',
    "sample/__init__.py": "",
    "sample/main.py": 'def main():\n    print("hi")\n',
    "tests/test_main.py": 'import sys\n\nsys.path.insert(0, ".")\nfrom sample.main import main\n\nmain()\n',
    "Makefile": "test:\n\tpython3 tests/test_main.py\n",  # not every system has a program python
    "LICENSE": "MIT\n",
}
REQUEST = "add an install section to README.md"
PATCH = """\
--- a/README.md
+++ b/README.md
@@ -2,6 +2,10 @@

 A small tool.

+## Install
+
+    pip install sample
+
 ## Usage

 Run it.
"""
DESIGN: Mapping[str, Any] = {
    "summary": "README.md gets a section Install between the introduction and Usage.",
    "acceptance_criteria": [
        {"given": "the README", "when": "somebody looks for how to install it", "then": "a section says so"}
    ],
    "target_paths": [{"path": "README.md"}],
    "test_commands": ["python3 -m compileall -q sample"],
}


def answers(request: Request) -> Any:
    if "acceptance_criteria" in json.dumps(request.schema):
        return DESIGN
    return {"patch": PATCH}


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project", FILES)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([answers]) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def configure(desk: RunDesk, server: ModelServer, **more: object) -> None:
    llm = {"base_url": f"{server.url}/v1"}
    desk.configure(json.dumps({"model": "openai:gpt-5", "llm": llm, **more}))


def ringi(root: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return warm.run([*warm.RINGI, *words], cwd=root, given=stdin, timeout=PATIENCE_SEC)


MATERIAL = re.compile(r"<data \S+ (?:project|code|files|instruction|results)>\n.*?\n</data \S+>", re.DOTALL)


def beside_material(request: Request) -> int:
    """Tokens of what is ours: rules, task, brief and schema, without the project's files and the request."""
    schema = json.dumps(request.schema, separators=(",", ":")) if request.schema else ""
    ours = MATERIAL.sub("", request.text).replace(REQUEST, "")
    return tokens(ours) + tokens(schema)


@pytest.mark.req("PP-13", "PP-28")
@walled
def test_from_a_request_to_a_commit_in_two_calls(root: Path, server: ModelServer):
    desk = RunDesk(root)
    key = str(desk.key().path)
    configure(desk, server)
    done = ringi(root, "run", "--models", REQUEST, "--sign", key, "--unattended", key)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert run["phase"] == "completed"
    assert run["by_model"]
    assert "## Install" in git(root, "show", f"{run['work_branch']}:README.md")
    ours = [beside_material(request) for request in server.requests]
    sys.stderr.write(f"\ncalls: {len(ours)}, prompt tokens beside material: {sum(ours)} ({ours})\n")
    assert len(ours) <= 2
    assert sum(ours) <= 1_400


@pytest.mark.req("PP-28")
def test_a_person_approves_the_plan_and_the_step(root: Path, server: ModelServer):
    configure(RunDesk(root), server)
    with Screen.ringi(root, "run", "--models", REQUEST, columns=100, rows=60) as screen:
        screen.wait("Models: at most 5,000,000 tokens")
        screen.wait("openai:gpt-5 plans")
        screen.wait(r"\[a\]pprove")
        screen.type("a", enter=True)
        screen.wait(r"Approve\? \[y/n\]")
        screen.type("y", enter=True)
        screen.wait(r"\[a\]pply")
        screen.type("a")
        screen.wait("Subject:")
        screen.type("", enter=True)
        shown = screen.wait("→ ringi report")
    assert "Execute now?" not in shown
    with open_workspace(root) as workspace:
        [run] = workspace.planning.runs()
    assert "## Install" in git(root, "show", f"{run.work_branch}:README.md")
    assert git(root, "status", "--porcelain") == ""


@pytest.mark.req("PP-28")
def test_one_that_was_killed_before_it_was_planned_is_planned_when_it_is_resumed(
    root: Path, server: ModelServer
):
    desk = RunDesk(root)
    key = str(desk.key().path)
    configure(desk, server)
    with desk.open() as workspace:
        begun = begin_task(workspace, REQUEST, Actor.USER)
    assert isinstance(begun, SessionView)
    done = ringi(root, "plan", "--resume", begun.session_id, "--approve", "--sign", key)
    assert done.returncode == 0, done.stderr
    assert "openai:gpt-5 plans" in done.stderr
    with desk.open() as workspace:
        [run] = workspace.planning.runs()
    assert run.by_model


@pytest.mark.req("PP-28")
@walled
def test_without_planning_it_is_one_step(root: Path, server: ModelServer):
    desk = RunDesk(root)
    key = str(desk.key().path)
    configure(desk, server, planning={"enabled": False})
    done = ringi(root, "--json", "run", "--models", "-", "--sign", key, "--unattended", key, stdin=REQUEST)
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert [step["step_id"] for step in run["steps"]] == ["S01"]
    assert len(server.requests) == 1
    assert run.get("planned", {}) == {}
    assert "## Install" in git(root, "show", f"{run['work_branch']}:README.md")


@pytest.mark.req("PP-28", "PP-20")
def test_a_task_over_mcp_and_from_python_is_only_planned(
    root: Path, server: ModelServer, talk: Callable[..., RawClient]
):
    configure(RunDesk(root), server)
    client = talk(root=root)
    client.greet()
    found = client.fine("task", request=REQUEST)
    assert found["run_id"] == ""
    assert "section Install" in found["summary"]
    assert found["person_types"].startswith("ringi plan --resume planning-")
    with open_workspace(root) as workspace:
        view = workspace.task(REQUEST + " again")
        assert isinstance(view, SessionView)
        assert isinstance(view.pending, ApprovalPending)
        assert workspace.planning.runs() == []
    assert "## Install" not in (root / "README.md").read_text()
