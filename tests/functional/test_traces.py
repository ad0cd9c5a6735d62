"""Spans of real commands, at a receiver that decodes them; and receivers that do not work."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer, Request
from tests.fakes.trace_receiver import Answers, Hangs, TraceReceiver
from tests.functional.beside_desk import walled
from tests.functional.desk import RINGI, Desk
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step
from tests.functional.run_desk import project as a_project
from tests.functional.test_outline import FILES, PLAN, REQUEST, model

MARKER = "mauve-okapi"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
LONG = f"{REQUEST} {MARKER} {SECRET} " + "and say it in many words " * 40
THREE = ("planning.understand_goal", "planning.decompose_task", "planning.generate_action_plan")


@pytest.fixture
def project(repo: Path) -> Path:
    for name, text in FILES.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
    subprocess.run(["git", "add", "-A"], cwd=repo, check=True)
    return repo


def answer(request: Request) -> Any:
    """In one, or for each document; a word of the request comes back."""
    assert request.schema is not None
    fields = request.schema["properties"]
    goal = PLAN["goal_understanding"] | {"main_objective": f"As {MARKER} said"}
    if "goal_understanding" in fields:
        return PLAN | {"goal_understanding": goal}
    if "main_objective" in fields:
        return goal
    return PLAN["task_decomposition"] if "subtasks" in fields else PLAN["action_plan"]


TRACED = {"RINGI_TRACING_ENABLED": "true"}


@pytest.mark.req("PP-22", "PP-17")
def test_the_phases_of_planning_arrive_with_the_calls_below_them(project: Path, desk: Desk):
    with TraceReceiver() as receiver, ModelServer(answer) as server:
        known = TRACED | server.environment() | receiver.environment() | {"RINGI_MODEL": "openai:gpt-5"}
        done = desk.process("--json", "run", "--outline", LONG, **known)
    assert done.returncode == 0, done.stderr
    root = receiver.one("ringi.outline")
    assert root.parent_id == ""
    assert root.attributes["gen_ai.operation.name"] == "invoke_workflow"
    assert len({span.trace_id for span in receiver.spans}) == 1
    calls = receiver.named("chat gpt-5")
    assert [receiver.above(call) for call in calls] == [[name, "ringi.outline"] for name in THREE]
    for call, request in zip(calls, server.requests, strict=True):
        assert call.attributes["gen_ai.provider.name"] == "openai"
        assert call.attributes["gen_ai.usage.input_tokens"] == request.prompt_tokens
    assert [call.attributes["ringi.purpose"] for call in calls] == ["goal", "subtasks", "actions"]
    assert [receiver.one(name).attributes.get("ringi.count") for name in THREE[1:]] == [2, 1]
    assert MARKER.encode() not in receiver.raw
    assert SECRET.encode() not in receiver.raw


def process_log(project: Path) -> list[str]:
    return (project / ".agent" / "logs" / "process.log").read_text().splitlines()


@pytest.mark.req("PP-22")
def test_a_receiver_that_is_not_there_or_hangs_or_complains_or_floods_costs_nothing(
    project: Path, desk: Desk, tmp_path: Path
):
    known = TRACED | {"RINGI_MODEL": model(tmp_path / "model", PLAN), "OTEL_EXPORTER_OTLP_TIMEOUT": "600"}
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    assert outlined(desk, known | {"OTEL_EXPORTER_OTLP_ENDPOINT": nobody}) == "planned"
    assert "[WARN] [Tracing] Spans could not be sent: " in process_log(project)[-1]
    for how in (Hangs(), Answers(503), Answers(200, 5_000_000), Answers(301)):
        with TraceReceiver(how) as receiver:  # it waits until the end of this block
            assert outlined(desk, known | receiver.environment()) == "planned"
            assert receiver.asked


def outlined(desk: Desk, variables: dict[str, str]) -> str:
    done = desk.process("--json", "run", "--outline", REQUEST, **variables)
    assert done.returncode == 0, done.stderr
    assert not re.search("(?i)span|otel|telemetry|Traceback|connection", done.stderr)
    found: str = json.loads(done.stdout)["outcome"]
    return found


@pytest.mark.req("PP-22")
def test_an_untrusted_project_cannot_turn_it_on(project: Path, desk: Desk, tmp_path: Path):
    (project / ".agent").mkdir(exist_ok=True)
    (project / ".agent" / "config.yaml").write_text("tracing: {enabled: true}\n")
    with TraceReceiver() as receiver:
        known = receiver.environment() | {"RINGI_MODEL": model(tmp_path / "model", PLAN)}
        assert desk.process("run", "--outline", REQUEST, **known).returncode == 0
    assert not receiver.asked


@pytest.mark.req("PP-22")
@walled
def test_a_run_that_is_killed_and_continued_is_one_trace(monkeypatch: pytest.MonkeyPatch):
    with at_home(monkeypatch) as base, TraceReceiver() as receiver:
        go = base / "roles" / "go"
        waits = f"if [ ! -e {go} ]; then sleep 1000; fi; echo 'It adds.' >> README.md"
        desk = RunDesk(a_project(base / "project"), implementer=by_step(FIX, waits))
        desk.start(a_plan(a_step(1), a_step(2, scope={"target_paths": ["README.md"]})))
        variables = TRACED | receiver.environment() | {"OTEL_BSP_SCHEDULE_DELAY": "10"}
        command = [*RINGI, "continue", desk.run_id]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        killed = subprocess.Popen(command, cwd=desk.root, env={**os.environ, **variables}, **quiet)
        try:
            while not receiver.named("gate unit") and killed.poll() is None:
                time.sleep(0.05)
        finally:
            killed.kill()
        assert killed.wait() == -signal.SIGKILL
        assert not receiver.named("ringi.run")
        go.touch()
        assert Desk(desk.root).process("continue", desk.run_id, **variables).returncode == 3
    root = receiver.one("ringi.run")
    assert {span.trace_id for span in receiver.spans} == {root.trace_id}
    steps = [span.attributes["ringi.step.id"] for span in receiver.named("invoke_agent implementer")]
    assert steps == ["S01", "S02"]
    assert receiver.parent(receiver.named("invoke_agent implementer")[1]) == root


TEXT = {"RINGI_LOGS_FORMAT": "text"}
LINES = [
    "[INFO] [Planning] Task started: outline",
    "[INFO] [Planning] Goal understanding completed",
    "[INFO] [Planning] Task decomposition: 2 subtasks",
    "[INFO] [Planning] Action plan generated: 1 action",
]


@pytest.mark.req("PP-22")
def test_the_lines_of_planning_are_those_of_the_specification(project: Path, desk: Desk, tmp_path: Path):
    known = {"RINGI_MODEL": model(tmp_path / "model", PLAN)}
    assert desk.run("run", "--outline", REQUEST, **known).returncode == 0
    lines = process_log(project)
    assert all(re.fullmatch(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] .*", line) for line in lines)
    assert [line[22:] for line in lines] == LINES
    known |= {"RINGI_LOGS_FORMAT": "json"}
    assert (
        desk.run("run", "--outline", REQUEST, RINGI_PLANNING_LOGGING_LEVEL="WARNING", **known).returncode == 0
    )
    assert process_log(project) == lines
    assert desk.run("run", "--outline", REQUEST, **known).returncode == 0
    more = [json.loads(line) for line in process_log(project)[4:]]
    assert [f"[{one['level']}] [{one['component']}] {one['message']}" for one in more] == LINES
    assert {one["time"][-1] for one in more} == {"Z"}
    known |= {"RINGI_PLANNING_CACHE_ENABLED": "false"}
    unclear = PLAN | {
        "goal_understanding": PLAN["goal_understanding"] | {"clarification_needed": ["Which\n?"]}
    }
    model(tmp_path / "model", unclear)
    assert desk.run("run", "--outline", REQUEST, **known | TEXT).returncode == 3
    assert process_log(project)[9][22:] == "[WARN] [Planning] Goal unclear, 1 question: Which\\n?"
    failing = "command:sh -c 'echo no idea; exit 3'"
    assert desk.run("run", "--outline", REQUEST, **known | {"RINGI_MODEL": failing} | TEXT).returncode == 1
    assert "[ERROR] [Planning] Model call failed: " in process_log(project)[-1]
