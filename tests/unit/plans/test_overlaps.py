"""Other open plans on the same files are pointed out."""

from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.plans import capture as project
from ringi.plans import from_patch as patches
from ringi.plans.change import ChangeDraft
from ringi.plans.change_plan import FileDiff, PlanBasis, Trigger
from ringi.plans.document import Overlap
from ringi.plans.overlaps import find_shared_files, overlaps
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from tests.helpers import approve, create, delete, open_scratch, proposed, write

FILES = {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"}


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path, FILES) as workspace:
        yield workspace


def found(workspace: Workspace, plan_id: str) -> tuple[Overlap, ...]:
    return overlaps(workspace, workspace.plan.get(plan_id))


@pytest.mark.req("PT-8")
def test_each_open_plan_with_a_common_path_is_named_in_the_order_of_their_numbers(ws):
    first = proposed(ws, write("b.txt", "1"), delete("a.txt"), title="First")
    proposed(ws, write("c.txt", "2"), title="Apart")
    third = proposed(ws, write("a.txt", "3"), write("new.txt", "3"), title="Third")
    mine = proposed(ws, write("a.txt", "4"), write("b.txt", "4"), create("own.txt", "4"))
    assert found(ws, mine) == (
        Overlap(first, "p1", "First", ("a.txt", "b.txt")),
        Overlap(third, "p3", "Third", ("a.txt",)),
    )
    assert [overlap.name for overlap in found(ws, first)] == ["p3", "p4"]


@pytest.mark.req("PT-8")
def test_a_plan_that_was_carried_out_is_not_in_the_way(ws):
    done = proposed(ws, write("a.txt", "1"))
    mine = proposed(ws, write("a.txt", "2"))
    assert len(found(ws, mine)) == 1
    approve(ws, done)
    assert ws.plan.execute(done).overall_success
    assert found(ws, mine) == ()


def test_a_version_that_leaves_the_file_alone_ends_the_overlap(ws):
    other = proposed(ws, write("a.txt", "1"))
    mine = proposed(ws, write("a.txt", "2"))
    assert ws.plan.set_action_specs(other, [write("b.txt", "1")]).ok
    assert found(ws, mine) == ()


def test_both_paths_of_a_rename_count(ws):
    patch = "diff --git a/a.txt b/z.txt\nsimilarity index 100%\nrename from a.txt\nrename to z.txt\n"
    mine = proposed(ws, ActionSpec(SpecKind.PATCH, "z.txt", patch))
    proposed(ws, write("a.txt", "1"))
    proposed(ws, create("z.txt", "1"))
    assert [overlap.paths for overlap in found(ws, mine)] == [("a.txt",), ("z.txt",)]


def test_a_plan_without_specs_overlaps_nothing(ws):
    proposed(ws, write("a.txt", "1"))
    assert found(ws, ws.plan.propose("Only words")) == ()


def test_a_superseded_change_plan_is_in_nobodys_way(ws):
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+A\n"
    asked = ChangeDraft("Fix it", [FileDiff("a.txt", diff)], PlanBasis(Trigger.USER_REQUEST, ()))
    changing = patches.propose_change(ws, asked)
    mine = proposed(ws, write("a.txt", "2"))
    assert [overlap.plan_id for overlap in found(ws, mine)] == [changing]
    (ws.places.root / "b.txt").write_text("other\n")
    project.capture(ws)
    assert found(ws, mine) == ()
    assert found(ws, changing) == ()


def test_files_that_the_same_plans_change_are_told_together(ws):
    ids = [proposed(ws, write("a.txt", text), write("b.txt", text)) for text in "123"]
    ids.append(proposed(ws, write("b.txt", "4"), write("c.txt", "4")))
    refs = [ws.plan.ref(plan_id) for plan_id in ids]
    files = [("c.txt", "a.txt", "b.txt"), ("a.txt", "c.txt"), ("b.txt",), ("own.txt",)]
    shared = find_shared_files(zip(refs, files, strict=True))
    assert [([ref.name for ref in plans], paths) for plans, paths in shared] == [
        (["p1", "p2"], ("a.txt", "c.txt")),
        (["p1", "p3"], ("b.txt",)),
    ]
