"""What a person says and changes on its way back to the proposer; checks run again on what they left."""

from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.approvals.document import Declined
from ringi.approvals.feedback import FeedbackKind, Side
from ringi.errors import BadTransition, InvalidSpecs, NoSandbox, NotFound, PlanChanged, Stale
from ringi.kernel.process import sandbox
from ringi.ledger.event import Actor
from ringi.plans.check import add_checks
from ringi.plans.document import Difference, DropHunks, DropSpec, NewContent, OutcomeKind, PlanStatus
from ringi.plans.propose import keep_specs
from ringi.tree.check_result import CheckPhase, CheckResult
from tests.helpers import (
    answer,
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

FILES = {"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "pic": b"\0\xff\n"}
BWRAP = sandbox.find("/usr/bin:/bin")
needs_sandbox = pytest.mark.skipif(
    BWRAP is None or sandbox.trouble(BWRAP) is not None, reason="bubblewrap does not work here"
)


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path, FILES) as workspace:
        yield workspace


def test_a_comment_keeps_its_line(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "one\n2\nthree\n"), delete("b.txt"))
    with untouched(ws.places.root):
        given = ws.plan.comment(plan_id, "a.txt", 2, "why not in words?")
        gone = ws.plan.comment(plan_id, "b.txt", 1, "keep it", side=Side.OLD)
    assert (given.quote, given.line, given.side, given.version) == ("2", 2, Side.NEW, 1)
    assert (gone.quote, gone.side) == ("b", Side.OLD)
    document = ws.plan.get(plan_id)
    assert document.state.comments == (given, gone)
    assert document.plan.version == 1
    assert kinds(ws, plan_id)[-2:] == ["commented", "commented"]
    assert ws.plan.answer(plan_id).comments == (given, gone)
    assert_whole(ws)


def test_a_comment_takes_no_approval_away(ws: Workspace):
    plan_id = approved(ws, write("a.txt", "1\n"))
    ws.plan.comment(plan_id, "a.txt", 1, "nice")
    assert ws.plan.execute(plan_id).overall_success


@pytest.mark.parametrize("line", [0, -1, 4, 10**9])
def test_there_is_no_such_line(ws: Workspace, line: int):
    plan_id = proposed(ws, write("a.txt", "one\n2\nthree\n"))
    with pytest.raises(NotFound, match=f"a.txt:{line}"):
        ws.plan.comment(plan_id, "a.txt", line, "words")
    assert not ws.plan.get(plan_id).state.comments


def test_what_takes_no_comment(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "1\n"), create("empty", ""))
    for path, text, error in [
        ("c.txt", "x", NotFound),
        ("empty", "x", NotFound),
        ("a.txt", " ", InvalidSpecs),
    ]:
        with pytest.raises(error):
            ws.plan.comment(plan_id, path, 1, text)
    seen = ws.plan.get(plan_id)
    ws.plan.amend(plan_id, [NewContent("s1", "2\n")])
    with pytest.raises(PlanChanged):
        ws.plan.comment(plan_id, "a.txt", 1, "late", seen=seen)
    approve(ws, plan_id)
    ws.plan.execute(plan_id)
    with pytest.raises(BadTransition):
        ws.plan.comment(plan_id, "a.txt", 1, "too late")


def test_bytes_that_are_no_text_are_quoted_all_the_same(ws: Workspace):
    plan_id = proposed(ws, delete("pic"))
    assert ws.plan.comment(plan_id, "pic", 1, "a picture?", side=Side.OLD).quote == "\0\\xff"


def test_a_decline_carries_words_and_comments(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "one\n2\nthree\n"))
    ws.plan.request_approval(plan_id)
    assert ws.plan.answer(plan_id).outcome is None
    given = ws.plan.comment(plan_id, "a.txt", 2, "in words")
    assert ws.plan.reject(plan_id, "not yet") == Declined("not yet", (given,))
    assert ws.plan.outcome(plan_id) == Declined("not yet", (given,))
    told = ws.plan.answer(plan_id)
    assert (told.outcome, told.status) == (OutcomeKind.DECLINED, PlanStatus.PROPOSED)
    assert [(one.text, one.kind) for one in told.feedback] == [("not yet", FeedbackKind.DECLINED)]
    assert told.comments == (given,)
    assert told.changed == ()


def test_what_the_person_changed_is_told_against_what_was_proposed(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "one\n2\n3\n"), create("c.txt", "c\n"))
    ws.plan.amend(plan_id, [NewContent("s1", "one\n2\nthree!\n")])
    ws.plan.amend(plan_id, [DropSpec("s2")])
    told = ws.plan.answer(plan_id)
    assert told.version == 3
    assert {(one.path, one.what) for one in told.changed} == {
        ("a.txt", Difference.CHANGED),
        ("c.txt", Difference.REMOVED),
    }
    [diff] = [one.diff for one in told.changed if one.path == "a.txt"]
    assert "-3\n" in diff
    assert "+three!\n" in diff
    assert [one.kind for one in told.feedback] == [FeedbackKind.AMENDED] * 2
    # What the proposer sets anew is the proposer's own again.
    ws.plan.set_action_specs(plan_id, [write("a.txt", "one\n2\nthree!\n")])
    assert ws.plan.answer(plan_id).changed == ()


