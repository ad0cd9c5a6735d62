"""Hunks dropped and lines edited before the decision; git says what is left."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.errors import AlreadyDone, ChangeFixed, InvalidSpecs, NotApproved, NotFound, PlanChanged, Stale
from ringi.plans import from_patch as patches
from ringi.plans.change import ChangeDraft
from ringi.plans.change_plan import FileDiff, PlanBasis, Trigger
from ringi.plans.check import add_checks
from ringi.plans.document import DropHunks, DropSpec, NewContent, PlanStatus
from ringi.plans.effects import pack, rendering
from ringi.plans.preview import effects
from ringi.plans.tool import PlanTool
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, Encoding, SpecSelection
from ringi.tree.check_result import CheckResult
from tests.fakes.world import with_most_bytes
from tests.helpers import (
    approve,
    approved,
    assert_whole,
    create,
    delete,
    kinds,
    open_scratch,
    proposed,
    untouched,
    write,
)

LINES = [f"line {number}\n" for number in range(1, 41)]
OLD = "".join(LINES)
FILES = {"a.txt": OLD, "b.txt": "b\n", "run.sh": "#!/bin/sh\n", "latin.txt": b"caf\xe9\n", "pic": b"\0\1"}


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path, FILES) as workspace:
        yield workspace


def edited(**lines: str) -> str:
    """The file with other words in the lines of these numbers."""
    return "".join(f"{lines.get(f'l{number}', line[:-1])}\n" for number, line in enumerate(LINES, 1))


THREE = edited(l2="two", l20="twenty", l38="thirty-eight")


def patch(workspace: Workspace, path: str = "a.txt", **contents: str | None) -> ActionSpec:
    contents = contents or {path: THREE}
    files = {name: None if text is None else text.encode() for name, text in contents.items()}
    data = patches.patch_of(patches.changes_of_contents(workspace, files))
    return ActionSpec(SpecKind.PATCH, path, data.decode(), group="g")


def drop(*hunks: int, spec_id: str = "s1") -> DropHunks:
    return DropHunks(spec_id, hunks)


def carried_out(workspace: Workspace, plan_id: str, name: str = "a.txt") -> bytes:
    approve(workspace, plan_id)
    assert workspace.plan.execute(plan_id).overall_success
    return (workspace.places.root / name).read_bytes()


def assert_kept(workspace: Workspace, plan_id: str, amendments, error: type[Exception], match: str) -> None:
    before, events = workspace.plan.get(plan_id), kinds(workspace, plan_id)
    with untouched(workspace.places.root), pytest.raises(error, match=match):
        workspace.plan.amend(plan_id, amendments)
    assert (workspace.plan.get(plan_id), kinds(workspace, plan_id)) == (before, events)


@pytest.mark.req("PT-15")
@pytest.mark.parametrize("as_patch", [False, True])
def test_a_dropped_hunk_is_not_carried_out(ws, as_patch):
    spec = patch(ws) if as_patch else write("a.txt", THREE, group="g", description="three lines")
    plan_id = proposed(ws, spec)
    before = ws.plan.get(plan_id).state.action_specs[0]
    report = ws.plan.amend(plan_id, [drop(2)])
    assert report.ok
    (after,) = ws.plan.get_state(plan_id).action_specs
    assert report.normalized == (after,)
    assert (after.id, after.before) == (before.id, before.before)
    assert (after.base.kind, after.base.group) == (spec.kind, "g")
    assert after.base.description == spec.description
    assert after.preflight.diff_summary == "+2 -2"
    assert carried_out(ws, plan_id) == edited(l2="two", l38="thirty-eight").encode()
    assert_whole(ws)


@pytest.mark.req("PT-15", "PT-8")
def test_an_amendment_makes_a_new_version_and_says_what_was_done(ws):
    plan_id = approved(ws, write("a.txt", THREE), create("new.txt", "n\n"), write("b.txt", "B\n"))
    result = CheckResult("make test", 0, 1.0, "tree", "fine")
    add_checks(ws, plan_id, [result])
    new = edited(l1="erste", l2="zweite", l20="twenty", l38="thirty-eight")
    amendments = [drop(3, 1), DropSpec("s2"), NewContent("s3", "B\nC\nD\n")]
    assert ws.plan.amend(plan_id, amendments, seen=ws.plan.get(plan_id)).ok
    document = ws.plan.get(plan_id)
    told = "dropped hunks 1, 3 of a.txt; dropped new.txt; edited 2 lines of b.txt"
    assert document.plan.version == 2
    assert document.state.status is PlanStatus.PENDING_REVIEW
    assert [given.text for given in document.state.feedback] == [told]
    assert document.state.checks == ()
    assert (document.state.previews.files, document.state.previews.added) == (("a.txt", "b.txt"), 4)
    assert [spec.id for spec in document.state.action_specs] == ["s1", "s3"]
    events = [logged.event for logged in ws.log(plan_id)][-2:]
    assert [(event.event, event.actor, event.reason) for event in events] == [
        ("amended", "user", told),
        ("specs_set", "user", told),
    ]
    shown = ws.places.root / ".agent/logs/plans" / plan_id / "preview"
    assert sorted(path.name for path in shown.glob("s*")) == ["s1-a.txt.diff", "s3-b.txt.diff"]
    with untouched(ws.places.root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    assert ws.plan.amend(plan_id, [NewContent("s1", new)], reason="better words").ok
    assert ws.plan.get_state(plan_id).feedback[-1].text == "better words: edited 3 lines of a.txt"
    assert_whole(ws)


@pytest.mark.req("PT-15")
def test_other_specs_stay_as_they_were_validated(ws):
    plan_id = proposed(ws, write("b.txt", "B\n"), write("a.txt", THREE), delete("run.sh"))
    before = ws.plan.get_state(plan_id).action_specs
    # Stale by now, and still what the proposer saw.
    (ws.places.root / "b.txt").write_text("meanwhile\n")
    assert ws.plan.amend(plan_id, [drop(1, spec_id="s2")]).ok
    after = ws.plan.get_state(plan_id).action_specs
    assert (after[0], after[2]) == (before[0], before[2])
    assert [spec.id for spec in after] == ["s1", "s2", "s3"]
    assert ws.plan.preview(plan_id).stale == ("b.txt",)


@pytest.mark.req("PT-15")
@pytest.mark.parametrize("as_patch", [False, True])
def test_a_spec_without_its_last_hunk_is_dropped(ws, as_patch):
    plan_id = proposed(ws, patch(ws) if as_patch else write("a.txt", THREE), create("new.txt", "n\n"))
    assert ws.plan.amend(plan_id, [drop(1, 2, 3)]).ok
    state = ws.plan.get_state(plan_id)
    assert [spec.id for spec in state.action_specs] == ["s2"]
    assert state.feedback[-1].text == "dropped a.txt"
    assert_kept(ws, plan_id, [drop(1, spec_id="s2")], InvalidSpecs, "reject it instead: ringi reject p1")
    assert_kept(ws, plan_id, [DropSpec("s2")], InvalidSpecs, "nothing is left of it")


@pytest.mark.req("PT-15")
@pytest.mark.parametrize("as_patch", [False, True])
def test_edited_lines_are_carried_out(ws, as_patch):
    plan_id = proposed(ws, patch(ws) if as_patch else write("a.txt", THREE))
    assert ws.plan.amend(plan_id, [NewContent("s1", edited(l2="deux"))]).ok
    (spec,) = ws.plan.get_state(plan_id).action_specs
    assert (spec.base.content == edited(l2="deux")) is not as_patch
    assert carried_out(ws, plan_id) == edited(l2="deux").encode()


@pytest.mark.parametrize("as_patch", [False, True])
def test_a_file_edited_back_to_what_it_is_is_dropped(ws, as_patch):
    plan_id = proposed(ws, patch(ws) if as_patch else write("a.txt", THREE), create("new.txt", "n\n"))
    assert ws.plan.amend(plan_id, [NewContent("s1", OLD)]).ok
    assert [spec.id for spec in ws.plan.get_state(plan_id).action_specs] == ["s2"]


def test_a_new_file_takes_new_content(ws):
    plan_id = proposed(
        ws, create("new.txt", "n\n", mode="0600"), patch(ws, "other.txt", **{"other.txt": "o\n"})
    )
    amendments = [NewContent("s1", "/wA=", Encoding.BASE64), NewContent("s2", "p\nq")]
    assert ws.plan.amend(plan_id, amendments).ok
    told = "replaced the content of new.txt; edited 2 lines of other.txt"
    assert ws.plan.get_state(plan_id).feedback[-1].text == told
    assert carried_out(ws, plan_id, "new.txt") == b"\xff\0"
    assert (ws.places.root / "new.txt").stat().st_mode & 0o777 == 0o600
    assert (ws.places.root / "other.txt").read_bytes() == b"p\nq"


def test_what_is_no_utf8_stays_what_it_is(ws):
    old = b"".join(b"\xff %d\n" % number for number in range(30))
    new = old.replace(b"\xff 2\n", b"\xfe\n").replace(b"\xff 25\n", b"\xfd\n")
    (ws.places.root / "raw").write_bytes(old)
    content, encoding = pack(new)
    plan_id = proposed(ws, write("raw", content, encoding=encoding))
    assert ws.plan.amend(plan_id, [drop(1)]).ok
    assert carried_out(ws, plan_id, "raw") == old.replace(b"\xff 25\n", b"\xfd\n")


@pytest.mark.req("PT-15")
def test_a_mode_or_a_name_stays_when_all_hunks_go(ws):
    renamed = (
        "diff --git a/b.txt b/c.txt\nsimilarity index 50%\nrename from b.txt\nrename to c.txt\n"
        "--- a/b.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-b\n+c\n"
    )
    script = write("run.sh", "#!/bin/sh\ntrue\n", mode="0755")
    plan_id = proposed(ws, script, ActionSpec(SpecKind.PATCH, "c.txt", renamed))
    assert ws.plan.amend(plan_id, [drop(1), drop(1, spec_id="s2")]).ok
    assert carried_out(ws, plan_id, "c.txt") == b"b\n"
    assert not (ws.places.root / "b.txt").exists()
    assert (ws.places.root / "run.sh").read_text() == "#!/bin/sh\n"
    assert (ws.places.root / "run.sh").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("word", "old_is_left"), [("rename", False), ("copy", True)])
def test_a_renamed_or_copied_file_takes_new_content(ws, word, old_is_left):
    text = f"diff --git a/b.txt b/c.txt\nsimilarity index 100%\n{word} from b.txt\n{word} to c.txt\n"
    plan_id = proposed(ws, ActionSpec(SpecKind.PATCH, "c.txt", text))
    assert ws.plan.amend(plan_id, [NewContent("s1", "b\nmore\n")]).ok
    assert f"{word} from b.txt" in ws.plan.get_state(plan_id).action_specs[0].base.content
    assert carried_out(ws, plan_id, "c.txt") == b"b\nmore\n"
    assert (ws.places.root / "b.txt").exists() is old_is_left


def test_a_group_becomes_smaller(ws):
    plan_id = proposed(ws, write("a.txt", THREE, group="g"), write("b.txt", "B\n", group="g"))
    assert ws.plan.amend(plan_id, [DropSpec("s1")]).ok
    assert carried_out(ws, plan_id, "b.txt") == b"B\n"
    assert (ws.places.root / "a.txt").read_text() == OLD


@pytest.mark.req("PT-15")
def test_the_risk_is_scored_again(ws):
    token = "ghp_" + "NqVwYS81VP7Hb1DX8pPd5khxE3pyIgKpaUnA"
    plan_id = proposed(ws, write("a.txt", edited(l2=f"token = {token}", l20="twenty")))
    assert ws.plan.get_state(plan_id).action_specs[0].risk is Risk.HIGH
    assert ws.plan.amend(plan_id, [drop(1)]).ok
    state = ws.plan.get_state(plan_id)
    assert (state.action_specs[0].risk, state.previews.risk_score) == (Risk.LOW, 0.1)
    assert ws.plan.amend(plan_id, [NewContent("s1", edited(l2=f"token = {token}"))]).ok
    assert ws.plan.get_state(plan_id).action_specs[0].risk is Risk.HIGH


@pytest.mark.req("PT-15")
@pytest.mark.parametrize("as_patch", [False, True])
def test_a_file_that_changed_since_is_not_amended(ws, as_patch):
    plan_id = proposed(ws, patch(ws) if as_patch else write("a.txt", THREE), write("b.txt", "B\n"))
    (ws.places.root / "a.txt").write_text(OLD + "more\n")
    assert_kept(ws, plan_id, [drop(1)], Stale, r"Different now: a\.txt$")
    assert_kept(ws, plan_id, [DropSpec("s2"), NewContent("s1", "x\n")], Stale, r"a\.txt$")
    # To drop it whole is what is left to do.
    assert ws.plan.amend(plan_id, [DropSpec("s1")]).ok


def test_the_person_amends_what_was_shown(ws):
    plan_id = proposed(ws, write("a.txt", THREE))
    seen = ws.plan.get(plan_id)
    assert ws.plan.set_action_specs(plan_id, [write("a.txt", edited(l2="evil"))]).ok
    with pytest.raises(PlanChanged):
        ws.plan.amend(plan_id, [NewContent("s1", "x\n")], seen=seen)
    assert ws.plan.get(plan_id).plan.version == 2


@pytest.mark.req("PT-15")
@pytest.mark.parametrize(
    ("amendments", "error", "match"),
    [
        ([DropSpec("s9")], NotFound, "no spec s9"),
        ([DropSpec("")], NotFound, "no spec "),
        ([DropSpec("s1"), DropHunks("s1", (1,))], NotFound, "no second spec s1"),
        ([DropHunks("s1", (4,))], NotFound, r"no hunk a\.txt: 4"),
        ([DropHunks("s1", (0, 1, 7))], NotFound, r"no hunk a\.txt: 0, 7"),
        ([DropHunks("s2", (1,))], InvalidSpecs, r"s2 b\.txt: it can only be dropped whole"),
        ([NewContent("s2", "x")], InvalidSpecs, r"s2 b\.txt: it can only be dropped whole"),
        ([DropHunks("s3", (1,))], InvalidSpecs, "s3 pic: it is not text, so it has no hunks"),
        ([NewContent("s1", "?", Encoding.BASE64)], InvalidSpecs, r"s1 a\.txt: .* not valid base64"),
        ([NewContent("s1", "\ud800")], InvalidSpecs, r"s1 a\.txt: .* lone surrogate"),
        ([DropSpec("s2"), DropHunks("s9", (1,))], NotFound, "no spec s9"),
    ],
)
def test_what_is_not_there_or_has_no_parts_is_refused_by_name(ws, amendments, error, match):
    plan_id = proposed(
        ws, write("a.txt", THREE), delete("b.txt"), write("pic", "AAI=", encoding=Encoding.BASE64)
    )
    assert_kept(ws, plan_id, amendments, error, match)


def test_a_deletion_by_patch_goes_whole(ws):
    plan_id = proposed(ws, patch(ws, "b.txt", **{"b.txt": None}), write("a.txt", THREE))
    assert_kept(ws, plan_id, [NewContent("s1", "x\n")], InvalidSpecs, "it can only be dropped whole")
    assert ws.plan.amend(plan_id, [drop(1)]).ok
    assert [spec.id for spec in ws.plan.get_state(plan_id).action_specs] == ["s2"]


def test_a_patch_cannot_say_what_is_no_text(ws):
    plan_id = proposed(ws, patch(ws))
    assert_kept(
        ws, plan_id, [NewContent("s1", "AA==", Encoding.BASE64)], InvalidSpecs, "so no patch can say it"
    )


def test_content_that_is_not_allowed_leaves_the_plan_as_it_is(ws):
    plan_id = proposed(ws, create("x.txt", "x\n"), create("y.txt", "y\n"))
    before = ws.plan.get(plan_id)
    parts = ws
    strict = PlanTool(with_most_bytes(parts, 1000))
    report = strict.amend(plan_id, [NewContent("s2", "x" * 1001)])
    assert not report.ok
    assert report.issues == ("s2 y.txt: it has 1001 bytes, 1000 are allowed",)
    assert ws.plan.get(plan_id) == before


@pytest.mark.parametrize("amendments", [[], [DropHunks("s1", ())], [NewContent("s1", THREE)]])
def test_nothing_amended_is_no_new_version(ws, amendments):
    plan_id = approved(ws, write("a.txt", THREE))
    before = ws.plan.get(plan_id)
    assert ws.plan.amend(plan_id, amendments).normalized == before.state.action_specs
    assert ws.plan.get(plan_id) == before


def test_a_change_plan_and_a_carried_out_plan_are_fixed(ws):
    done = approved(ws, write("b.txt", "x\n"))
    assert ws.plan.execute(done).overall_success
    assert_kept(ws, done, [NewContent("s1", "y\n")], AlreadyDone, "carried out already")
    diffs = [FileDiff("a.txt", patch(ws).content or "")]
    basis = PlanBasis(Trigger.USER_REQUEST, ())
    fixed = patches.propose_change(ws, ChangeDraft("Change", diffs, basis))
    assert_kept(ws, fixed, [drop(1)], ChangeFixed, "are fixed")


def test_a_selection_of_what_is_gone_does_not_linger(ws):
    plan_id = proposed(ws, write("a.txt", THREE), write("b.txt", "B\n"))
    approve(ws, plan_id, SpecSelection(all=False, ids=("s1",)))
    assert ws.plan.amend(plan_id, [DropSpec("s1")]).ok
    assert ws.plan.get_state(plan_id).selection.all


def test_a_command_is_dropped_by_what_it_runs(ws):
    plan_id = proposed(ws, write("b.txt", "B\n"), ActionSpec(SpecKind.RUN, argv=("rm", "a b")))
    assert_kept(ws, plan_id, [drop(1, spec_id="s2")], InvalidSpecs, "s2 rm 'a b': it can only be dropped")
    assert ws.plan.amend(plan_id, [DropSpec("s2")]).ok
    assert ws.plan.get_state(plan_id).feedback[-1].text == "dropped rm 'a b'"


# What git makes of the hunks that are left.

words = st.sampled_from([b"x\n", b"y\n", b"\xc3\xa9\r\n", b"\n", b"\xff\n", b"+z\n", b"@@ -1 +1 @@\n"])
# At places far enough from each other for a hunk each, in a file that is long enough.
edits = st.dictionaries(
    st.integers(0, 5).map(lambda place: place * 12),
    st.tuples(st.integers(0, 2), st.lists(words, max_size=2)),
    min_size=2,
)
_HEADER = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


def made(lines: list[bytes], changes: dict[int, tuple[int, list[bytes]]]) -> bytes:
    new = list(lines)
    for at, (count, put) in sorted(changes.items(), reverse=True):
        new[at : at + count] = put
    return b"".join(new)


def hunks_of(diff: bytes) -> tuple[bytes, list[bytes]]:
    header, *hunks = re.split(rb"^(?=@@ -\d)", diff, flags=re.MULTILINE)
    return header, hunks


def without(diff: bytes, numbers: set[int]) -> bytes:
    """The diff as a person would cut it; the new line numbers count on from the old ones."""
    header, hunks = hunks_of(diff)
    kept, shift = [], 0
    for hunk in (hunk for number, hunk in enumerate(hunks, 1) if number not in numbers):
        found = _HEADER.match(hunk)
        start, old, _, new = (1 if digits is None else int(digits) for digits in found.groups())
        at = start + shift + (1 if old == 0 and new else -1 if new == 0 and old else 0)
        kept.append(b"@@ -%d,%d +%d,%d @@" % (start, old, at, new) + hunk[found.end() :])
        shift += new - old
    return header + b"".join(kept) if kept else b""


@pytest.mark.req("PT-15", "PT-8")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(words, min_size=1, max_size=9) | st.lists(words, min_size=60, max_size=70),
    ends=st.booleans(),
    changes=edits,
    chosen=st.sets(st.integers(0, 5), min_size=1, max_size=3),
    as_patch=st.booleans(),
)
def test_git_makes_the_same_of_the_hunks_that_are_left(ws, lines, ends, changes, chosen, as_patch):
    # Numbered, so that hunks far apart stay apart.
    lines = [b"%d %s" % (number, line) for number, line in enumerate(lines)]
    old = b"".join(lines) if ends else b"".join(lines)[:-1]
    new = made(lines, changes)
    assume(new != old)
    name = "random.txt"
    (ws.places.root / name).write_bytes(old)
    content, encoding = pack(new)
    plan_id = proposed(ws, ActionSpec(SpecKind.WRITE, name, content, encoding=encoding), create("also", ""))
    diff = rendering(effects(ws, ws.plan.stored(plan_id))[0]).diff
    if as_patch:
        text, encoding = pack(diff)
        spec = ActionSpec(SpecKind.PATCH, name, text, encoding=encoding)
        assert ws.plan.set_action_specs(plan_id, [spec, create("also", "")]).ok
    count = len(hunks_of(diff)[1])
    numbers = {number % count + 1 for number in chosen}
    left = without(diff, numbers)
    oracle = ws.places.root.parent / "oracle"
    oracle.mkdir(exist_ok=True)
    (oracle / name).write_bytes(old)
    if left:
        git = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn"]
        subprocess.run(git, cwd=oracle, input=left, check=True)
    expected = (oracle / name).read_bytes()
    assert ws.plan.amend(plan_id, [DropHunks("s1", tuple(numbers))]).ok
    kept = ws.plan.get_state(plan_id).action_specs
    assert ("s1" in {spec.id for spec in kept}) == bool(left)
    assert carried_out(ws, plan_id, name) == expected
    (ws.places.root / "also").unlink()
