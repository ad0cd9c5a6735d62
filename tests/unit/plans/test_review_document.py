"""A plan as one document for an editor, and the changes of a person that come without a terminal."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.approvals.feedback import Side
from ringi.errors import (
    AmendedTwice,
    BadTransition,
    InvalidSpecs,
    NoChannel,
    NotApproved,
    NotFound,
    PlanChanged,
    Stale,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.plans.amend_by_script import Drop, ScriptedChanges, ScriptedComment, ScriptedWrite, amend_plan
from ringi.plans.document import PlanStatus
from ringi.plans.export import as_patch
from ringi.plans.review_data import PlanReviewDocument, ReviewedFile
from ringi.plans.review_document import TextLimits, review_document
from ringi.plans.reviewed_plan import ReviewedPlan
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, Encoding
from tests.helpers import Person, approve, create, delete, open_scratch, proposed, write
from tests.tables import each

MANY = "".join(f"line {number}\n" for number in range(1, 61))
CHANGED = MANY.replace("line 3\n", "three\n").replace("line 30\n", "").replace("line 50\n", "fifty\n")
START: dict[str, str | bytes] = {
    "many.txt": MANY,
    "crlf.txt": "one\r\ntwo\r\n",
    "end.txt": "no newline",
    "data.bin": b"\0\1",
    "latin.txt": "caf\u00e9\n".encode("latin-1"),
    "gone.txt": "gone\n",
    "old.txt": "moved\n",
    "a#1": "odd\n",
    "a": MANY,
}
RENAME = """\
diff --git a/old.txt b/new.txt
similarity index 50%
rename from old.txt
rename to new.txt
--- a/old.txt
+++ b/new.txt
@@ -1 +1 @@
-moved
+moved and changed
"""
SPECS = (
    write("many.txt", CHANGED),
    write("crlf.txt", "one\r\nzwei\r\n"),
    write("end.txt", "still no newline"),
    ActionSpec(SpecKind.WRITE, "data.bin", "AAI=", encoding=Encoding.BASE64),
    delete("gone.txt"),
    ActionSpec(SpecKind.PATCH, "new.txt", RENAME),
    create("made.txt", "made\n"),
    write("a#1", "even\n"),
    write("a", CHANGED),
)


class Agent(Person):
    def agent(self) -> Text | None:
        return Text("an agent started this")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path, START) as opened:
        yield opened


@pytest.fixture
def plan(workspace: Workspace) -> ReviewedPlan:
    return ReviewedPlan(workspace, proposed(workspace, *SPECS))


def drawn(plan: ReviewedPlan, *only: str) -> PlanReviewDocument:
    found = review_document(plan, str, only)
    return codec.decode_foreign(codec.pretty(found), PlanReviewDocument, "the document")


def of(document: PlanReviewDocument, path: str) -> ReviewedFile:
    [found] = [file for file in document.files if file.path == path]
    return found


@pytest.mark.req("CP-11", "PT-7")
def test_one_document_is_enough_to_draw_a_plan(plan: ReviewedPlan) -> None:
    document = drawn(plan)
    assert (document.plan.name, document.plan.version, document.amendable) == ("p1", 1, True)
    assert document.headline[0].startswith("HIGH because ")
    assert (document.decide.review, document.decide.apply) == ("ringi review p1", "ringi apply p1 --seen 1")
    many = of(document, "many.txt")
    assert (many.before, many.after, many.editable) == (MANY, CHANGED, True)
    assert [hunk.number for hunk in many.hunks] == [1, 2, 3]
    assert [(hunk.old_start, hunk.new_start) for hunk in many.hunks] == [(1, 1), (27, 27), (47, 46)]
    assert of(document, "crlf.txt").after == "one\r\nzwei\r\n"
    assert of(document, "end.txt").after == "still no newline"
    assert (of(document, "made.txt").before, of(document, "gone.txt").after) == (None, None)
    renamed = of(document, "new.txt")
    assert (renamed.old_path, renamed.before, renamed.after) == ("old.txt", "moved\n", "moved and changed\n")
    binary = of(document, "data.bin")
    assert (binary.before, binary.after, binary.binary) == (msgspec.UNSET, msgspec.UNSET, True)
    assert (binary.why_no_text, binary.editable) == ("it is not text", False)
    assert of(document, "gone.txt").reasons == ("gone.txt is deleted",)
    assert [file.path for file in drawn(plan, "old.txt", "a").files] == ["new.txt", "a"]
    with pytest.raises(NotFound):
        drawn(plan, "other.txt")


def _whys(plan: ReviewedPlan, limits: TextLimits) -> dict[str, object]:
    return {file.path: file.why_no_text for file in review_document(plan, str, (), limits).files}


def test_texts_are_left_out_with_the_reason(workspace: Workspace, plan: ReviewedPlan) -> None:
    moved = ActionSpec(SpecKind.MOVE, "latin.txt", target="renamed.txt")
    other = ReviewedPlan(workspace, proposed(workspace, moved, ActionSpec(SpecKind.MKDIR, "folder")))
    latin, folder = drawn(other).files
    assert (latin.path, latin.old_path, latin.why_no_text) == ("renamed.txt", "latin.txt", "it is not UTF-8")
    assert (folder.before, folder.after, folder.why_no_text) == (None, None, msgspec.UNSET)
    whys = _whys(plan, TextLimits(bytes=2 * len(MANY)))
    assert (whys["many.txt"], whys["a"]) == (msgspec.UNSET, "it is too large to be shown here")
    whys = _whys(plan, TextLimits(file_bytes=8))
    assert whys["many.txt"] == "it is too large to be shown here"
    assert whys["made.txt"] is msgspec.UNSET


def test_a_file_that_changed_meanwhile_is_shown_as_merged(workspace: Workspace, plan: ReviewedPlan) -> None:
    root = workspace.places.root
    mine = MANY.replace("line 60\n", "mine\n")
    (root / "many.txt").write_text(mine)
    (root / "a").write_text(MANY.replace("line 3\n", "tres\n"))
    document = drawn(plan)
    merged, conflicting = of(document, "many.txt"), of(document, "a")
    assert (merged.fits, merged.editable, merged.conflicts) == (False, False, 0)
    assert (merged.before, merged.after) == (mine, CHANGED.replace("line 60\n", "mine\n"))
    assert (conflicting.fits, conflicting.conflicts) == (False, 1)
    assert any("many.txt" in line for line in document.headline)
    with pytest.raises(Stale):
        amend_plan(plan, ScriptedChanges([Drop("many.txt", 1)]))
    assert plan.tool.get(plan.plan_id).plan.version == 1


def test_a_plan_that_was_carried_out_is_shown_as_it_was(workspace: Workspace) -> None:
    plan_id = proposed(workspace, write("many.txt", CHANGED), create("made.txt", "made\n"))
    approve(workspace, plan_id)
    workspace.plan.execute(plan_id)
    (workspace.places.root / "many.txt").write_text("later\n")
    document = drawn(ReviewedPlan(workspace, plan_id))
    many = of(document, "many.txt")
    assert (many.before, many.after, many.fits, many.editable) == (MANY, CHANGED, True, False)
    assert (document.plan.status, document.amendable) == (PlanStatus.COMPLETED, False)
    with pytest.raises(BadTransition):
        amend_plan(ReviewedPlan(workspace, plan_id), ScriptedChanges([Drop("many.txt")]))


@pytest.mark.req("PT-15")
def test_hunks_are_dropped_as_git_would_drop_them(workspace: Workspace, plan: ReviewedPlan) -> None:
    wanted = ScriptedChanges(
        [Drop("many.txt", 3), Drop("many.txt", 1), Drop("data.bin"), Drop("a#1"), Drop("old.txt", 1)],
        [ScriptedWrite("crlf.txt", b"uno\r\ndos"), ScriptedWrite("made.txt", b"\xff\xfe")],
    )
    assert amend_plan(plan, wanted, seen=1)
    assert plan.document.plan.version == 2
    document = drawn(plan)
    assert of(document, "many.txt").after == MANY.replace("line 30\n", "")
    assert (of(document, "crlf.txt").after, of(document, "new.txt").after) == ("uno\r\ndos", "moved\n")
    assert of(document, "made.txt").why_no_text == "it is not UTF-8"
    assert {"data.bin", "a#1"}.isdisjoint(file.path for file in document.files)
    [told] = plan.document.state.feedback
    assert "dropped hunks 1, 3 of many.txt; edited 2 lines of crlf.txt; dropped data.bin" in told.text
    amend_plan(plan, ScriptedChanges([Drop("made.txt")]))
    root = workspace.places.root
    patch = as_patch(workspace, plan.plan_id)
    subprocess.run(["git", "apply", "-"], cwd=root, input=patch, check=True)
    for file in document.files:
        if file.path != "made.txt":
            place = root / file.path
            assert (place.read_bytes().decode() if place.exists() else None) == file.after, file.path


@each(
    ("wanted", "error"),
    [
        (ScriptedChanges([Drop("many.txt", 4)]), NotFound),
        (ScriptedChanges([Drop("many.txt", 0)]), NotFound),
        (ScriptedChanges([Drop("data.bin", 1)]), InvalidSpecs),
        (ScriptedChanges([Drop("gone.txt", 1)]), InvalidSpecs),
        (ScriptedChanges([Drop("nowhere")]), NotFound),
        (ScriptedChanges([Drop("")]), NotFound),
        (ScriptedChanges([Drop("latin.txt")]), NotFound),
        (ScriptedChanges([Drop("many.txt", 1)], [ScriptedWrite("many.txt", b"x")]), AmendedTwice),
        (
            ScriptedChanges([], [ScriptedWrite("many.txt", b"x"), ScriptedWrite("many.txt", b"y")]),
            AmendedTwice,
        ),
        (ScriptedChanges([], [ScriptedWrite("gone.txt", b"x")]), InvalidSpecs),
        (ScriptedChanges([Drop("many.txt")], [], [ScriptedComment("a", 99, "no such line")]), NotFound),
        (ScriptedChanges([Drop("many.txt", 9)], [], [ScriptedComment("a", 1, "a good line")]), NotFound),
        (ScriptedChanges([], [], [ScriptedComment("a", 1, "")]), NotFound),
        (ScriptedChanges([Drop(path) for path in ("many.txt", "crlf.txt", "end.txt", "data.bin", "gone.txt",
                                         "new.txt", "made.txt", "a#1", "a")]), InvalidSpecs),
    ],
)  # fmt: skip
def test_nothing_is_changed_if_a_part_is_not_possible(
    plan: ReviewedPlan, wanted: ScriptedChanges, error: type[Exception]
) -> None:
    before = plan.tool.revision(plan.plan_id)
    with pytest.raises(error):
        amend_plan(plan, wanted)
    assert plan.tool.revision(plan.plan_id) == before


def test_comments_come_and_go_with_what_they_are_about(plan: ReviewedPlan) -> None:
    said = [
        ScriptedComment("many.txt", 3, "why three?"),
        ScriptedComment("gone.txt", 1, "keep it"),
        ScriptedComment("old.txt", 1, "old line", Side.OLD),
        ScriptedComment("new.txt", 1, "new line"),
    ]
    assert amend_plan(plan, ScriptedChanges([Drop("many.txt", 1)], [], said), seen=1)
    document = drawn(plan)
    [about] = of(document, "many.txt").comments
    assert (about.line, about.side, about.text, about.outdated) == (3, Side.NEW, "why three?", True)
    [kept] = of(document, "gone.txt").comments
    assert (kept.side, kept.outdated) == (Side.OLD, False)
    assert [(one.side, one.text) for one in of(document, "new.txt").comments] == [
        (Side.OLD, "old line"),
        (Side.NEW, "new line"),
    ]
    assert not amend_plan(
        plan,
        ScriptedChanges(
            [], [], [ScriptedComment("gone.txt", 1, "or not"), ScriptedComment("new.txt", 1, "")]
        ),
    )
    document = drawn(plan)
    assert [one.text for one in of(document, "gone.txt").comments] == ["or not"]
    assert [one.text for one in of(document, "new.txt").comments] == ["old line"]
    assert document.plan.version == 2


def test_the_same_content_is_no_new_version(plan: ReviewedPlan) -> None:
    assert not amend_plan(plan, ScriptedChanges([], [ScriptedWrite("many.txt", CHANGED.encode())]))
    assert plan.document.plan.version == 1


def test_a_command_is_shown_in_words_and_dropped_by_its_id(workspace: Workspace) -> None:
    command = ActionSpec(SpecKind.RUN, argv=("make", "it"), timeout_sec=5)
    plan = ReviewedPlan(workspace, proposed(workspace, command, create("s1", "a file of that name\n")))
    first = drawn(plan).files[0]
    assert (first.path, first.action, first.before, first.editable) == ("", "run make it", None, False)
    assert amend_plan(plan, ScriptedChanges([Drop("s1", 1)])), "the file comes before the id"
    assert [file.path for file in drawn(plan).files] == [""]
    plan = ReviewedPlan(workspace, proposed(workspace, command, create("other", "x\n")))
    assert amend_plan(plan, ScriptedChanges([Drop("s1")]))
    assert [file.path for file in drawn(plan).files] == ["other"]


def test_a_plan_without_specs_is_its_words(workspace: Workspace) -> None:
    document = drawn(ReviewedPlan(workspace, proposed(workspace, title="Only words")))
    assert (document.explanation, document.files, document.amendable) == ("Only words", (), False)


@pytest.mark.req("PT-15")
def test_what_was_decided_is_open_again_after_a_change(workspace: Workspace, plan: ReviewedPlan) -> None:
    approve(workspace, plan.plan_id)
    plan.look()
    assert amend_plan(plan, ScriptedChanges([Drop("many.txt", 1)]))
    with pytest.raises(NotApproved):
        workspace.plan.execute(plan.plan_id)
    plan.reject("again")
    plan.look()
    assert plan.status is PlanStatus.PROPOSED
    assert amend_plan(plan, ScriptedChanges([Drop("a", 1)]))
    assert plan.status is PlanStatus.PENDING_REVIEW


@pytest.mark.req("PT-15")
def test_two_at_once_do_not_mix(workspace: Workspace, plan: ReviewedPlan) -> None:
    other = ReviewedPlan(workspace, plan.plan_id)
    amend_plan(plan, ScriptedChanges([Drop("many.txt", 1)]))
    with pytest.raises(PlanChanged):
        amend_plan(other, ScriptedChanges([Drop("many.txt", 1)]))
    with pytest.raises(PlanChanged):
        amend_plan(other, ScriptedChanges([], [], [ScriptedComment("a", 1, "late")]), seen=2)
    with pytest.raises(PlanChanged):
        amend_plan(plan, ScriptedChanges([Drop("a", 1)]), seen=1)
    assert plan.tool.get(plan.plan_id).plan.version == 2


@pytest.mark.req("CP-11")
def test_an_agent_is_refused(workspace: Workspace, plan: ReviewedPlan) -> None:
    plan.workspace = workspace.replace(person=Agent())
    for wanted in (ScriptedChanges([Drop("a")]), ScriptedChanges([], [], [ScriptedComment("a", 1, "mine")])):
        with pytest.raises(NoChannel, match="agent"):
            amend_plan(plan, wanted)
    assert plan.tool.get(plan.plan_id).plan.version == 1
