"""A plan is forked, brought back to an earlier version, and compared with another one."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.errors import BadTransition, ChangeFixed, NotApproved, NotFound, UnfitSpecs
from ringi.kernel.fs import OsFileSystem
from ringi.plans import from_patch as patches
from ringi.plans.change import GROUP, ChangeDraft
from ringi.plans.change_plan import FileDiff, PlanBasis, Trigger
from ringi.plans.document import Difference, PlanComparison, PlanStatus
from ringi.plans.versions import Versions
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, SpecSelection
from tests.fakes.world import World
from tests.helpers import (
    approve,
    approved,
    assert_whole,
    create,
    delete,
    kinds,
    open_scratch,
    proposed,
    steps_of,
    untouched,
    write,
)

FILES = {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "run.sh": "#!/bin/sh\n", "latin.txt": b"caf\xe9\n"}
PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
OTHER_PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+zwei\n three\n"


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path, FILES) as workspace:
        yield workspace


def patch(content: str, path: str = "a.txt", **more: object) -> ActionSpec:
    return ActionSpec(SpecKind.PATCH, path, content, **more)


def put(workspace: Workspace, name: str, text: str) -> None:
    (workspace.places.root / name).write_text(text)


def set_specs(workspace: Workspace, plan_id: str, *specs: ActionSpec) -> None:
    report = workspace.plan.set_action_specs(plan_id, specs)
    assert report.ok, report.issues


def change_plan(workspace: Workspace) -> str:
    diffs = [FileDiff("a.txt", PATCH)]
    return patches.propose_change(workspace, ChangeDraft("Fix", diffs, PlanBasis(Trigger.USER_REQUEST, ())))


def what(comparison: PlanComparison | None) -> list[tuple[str, str]]:
    assert comparison is not None
    return [(found.path, str(found.what)) for found in comparison.differences]


# Forks.


@pytest.mark.req("PT-15")
def test_a_fork_is_a_plan_of_its_own(ws):
    first = ws.plan.propose("# Title\nmore", (), "because", ["x", "y"], proposer="agent", left_out=["z: big"])
    set_specs(ws, first, write("a.txt", "1\n"), create("new.txt", "n\n", group="g"))
    fork = ws.versions.fork(first)
    old, new = ws.plan.get(first), ws.plan.get(fork)
    assert fork != first
    assert (new.plan.forked_from, new.plan.version) == (first, 1)
    assert (new.plan.title, new.plan.content, new.plan.rationale) == ("Title", "# Title\nmore", "because")
    assert (new.plan.tags, new.plan.proposer, new.plan.left_out) == (("x", "y"), "agent", ("z: big",))
    assert new.state.status is PlanStatus.PENDING_REVIEW
    assert new.state.action_specs == old.state.action_specs
    assert new.state.previews == old.state.previews
    assert kinds(ws, fork) == ["plan_proposed", "forked", "specs_set"]
    forked = next(logged.event for logged in ws.log(fork) if logged.event.event == "forked")
    assert forked.reason == f"{first} version 1"
    assert ws.plan.get_current().id == fork
    assert ws.plan.get(ws.versions.fork(first, proposer="somebody")).plan.proposer == "somebody"
    assert (ws.places.root / ".agent/logs/plans" / fork / "preview" / "s1-a.txt.diff").exists()
    assert_whole(ws)


@pytest.mark.req("PT-15")
def test_an_earlier_version_can_be_forked(ws):
    plan_id = proposed(ws, write("a.txt", "first\n"))
    set_specs(ws, plan_id, write("a.txt", "second\n"), delete("b.txt"))
    fork = ws.plan.get(ws.versions.fork(plan_id, 1))
    assert [spec.base for spec in fork.state.action_specs] == [write("a.txt", "first\n")]
    assert fork.plan.version == 1


@pytest.mark.req("PT-15")
def test_a_fork_is_measured_on_the_files_as_they_are_now(ws):
    plan_id = proposed(ws, write("a.txt", "new\n"))
    put(ws, "a.txt", "meanwhile\n")
    before = ws.plan.get(plan_id).state.action_specs[0].before
    fork = ws.versions.fork(plan_id)
    assert ws.plan.get(fork).state.action_specs[0].before != before
    assert ws.plan.preview(fork).stale == ()
    approve(ws, fork)
    assert ws.plan.execute(fork).overall_success
    assert (ws.places.root / "a.txt").read_text() == "new\n"


@pytest.mark.req("PT-15")
def test_a_fork_inherits_no_approval(ws):
    fork = ws.versions.fork(approved(ws, write("a.txt", "x\n")))
    with untouched(ws.places.root), pytest.raises(NotApproved):
        ws.plan.execute(fork)
    assert ws.plan.get_state(fork).approvals == ()


@pytest.mark.req("PT-15")
def test_what_does_not_fit_any_more_is_not_forked(ws):
    plan_id = proposed(ws, patch(PATCH))
    put(ws, "a.txt", "other\n")
    plans = len(ws.plan.list())
    with pytest.raises(UnfitSpecs, match=r"s1 a\.txt"):
        ws.versions.fork(plan_id)
    assert len(ws.plan.list()) == plans


def test_whoever_forks_it_asks_for_it(ws):
    plan_id = ws.plan.propose("Asked by an agent", requester="with:claude")
    assert ws.plan.get(ws.versions.fork(plan_id)).plan.requester == "user:hanako"


def test_a_completed_and_a_declined_plan_can_be_forked(ws):
    done = approved(ws, write("a.txt", "x\n"))
    assert ws.plan.execute(done).overall_success
    declined = proposed(ws, write("b.txt", "y\n"))
    ws.plan.reject(declined, "no")
    for plan_id in (done, declined):
        fork = ws.plan.get(ws.versions.fork(plan_id))
        assert fork.state.status is PlanStatus.PENDING_REVIEW
        assert fork.state.feedback == ()


def test_a_plan_without_specs_forks_without_specs(ws):
    fork = ws.versions.fork(ws.plan.propose("Only words"))
    assert ws.plan.get_state(fork).status is PlanStatus.PROPOSED
    assert kinds(ws, fork) == ["plan_proposed", "forked"]
    assert_whole(ws)


@pytest.mark.req("PT-15")
def test_a_superseded_change_plan_forks_as_an_ordinary_one(ws):
    plan_id = change_plan(ws)
    put(ws, "b.txt", "the project moved on\n")
    fork = ws.plan.get(ws.versions.fork(plan_id))
    assert not fork.change
    assert [(spec.base.kind, spec.base.group) for spec in fork.state.action_specs] == [("patch", GROUP)]
    approve(ws, fork.plan.id)
    assert ws.plan.execute(fork.plan.id).overall_success


@pytest.mark.req("PT-15")
@pytest.mark.parametrize("version", [0, -1, 2, 10**30])
def test_an_unknown_version_is_named(ws, version):
    plan_id = proposed(ws, write("a.txt", "x\n"))
    for call in (
        lambda: ws.versions.fork(plan_id, version),
        lambda: ws.versions.revert(plan_id, version),
        lambda: ws.versions.compare(plan_id, version),
        lambda: ws.versions.compare(plan_id, 1, version),
    ):
        with pytest.raises(NotFound, match=f"no version {version}") as caught:
            call()
        assert caught.value.details["see"] == "ringi show p1"


# Going back.


@pytest.mark.req("PT-15")
def test_going_back_is_a_new_version(ws):
    plan_id = proposed(ws, write("a.txt", "first\n"))
    set_specs(ws, plan_id, write("a.txt", "second\n"), delete("b.txt"))
    assert ws.versions.revert(plan_id, 1).ok
    document = ws.plan.get(plan_id)
    assert document.plan.version == 3
    assert [spec.base for spec in document.state.action_specs] == [write("a.txt", "first\n")]
    assert document.state.previews.files == ("a.txt",)
    assert kinds(ws, plan_id)[-2:] == ["reverted", "specs_set"]
    assert [logged.event.reason for logged in ws.log(plan_id)][-2:] == ["1", "as in version 1"]
    shown = ws.places.root / ".agent/logs/plans" / plan_id / "preview"
    assert [path.name for path in shown.glob("s*")] == ["s1-a.txt.diff"]
    assert_whole(ws)


@pytest.mark.req("PT-15")
def test_an_approval_of_the_same_specs_in_an_earlier_version_does_not_count_again(ws):
    plan_id = approved(ws, write("a.txt", "first\n"))
    set_specs(ws, plan_id, write("a.txt", "second\n"))
    assert ws.versions.revert(plan_id, 1).ok
    with untouched(ws.places.root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW


@pytest.mark.req("PT-15")
def test_what_does_not_fit_any_more_leaves_the_plan_as_it_is(ws):
    plan_id = proposed(ws, patch(PATCH))
    set_specs(ws, plan_id, write("b.txt", "x\n"))
    put(ws, "a.txt", "other\n")
    before = ws.plan.get(plan_id)
    report = ws.versions.revert(plan_id, 1)
    assert not report.ok
    assert report.issues[0].startswith("s1 a.txt: ")
    assert ws.plan.get(plan_id) == before


def test_a_change_plan_and_a_carried_out_plan_do_not_go_back(ws):
    done = approved(ws, write("b.txt", "x\n"))
    assert ws.plan.execute(done).overall_success
    with pytest.raises(BadTransition):
        ws.versions.revert(done, 1)
    with pytest.raises(ChangeFixed):
        ws.versions.revert(change_plan(ws), 1)


def test_a_declined_plan_goes_back_to_review(ws):
    plan_id = proposed(ws, write("a.txt", "first\n"))
    set_specs(ws, plan_id, write("a.txt", "second\n"))
    ws.plan.reject(plan_id, "the first was better")
    assert ws.versions.revert(plan_id, 1).ok
    state = ws.plan.get_state(plan_id)
    assert state.status is PlanStatus.PENDING_REVIEW
    assert [given.text for given in state.feedback] == ["the first was better"]


# Comparing.


@pytest.mark.req("PT-15")
def test_two_versions_side_by_side(ws):
    plan_id = proposed(
        ws,
        write("a.txt", "one\nTWO\nthree\n"),
        delete("b.txt"),
        create("same.txt", "s\n"),
        create("z", "z\n"),
    )
    set_specs(
        ws, plan_id, create("same.txt", "s\n"), write("a.txt", "one\n2\nthree\n"), create("new.txt", "n\n")
    )
    found = ws.versions.compare(plan_id, 1, 2)
    assert (found.plan_id, found.version, found.other_plan_id, found.other_version) == (
        plan_id,
        1,
        plan_id,
        2,
    )
    assert what(found) == [
        ("a.txt", "changed"),
        ("b.txt", "removed"),
        ("new.txt", "added"),
        ("z", "removed"),
    ]
    changed, back, new, gone = (difference.diff for difference in found.differences)
    assert changed == (
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-TWO\n+2\n three\n"
    )
    # A file that is no longer deleted stays what it is.
    assert back.endswith("--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b\n")
    assert new.endswith("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+n\n")
    assert gone.endswith("--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n")
    assert ws.versions.compare(plan_id, 1) == found
    assert ws.versions.compare(plan_id, 2, 2).differences == ()


@pytest.mark.req("PT-15")
def test_what_is_written_counts_not_how_it_is_said(ws):
    plan_id = proposed(ws, write("a.txt", "one\n2\nthree\n", description="whole"))
    set_specs(ws, plan_id, patch(PATCH, description="as a patch"))
    assert ws.versions.compare(plan_id, 1, 2).differences == ()
    set_specs(ws, plan_id, patch(OTHER_PATCH))
    (found,) = ws.versions.compare(plan_id, 1, 3).differences
    assert found.what is Difference.CHANGED
    assert found.diff.endswith("@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n")


@pytest.mark.req("PT-15")
@pytest.mark.parametrize(("mode", "shown"), [("0755", "new mode 100755"), ("0600", "new mode 100600")])
def test_permission_bits_alone_are_a_difference(ws, mode, shown):
    plan_id = proposed(ws, write("run.sh", "#!/bin/sh\ntrue\n"))
    set_specs(ws, plan_id, write("run.sh", "#!/bin/sh\ntrue\n", mode=mode))
    (found,) = ws.versions.compare(plan_id, 1, 2).differences
    assert (found.path, found.what) == ("run.sh", Difference.CHANGED)
    assert found.diff.splitlines()[1:] == ["old mode 100644", shown]


def test_what_else_is_approved_of_a_spec_is_compared_too(ws):
    plan_id = proposed(ws, write("a.txt", "x\n"))
    set_specs(ws, plan_id, write("a.txt", "x\n", optional=True))
    (found,) = ws.versions.compare(plan_id, 1, 2).differences
    assert found.what is Difference.CHANGED
    assert '-  "optional": false\n+  "optional": true\n' in found.diff


@pytest.mark.req("PT-15")
def test_another_plan_can_be_compared(ws):
    first, second = proposed(ws, write("a.txt", "1\n")), proposed(ws, write("a.txt", "2\n"))
    found = ws.versions.compare(first, 1, other_plan=second)
    assert (found.plan_id, found.other_plan_id) == (first, second)
    assert what(found) == [("a.txt", "changed")]
    assert found.differences[0].diff.endswith("@@ -1 +1 @@\n-1\n+2\n")


def test_patches_are_compared_by_what_they_do_although_their_file_is_another_by_now(ws):
    plan_id = proposed(ws, patch(PATCH))
    set_specs(ws, plan_id, patch(OTHER_PATCH))
    put(ws, "a.txt", "nothing like it\n")
    (found,) = ws.versions.compare(plan_id, 1, 2).differences
    assert "\n-2\n+zwei\n" in found.diff


@pytest.mark.req("PT-15")
def test_bytes_that_the_ledger_keeps_are_used_where_the_file_changed(ws):
    plan_id = approved(ws, patch(PATCH))
    other = proposed(ws, patch(OTHER_PATCH))
    assert ws.plan.execute(plan_id).overall_success
    put(ws, "a.txt", "nothing like it\n")
    (found,) = ws.versions.compare(plan_id, 1, other_plan=other).differences
    assert found.diff.endswith("@@ -1,3 +1,3 @@\n one\n-2\n+zwei\n three\n")


def test_bytes_that_are_no_text_are_named(ws):
    plan_id = proposed(ws, write("a.txt", "AA==", encoding="base64"))
    set_specs(
        ws, plan_id, write("a.txt", "AAA=", encoding="base64"), write("latin.txt", "/w==", encoding="base64")
    )
    binary, latin = ws.versions.compare(plan_id, 1, 2).differences
    assert binary.diff.endswith("Binary files a/a.txt and b/a.txt differ\n")
    assert "-caf\\xe9\n+\\xff\n" in latin.diff


def test_specs_that_were_never_valid_are_compared_by_their_content(ws):
    plan_id = ws.plan.propose("Broken")
    assert not ws.plan.set_action_specs(
        plan_id, [create("a.txt", "x\n"), write("b.txt", "?", encoding="base64")]
    ).ok
    set_specs(ws, plan_id, write("a.txt", "y\n"))
    first, second = ws.versions.compare(plan_id, 1, 2).differences
    assert (first.path, first.what) == ("a.txt", Difference.CHANGED)
    assert "-x\n+y\n" in first.diff
    assert (second.path, second.what) == ("b.txt", Difference.REMOVED)
    assert ws.versions.compare(plan_id, 1, 1).differences == ()


def test_both_paths_of_a_rename_are_compared(ws):
    renamed = "diff --git a/a.txt b/z.txt\nsimilarity index 100%\nrename from a.txt\nrename to z.txt\n"
    plan_id = proposed(ws, write("a.txt", "x\n"))
    set_specs(ws, plan_id, patch(renamed, "z.txt"))
    assert what(ws.versions.compare(plan_id, 1, 2)) == [("a.txt", "changed"), ("z.txt", "added")]
    assert ws.versions.compare(plan_id, 1, 2).differences[0].diff.endswith("@@ -1 +0,0 @@\n-x\n")


@pytest.mark.req("PT-15")
def test_moves_and_folders_are_compared_by_what_is_there_afterwards(ws):
    moved = ActionSpec(SpecKind.MOVE, "b.txt", target="c.txt")
    plan_id = proposed(ws, moved, ActionSpec(SpecKind.MKDIR, "d"))
    set_specs(
        ws, plan_id, delete("b.txt"), create("c.txt", "b\n"), ActionSpec(SpecKind.MKDIR, "d", mode="0700")
    )
    assert ws.versions.compare(plan_id, 1, 2).differences == ()
    set_specs(ws, plan_id, delete("b.txt"), create("c.txt", "c\n"))
    changed, gone = ws.versions.compare(plan_id, 1, 3).differences
    assert (changed.path, changed.diff.endswith("@@ -1 +1 @@\n-b\n+c\n")) == ("c.txt", True)
    assert (gone.path, gone.what) == ("d", Difference.REMOVED)
    assert gone.diff == "diff --git a/d b/d\ndeleted file mode 040000\n"


@pytest.mark.req("PT-15")
def test_commands_are_compared_by_what_is_run(ws):
    def run(*argv: str, **more: object) -> ActionSpec:
        return ActionSpec(SpecKind.RUN, argv=argv, **more)

    plan_id = proposed(ws, run("make", "test"), run("ls", "a b"), run("ls", "a b"))
    set_specs(
        ws, plan_id, run("make", "test", timeout_sec=5), run("ls", "a b"), ActionSpec(SpecKind.READ, "a.txt")
    )
    found = ws.versions.compare(plan_id, 1, 2)
    assert what(found) == [("a.txt", "added"), ("ls 'a b'", "removed"), ("make test", "changed")]
    assert found.differences[2].diff.startswith("@@ ")
    assert '+  "timeout_sec": 5' in found.differences[2].diff


@pytest.mark.req("PT-15")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.lists(st.sampled_from(["x\n", "y\n", "é\n", "z"]), max_size=6), min_size=2, max_size=2)
)
def test_git_makes_one_version_of_the_other_with_the_difference(ws, texts):
    one, two = ("".join(lines) for lines in texts)
    plan_id = proposed(ws, write("c.txt", one))
    set_specs(ws, plan_id, write("c.txt", two))
    differences = ws.versions.compare(plan_id, 1, 2).differences
    folder = ws.places.root.parent / "oracle"
    folder.mkdir(exist_ok=True)
    (folder / "c.txt").write_bytes(one.encode())
    for found in differences:
        git = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn"]
        subprocess.run(git, cwd=folder, input=found.diff.encode(), check=True)
    assert len(differences) == (one != two)
    assert (folder / "c.txt").read_bytes() == two.encode()


# Since the last approval.


@pytest.mark.req("PT-8")
def test_the_delta_to_the_version_approved_last(ws):
    plan_id = proposed(ws, write("a.txt", "first\n"), create("new.txt", "n\n"))
    assert ws.versions.delta(plan_id) is None
    approve(ws, plan_id)
    assert ws.versions.delta(plan_id).differences == ()
    set_specs(ws, plan_id, write("a.txt", "between\n"))
    set_specs(ws, plan_id, write("a.txt", "second\n"), create("new.txt", "n\n"))
    found = ws.versions.delta(plan_id)
    assert (found.version, found.other_version) == (1, 3)
    assert what(found) == [("a.txt", "changed")]
    assert found.differences[0].diff.endswith("-first\n+second\n")


@pytest.mark.req("PT-8")
def test_another_file_to_replace_is_a_difference_although_the_result_is_the_same(ws):
    plan_id = proposed(ws, write("a.txt", "first\n"))
    before = (ws.places.root / "a.txt").read_text()
    approve(ws, plan_id)
    put(ws, "a.txt", before + "mine\n")
    set_specs(ws, plan_id, write("a.txt", "first\n"))
    found = ws.versions.delta(plan_id)
    assert what(found) == [("a.txt", "basis")]
    assert "\n+mine\n" in found.differences[0].diff
    set_specs(ws, plan_id, write("a.txt", "second\n"))
    assert what(ws.versions.delta(plan_id)) == [("a.txt", "basis"), ("a.txt", "changed")]


@pytest.mark.req("PT-8")
def test_what_was_left_out_of_the_approval_counts_as_new(ws):
    plan_id = proposed(ws, write("a.txt", "first\n"), create("new.txt", "n\n"))
    approve(ws, plan_id, SpecSelection(all=False, ids=("s1",)))
    assert what(ws.versions.delta(plan_id)) == [("new.txt", "added")]


@pytest.mark.req("PT-15")
def test_the_time_of_a_comparison_grows_with_the_number_of_specs(tmp_path):
    (tmp_path / "ws" / ".agent").mkdir(parents=True)
    (tmp_path / "state").mkdir()
    with World(tmp_path / "state", tmp_path / "ws", OsFileSystem()) as world:

        def steps(count: int) -> int:
            names = [f"d{number % 97}/{number}.txt" for number in range(count)]
            first, second = (
                world.tool.propose_specs(text, [create(name, text) for name in names]) for text in ("1", "2")
            )
            found: list[PlanComparison] = []
            taken = steps_of(
                lambda: found.append(Versions(world.workspace).compare(first, 1, other_plan=second))
            )
            assert len(found[0].differences) == count
            return taken

        assert steps(1500) < 11 * steps(150)


@pytest.mark.req("PT-8", "PT-15")
@pytest.mark.parametrize("executed", [False, True])
def test_what_an_approval_left_out_can_be_asked_for_later(ws, executed):
    first, second = (SpecSelection(all=False, ids=(one,)) for one in ("s1", "s2"))
    plan_id = proposed(ws, create("x", "1\n"), create("y", "2\n"))
    assert ws.versions.propose_left_out(plan_id, second) is None
    approve(ws, plan_id, first)
    if executed:
        assert ws.plan.execute(plan_id).overall_success
    assert ws.versions.propose_left_out(plan_id, first) is None
    rest = ws.versions.propose_left_out(plan_id, second)
    assert rest not in {None, plan_id}
    assert ws.versions.propose_left_out(plan_id, second) == rest
    assert [spec.base.path for spec in ws.plan.get(rest).state.action_specs] == ["y"]
    approve(ws, rest)
    assert ws.plan.execute(rest).overall_success
    assert (ws.places.root / "y").read_text() == "2\n"
    assert (ws.places.root / "x").exists() is executed
    assert_whole(ws)
