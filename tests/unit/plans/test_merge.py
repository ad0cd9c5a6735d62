"""A plan whose files a person changed meanwhile is merged with them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.ledger.event import Actor
from ringi.patch.conflict import ConflictChoice
from ringi.patch.render import FileSide, render
from ringi.plans.effects import your_lines
from ringi.plans.merge import MergedSpecs, merge_specs, open_conflicts
from ringi.plans.propose import set_specs
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import FileState
from tests.helpers import approve, open_scratch

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
    return merge_specs(ws, ws.plan.get(plan_id))


def written(ws: Workspace, content: str) -> str:
    return proposed(ws, ActionSpec(SpecKind.WRITE, "a.txt", content))


def test_a_line_far_from_the_agents_hunk_stays(ws, root):
    plan_id = written(ws, text((3, "agent\n")))
    (root / "a.txt").write_text(text((25, "mine\n")))
    found = merged(ws, plan_id)
    assert [spec.content for spec in found.specs] == [text((3, "agent\n"), (25, "mine\n"))]
    assert (found.lines, found.kept, found.unknown) == (1, (), ())


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


def test_what_the_person_did_already_is_not_done_again(ws, root):
    plan_id = written(ws, text((3, "agent\n")))
    (root / "a.txt").write_text(text((3, "agent\n")))
    assert merged(ws, plan_id).specs == ()


@pytest.mark.parametrize("kind", [SpecKind.WRITE, SpecKind.DELETE])
def test_deleted_by_one_and_changed_by_the_other(ws, root, kind):
    content = "agent\n" if kind is SpecKind.WRITE else None
    plan_id = proposed(ws, ActionSpec(kind, "a.txt", content))
    if kind is SpecKind.WRITE:
        (root / "a.txt").unlink()
    else:
        (root / "a.txt").write_text("mine\n")
    found = merged(ws, plan_id)
    assert (found.specs, found.kept) == ((), ("a.txt",))


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
    found = merged(ws, plan_id)
    assert (found.specs, found.kept) == ((), ("a.txt",))


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


def decided(ws: Workspace, plan_id: str, choice: ConflictChoice | bytes) -> list[tuple[SpecKind, str | None]]:
    document = ws.plan.get(plan_id)
    decisions = {one.key: choice for one in open_conflicts(ws, document)}
    found = merge_specs(ws, document, decisions)
    return [(spec.kind, spec.content) for spec in found.specs]


def test_a_file_deleted_by_the_person_can_be_had_again(ws, root):
    plan_id = written(ws, "agent\n")
    (root / "a.txt").unlink()
    assert decided(ws, plan_id, ConflictChoice.THEIRS) == [(SpecKind.CREATE, "agent\n")]
    assert decided(ws, plan_id, ConflictChoice.OURS) == []


def test_a_file_that_the_person_changed_can_be_deleted_all_the_same(ws, root):
    plan_id = proposed(ws, ActionSpec(SpecKind.DELETE, "a.txt"))
    (root / "a.txt").write_text("mine\n")
    assert decided(ws, plan_id, ConflictChoice.THEIRS) == [(SpecKind.DELETE, None)]


def test_other_line_ends_are_one_conflict_and_both_means_the_change_with_mine(ws, root):
    plan_id = written(ws, text((3, "agent\n")))
    (root / "a.txt").write_bytes(text((25, "mine\n")).replace("\n", "\r\n").encode())
    [conflict] = open_conflicts(ws, ws.plan.get(plan_id))
    assert (conflict.about.kind, conflict.about.line) == ("line_ends", 0)
    wanted = text((3, "agent\n"), (25, "mine\n")).replace("\n", "\r\n")
    assert decided(ws, plan_id, ConflictChoice.BOTH) == [(SpecKind.WRITE, wanted)]
    assert decided(ws, plan_id, ConflictChoice.THEIRS) == [(SpecKind.WRITE, text((3, "agent\n")))]
    assert decided(ws, plan_id, ConflictChoice.OURS) == []


def test_a_new_mode_and_new_lines_are_merged(ws, root):
    plan_id = written(ws, text((3, "agent\n")))
    (root / "a.txt").chmod(0o755)
    [spec] = merged(ws, plan_id).specs
    assert (spec.content, spec.mode) == (text((3, "agent\n")), None)
    plan_id = proposed(ws, ActionSpec(SpecKind.WRITE, "a.txt", mode="0644"))
    (root / "a.txt").write_text(text((25, "mine\n")))
    [spec] = merged(ws, plan_id).specs
    assert (spec.content, spec.mode) == (text((25, "mine\n")), "0644")


def test_both_made_it_one_of_them_executable(ws, root):
    plan_id = proposed(ws, ActionSpec(SpecKind.CREATE, "new.sh", "echo\n", mode="0755"))
    (root / "new.sh").write_text("echo\n")
    [conflict] = ws.plan.conflicts(plan_id)
    assert conflict.kind == "mode"
    document = ws.plan.get(plan_id)
    decisions = {one.key: ConflictChoice.THEIRS for one in open_conflicts(ws, document)}
    [spec] = merge_specs(ws, document, decisions).specs
    assert (spec.kind, spec.content, spec.mode) == (SpecKind.WRITE, "echo\n", "0755")
    assert merged(ws, plan_id).specs == ()


def test_a_file_written_to_after_the_merge_is_not_overwritten(ws, root):
    """The merged bytes are for the files as they were read: what came after makes the plan stale again."""
    plan_id = written(ws, text((3, "agent\n")))
    (root / "a.txt").write_text(text((25, "mine\n")))
    found = merged(ws, plan_id)
    (root / "a.txt").write_text(text((25, "mine\n"), (28, "later\n")))
    basis, seen = found.basis, found.seen
    set_specs(ws, plan_id, found.specs, basis=basis, seen=seen, merged=found, actor=Actor.USER)
    assert ws.plan.preview(plan_id).stale == ("a.txt",)
    assert merged(ws, plan_id).specs[0].content == text((3, "agent\n"), (25, "mine\n"), (28, "later\n"))


def test_without_the_base_every_line_that_goes_may_be_the_persons(ws, root):
    """Nobody knows any more what the proposer saw."""
    gone = FileState("0" * 64, "0644")
    plan_id = ws.plan.propose("a change")
    spec = ActionSpec(SpecKind.WRITE, "a.txt", text((3, "agent\n")))
    set_specs(ws, plan_id, [spec], basis={"a.txt": gone}, actor=Actor.AI)
    [part] = ws.plan.preview(plan_id).diffs
    assert part.your_lines == (3,)
    assert part.risk == "medium"
    assert merged(ws, plan_id).unknown == ("a.txt",)


def renamed(ws: Workspace, content: str) -> str:
    """A plan that moves a.txt to b.txt with this content."""
    specs = [ActionSpec(SpecKind.DELETE, "a.txt"), ActionSpec(SpecKind.CREATE, "b.txt", content)]
    plan_id = proposed(ws, *specs)
    [spec] = ws.plan.get_state(plan_id).action_specs
    assert spec.old_path == "a.txt"
    return plan_id


def test_a_renamed_file_takes_the_persons_lines_along(ws, root):
    plan_id = renamed(ws, text((3, "agent\n")))
    (root / "a.txt").write_text(text((25, "mine\n")))
    found = merged(ws, plan_id)
    assert (found.lines, found.kept, found.unknown) == (1, (), ())
    again = proposed(ws, *found.specs)
    approve(ws, again)
    assert ws.plan.execute(again).overall_success
    assert not (root / "a.txt").exists()
    assert (root / "b.txt").read_text() == text((3, "agent\n"), (25, "mine\n"))


def test_a_conflict_in_a_renamed_file(ws, root):
    plan_id = renamed(ws, text((3, "agent\n")))
    (root / "a.txt").write_text(text((3, "mine\n")))
    document = ws.plan.get(plan_id)
    [conflict] = open_conflicts(ws, document)
    assert (conflict.about.line, conflict.mine, conflict.theirs) == (3, [b"mine\n"], [b"agent\n"])
    found = merge_specs(ws, document, {conflict.key: ConflictChoice.THEIRS})
    set_specs(ws, plan_id, found.specs, basis=found.basis, merged=found, actor=Actor.USER)
    [part] = ws.plan.preview(plan_id).diffs
    assert part.your_lines == (3,)
    assert part.risk == "medium"


def test_a_renamed_file_that_the_person_deleted(ws, root):
    plan_id = renamed(ws, text((3, "agent\n")))
    (root / "a.txt").unlink()
    assert [one.kind for one in ws.plan.conflicts(plan_id)] == ["deleted_by_ours"]
    assert decided(ws, plan_id, ConflictChoice.OURS) == []
    assert decided(ws, plan_id, ConflictChoice.THEIRS) == [(SpecKind.CREATE, text((3, "agent\n")))]


@given(st.lists(st.sampled_from("abcdef"), max_size=12), st.data())
def test_no_line_of_the_persons_goes_unmarked(base: list[str], data: st.DataObject) -> None:
    """Whatever is removed and was not in the base is named; nothing else is."""
    lines = st.lists(st.sampled_from("abcdefxyz"), max_size=12)
    texts = [
        "".join(f"{one}\n" for one in found).encode() for found in (base, data.draw(lines), data.draw(lines))
    ]
    seen, now, new = texts
    rendered = render("f", FileSide(now, "100644"), FileSide(new, "100644"))
    marked = [now.split(b"\n")[number - 1] for number in your_lines(now, rendered, seen)]
    lost = Counter(now.split()) - Counter(new.split())
    for line, count in (lost - Counter(seen.split())).items():
        if line not in seen.split():
            assert marked.count(line) >= min(count, lost[line])
    assert len(marked) <= rendered.removed
    assert your_lines(now, rendered, now) == ()
