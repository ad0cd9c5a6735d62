"""A plan whose files a person changed meanwhile is merged with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.api import Workspace
from ringi.domain.plan import ActionSpec, SpecKind
from ringi.plans.merge import MergedSpecs, merged_specs, told
from tests.helpers import open_scratch

LINES = [f"line {number}\n" for number in range(1, 31)]


def text(*changes: tuple[int, str]) -> str:
    lines = list(LINES)
    for number, line in changes:
        lines[number - 1] = line
    return "".join(lines)


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def root(ws: Workspace) -> Path:
    path = ws.places.root / "a.txt"
    path.write_text(text())
    return ws.places.root


def proposed(ws: Workspace, *specs: ActionSpec) -> str:
    plan_id = ws.plan.propose("a change")
    assert ws.plan.set_action_specs(plan_id, specs).ok
    return plan_id


def merged(ws: Workspace, plan_id: str) -> MergedSpecs:
    return merged_specs(ws.services, ws.plan.get(plan_id))


def written(ws: Workspace, content: str) -> str:
    return proposed(ws, ActionSpec(SpecKind.WRITE, "a.txt", content))


def test_a_line_far_from_the_agents_hunk_stays(ws, root):
    plan_id = written(ws, text((3, "agent\n")))
    (root / "a.txt").write_text(text((25, "mine\n")))
    found = merged(ws, plan_id)
    assert [spec.content for spec in found.specs] == [text((3, "agent\n"), (25, "mine\n"))]
    assert (found.lines, found.kept, found.unknown) == (1, (), ())
    assert str(told(found)) == "Merged with 1 line of yours."


def test_a_patch_is_merged_like_a_whole_file(ws, root):
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -2,3 +2,3 @@\n line 2\n-line 3\n+agent\n line 4\n"
    plan_id = proposed(ws, ActionSpec(SpecKind.PATCH, "a.txt", patch))
    (root / "a.txt").write_text("new\n" + text())
    (spec,) = merged(ws, plan_id).specs
    assert (spec.kind, spec.content) == (SpecKind.WRITE, "new\n" + text((3, "agent\n")))


def test_in_a_conflict_the_persons_lines_stay_and_the_place_is_named(ws, root):
    plan_id = written(ws, text((3, "agent\n"), (20, "agent\n")))
    (root / "a.txt").write_text(text((3, "mine\n")))
    found = merged(ws, plan_id)
    assert [spec.content for spec in found.specs] == [text((3, "mine\n"), (20, "agent\n"))]
    assert found.kept == ("a.txt:3",)
    assert "a.txt:3" in str(told(found))


def test_what_the_person_did_already_is_not_done_again(ws, root):
    plan_id = written(ws, text((3, "agent\n")))
    (root / "a.txt").write_text(text((3, "agent\n")))
    assert merged(ws, plan_id) == MergedSpecs(())


@pytest.mark.parametrize("kind", [SpecKind.WRITE, SpecKind.DELETE])
def test_deleted_by_one_and_changed_by_the_other(ws, root, kind):
    content = "agent\n" if kind is SpecKind.WRITE else None
    plan_id = proposed(ws, ActionSpec(kind, "a.txt", content))
    if kind is SpecKind.WRITE:
        (root / "a.txt").unlink()
    else:
        (root / "a.txt").write_text("mine\n")
    assert merged(ws, plan_id) == MergedSpecs((), kept=("a.txt",))


def test_both_created_it(ws, root):
    plan_id = proposed(ws, ActionSpec(SpecKind.CREATE, "new.txt", "agent\n"))
    (root / "new.txt").write_text("mine\n")
    found = merged(ws, plan_id)
    assert found.kept == ("new.txt:1",)
    assert found.specs == ()


def test_binary_files_are_never_mixed(ws, root):
    (root / "a.txt").write_bytes(b"\0base")
    plan_id = written(ws, "agent\n")
    (root / "a.txt").write_bytes(b"\0mine")
    assert merged(ws, plan_id) == MergedSpecs((), kept=("a.txt",))


def test_other_files_of_the_plan_stay_as_they_are(ws, root):
    specs = [
        ActionSpec(SpecKind.WRITE, "a.txt", text((3, "agent\n"))),
        ActionSpec(SpecKind.CREATE, "b", "b\n"),
    ]
    plan_id = proposed(ws, *specs)
    (root / "a.txt").write_text(text((25, "mine\n")))
    assert [(spec.path, spec.kind) for spec in merged(ws, plan_id).specs] == [
        ("a.txt", SpecKind.WRITE),
        ("b", SpecKind.CREATE),
    ]
