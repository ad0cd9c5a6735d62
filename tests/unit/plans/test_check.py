"""Checks of a plan: before it, after it, and dry, while the workspace stays as it is."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import UNSET

from ringi.app.workspace import Workspace
from ringi.errors import BadTransition, CheckFailed, CopyFailed, Interrupted, InvalidSpecs, PlanChanged, Stale
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.places import places_of
from ringi.plans import check
from ringi.plans.document import PlanStatus, StoredPlan, with_state
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, PlannedChecks, SpecSelection
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import CopyChecks
from tests.fakes.world import World, with_most_bytes
from tests.helpers import HELLO, create, delete, environment_of, make_files, untouched, write

B, D, A = CheckPhase.BEFORE, CheckPhase.DRY, CheckPhase.AFTER
AFTER = write("app/hello.py", "after\n")


class Desk:
    """A world whose checks really run, and the plan on it."""

    def __init__(self, world: World, root: Path, check: CopyChecks) -> None:
        self.world = world
        self.root = root
        self.real = check
        self.workspace = world.workspace.replace(check=check)

    def plan(
        self, *specs: ActionSpec, before: tuple[str, ...] = (), after: tuple[str, ...] = ()
    ) -> StoredPlan:
        self.workspace = self.workspace.replace(checks=PlannedChecks(before, after), check=self.real)
        plan_id = self.world.tool.propose("A change")
        report = self.world.tool.set_action_specs(plan_id, specs)
        assert report.ok, report.issues
        return planned(self.world.ledger.plans.get(plan_id), PlannedChecks(before, after))

    def dry(self, stored: StoredPlan) -> list[tuple[CheckPhase, int]]:
        with untouched(self.root):
            results = check.dry(self.workspace, stored)
        return [(result.phase, result.exit_code) for result in results]

    def told(self, stored: StoredPlan) -> tuple[CheckResult, ...]:
        return self.world.ledger.plans.get(stored.document.plan.id).document.state.checks


def planned(stored: StoredPlan, checks: PlannedChecks) -> StoredPlan:
    return stored._replace(document=with_state(stored.document, planned_checks=checks))


@pytest.fixture
def desk(repo: Path, tmp_path: Path) -> Iterator[Desk]:
    places = places_of(repo, environment_of(tmp_path))
    check = CopyChecks(places, {"PATH": os.environ["PATH"]}, 30)
    with World(places.state, repo, OsFileSystem()) as world:
        yield Desk(world, repo, check)
    assert WorkCopy.all(places.copies) == []


@pytest.mark.req("PT-16")
def test_a_dry_run_sees_the_workspace_before_and_the_copy_after(desk: Desk):
    stored = desk.plan(AFTER, before=("grep -q hello app/hello.py",), after=("grep -qx after app/hello.py",))
    assert desk.dry(stored) == [(B, 0), (D, 0)]
    assert [(one.phase, one.command) for one in desk.told(stored)] == [
        (B, "grep -q hello app/hello.py"),
        (D, "grep -qx after app/hello.py"),
    ]
    now = desk.world.ledger.plans.get(stored.document.plan.id).document
    assert now.state.status is PlanStatus.PENDING_REVIEW
    assert now.plan.version == stored.document.plan.version


@pytest.mark.req("PT-16")
def test_a_dry_run_tells_what_fails_and_raises_nothing(desk: Desk):
    stored = desk.plan(AFTER, before=("exit 3", "true"), after=("echo so; exit 4", "true"))
    assert desk.dry(stored) == [(B, 3), (D, 4)]
    assert [one.output for one in desk.told(stored)] == ["", "so\n"]


@pytest.mark.req("PT-16")
def test_what_was_dry_is_what_comes_after(desk: Desk):
    """The same tree: the dry run spoke of the very bytes that the plan leaves."""
    stored = desk.plan(AFTER, create("new/a.sh", "a\n", mode="0755"), delete("README.md"), after=("true",))
    (result,) = check.dry(desk.workspace, stored)
    make_files(desk.root, {"app/hello.py": "after\n", "new/a.sh": "a\n"})
    (desk.root / "new/a.sh").chmod(0o755)
    (desk.root / "README.md").unlink()
    (real,) = check.run_after(desk.workspace, PlannedChecks(after=("true",)))
    assert (result.phase, real.phase) == (D, A)
    assert result.tree == real.tree


@pytest.mark.req("PT-16")
def test_every_kind_that_changes_files_is_laid_over(desk: Desk):
    (desk.root / "app/hello.py").chmod(0o755)
    diff = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Sample\n+# Patched\n"
    stored = desk.plan(
        ActionSpec(SpecKind.PATCH, "README.md", diff),
        ActionSpec(SpecKind.MOVE, "app/hello.py", target="lib/hi.py"),
        ActionSpec(SpecKind.MKDIR, "empty"),
        ActionSpec(SpecKind.CREATE, "data.bin", "AAEC", encoding="base64"),
        after=(
            "grep -q Patched README.md && test ! -e app && test -x lib/hi.py && test $(wc -c < data.bin) = 3",
        ),
    )
    assert desk.dry(stored) == [(D, 0)]


def test_a_new_folder_is_nothing_to_lay(desk: Desk):
    asked: list[object] = []

    def listening(commands: object, files: object, phase: object) -> tuple[CheckResult, ...]:
        asked.append(files)
        return ()

    stored = desk.plan(ActionSpec(SpecKind.MKDIR, "empty"), delete("README.md"), after=("true",))
    desk.workspace = desk.workspace.replace(check=listening)
    assert desk.dry(stored) == []
    assert asked == [{"README.md": None}]


def test_a_copy_and_its_source(desk: Desk):
    diff = (
        "diff --git a/app/hello.py b/two.py\nsimilarity index 100%\ncopy from app/hello.py\ncopy to two.py\n"
    )
    stored = desk.plan(
        ActionSpec(SpecKind.PATCH, "two.py", diff), after=("cmp app/hello.py two.py && test -s two.py",)
    )
    assert desk.dry(stored) == [(D, 0)]


def test_commands_of_the_plan_do_not_run_in_a_dry_run(desk: Desk, tmp_path: Path):
    run = ActionSpec(SpecKind.RUN, argv=("touch", str(tmp_path / "ran")))
    stored = desk.plan(AFTER, run, ActionSpec(SpecKind.READ, "README.md"), after=("true",))
    assert desk.dry(stored) == [(D, 0)]
    assert not (tmp_path / "ran").exists()


def test_only_the_chosen_specs_count(desk: Desk):
    stored = desk.plan(AFTER, create("b.txt", "b\n"), after=("test -e b.txt && grep -q hello app/hello.py",))
    chosen = SpecSelection(all=False, ids=("s2",))
    stored = stored._replace(document=with_state(stored.document, selection=chosen))
    assert desk.dry(stored) == [(D, 0)]


def test_what_the_plan_was_set_with_counts_and_not_the_configuration_of_today(desk: Desk):
    stored = desk.plan(AFTER, after=("exit 5",))
    assert desk.dry(planned(stored, PlannedChecks(before=("exit 6",)))) == [(B, 6)]
    unset = stored._replace(document=with_state(stored.document, planned_checks=UNSET))
    assert desk.dry(unset) == []


def test_nothing_to_check_leaves_no_trace(desk: Desk):
    stored = desk.plan(AFTER)
    assert desk.dry(stored) == []
    now = desk.world.ledger.plans.get(stored.document.plan.id)
    assert (now.revision, now.document.state.checks) == (stored.revision, ())


@pytest.mark.req("PT-16", "PT-12")
def test_a_plan_that_no_longer_fits_is_stale(desk: Desk):
    stored = desk.plan(AFTER, after=("true",))
    (desk.root / "app/hello.py").write_text("theirs\n")
    with pytest.raises(Stale, match=r"app/hello\.py"):
        desk.dry(stored)
    assert desk.told(stored) == ()


def test_a_plan_that_cannot_be_carried_out_is_refused(desk: Desk):
    plan_id = desk.world.tool.propose("A change")
    assert not desk.world.tool.set_action_specs(plan_id, [delete("gone.txt")]).ok
    with pytest.raises(InvalidSpecs, match="it is not there"):
        desk.dry(desk.world.ledger.plans.get(plan_id))


def test_a_rule_that_came_later_is_named(desk: Desk):
    stored = desk.plan(AFTER, after=("true",))
    desk.workspace = with_most_bytes(desk.workspace, 2)
    with pytest.raises(InvalidSpecs, match="2 are allowed"):
        desk.dry(stored)


@pytest.mark.parametrize("status", [PlanStatus.SCHEDULED, PlanStatus.EXECUTING, PlanStatus.COMPLETED])
def test_a_plan_that_is_being_or_was_carried_out_has_no_dry_run(desk: Desk, status: PlanStatus):
    stored = desk.plan(AFTER, after=("true",))
    with pytest.raises(BadTransition):
        desk.dry(stored._replace(document=with_state(stored.document, status=status)))


def test_of_an_aborted_plan_only_the_remainder_is_laid_over(desk: Desk):
    stored = desk.plan(AFTER, create("b.txt", "b\n"), after=("grep -qx after app/hello.py && test -e b.txt",))
    (desk.root / "app/hello.py").write_text("after\n")
    stored = stored._replace(document=with_state(stored.document, status=PlanStatus.ABORTED))
    assert desk.dry(stored) == [(D, 0)]


def test_results_do_not_go_to_a_plan_that_has_other_specs_by_now(desk: Desk):
    stored = desk.plan(AFTER, after=("true",))
    real = desk.workspace.check

    def slow(*asked) -> tuple[CheckResult, ...]:
        desk.world.tool.set_action_specs(stored.document.plan.id, [create("other.txt", "x\n")])
        return real(*asked)

    desk.workspace = desk.workspace.replace(check=slow)
    with pytest.raises(PlanChanged):
        desk.dry(stored)
    assert desk.told(stored) == ()


@pytest.mark.req("PT-16")
def test_a_check_before_that_fails_refuses_and_is_told(desk: Desk):
    stored = desk.plan(AFTER)
    checks = PlannedChecks(before=("true", "echo no; exit 9", "true"))
    with untouched(desk.root), pytest.raises(CheckFailed) as refused:
        check.require_before(desk.workspace, stored, checks)
    assert str(refused.value) == "Plan p1: echo no; exit 9 ended with exit code 9; nothing was changed"
    assert [(one.phase, one.exit_code, one.output) for one in desk.told(stored)] == [
        (B, 0, ""),
        (B, 9, "no\n"),
    ]


@pytest.mark.req("PT-16")
def test_checks_before_that_pass(desk: Desk):
    stored = desk.plan(AFTER)
    results = check.require_before(desk.workspace, stored, PlannedChecks(before=("grep -q hello app/*.py",)))
    assert [(one.phase, one.exit_code) for one in results] == [(B, 0)]
    assert desk.told(stored) == ()  # whoever executes keeps them
    assert check.require_before(desk.workspace, stored, PlannedChecks(after=("false",))) == ()


@pytest.mark.req("PT-16")
def test_checks_after_see_the_workspace_and_raise_nothing(desk: Desk):
    (desk.root / "app/hello.py").write_text(HELLO + "# more\n")
    results = check.run_after(
        desk.workspace, PlannedChecks(after=("grep -q more app/hello.py", "exit 2", "true"))
    )
    assert [(one.phase, one.exit_code) for one in results] == [(A, 0), (A, 2)]
    assert check.run_after(desk.workspace, PlannedChecks(before=("false",))) == ()


def test_a_check_after_that_cannot_be_run_did_not_pass(desk: Desk):
    def broken(*_: object) -> tuple[CheckResult, ...]:
        raise CopyFailed(why="no room")

    parts: Workspace = desk.workspace.replace(check=broken)
    (result,) = check.run_after(parts, PlannedChecks(after=("make test",)))
    assert (result.command, result.exit_code, result.phase) == ("make test", check.CANNOT_RUN, A)
    assert "no room" in result.output
    with pytest.raises(CopyFailed):
        check.require_before(parts, desk.plan(AFTER), PlannedChecks(before=("make test",)))


def test_an_interrupt_is_no_result(desk: Desk):
    def interrupted(*_: object) -> tuple[CheckResult, ...]:
        raise Interrupted

    with pytest.raises(Interrupted):
        check.run_after(desk.workspace.replace(check=interrupted), PlannedChecks(after=("make test",)))
