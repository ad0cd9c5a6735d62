"""A file that is deleted and made again elsewhere is one rename, with the same result."""

import stat
from pathlib import Path

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.errors import Stale
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.plans import words
from ringi.plans.document import DropHunks, DropSpec, PlanStatus
from ringi.plans.propose import set_specs
from ringi.plans.titles import title_of_specs
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import FileState
from tests.helpers import approve, assert_whole, create, delete, open_scratch, proposed, undo, write

OLD = "".join(f"line {number}\n" for number in range(1, 41))
NEW = OLD.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")
OTHER = "".join(f"something else {number}\n" for number in range(40))
FILES = {"old.txt": OLD, "other.txt": "other\n", "pic": b"\0\1" * 100, "run.sh": "#!/bin/sh\n" + OLD}


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path, FILES) as workspace:
        yield workspace


def specs_of(ws: Workspace, plan_id: str):
    return ws.plan.get_state(plan_id).action_specs


def mode(ws: Workspace, name: str) -> int:
    return stat.S_IMODE((ws.places.root / name).stat().st_mode)


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("order", [1, -1])
def test_a_deleted_and_a_similar_new_file_are_one_rename(ws: Workspace, order: int):
    plan_id = proposed(ws, *[delete("old.txt"), create("src/new.txt", NEW)][::order])
    [spec] = specs_of(ws, plan_id)
    assert str(words.action(spec)) == "rename old.txt → src/new.txt"
    assert {file.path: (file.before is None, file.after is None) for file in spec.touched} == {
        "src/new.txt": (True, False),
        "old.txt": (False, True),
    }
    [part] = ws.plan.preview(plan_id).diffs
    assert (part.added, part.removed, part.renamed_from) == (2, 2, "old.txt")
    assert "rename from old.txt\nrename to src/new.txt\n" in part.diff
    assert ws.plan.ref(plan_id).files == 1
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert (ws.places.root / "src/new.txt").read_text() == NEW
    assert not (ws.places.root / "old.txt").exists()
    assert ws.plan.preview(plan_id).diffs[0].renamed_from == "old.txt"
    undo(ws, plan_id)
    assert (ws.places.root / "old.txt").read_text() == OLD
    assert not (ws.places.root / "src").exists()
    assert_whole(ws)


def test_equal_bytes_need_not_be_text(ws: Workspace):
    data = (ws.places.root / "pic").read_bytes().decode()
    plan_id = proposed(ws, delete("pic"), create("img/pic", data))
    [spec] = specs_of(ws, plan_id)
    assert spec.old_path == "pic"
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert (ws.places.root / "img/pic").read_bytes() == FILES["pic"]


@pytest.mark.parametrize(
    "specs",
    [
        [delete("old.txt"), create("new.txt", OTHER)],
        [delete("pic"), create("new", "\0\1" * 90)],
        [delete("old.txt"), ActionSpec(SpecKind.RUN, argv=("true",)), create("new.txt", NEW)],
        [delete("old.txt"), create("new.txt", NEW, group="g")],
        [delete("old.txt"), create("new.txt", NEW, optional=True)],
        [write("old.txt", OTHER), create("new.txt", NEW)],
    ],
    ids=["unlike", "binary and changed", "a command between", "group", "optional", "not deleted"],
)
def test_what_is_no_rename_stays_as_proposed(ws: Workspace, specs: list[ActionSpec]):
    found = specs_of(ws, proposed(ws, *specs))
    assert [spec.base.kind for spec in found] == [spec.kind for spec in specs]


def test_a_file_that_its_proposer_saw_otherwise_is_not_renamed(ws: Workspace):
    plan_id = proposed(ws)
    basis = {"old.txt": FileState("0" * 64, "0644"), "new.txt": None}
    set_specs(ws, plan_id, [delete("old.txt"), create("new.txt", NEW)], basis=basis, actor=Actor.AI)
    assert [spec.base.kind for spec in specs_of(ws, plan_id)] == [SpecKind.DELETE, SpecKind.CREATE]
    assert ws.plan.preview(plan_id).stale == ("old.txt",)


