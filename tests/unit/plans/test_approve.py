"""Who may approve, what an approval covers, and when it no longer does."""

import sqlite3
from pathlib import Path

import msgspec
import pytest

from ringi.approvals.document import ApprovalSubject, TypedAnswer
from ringi.errors import (
    Expired,
    InvalidSpecs,
    NoChannel,
    NotApproved,
    NotFound,
    NotProven,
    NotRequested,
    Stale,
    WrongAnswer,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.plans.document import PlanStatus
from ringi.tree.action_spec import ALL_SPECS, SpecSelection
from tests.helpers import (
    Person,
    answer,
    approve,
    approved,
    assert_whole,
    create,
    delete,
    kinds,
    ledger_of,
    open_scratch,
    proposed,
    set_clock,
    undo,
    untouched,
    write,
)

DAY = 86_400


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def root(ws) -> Path:
    return ws.places.root


def some(*ids: str) -> SpecSelection:
    return SpecSelection(all=False, ids=ids)


@pytest.mark.req("PT-8")
def test_what_is_approved_is_kept_verbatim(ws, root: Path):
    (root / "app/hello.py").chmod(0o750)
    plan_id = proposed(ws, write("app/hello.py", "x\n", mode="0755", group="g"), delete("README.md"))
    request = ws.plan.ask(plan_id)
    approval = ws.plan.approve(plan_id, "Hanako", ALL_SPECS, answer(request), "looks fine").approval
    subject = codec.decode_foreign(approval.subject.encode(), ApprovalSubject, "it")
    specs = ws.plan.get_state(plan_id).action_specs
    assert codec.digest(approval.subject.encode()) == approval.digest == request.digest
    assert (subject.plan_id, subject.plan_version) == (plan_id, 1)
    assert subject.workspace == ledger_of(ws).workspace_id()
    assert subject.expires_at == request.expires_at == approval.expires_at
    assert [(spec.id, spec.order, spec.spec.group) for spec in subject.specs] == [
        ("s1", 0, "g"),
        ("s2", 1, None),
    ]
    changes = [(change.path, change.before, change.after) for change in subject.changes]
    assert changes == [(spec.base.path, spec.before, spec.after) for spec in specs]
    assert (subject.changes[0].before.mode, subject.changes[0].after.mode) == ("0750", "0755")
    assert subject.changes[1].after is None
    assert (approval.proof.kind, approval.proof.strength) == ("typed", "weak")
    assert (approval.proof.user, approval.proof.channel) == ("hanako", "/dev/pts/7")
    assert (approval.approver, approval.note) == ("Hanako", "looks fine")
    hashes = [logged.hash for logged in ws.log()]
    assert approval.after_event == hashes[-2]
    assert ws.plan.get_state(plan_id).approvals[0].approver == "Hanako"


@pytest.mark.req("PT-8", "PT-9")
def test_without_proof_nobody_approves(ws, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    ws.plan.request_approval(plan_id, ALL_SPECS)
    with untouched(root, agent=True), pytest.raises(NoChannel) as caught:
        ws.plan.approve(plan_id, "hanako", ALL_SPECS)
    assert caught.value.exit_code == 3
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW


@pytest.mark.req("PT-8", "PT-9")
def test_where_no_person_can_be_asked_no_answer_counts(tmp_path: Path):
    why = Text("this runs below an agent")
    with open_scratch(tmp_path, person=Person(why)) as ws:
        plan_id = proposed(ws, write("README.md", "x\n"))
        request = ws.plan.ask(plan_id)
        with pytest.raises(NoChannel, match="below an agent"):
            ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(request))
        assert ledger_of(ws).approvals.of(plan_id) == ()


@pytest.mark.req("PT-8")
def test_nobody_approves_what_nobody_asked_for(ws):
    plan_id = proposed(ws, write("README.md", "x\n"), write("app/hello.py", "y\n"))
    with pytest.raises(NotRequested) as caught:
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, TypedAnswer("0" * 64, "yes"))
    assert caught.value.exit_code == 3
    request = ws.plan.ask(plan_id, some("s1"))
    for other in (ALL_SPECS, some("s2"), some("s1", "s2"), some("s2", "s1")):
        with pytest.raises(NotRequested):
            ws.plan.approve(plan_id, "hanako", other, answer(request))


