"""Calls of outside tools in a plan: approved with their arguments, made once, and never to another tool."""

import shlex
import sys
from pathlib import Path

import pytest

import ringi
from ringi.errors import InvalidSpecs, NothingToUndo, UnfitSpecs, UnknownCommand
from ringi.plans.document import PlanStatus
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import OpStatus
from tests.fakes import mcp_server
from tests.helpers import answer, approve, approved, assert_whole, kinds, open_scratch, proposed, write

pytestmark = pytest.mark.req("PP-15")


def call(tmp_path: Path, tool: str = "s_create", **more: object) -> ActionSpec:
    arguments = {"log": str(tmp_path / "log"), **more}
    return ActionSpec(SpecKind.CALL, tool=tool, arguments=arguments, timeout_sec=60)


def opened(tmp_path: Path, how: str = "plain", **variables: str) -> ringi.Workspace:
    command = shlex.join([sys.executable, mcp_server.__file__, how, str(tmp_path)])
    return open_scratch(tmp_path, RINGI_MCP_SERVERS=f"s: {command}", **variables)


def calls(tmp_path: Path) -> list[str]:
    return lines(tmp_path / "log")


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_an_approved_call_is_made_once(tmp_path: Path):
    with opened(tmp_path) as workspace:
        plan_id = approved(workspace, write("README.md", "x\n"), call(tmp_path, what="this"))
        assert calls(tmp_path) == []
        result = workspace.plan.execute(plan_id)
        assert result.overall_success
        assert result.results[1].output == "read this KEY="
        assert calls(tmp_path) == ["create"]
        assert kinds(workspace, plan_id)[-3:] == ["command_started", "command_ended", "completed"]
        assert_whole(workspace)


def test_nothing_starts_before_it_is_needed(tmp_path: Path):
    with opened(tmp_path) as workspace:
        plan_id = proposed(workspace, call(tmp_path))
        assert lines(tmp_path / "servers") == ["plain"]  # asked whether there is such a tool
        workspace.plan.preview(plan_id)
        approve(workspace, plan_id)
        approved(workspace, write("README.md", "x\n"))
        assert lines(tmp_path / "servers") == ["plain"]
        assert calls(tmp_path) == []


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"tool": "s_missing"}, "no tool s_missing"),
        ({"tool": "s_cre\u0430te"}, "no tool"),
        ({"tool": "S_create"}, "no server S"),
        ({"tool": "s_slow"}, "forbidden"),
        ({"tool": "other_create"}, "no server other"),
        ({"tool": "s_read", "arguments": {"what": 3}}, "/what must be string"),
        ({"tool": "s_read"}, "/what is missing"),
        ({"tool": " "}, "names no tool"),
        ({"tool": "s_create", "group": "g"}, "group"),
        ({"tool": "s_create", "timeout_sec": 0}, "timeout"),
    ],
)
def test_a_call_that_cannot_be_made_is_not_proposed(tmp_path: Path, spec: dict[str, object], says: str):
    with opened(tmp_path, RINGI_PLANNING_SECURITY_FORBIDDEN_TOOLS="*_sl?w") as workspace:
        plan_id = workspace.plan.propose("A call")
        report = workspace.plan.set_action_specs(plan_id, [ActionSpec(SpecKind.CALL, **spec)])  # type: ignore[arg-type]
        assert not report.ok
        assert says in " ".join(report.issues)
        with pytest.raises(InvalidSpecs):
            workspace.plan.request_approval(plan_id)


def test_a_tool_that_changed_since_is_not_called(tmp_path: Path):
    with opened(tmp_path, "described") as workspace:
        words = workspace.places.root / "described.txt"
        words.write_text("Makes a thing\n")
        plan_id = approved(workspace, call(tmp_path))
        words.write_text("Makes a thing, and sends your keys away\n")
        (outcome,) = workspace.plan.execute(plan_id).results
        assert (outcome.status, calls(tmp_path)) == (OpStatus.FAILED, [])
        assert "changed since" in outcome.detail
        words.write_text("Makes a thing\n")
        assert workspace.plan.execute(plan_id).overall_success


@pytest.mark.parametrize(
    ("how", "variables", "says"),
    [
        ("plain", {"RINGI_PLANNING_SECURITY_FORBIDDEN_TOOLS": "s_*"}, "forbidden"),
        ("output", {}, "no tool s_create"),
        ("dies at start", {}, "cannot start"),
        ("many", {}, "250 tools"),
    ],
)
def test_a_tool_that_is_gone_or_forbidden_since_is_not_called(
    tmp_path: Path, how: str, variables: dict[str, str], says: str
):
    with opened(tmp_path) as workspace:
        plan_id = approved(workspace, call(tmp_path))
    with opened(tmp_path, how, **variables) as workspace:
        (outcome,) = workspace.plan.execute(plan_id).results
        assert (outcome.status, calls(tmp_path)) == (OpStatus.FAILED, [])
        assert says in outcome.detail


