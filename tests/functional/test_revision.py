"""A person at a terminal decides about a revision of the plan while a model works on a step."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.engine.process import Process, Wait
from tests.fakes.model_server import ModelServer, Say
from tests.functional import warm
from tests.functional.desk import RINGI
from tests.functional.run_desk import RunDesk, a_plan, a_step, at_home, project
from tests.functional.screens import Screen
from tests.helpers import PATIENCE_SEC, SetClock

LOST = Say({"read": ["sum.py"], "done": False})
FIXED = Say({"files": [{"path": "calc.py", "content": "def add(a, b):\n    return a + b\n"}], "done": True})
CONFIGURATION = """\
model: playbook
llm: {{base_url: "{url}/v1"}}
roles: {{implementer: {{model: "openai:gpt-5"}}}}
with: {{sandbox: "off"}}
planning:
  reflection: {{depth: shallow}}
  revision: {{require_human_approval: true, approval_timeout: 3600}}
"""


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


def waiting(
    home: Path, monkeypatch: pytest.MonkeyPatch, server: ModelServer, clock: SetClock | None = None
) -> RunDesk:
    """A run whose step waits with a revision."""
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    desk = RunDesk(project(home / "project"))
    desk.configure(CONFIGURATION.format(url=server.url))
    desk.clock = clock
    desk.start(a_plan(a_step(1, title="Fix the sum")))
    run = desk.go()
    assert run.stop
    assert run.stop.reason_code == "REVISION_WAITS"
    return desk


def said(desk: RunDesk, *words: str) -> str:
    return warm.run([*RINGI, *words], cwd=desk.root, timeout=PATIENCE_SEC).stdout


def process_of(desk: RunDesk) -> Process:
    with desk.open() as workspace:
        return workspace.store.processes.of(desk.run_id)[-1]


@pytest.mark.req("PP-20")
def test_shown_as_a_difference_and_approved(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([LOST, LOST, FIXED]) as server:
        desk = waiting(home, monkeypatch, server)
        status = said(desk, "status", desk.run_id)
        with Screen.ringi(desk.root, "continue", desk.run_id, columns=100, rows=40) as screen:
            screen.wait(r"Approve\? \[y/n\]")
            shown = screen.text
            screen.type("y", enter=True)
            screen.wait(r"\[a\]pply")
            screen.type("q")
            assert screen.exit_code in {0, 3}
    assert "+ task_0 search: Find the file that is meant by sum.py" in status
    assert f"→ ringi continue {desk.run_id}" in status
    (revision,) = json.loads(said(desk, "status", desk.run_id, "--json"))["revisions"]
    assert (revision["step_id"], revision["strategy"], revision["approved"]) == ("S01", "find", True)
    assert "S01: plan revised, 1 in all" in said(desk, "status", desk.run_id)
    assert "S01: the plan is to be revised" in shown
    assert "There is no sum.py" in shown
    assert "suggested by rules" in shown
    assert "+ task_0 search" in shown
    assert "What you approve is sha256" in shown
    process = process_of(desk)
    assert process.revisions[0].approved is True
    assert process.completion
    assert process.completion.done is True
    with desk.open() as workspace:
        assert [one.proof.kind for one in workspace.store.approvals.of(desk.run_id)] == ["typed", "typed"]


@pytest.mark.req("PP-20")
def test_a_key_signs_the_one_that_waits_and_no_later_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([LOST, LOST, LOST, LOST, FIXED]) as server:
        desk = waiting(home, monkeypatch, server)
        key = desk.key()
        with Screen.ringi(desk.root, "run", desk.run_id, "--sign", str(key.path), columns=100) as screen:
            # The next revision is a question, although there is a key.
            screen.wait(r"call it differently[^$]*Approve\? \[y/n\]")
            screen.type("n", enter=True)
            screen.wait("Enter leaves it open")
            screen.type("", enter=True)
            assert screen.exit_code == 3
    process = process_of(desk)
    assert [one.approved for one in process.revisions] == [True]
    assert process.waits is Wait.REVISION
    with desk.open() as workspace:
        assert [one.proof.kind for one in workspace.store.approvals.of(desk.run_id)] == ["typed", "signed"]
