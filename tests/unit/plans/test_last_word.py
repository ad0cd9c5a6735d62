"""What a person said last counts, and what was approved happens in that form or not at all."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.errors import CheckFailed, InvalidSpecs, NotApproved, Stale, UnlistedKey
from ringi.kernel.process.capture import CommandResult
from ringi.plans.document import PlanStatus
from ringi.plans.tool import PlanTool
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, SpecSelection
from ringi.tree.check_result import CheckPhase, CheckResult
from tests.fakes.signing import MadeUpKeys
from tests.helpers import (
    answer,
    approve,
    approved,
    assert_whole,
    create,
    ledger_of,
    open_scratch,
    proposed,
    untouched,
    write,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as opened:
        yield opened


class Box:
    """A sandbox that comes and goes."""

    def __init__(self, there: bool) -> None:
        self.there = there
        self.ran: list[bool] = []

    def uses_sandbox(self) -> bool:
        return self.there

    def run(self, argv: Sequence[str], folder: str, *, timeout_sec: float, sandboxed: bool) -> CommandResult:
        del argv, folder, timeout_sec
        self.ran.append(sandboxed)
        return CommandResult(0, 0.0, b"")


def made_stale(workspace: Workspace, plan_id: str) -> None:
    """Sent back to review by an execution that found a changed file, which is as it was again."""
    path = workspace.places.root / "README.md"
    before = path.read_bytes()
    path.write_bytes(b"x")
    with pytest.raises(Stale):
        workspace.plan.execute(plan_id)
    path.write_bytes(before)


def run(*argv: str) -> ActionSpec:
    return ActionSpec(SpecKind.RUN, argv=argv)


@pytest.mark.req("PT-8", "PT-9")
def test_a_wider_approval_from_before_a_reject_does_not_come_back(workspace: Workspace):
    keys = MadeUpKeys("k")
    workspace.plan = PlanTool(workspace.replace(signatures=keys))
    plan_id = approved(workspace, write("README.md", "x\n"), create("b.txt", "b\n"))
    made_stale(workspace, plan_id)
    workspace.plan.reject(plan_id, "not b")
    workspace.plan.mark_pending(plan_id, pending=True)
    only = SpecSelection(all=False, ids=("s1",))
    asked = workspace.plan.ask(plan_id, only)
    workspace.plan.approve(plan_id, "hanako", only, keys.sign("k", workspace.plan.statement(asked, "hanako")))
    keys.listed.clear()
    with untouched(workspace.places.root), pytest.raises(UnlistedKey):
        workspace.plan.execute(plan_id)
    assert workspace.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW


@pytest.mark.req("PT-8", "PT-9")
def test_an_approval_without_a_sandbox_does_not_come_back(workspace: Workspace):
    box = Box(there=False)
    workspace.plan = PlanTool(workspace.replace(commands=box))
    plan_id = approved(workspace, write("README.md", "x\n"), run("true"))
    made_stale(workspace, plan_id)
    box.there = True
    approve(workspace, plan_id)
    box.there = False
    with pytest.raises(NotApproved):
        workspace.plan.execute(plan_id)
    assert box.ran == []


@pytest.mark.req("PT-8")
def test_a_sandbox_that_goes_in_the_middle(workspace: Workspace):
    """The first command takes it away; the second was approved for one, and is not run."""
    box = Box(there=True)
    workspace.plan = PlanTool(workspace.replace(commands=box))
    plan_id = approved(workspace, run("first"), run("second"))
    original = box.run

    def once(*given: object, **more: object) -> CommandResult:
        box.there = False
        return original(*given, **more)  # type: ignore[arg-type]

    box.run = once  # type: ignore[method-assign]
    result = workspace.plan.execute(plan_id)
    assert [str(outcome.status) for outcome in result.results] == ["done", "failed"]
    assert box.ran == [True]


@pytest.mark.req("PT-12")
def test_a_command_is_not_done_again_after_an_undo_of_something_else(workspace: Workspace):
    """Ids of specs mean nothing across versions."""
    root = workspace.places.root
    plan_id = approved(workspace, write("README.md", "x\n"), run("sh", "-c", "exit 1"))
    assert not workspace.plan.execute(plan_id).overall_success
    workspace.plan.set_action_specs(
        plan_id, [run("sh", "-c", "echo deployed >> log.txt"), run("sh", "-c", "exit 1")]
    )
    approve(workspace, plan_id)
    assert not workspace.plan.execute(plan_id).overall_success
    (root / "log.txt").write_text("deployed\nand more\n")
    request, found = workspace.plan.ask_undo(plan_id)
    assert found.refused == ("log.txt",)
    workspace.plan.undo(plan_id, "hanako", answer(request))
    with untouched(root), pytest.raises(NotApproved):
        workspace.plan.execute(plan_id)


@pytest.mark.req("PT-8")
def test_an_undo_that_is_asked_for_does_not_spoil_a_request(workspace: Workspace):
    plan_id = approved(workspace, write("README.md", "x\n"), run("sh", "-c", "exit 1"))
    workspace.plan.execute(plan_id)
    workspace.plan.set_action_specs(plan_id, [create("b.txt", "b\n")])
    asked = workspace.plan.ask(plan_id)
    workspace.plan.ask_undo(plan_id)
    workspace.plan.approve(plan_id, "hanako", proof=answer(asked))
    assert workspace.plan.execute(plan_id).overall_success


@pytest.mark.req("PT-8")
def test_all_of_them_or_these(workspace: Workspace):
    plan_id = proposed(workspace, create("a.txt", "a\n"), create("b.txt", "b\n"))
    with pytest.raises(InvalidSpecs, match="not both"):
        workspace.plan.request_approval(plan_id, SpecSelection(all=True, ids=("s1",)))


class Died(BaseException):
    """The process ends here."""


def checking(tmp_path: Path, on_failure: str) -> Workspace:
    return open_scratch(tmp_path, RINGI_CHECKS_AFTER="make test", RINGI_CHECKS_ON_FAILURE=on_failure)


@pytest.mark.req("PT-16")
@pytest.mark.parametrize("on_failure", ["undo", "keep"])
def test_checks_that_a_crash_cut_off_did_not_pass(tmp_path: Path, on_failure: str):
    def dies(*_: object) -> tuple[CheckResult, ...]:
        raise Died

    with checking(tmp_path, on_failure) as workspace:
        plan_id = approved(workspace, write("README.md", "x\n"))
        with pytest.raises(Died):
            PlanTool(workspace.replace(check=dies)).execute(plan_id)
        assert (tmp_path / "ws/README.md").read_text() == "x\n"
    with checking(tmp_path, on_failure) as workspace:
        kept = "x\n" if on_failure == "keep" else "# Sample\n"
        assert (tmp_path / "ws/README.md").read_text() == kept
        assert ledger_of(workspace).plans.ref(plan_id).undone is (on_failure == "undo")
        assert ledger_of(workspace).plans.checking() is None
        assert workspace.plan.recover() == []
        assert (tmp_path / "ws/README.md").read_text() == kept
        assert_whole(workspace)


@pytest.mark.req("PT-16")
def test_a_failed_check_is_told_whatever_the_undo_says(tmp_path: Path):
    root = tmp_path / "ws"

    def fails(commands: Sequence[str], files: object, phase: CheckPhase) -> tuple[CheckResult, ...]:
        del files
        (root / "README.md").write_text("theirs\n")
        return (CheckResult(commands[0], 1, 0.1, "t", "no", phase),)

    with checking(tmp_path, "undo") as workspace:
        plan_id = approved(workspace, write("README.md", "x\n"))
        tool = PlanTool(workspace.replace(check=fails))
        with pytest.raises(CheckFailed, match=r"somebody wrote since to: README\.md"):
            tool.execute(plan_id)
        assert (root / "README.md").read_text() == "theirs\n"
        assert ledger_of(workspace).plans.checking() is None
