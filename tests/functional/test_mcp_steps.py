"""Steps of a run over MCP: an agent sees them, and is told who decides."""

from collections.abc import Iterator

import pytest

from ringi.engine.run_state import RunPhase, StepStatus
from tests.functional.beside_desk import walled
from tests.functional.mcp_desk import SPEC, RawClient
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step, git, project


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunDesk]:
    """Both steps wait for the person."""
    with at_home(monkeypatch) as base:
        desk = RunDesk(project(base / "project"), implementer=by_step(FIX, "echo 'It adds.' >> README.md"))
        desk.start(a_plan(a_step(1), a_step(2, scope={"target_paths": ["README.md"]})))
        desk.go()
        yield desk


@pytest.mark.req("PT-4", "RN-4")
@walled
def test_an_agent_sees_steps_and_decides_nothing(desk: RunDesk):
    client, before = RawClient(desk.root), git(desk.root, "for-each-ref")
    with client.process:
        client.greet()
        [second, first] = client.fine("plan_list")["plans"]
        assert [(one["step"]["step_id"], one["status"]) for one in (first, second)] == [
            ("S01", "pending_review"),
            ("S02", "pending_review"),
        ]
        for tool in ("plan_get_state", "plan_preview"):
            told = client.fine(tool, plan_id="p1")
            assert f"ringi continue {desk.run_id}" in told["next_step"]
            assert "plan_request_approval" not in told["next_step"]
        assert "return a + b" in client.fine("plan_preview", plan_id="p1")["diffs"][0]["diff"]
        for tool, more in (
            ("plan_request_approval", {}),
            ("plan_set_action_specs", {"specs": [SPEC]}),
            ("plan_execute", {}),
        ):
            refused = client.refused(tool, plan_id="p1", **more)
            assert refused["code"] == "step_elsewhere", tool
            assert "step S01 of run" in refused["message"]
            assert "ringi review p1" in refused["hint"]
        for tool, more in (("plan_discard", {}), ("plan_mark_pending", {"pending": False})):
            assert client.refused(tool, plan_id="p1", **more)["code"] == "not_yours", tool
        waited = client.fine("plan_wait", plan_id="p1", seconds=0)
        assert waited["outcome"] is None
        assert "ringi review p1" in waited["next_step"]
        assert [step.status for step in desk.run().steps] == [StepStatus.PROPOSED, StepStatus.PROPOSED]
        assert git(desk.root, "for-each-ref") == before
        assert desk.decide("S01", "S02").phase is RunPhase.COMPLETED
        assert client.fine("plan_get_state", plan_id="p1")["status"] == "completed"
        assert "nothing is left" in client.fine("plan_wait", plan_id="p1", seconds=0)["next_step"]
        assert client.end() == 0
