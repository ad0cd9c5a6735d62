"""A whole run whose implementer is a model with tools: real copy, real tests, real commits."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringi.engine.process import ActionState, Wait
from ringi.engine.run_state import RunPhase
from ringi.runs.document import Run, StopCode
from tests.fakes.model_server import ModelServer, Say
from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.run_desk import CALC, RunDesk, a_plan, a_step, at_home, project
from tests.helpers import PYTHON, approve

pytestmark = [pytest.mark.req("PP-4", "PP-7", "RN-9"), pytest.mark.usefixtures("root")]
MCP = Path(__file__).parents[1] / "fakes" / "mcp_server.py"
HONEST, DIES_AT_CALL = (shlex.join([PYTHON, str(MCP), kind]) for kind in ("honest", "dies at call"))
FIXED = CALC.replace("a - b", "a + b")
PATCH = (
    "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"
)
WRONG = PATCH.replace("-    return a - b", "-    return b")


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        yield project(base / "project")


def desk_with(root: Path, server: ModelServer, **more: Any) -> RunDesk:
    desk = RunDesk(root)
    config = {
        "llm": {"base_url": f"{server.url}/v1"},
        "roles": {"implementer": {"model": "openai:gpt-5"}},
        **more,
    }
    desk.configure(json.dumps(config))
    return desk


def stopped(run: Run) -> StopCode:
    assert run.phase is RunPhase.NEEDS_INPUT
    assert run.stop
    return run.stop.reason_code


@walled
def test_a_model_looks_mends_and_runs_the_tests_of_its_step(root: Path) -> None:
    answers = [
        Say({"read": ["test_calc.py"], "done": False}),
        Say({"patch": PATCH, "run": ["python3 test_calc.py"], "note": "It subtracted."}),
    ]
    with ModelServer(answers) as server:
        desk = desk_with(root, server)
        desk.start(a_plan(a_step(1)))
        desk.go()
        run = desk.decide("S01")
        assert "assert add(2, 3) == 5" in server.requests[1].text
    assert run.phase is RunPhase.COMPLETED
    assert desk.file("calc.py") == FIXED.strip()
    assert (root / "calc.py").read_text() == CALC
    with desk.open() as workspace:
        (process,) = workspace.store.processes.of(desk.run_id)
        records = workspace.store.processes.get(process.process_id)
    assert records
    assert [one.tool for one in records.records] == ["read", "patch", "run"]
    assert {one.state for one in records.records} == {ActionState.SUCCESS}
    assert run.steps[0].attempts[0].spent.calls == 2


@pytest.mark.req("PP-15")
def test_a_call_that_changes_something_outside_waits_in_the_plan_tool(root: Path) -> None:
    answers = [
        Say({"patch": PATCH, "call": [{"tool": "tracker_create", "arguments": '{"title": "fixed"}'}]}),
        Say({"note": "told the tracker"}),
    ]
    with ModelServer(answers) as server:
        desk = desk_with(root, server, mcp_servers={"tracker": HONEST})
        desk.start(a_plan(a_step(1)))
        run = desk.go()
        assert stopped(run) is StopCode.CALL_WAITS
        with desk.open() as workspace:
            (process,) = workspace.store.processes.of(desk.run_id)
            assert process.waits is Wait.CALL
            (waiting,) = workspace.plan.list(waiting=True)
            spec = workspace.plan.get(waiting.id).state.action_specs[0].base
            assert (spec.tool, spec.arguments) == ("tracker_create", {"title": "fixed"})
            assert stopped(desk.go()) is StopCode.CALL_WAITS
        above, below = Desk(root).run("list").stdout.splitlines()
        assert desk.run_id in above
        assert below.startswith(f"  {waiting.name}  ")
        assert Desk(root).json("list")[0]["called_by"] == desk.run_id
        told = Desk(root).run("reject", waiting.name, "--feedback", "no tracker, please").stdout
        assert f"→ ringi continue {desk.run_id}" in told
        desk.go()
        run = desk.decide("S01")
        assert "no tracker, please" in server.requests[1].text
    assert run.phase is RunPhase.COMPLETED
    assert desk.file("calc.py") == FIXED.strip()


def tokens_at(server: ModelServer) -> int:
    """What the service was sent."""
    return sum(request.prompt_tokens for request in server.requests)


@pytest.mark.req("PP-13")
def test_what_a_turn_took_counts_once_however_often_the_run_goes_on(root: Path) -> None:
    with ModelServer(lambda request: Say({"read": ["README.md"], "done": False})) as server:
        desk = desk_with(root, server, runs={"max_tokens": 6_000})
        desk.start(a_plan(a_step(1)))
        assert stopped(desk.go()) is StopCode.BUDGET_EXCEEDED
        for _ in range(2):
            assert stopped(desk.go()) is StopCode.BUDGET_EXCEEDED
        spent = desk.run().spent
        assert (spent.calls, spent.input_tokens) == (len(server.requests), tokens_at(server))


@pytest.mark.req("PP-10", "PP-15")
def test_a_person_is_asked_before_a_model_goes_on_after_a_call_without_an_end(root: Path) -> None:
    call = {"call": [{"tool": "tracker_create", "arguments": '{"title": "fixed"}'}], "done": False}
    with ModelServer([Say({"patch": PATCH, **call}), Say(call)]) as server:
        desk = desk_with(root, server, mcp_servers={"tracker": DIES_AT_CALL})
        desk.start(a_plan(a_step(1)))
        assert stopped(desk.go()) is StopCode.CALL_WAITS
        with desk.open() as workspace:
            (waiting,) = workspace.plan.list(waiting=True)
            assert workspace.plan.get(waiting.id).plan.proposer == "openai:gpt-5"
            approve(workspace, waiting.id)
            workspace.plan.execute(waiting.id)
        assert f"→ ringi recover {waiting.name}" in Desk(root).run().stdout
        run = desk.go()
        assert stopped(run) is StopCode.HELP_NEEDED
        assert run.stop
        assert "nobody knows" in run.stop.message
        assert "ringi recover" in run.stop.message
        assert len(server.requests) == 1, "the model is not asked what only a person can see"


@pytest.mark.req("PP-9", "PP-20")
def test_a_revision_waits_if_a_person_wants_to_approve_it(root: Path) -> None:
    planning = {"reflection": {"depth": "shallow"}, "revision": {"require_human_approval": True}}
    with ModelServer([Say({"patch": WRONG})]) as server:
        desk = desk_with(root, server, planning=planning)
        desk.start(a_plan(a_step(1)))
        assert stopped(desk.go()) is StopCode.REVISION_WAITS
        assert stopped(desk.go()) is StopCode.REVISION_WAITS
    with desk.open() as workspace:
        (process,) = workspace.store.processes.of(desk.run_id)
    assert process.proposed
    assert process.revised == 0