def test_a_patch_that_does_not_say_so_is_one_too(ws: Workspace):
    patch = "diff --git a/{0} b/{0}\n{1} file mode 100644\n--- {2}\n+++ {3}\n@@ -{4} +{5} @@\n{6}"
    gone = patch.format(
        "old.txt", "deleted", "a/old.txt", "/dev/null", "1,40", "0,0",
        "".join(f"-{line}\n" for line in OLD.splitlines()),
    )  # fmt: skip
    made = patch.format(
        "new.txt", "new", "/dev/null", "b/new.txt", "0,0", "1,40",
        "".join(f"+{line}\n" for line in NEW.splitlines()),
    )  # fmt: skip
    plan_id = proposed(
        ws, ActionSpec(SpecKind.PATCH, "new.txt", made), ActionSpec(SpecKind.PATCH, "old.txt", gone)
    )
    assert [spec.old_path for spec in specs_of(ws, plan_id)] == ["old.txt"]


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [(0o600, None, 0o600), (0o750, "0755", 0o750), (0o755, None, 0o644), (0o644, "0755", 0o755),
     (0o644, "0600", 0o600)],
)  # fmt: skip
def test_permissions_stay_unless_the_new_file_has_others(ws: Workspace, before: int, given, after: int):
    (ws.places.root / "run.sh").chmod(before)
    plan_id = proposed(ws, delete("run.sh"), create("go.sh", "#!/bin/sh\n" + NEW, mode=given))
    [spec] = specs_of(ws, plan_id)
    told = [str(text) for text in words.terms(spec, None)]
    assert bool(told) is (before != after)
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert mode(ws, "go.sh") == after


def test_both_halves_are_dropped_together(ws: Workspace):
    plan_id = proposed(ws, delete("old.txt"), create("new.txt", NEW), write("other.txt", "changed\n"))
    assert ws.plan.amend(plan_id, [DropSpec("s1")]).ok
    assert [spec.base.path for spec in specs_of(ws, plan_id)] == ["other.txt"]


def test_without_its_hunks_only_the_name_changes(ws: Workspace):
    plan_id = proposed(ws, delete("old.txt"), create("new.txt", NEW))
    assert ws.plan.amend(plan_id, [DropHunks("s1", (1,))]).ok
    assert ws.plan.preview(plan_id).diffs[0].added == 1
    assert ws.plan.amend(plan_id, [DropHunks("s1", (1,))]).ok
    [spec] = specs_of(ws, plan_id)
    assert spec.old_path == "old.txt"
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success
    assert (ws.places.root / "new.txt").read_text() == OLD


@pytest.mark.parametrize("name", ["old.txt", "new.txt"])
def test_either_file_changed_since_the_approval_is_stale(ws: Workspace, name: str):
    plan_id = proposed(ws, delete("old.txt"), create("new.txt", NEW))
    approve(ws, plan_id)
    (ws.places.root / name).write_text("mine\n")
    with pytest.raises(Stale):
        ws.plan.execute(plan_id)
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    assert (ws.places.root / "old.txt").exists()
    assert (ws.places.root / name).read_text() == "mine\n"


def test_the_title_says_so(ws: Workspace):
    bases = [
        [spec.base for spec in specs_of(ws, proposed(ws, *specs))]
        for specs in (
            [delete("old.txt"), create("a/new.txt", NEW)],
            [delete("old.txt"), create("a/x", NEW), delete("run.sh"), create("a/y", "#!/bin/sh\n" + OLD)],
        )
    ]
    assert list(map(title_of_specs, bases)) == ["Rename old.txt to a/new.txt", "Rename 2 files in a"]


def test_only_permissions_are_said_in_one_line(ws: Workspace):
    plan_id = proposed(ws, write("run.sh", FILES["run.sh"], mode="0755"))
    [spec] = specs_of(ws, plan_id)
    before = spec.before.mode
    assert words.action(spec) == Text(
        "permissions of {path}: {old} → {new}", path="run.sh", old=before, new="0755"
    )
    assert not list(words.terms(spec, None))
    [part] = ws.plan.preview(plan_id).diffs
    assert part.mode == "0755"
    assert part.renamed_from is msgspec.UNSET