def test_specs_that_a_person_dropped_are_told_too(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "1\n"), create("c.txt", "c\n"))
    seen = ws.plan.get(plan_id)
    keep_specs(ws, plan_id, ["s1"], seen=seen, actor=Actor.USER, reason="dropped c.txt")
    assert [one.path for one in ws.plan.answer(plan_id).changed] == ["c.txt"]


def test_approved_and_done(ws: Workspace):
    plan_id = approved(ws, write("a.txt", "1\n"))
    assert ws.plan.answer(plan_id).outcome is OutcomeKind.APPROVED
    ws.plan.execute(plan_id)
    assert ws.plan.answer(plan_id).status is PlanStatus.COMPLETED


# Checks once more


def checked(ws: Workspace, plan_id: str, command: str) -> None:
    add_checks(ws, plan_id, [CheckResult(command, 0, 0.1, "tree", "")])


@needs_sandbox
@pytest.mark.req("PT-16")
def test_the_proposers_checks_run_again_on_what_is_left(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "one\n2\nthree\n"))
    checked(ws, plan_id, "grep -q 2 a.txt")
    ws.plan.amend(plan_id, [NewContent("s1", "one\n22\nthree\n")])
    assert ws.plan.get(plan_id).state.checks == ()
    with untouched(ws.places.root):
        [result] = ws.plan.check_again(plan_id)
    assert (result.command, result.exit_code, result.phase) == ("grep -q 2 a.txt", 0, CheckPhase.DRY)
    ws.plan.amend(plan_id, [NewContent("s1", "one\nII\nthree\n")])
    [result] = ws.plan.check_again(plan_id)
    assert result.exit_code == 1
    assert ws.plan.get(plan_id).state.checks == (result,)
    assert_whole(ws)


@needs_sandbox
def test_a_check_of_a_plan_under_review_writes_nowhere_else(ws: Workspace, tmp_path: Path):
    plan_id = proposed(ws, create("c.txt", "c\n"))
    outside = tmp_path / "outside"
    checked(ws, plan_id, f"cat c.txt; touch made; touch {outside}; ls -A {ws.places.states}")
    with untouched(ws.places.root):
        [result] = ws.plan.check_again(plan_id)
    assert result.output.startswith("c\n")
    assert "ringi.db" not in result.output
    assert not outside.exists()


def test_without_a_sandbox_nothing_runs(tmp_path: Path):
    with open_scratch(tmp_path, FILES, RINGI_RUN_SANDBOX="off") as ws:
        plan_id = proposed(ws, create("c.txt", "c\n"))
        assert ws.plan.check_again(plan_id) == ()
        checked(ws, plan_id, f"touch {tmp_path}/ran")
        with pytest.raises(NoSandbox):
            ws.plan.check_again(plan_id)
    assert not (tmp_path / "ran").exists()


@needs_sandbox
def test_a_stale_plan_is_not_checked(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "1\n"))
    checked(ws, plan_id, "true")
    (ws.places.root / "a.txt").write_text("mine\n")
    with pytest.raises(Stale):
        ws.plan.check_again(plan_id)


def test_a_hunk_dropped_leaves_the_rest_to_be_told(ws: Workspace):
    long = "".join(f"{number}\n" for number in range(40))
    (ws.places.root / "long.txt").write_text(long)
    plan_id = proposed(ws, write("long.txt", long.replace("3\n", "x\n", 1).replace("35\n", "y\n", 1)))
    ws.plan.amend(plan_id, [DropHunks("s1", (2,))])
    [change] = ws.plan.answer(plan_id).changed
    assert "-y\n" in change.diff


def test_what_a_person_takes_back_is_not_told(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "one\n2\n3\n"), create("c.txt", "c\n"))
    ws.plan.amend(plan_id, [NewContent("s1", "one\n2\nthree!\n")])
    ws.plan.amend(plan_id, [DropSpec("s2")])
    ws.versions.revert(plan_id, 2, actor=Actor.USER, withdraw=True)
    told = ws.plan.answer(plan_id)
    assert [(one.amended.version, one.amended.lines) for one in told.feedback if one.amended] == [(2, 1)]
    assert [one.path for one in told.changed] == ["a.txt"]
    ws.versions.revert(plan_id, 1, actor=Actor.USER, withdraw=True)
    assert (ws.plan.answer(plan_id).feedback, ws.plan.answer(plan_id).changed) == ((), ())


def test_what_a_person_takes_back_keeps_the_proposers_basis(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "1\n"), create("c.txt", "c\n"))
    ws.plan.amend(plan_id, [DropSpec("s2")])
    (ws.places.root / "a.txt").write_text("mine\n")
    ws.versions.revert(plan_id, 1, actor=Actor.USER, withdraw=True)
    assert ws.plan.preview(plan_id).stale == ("a.txt",)


def test_a_note_reaches_the_proposer_and_a_change_is_no_answer(ws: Workspace):
    plan_id = proposed(ws, write("a.txt", "1\n"), create("c.txt", "c\n"))
    ws.plan.request_approval(plan_id)
    ws.plan.amend(plan_id, [DropSpec("s2")])
    assert ws.plan.answer(plan_id).outcome is None
    request = ws.plan.ask(plan_id)
    ws.plan.approve(plan_id, "hanako", proof=answer(request), note="only today")
    told = ws.plan.answer(plan_id)
    assert (told.outcome, told.note) == (OutcomeKind.APPROVED, "only today")
    ws.plan.set_action_specs(plan_id, [write("a.txt", "2\n")])
    assert ws.plan.answer(plan_id).outcome is OutcomeKind.APPROVED