@pytest.mark.req("PT-8")
def test_a_proof_for_something_else_does_not_count(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    other = proposed(ws, write("README.md", "x\n"))
    ws.plan.ask(plan_id)
    elsewhere = ws.plan.ask(other)
    for digest in (elsewhere.digest, "", "0" * 64):
        with pytest.raises(WrongAnswer):
            ws.plan.approve(plan_id, "hanako", ALL_SPECS, TypedAnswer(digest, digest[:6]))
    assert ledger_of(ws).approvals.of(plan_id) == ()


@pytest.mark.req("PT-8")
def test_a_second_request_replaces_the_first(ws):
    clock = set_clock(ws)
    plan_id = proposed(ws, write("README.md", "x\n"))
    first = ws.plan.ask(plan_id)
    clock.pass_by(10)
    second = ws.plan.ask(plan_id)
    assert first.digest != second.digest
    with pytest.raises(WrongAnswer):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(first))
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(second))


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("typed", ["yes", "", "y", "0" * 6, "upper", "long"])
def test_high_risk_needs_exactly_the_characters_shown(ws, typed: str):
    plan_id = proposed(ws, delete("README.md"))
    request = ws.plan.ask(plan_id)
    digest = request.digest
    given = {"upper": digest[:6].upper() + "!", "long": digest[:7]}.get(typed, typed)
    with pytest.raises(WrongAnswer, match="6 characters shown") as caught:
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, TypedAnswer(digest, given))
    assert caught.value.exit_code == 6
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, TypedAnswer(digest, digest[:6]))
    assert ws.plan.get_state(plan_id).status is PlanStatus.APPROVED


@pytest.mark.req("PT-8")
def test_low_risk_needs_an_answer_only(ws):
    plan_id = proposed(ws, write("app/hello.py", "x\n"))
    request = ws.plan.ask(plan_id)
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, TypedAnswer(request.digest, "a"))
    assert ws.plan.get_state(plan_id).status is PlanStatus.APPROVED


@pytest.mark.req("PT-8")
def test_the_risk_is_that_of_the_selection(ws):
    plan_id = proposed(ws, write("app/hello.py", "x\n"), delete("README.md"))
    request = ws.plan.ask(plan_id, some("s1"))
    ws.plan.approve(plan_id, "hanako", some("s1"), TypedAnswer(request.digest, "a"))
    assert ws.plan.execute(plan_id).overall_success


@pytest.mark.req("PT-8")
def test_only_the_selection_is_carried_out(ws, root: Path):
    plan_id = proposed(ws, write("README.md", "new\n"), create("a.txt", "a\n"), create("b.txt", "b\n"))
    approve(ws, plan_id, some("s1", "s3"))
    result = ws.plan.execute(plan_id)
    assert [outcome.path for outcome in result.results] == ["README.md", "b.txt"]
    assert (root / "b.txt").exists()
    assert not (root / "a.txt").exists()


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("selection", [some("s9"), some("s1", "s9")], ids=str)
def test_unknown_specs_are_named(ws, selection: SpecSelection):
    plan_id = proposed(ws, write("README.md", "x\n"))
    with pytest.raises(NotFound, match="no spec s9"):
        ws.plan.request_approval(plan_id, selection)


@pytest.mark.req("PT-7", "PT-8")
@pytest.mark.parametrize(
    ("specs", "why"),
    [
        ([write("README.md", "x\n"), write("./README.md", "y\n")], "README.md: two specs name it"),
        ([create("n", "x\n"), create("n/m", "y\n")], "a file and a folder at once"),
    ],
    ids=["twice", "below a file"],
)
def test_specs_that_do_not_go_together_cannot_be_approved_together(ws, root: Path, specs, why: str):
    plan_id = ws.plan.propose("A change")
    assert not ws.plan.set_action_specs(plan_id, specs).ok
    with pytest.raises(InvalidSpecs, match=why):
        ws.plan.request_approval(plan_id, ALL_SPECS)
    approve(ws, plan_id, some("s1"))
    assert ws.plan.execute(plan_id).overall_success
    assert_whole(ws)


@pytest.mark.req("PT-8")
def test_a_group_is_selected_whole_or_not_at_all(ws):
    plan_id = proposed(
        ws,
        create("a", "x\n", group="g"),
        create("b", "x\n", group="g"),
        create("c", "x\n"),
        create("d", "x\n"),
    )
    for selection in (some("s1"), some("s2", "s3")):
        with pytest.raises(InvalidSpecs, match="group g go together"):
            ws.plan.request_approval(plan_id, selection)
    ws.plan.request_approval(plan_id, some("s3"))
    approve(ws, plan_id, some("s1", "s2", "s3"))
    assert len(ws.plan.execute(plan_id).results) == 3


