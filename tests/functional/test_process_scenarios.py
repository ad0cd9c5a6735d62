"""Whole tasks, from the words to the end: simple, medium and complex ones, and how they recover from errors.

The model is a server on loopback that answers by what it is told, the tools are those of a real copy and of a
real MCP server.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringi.engine.document import NEEDS_PERSON
from ringi.engine.process import ActionState, Process, Wait
from ringi.engine.run_state import RunPhase
from ringi.runs.document import StopCode
from ringi.runs.feedback import give_feedback
from ringi.tools.effects import ErrorKind
from tests.functional.beside_desk import walled
from tests.functional.run_desk import CALC, UNIT, RunDesk, a_plan, a_step, at_home, project
from tests.functional.studio import FILES, Studio, is_done, outline, reflected, summary_of

pytestmark = pytest.mark.req("PP-4", "PP-7", "PP-8", "PP-28")
_HEAD = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
PATCH = f"{_HEAD}-    return a - b\n+    return a + b\n"
WRONG = f"{_HEAD}-    return b\n+    return a + b\n"


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        yield project(base / "project", FILES)


DONE = ActionState.SUCCESS


def test_simple_a_page_is_brought_up_to_date(root: Path) -> None:
    """Planning, execution, completion; no error."""

    def turn(text: str) -> dict[str, Any]:
        if "tracker_read" not in text.partition(" results>")[2]:
            asked = {"tool": "tracker_read", "arguments": '{"what": "style"}'}
            return {"read": ["README.md"], "call": [asked], "done": False}
        return {"files": [{"path": "README.md", "content": "# Calc\n\nIt adds.\n"}], "note": "said it"}

    studio = Studio(root, turn, first=outline(("Say in README.md that it adds", "write")))
    process = studio.carried_out("Say in README.md that it adds")
    assert studio.tried() == [("read", DONE, None), ("tracker_read", DONE, None), ("write", DONE, None)]
    assert "read style" in studio.records[1].result
    assert studio.file("README.md") == "# Calc\n\nIt adds.\n"
    assert (root / "README.md").read_text() == "# Calc\n"
    summary = summary_of(process)
    assert (summary.goal_achieved, summary.tasks_completed, summary.tasks_failed) == (False, 1, 0)
    assert summary.revision_attempts == 0
    assert summary.key_outcomes == ("said it",)
    assert process.planning.calls == 1
    assert process.reflection.calls == 0
    assert studio.lines[0] == "Planning: Task started: task"
    assert studio.lines[-1] == "Execution: Task completed"
    assert not any("failed" in line or "revision" in line for line in studio.lines)


@walled
def test_medium_a_feature_takes_a_revision(root: Path) -> None:
    """Planning, execution, reflection, revision, completion."""

    def turn(text: str) -> dict[str, Any]:
        if "[now] task_2" in text:
            return {"run": [UNIT], "note": "tested"}
        return {"patch": PATCH if "Copy the removed line" in text else WRONG}

    change = {
        "type": "modify_action",
        "action_id": "task_1",
        "description": "Copy the removed line, then add",
    }
    first = outline(("Make add in calc.py add", "patch"), ("Run the tests", "run"))
    studio = Studio(root, turn, first=first, reflect=reflected("The patch does not fit.", change))
    process = studio.carried_out("Make add in calc.py add, and run its tests")
    failed = ("patch", ActionState.FAILURE, ErrorKind.MISMATCH)
    assert studio.tried() == [failed, failed, ("patch", DONE, None), ("run", DONE, None)]
    assert 1 <= process.revised <= 2
    assert process.revisions[0].by == "openai:gpt-5"
    assert process.done == ("task_1", "task_2")
    summary = summary_of(process)
    assert is_done(process)
    assert summary.revision_attempts == process.revised
    assert studio.file("calc.py") == CALC.replace("a - b", "a + b")
    told = [line for line in studio.lines if line.startswith("Reflection")]
    assert told.count("Reflection: Action failed: mismatch") == 2
    assert "Reflection: Plan revision suggested" in told
    assert process.reflection.calls == 1


@pytest.mark.req("PP-9", "PP-20")
@walled
def test_complex_several_revisions_and_what_a_person_says(root: Path) -> None:
    """As a run: revised by the model, then stuck, then led on by somebody's words, and committed."""

    def turn(text: str) -> dict[str, Any]:
        if "in one expression" in text:
            return {"patch": PATCH, "run": [UNIT], "note": "in one expression"}
        if "calc/__init__.py" in text.partition(" results>")[2]:
            return {"patch": WRONG}
        return {"read": ["calc/__init__.py"], "done": False}

    def reflect(text: str) -> dict[str, Any]:
        count = text.count("Look closer") + 1
        change = {"type": "modify_action", "action_id": "task_1", "description": f"Look closer {count}"}
        return reflected(f"It is not as planned, {count}.", change)

    config = {"execution": {"early_termination": {"max_consecutive_failures": 9}}}
    studio = Studio(root, turn, reflect=reflect, planning=config)
    desk = studio.desk
    with studio.server:
        desk.start(a_plan(a_step(1, title="Make it a package")))
        run = desk.go()
        assert run.stop
        assert run.stop.reason_code is StopCode.HELP_NEEDED
        stuck = processes(desk)[0]
        assert stuck.waits is Wait.PERSON
        assert stuck.revised == 3
        assert stuck.completion
        assert stuck.completion.status == NEEDS_PERSON
        assert summary_of(stuck).recommendations
        with desk.open() as workspace:
            said = give_feedback(workspace, desk.run_id, "Do it in one expression").feedback
        desk.go()
        run = desk.decide("S01")
    assert run.phase is RunPhase.COMPLETED
    (process,) = processes(desk)
    assert process.heard == (said.feedback_id,)
    assert process.revised > stuck.revised
    assert process.revisions[-1].by == said.who
    assert process.revisions[-1].reflection.feedback_type == "human"
    assert is_done(process)
    assert desk.file("calc.py") == CALC.replace("a - b", "a + b").strip()


def processes(desk: RunDesk) -> list[Process]:
    with desk.open() as workspace:
        return workspace.store.processes.of(desk.run_id)
