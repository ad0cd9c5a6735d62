"""A repository that is marked confidential: no log or trace has a word of what was asked, said or printed."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.engine.run_state import RunPhase
from tests.fakes.trace_receiver import TraceReceiver
from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.planning_desk import PlanningDesk, ScriptedModel, decision, question
from tests.functional.run_desk import CALC, FIX, RunDesk, a_plan, a_step, at_home, project
from tests.functional.test_outline import PLAN, model

MARKER = "mauve-okapi"
CONFIDENTIAL = "logs: {confidential: true}\n"
TRACED = {"RINGI_TRACING_ENABLED": "true", "RINGI_TRACING_CONTENT": "on"}
pytestmark = pytest.mark.req("PP-17", "PP-27")


def logs(root: Path, state: Path) -> dict[str, str]:
    """All logs of a project. The plans in `.agent/logs/plans` are documents, as approved."""
    agent = root / ".agent"
    places = [*agent.glob("logs/**/*"), *agent.glob("runs/*/*/logs/*"), *agent.glob("runs/*/*/briefs/*")]
    places += state.glob("**/*.log")
    return {
        str(path): path.read_text(errors="replace")
        for path in places
        if path.is_file() and "/logs/plans/" not in str(path)
    }


def that_tell(found: dict[str, str]) -> list[str]:
    return [name for name, text in found.items() if MARKER in text]


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        files = {"calc.py": CALC, "README.md": f"{MARKER}\n", "test_calc.py": TESTS}
        yield project(base / "project", files)


TESTS = f'from calc import add\nprint("{MARKER}")\nassert add(2, 3) == 5, "wrong " + "answer {MARKER}"\n'
ROLE = f"""\
echo {MARKER}
cat "$1"
if grep -q "wrong answer {MARKER}" "$1"; then {FIX}; else echo "# {MARKER}" >> calc.py; fi
"""


@pytest.mark.req("PP-22")
@pytest.mark.parametrize("confidential", [True, False])
@walled
def test_a_run(root: Path, confidential: bool):
    desk = RunDesk(root, implementer=ROLE)
    path = Path(os.environ["HOME"]) / ".config/ringi/config.yaml"
    path.write_text(path.read_text() + CONFIDENTIAL * confidential)
    desk.start(a_plan(a_step(1, title=f"Fix {MARKER}", intent=f"Make {MARKER} right")))
    with TraceReceiver() as receiver:
        done = Desk(root).process("continue", desk.run_id, **TRACED, **receiver.environment())
    assert "Traceback" not in done.stderr
    # What the tests printed was told to the role, which mended it.
    assert [one.passed for one in desk.run().steps[0].evidence] == [True]
    assert len(desk.run().steps[0].attempts) == 2
    assert desk.decide("S01").phase is RunPhase.COMPLETED
    state = Path(os.environ["HOME"]) / ".local/state"
    assert any(state.iterdir())
    found = logs(root, state)
    assert (that_tell(found) == []) is confidential
    assert any(name.endswith("process.log") for name in found)
    if confidential:
        assert not list(root.glob(".agent/runs/*/*/**/briefs/*"))
        assert "not kept: the repository is confidential" in "".join(found.values())
    assert receiver.above(receiver.named("gate unit")[0]) == ["ringi.run"]
    assert receiver.named("invoke_agent implementer")[0].attributes["ringi.step.id"] == "S01"
    assert receiver.one("ringi.run").attributes["ringi.run.id"] == desk.run_id
    assert MARKER.encode() not in receiver.raw
    lines = (root / ".agent/logs/process.log").read_text()
    assert "[INFO] [Execution] Step S01: implementer completed" in lines
    assert "[WARN] [Execution] Step S01: unit test failed" in lines


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    scripted = ScriptedModel(tmp_path / "model")
    scripted.answers(
        questions=[question(f"Which {MARKER}?", options=["Only one", MARKER], why=MARKER)],
        decisions=[decision(f"Where {MARKER} is kept", MARKER, "In memory")],
        summary=f"# Goal\n\nDo {MARKER}.",
    )
    monkeypatch.setenv("RINGI_MODEL", scripted.name)
    return scripted


def test_a_planning_session_and_its_failures(repo: Path, scripted: ScriptedModel, tmp_path: Path):
    (repo / ".agent").mkdir(exist_ok=True)
    (repo / ".agent" / "config.yaml").write_text(CONFIDENTIAL)
    desk = PlanningDesk(repo)
    answers = tmp_path / "answers.yaml"
    answers.write_text(f"answers: [{MARKER}]\ndecisions: {{d-1: {{option: 1, reason: {MARKER}}}}}\n")
    desk.step(f"Add {MARKER}", "--answers", str(answers))
    assert scripted.asked == ["questions", "decisions", "summary"]
    (tmp_path / "failing.sh").write_text(f"echo {MARKER}; echo {MARKER} >&2; exit 3\n")
    failing = f"command:sh {tmp_path}/failing.sh"
    assert desk.run("plan", f"Another {MARKER}", RINGI_MODEL=failing).returncode != 0
    state = Path(os.environ["XDG_STATE_HOME"])
    found = logs(repo, state)
    assert any("/planning-" in name or "/logs/" in name for name in found)
    assert that_tell(found) == []
    lines = (repo / ".agent/logs/process.log").read_text()
    assert "[INFO] [Planning] Task decomposition: 1 decision point\n" in lines
    assert "[ERROR] [Planning] Model call failed: model_" in lines


@pytest.mark.req("PP-22")
def test_an_outline_and_its_trace(repo: Path, tmp_path: Path):
    (repo / "README.md").write_text(f"# {MARKER}\n")
    said = PLAN | {"goal_understanding": PLAN["goal_understanding"] | {"main_objective": MARKER}}
    variables = TRACED | {"RINGI_MODEL": model(tmp_path / "model", said)}
    variables["RINGI_LOGS_CONFIDENTIAL"] = "true"
    with TraceReceiver() as receiver:
        done = Desk(repo).process(
            "run", "--outline", f"say {MARKER} in README.md", **variables, **receiver.environment()
        )
    assert done.returncode == 0, done.stderr
    assert receiver.named("planning.understand_goal")
    assert MARKER.encode() not in receiver.raw
    found = logs(repo, Path(os.environ["XDG_STATE_HOME"]))
    assert any(name.endswith("outline.log") for name in found)
    assert that_tell(found) == []


def test_a_project_can_mark_itself_and_nobody_unmarks_it(repo: Path):
    desk = Desk(repo)
    (repo / ".agent").mkdir(exist_ok=True)
    (repo / ".agent" / "config.yaml").write_text(CONFIDENTIAL)
    shown = desk.run("config", "show", RINGI_LOGS_CONFIDENTIAL="false")
    assert re.search(r"(?m)^logs\.confidential +true +.*config\.yaml", shown.stdout)
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "ringi"
    folder.mkdir(parents=True, exist_ok=True)
    (repo / ".agent" / "config.yaml").write_text("logs: {confidential: false}\n")
    (folder / "config.yaml").write_text(f"repositories:\n  {repo}:\n    logs: {{confidential: true}}\n")
    refused = desk.run("config", "show")
    assert refused.returncode != 0
    assert "may only tighten it" in refused.stderr