@pytest.mark.req("PT-8")
def test_an_empty_selection_is_nothing_to_approve(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    with pytest.raises(InvalidSpecs):
        ws.plan.request_approval(plan_id, some())


@pytest.mark.req("PT-8", "PT-12")
def test_after_the_specs_changed_the_old_request_is_void(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    request = ws.plan.ask(plan_id)
    ws.plan.set_action_specs(plan_id, [write("README.md", "y\n")])
    with pytest.raises(NotRequested):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(request))


@pytest.mark.req("PT-8", "PT-12")
def test_approval_of_one_version_does_not_cover_the_next(ws, root: Path):
    plan_id = approved(ws, write("README.md", "x\n"))
    ws.plan.set_action_specs(plan_id, [write("README.md", "evil\n")])
    assert ws.plan.get(plan_id).plan.version == 2
    with untouched(root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    # Even with the very same bytes: it is another version.
    ws.plan.set_action_specs(plan_id, [write("README.md", "x\n")])
    with untouched(root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("change", ["content", "mode", "gone", "folder", "link", "appeared"])
def test_a_changed_file_stops_request_and_approval(ws, root: Path, change: str):
    plan_id = proposed(ws, write("README.md", "x\n"), create("new.txt", "n\n"))
    request = ws.plan.ask(plan_id)
    path = disturb(root, change)
    for call in (
        lambda: ws.plan.request_approval(plan_id, ALL_SPECS),
        lambda: ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(request)),
    ):
        with pytest.raises(Stale, match=path) as caught:
            call()
        assert caught.value.exit_code == 4
    assert ws.plan.preview(plan_id).stale == (path,)
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("change", ["content", "mode", "gone", "folder", "link", "appeared"])
def test_a_file_changed_after_approval_sends_the_plan_back_to_review(ws, root: Path, change: str):
    plan_id = approved(ws, write("README.md", "x\n"), create("new.txt", "n\n"), write("app/hello.py", "z\n"))
    path = disturb(root, change)
    with untouched(root), pytest.raises(Stale, match=path) as caught:
        ws.plan.execute(plan_id)
    assert caught.value.exit_code == 4
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    assert kinds(ws, plan_id)[-1] == "found_stale"
    with untouched(root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    assert_whole(ws)


def disturb(root: Path, change: str) -> str:
    path = root / "README.md"
    match change:
        case "content":
            path.write_text("somebody else\n")
        case "mode":
            path.chmod(0o755)
        case "gone":
            path.unlink()
        case "folder":
            path.unlink()
            path.mkdir()
        case "link":
            path.rename(root / "elsewhere")
            path.symlink_to("elsewhere")
        case "appeared":
            (root / "new.txt").write_text("first\n")
            return "new.txt"
    return "README.md"


@pytest.mark.req("PT-12")
def test_a_file_that_came_back_can_be_approved_again(ws, root: Path):
    plan_id = approved(ws, write("README.md", "x\n"))
    before = (root / "README.md").read_bytes()
    (root / "README.md").write_text("meanwhile\n")
    with pytest.raises(Stale):
        ws.plan.execute(plan_id)
    (root / "README.md").write_bytes(before)
    with untouched(root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success


@pytest.mark.req("PT-8")
def test_requests_and_approvals_expire(ws, root: Path):
    clock = set_clock(ws)
    plan_id = proposed(ws, write("README.md", "x\n"))
    request = ws.plan.ask(plan_id)
    clock.pass_by(DAY + 1)
    with pytest.raises(Expired) as caught:
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(request))
    assert caught.value.exit_code == 5
    assert request.expires_at in str(caught.value)
    approve(ws, plan_id)
    clock.pass_by(DAY + 1)
    with untouched(root), pytest.raises(Expired):
        ws.plan.execute(plan_id)
    # It can be approved anew, and runs then.
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    approve(ws, plan_id)
    assert ws.plan.execute(plan_id).overall_success


@pytest.mark.req("PT-8")
def test_an_approval_holds_until_its_last_moment(ws):
    clock = set_clock(ws)
    plan_id = approved(ws, write("README.md", "x\n"))
    clock.pass_by(DAY)
    assert ws.plan.execute(plan_id).overall_success


@pytest.mark.req("PT-8")
def test_an_expired_undo_is_refused(ws, root: Path):
    clock = set_clock(ws)
    plan_id = approved(ws, write("README.md", "x\n"))
    ws.plan.execute(plan_id)
    request, _ = ws.plan.ask_undo(plan_id)
    clock.pass_by(DAY + 1)
    with untouched(root), pytest.raises(Expired):
        ws.plan.undo(plan_id, "hanako", answer(request))
    with untouched(root), pytest.raises(NoChannel):
        ws.plan.undo(plan_id, "hanako")
    with untouched(root), pytest.raises(NotRequested):
        ws.plan.undo(plan_id, "hanako", TypedAnswer("0" * 64, "y"))
    undo(ws, plan_id)


@pytest.mark.req("PT-8", "PT-9")
def test_an_approval_copied_to_another_plan_covers_nothing(ws, root: Path):
    plan_id = approved(ws, write("README.md", "x\n"))
    other = proposed(ws, write("README.md", "x\n"))
    with sqlite3.connect(ledger_of(ws).folder / "ringi.db") as database:
        database.execute(
            "INSERT INTO approvals (id, subject_id, kind, at, document)"
            " SELECT 'copied', ?, kind, 99, replace(document, ?, ?) FROM approvals",
            (other, plan_id, other),
        )
        database.execute("UPDATE plans SET status = 'approved' WHERE id = ?", (other,))
        database.execute(
            "UPDATE plans SET document = replace(document, 'pending_review', 'approved') WHERE id = ?",
            (other,),
        )
    assert ws.plan.get_state(other).status is PlanStatus.APPROVED
    with untouched(root), pytest.raises(NotProven):
        ws.plan.execute(other)
    assert ws.verify_log()


@pytest.mark.req("PT-8", "PT-9")
def test_specs_changed_behind_the_ledgers_back_are_not_carried_out(ws, root: Path):
    plan_id = approved(ws, write("README.md", "x\n"))
    specs = ws.plan.get_state(plan_id).action_specs
    evil = write("README.md", "evil\n")
    changed = (msgspec.structs.replace(specs[0], base=evil),)
    after = msgspec.structs.replace(specs[0].after, sha256=codec.digest(b"evil\n"))
    both = (msgspec.structs.replace(changed[0], after=after),)
    with sqlite3.connect(ledger_of(ws).folder / "ringi.db") as database:
        database.execute("UPDATE specs SET document = ?", (codec.canonical(both).decode(),))
    with untouched(root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    assert ws.verify_log()


@pytest.mark.req("PT-8", "PT-9")
def test_content_that_does_not_have_the_approved_hash_is_not_written(ws, root: Path):
    """The content itself is outside the approved bytes; its hash is not."""
    plan_id = approved(ws, write("README.md", "x\n"))
    specs = ws.plan.get_state(plan_id).action_specs
    changed = (msgspec.structs.replace(specs[0], base=write("README.md", "evil\n")),)
    with sqlite3.connect(ledger_of(ws).folder / "ringi.db") as database:
        database.execute("UPDATE specs SET document = ?", (codec.canonical(changed).decode(),))
    with untouched(root), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    ws.plan.mark_pending(plan_id, True)
    with pytest.raises(InvalidSpecs, match=r"README\.md is not what its hash says"):
        ws.plan.request_approval(plan_id, ALL_SPECS)


@pytest.mark.req("PT-8")
def test_feedback_and_notes_are_outside_what_is_approved(ws):
    plan_id = proposed(ws, write("README.md", "x\n", description="one"))
    request = ws.plan.ask(plan_id)
    subject = ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(request)).approval.subject
    assert "one" not in subject
    assert "x\\n" not in subject


@pytest.mark.req("PT-8")
def test_the_history_keeps_every_approval(ws, root: Path):
    plan_id = approved(ws, write("README.md", "x\n"))
    ws.plan.mark_pending(plan_id, True)
    approve(ws, plan_id)
    assert len(ws.plan.get_state(plan_id).approvals) == 2
    assert len(ledger_of(ws).approvals.of(plan_id)) == 2
    result = ws.plan.execute(plan_id)
    assert [approval.spent_by for approval in ledger_of(ws).approvals.of(plan_id)] == [
        None,
        result.execution_id,
    ]