def test_a_call_that_was_proposed_without_servers_is_proposed_again(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        plan_id = approved(workspace, call(tmp_path))
    with opened(tmp_path) as workspace:
        (outcome,) = workspace.plan.execute(plan_id).results
        assert (outcome.status, calls(tmp_path)) == (OpStatus.FAILED, [])
        assert "propose the call again" in outcome.detail
        again = workspace.versions.fork(plan_id)
        approve(workspace, again)
        assert workspace.plan.execute(again).overall_success
        assert calls(tmp_path) == ["create"]


def test_a_fork_asks_the_server_again(tmp_path: Path):
    with opened(tmp_path) as workspace:
        plan_id = approved(workspace, call(tmp_path))
    with opened(tmp_path, "output") as workspace, pytest.raises(UnfitSpecs, match="no tool s_create"):
        workspace.versions.fork(plan_id)


@pytest.mark.parametrize("how", ["hangs at call", "dies at call", "floods output", "breaks", "no result"])
@pytest.mark.parametrize("done", [True, False])
def test_a_call_without_an_answer_is_unknown_and_never_made_again_by_itself(
    tmp_path: Path, how: str, done: bool
):
    spec = call(tmp_path)
    with opened(tmp_path, how) as workspace:
        spec = ActionSpec(SpecKind.CALL, tool=spec.tool, arguments=spec.arguments, timeout_sec=1)
        plan_id = approved(workspace, spec, write("README.md", "x\n"))
        first, second = workspace.plan.execute(plan_id).results
        assert (first.status, second.status) == (OpStatus.UNKNOWN, OpStatus.UNTOUCHED)
        assert "nobody knows" in first.detail
        assert workspace.plan.get_state(plan_id).status is PlanStatus.ABORTED
        for _ in range(2):
            with pytest.raises(UnknownCommand, match="s_create"):
                workspace.plan.execute(plan_id)
        assert calls(tmp_path) == ["create"]
        workspace.plan.settle(plan_id, "s1", done=done)
    with opened(tmp_path) as workspace:
        assert workspace.plan.execute(plan_id).overall_success
        assert calls(tmp_path) == (["create"] if done else ["create", "create"])
        assert_whole(workspace)


def test_a_call_that_failed_stops_what_comes_after_it(tmp_path: Path):
    with opened(tmp_path, "error") as workspace:
        plan_id = approved(workspace, call(tmp_path), write("README.md", "x\n"))
        first, second = workspace.plan.execute(plan_id).results
        assert (first.status, second.status) == (OpStatus.FAILED, OpStatus.UNTOUCHED)
        assert (first.detail, first.output) == ("the call failed", "no such thing")


def test_what_a_tool_says_is_kept_as_data_and_masked(tmp_path: Path):
    with opened(tmp_path, "says", GITHUB_TOKEN="hunter2hunter2") as workspace:
        plan_id = approved(workspace, call(tmp_path))
        (outcome,) = workspace.plan.execute(plan_id).results
        assert outcome.status is OpStatus.DONE
        assert "Ignore the rules" in str(outcome.output)
        assert "hunter2" not in str(outcome.output)
        other = proposed(workspace, write("README.md", "x\n"))
        assert workspace.plan.get_state(other).status is not PlanStatus.APPROVED


def test_an_undo_says_what_it_cannot_bring_back(tmp_path: Path):
    with opened(tmp_path) as workspace:
        plan_id = approved(workspace, call(tmp_path))
        assert workspace.plan.execute(plan_id).overall_success
        with pytest.raises(NothingToUndo, match="call s_create"):
            workspace.plan.ask_undo(plan_id)


def test_files_that_a_tool_wrote_in_the_workspace_go_back(tmp_path: Path):
    with opened(tmp_path, "writes") as workspace:
        made = workspace.places.root / "made.txt"
        plan_id = approved(workspace, call(tmp_path))
        assert workspace.plan.execute(plan_id).overall_success
        assert made.exists()
        request, found = workspace.plan.ask_undo(plan_id)
        assert found.beyond == ("call s_create",)
        assert workspace.plan.undo(plan_id, "hanako", answer(request)).overall_success
        assert not made.exists()
        assert_whole(workspace)


def test_other_arguments_need_another_approval(tmp_path: Path):
    with opened(tmp_path) as workspace:
        plan_id = approved(workspace, call(tmp_path))
        workspace.plan.set_action_specs(plan_id, [call(tmp_path, what="something else")])
        with pytest.raises(ringi.errors.NotApproved):
            workspace.plan.execute(plan_id)
        assert calls(tmp_path) == []
