"""A signature is a yes to exactly these bytes, once, by a key that counts."""

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from ringi.approvals.document import (
    ApprovalRequest,
    ApprovedPlan,
    Cancelled,
    Declined,
    ExpiredRequest,
    SignedAct,
    SignedAnswer,
)
from ringi.approvals.kinds import of_plan
from ringi.approvals.signing import SignerList, SshSignatures
from ringi.approvals.statement import Digests, Resource, payload_of, read_predicate, read_signed, to_sign
from ringi.errors import (
    BadSignature,
    BadTransition,
    InvalidSpecs,
    NoChannel,
    NotApproved,
    NotFound,
    NotProven,
    NotRequested,
    RingiError,
    UnlistedKey,
    WrongAnswer,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.plans.approve import unlike_their_hashes
from ringi.plans.document import PlanStatus, with_state
from ringi.plans.tool import PlanTool
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, PlannedChecks, SpecSelection
from tests.fakes.signing import MadeUpKeys, RealKey, assert_signed
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
    untouched,
    write,
)

DAY = 86_400


@pytest.fixture
def keys() -> MadeUpKeys:
    return MadeUpKeys("hers")


@pytest.fixture
def ws(tmp_path: Path, keys: MadeUpKeys):
    """Nobody sits at a terminal here: only a signature counts."""
    with open_scratch(tmp_path, person=Person(Text("this runs below an agent"))) as workspace:
        workspace.plan = PlanTool(workspace.replace(signatures=keys))
        yield workspace


@pytest.fixture
def root(ws) -> Path:
    return ws.places.root


def some(*ids: str) -> SpecSelection:
    return SpecSelection(all=False, ids=ids)


def signed(ws, keys: MadeUpKeys, asked: ApprovalRequest, note: str = "", key: str = "hers") -> SignedAnswer:
    return keys.sign(key, ws.plan.statement(asked, "hanako", note))


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("spec", [write("README.md", "x\n"), delete("README.md")], ids=["low", "high"])
def test_a_signature_needs_no_terminal_and_counts_for_any_risk(ws, keys, root: Path, spec):
    plan_id = proposed(ws, spec)
    asked = ws.plan.ask(plan_id)
    proof = signed(ws, keys, asked, "fine")
    given = ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof, "fine").approval
    assert (given.proof.kind, given.proof.strength) == ("signed", "strong")
    assert (given.proof.principal, given.proof.key) == ("hers@example.invalid", "made-up hers")
    assert (given.proof.statement, given.proof.signature) == (proof.statement, proof.signature)
    assert (given.proof.channel, given.proof.user, given.note) == ("the list", "hanako", "fine")
    said = read_predicate(proof.statement)
    assert (said.act, said.digest, said.approver) == (SignedAct.APPROVE, given.digest, "hanako")
    assert ws.plan.outcome(plan_id) == ApprovedPlan(given)
    assert ws.plan.execute(plan_id).overall_success
    assert_whole(ws)


@pytest.mark.req("PT-8", "PT-9")
def test_a_typed_answer_is_refused_but_a_signature_counts(ws, keys):
    plan_id = proposed(ws, write("README.md", "x\n"))
    asked = ws.plan.ask(plan_id)
    for proof in (None, answer(asked)):
        with pytest.raises(NoChannel):
            ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, signed(ws, keys, asked))
    assert ws.plan.get_state(plan_id).status is PlanStatus.APPROVED


def retold(proof: SignedAnswer, **changes: object) -> str:
    said = read_signed(proof.statement)
    return to_sign(replace(said, predicate=replace(said.predicate, **changes)))


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"act": SignedAct.UNDO}, "signed to undo, not to approve"),
        ({"act": SignedAct.GRANT}, "signed to grant"),
        ({"digest": "0" * 64}, "something else"),
        ({"digest": ""}, "something else"),
        ({"approver": "taro"}, "in the name of taro"),
        ({"note": "other"}, "another note"),
        ({"at": "2026-01-01T00:00:00.000000Z"}, "when nobody was asked"),
        ({"at": "2026-01-03T03:04:05.000001Z"}, "when nobody was asked"),
        ({"at": ""}, "when nobody was asked"),
        ({"after_event": "0" * 64}, "an event that is not in the log"),
        ({"after_event": "f" * 64}, "an event that is not in the log"),
    ],
    ids=str,
)
def test_a_statement_about_something_else_does_not_count(ws, keys, changes: dict, words: str):
    """Signed by the right key all the same."""
    set_clock(ws)
    plan_id = proposed(ws, write("README.md", "x\n"))
    proof = signed(ws, keys, ws.plan.ask(plan_id))
    with pytest.raises(WrongAnswer, match=words):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, keys.sign("hers", retold(proof, **changes)))
    assert ledger_of(ws).approvals.of(plan_id) == ()
    assert ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)


@pytest.mark.req("PT-8")
def test_a_statement_about_other_files_does_not_count(ws, keys):
    """Signed by the right key, with the right digest: whoever gave it out to be signed was not us."""
    plan_id = proposed(ws, write("README.md", "x\n"))
    proof = signed(ws, keys, ws.plan.ask(plan_id))
    other = replace(read_signed(proof.statement), subject=(Resource("other.txt", Digests("0" * 64)),))
    with pytest.raises(WrongAnswer, match="something else"):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, keys.sign("hers", to_sign(other)))
    assert ledger_of(ws).approvals.of(plan_id) == ()


def respelled(text: str, old: str, new: str) -> str:
    """With the right length, so that only the payload is wrong."""
    payload = payload_of(text).replace(old, new, 1)
    return f"DSSEv1 28 application/vnd.in-toto+json {len(payload.encode())} {payload}"


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text + "\n",
        lambda text: " " + text,
        lambda text: respelled(text, '":"', '": "'),
        lambda text: respelled(text, '"act"', '"more":1,"act"'),
        lambda text: respelled(text, '"act":"approve",', '"act":"approve","act":"approve",'),
        lambda text: respelled(text, "approval:v1", "approval:v2"),
        lambda text: respelled(text, "Statement/v1", "Statement/v2"),
        lambda text: text.replace("in-toto", "another"),
        lambda text: text[:-1],
        lambda _: "",
        lambda _: "\ud800",
        lambda _: "[]",
    ],
    ids=[
        *("newline", "space", "inner space", "field", "twice", "newer", "newer in-toto", "other payload"),
        *("cut", "empty", "surrogate", "list"),
    ],
)
def test_a_statement_is_read_strictly(ws, keys, spoil: Callable[[str], str]):
    plan_id = proposed(ws, write("README.md", "x\n"))
    text = spoil(ws.plan.statement(ws.plan.ask(plan_id), "hanako"))
    proof = SignedAnswer(text, "hers")
    with pytest.raises(RingiError) as caught:
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    assert caught.value.code in {"bad_document", "newer_version"}
    assert keys.asked == 0


@pytest.mark.req("PT-8")
def test_signatures_that_prove_nothing_are_refused_by_name(ws, keys, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    asked = ws.plan.ask(plan_id)
    text = ws.plan.statement(asked, "hanako")
    wrong = [
        (BadSignature, keys.sign("hers", text, "git")),
        (UnlistedKey, keys.sign("agent", text)),
        (BadSignature, SignedAnswer(text, keys.sign("hers", text + "x").signature)),
    ]
    for error, proof in wrong:
        with untouched(root, agent=True), pytest.raises(error) as caught:
            ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
        assert caught.value.exit_code == 6
    assert ws.plan.outcome(plan_id) is None


@pytest.mark.req("PT-8")
def test_a_signature_for_another_plan_does_not_count(ws, keys):
    one, other = (proposed(ws, write("README.md", "x\n")) for _ in range(2))
    proof = signed(ws, keys, ws.plan.ask(one))
    ws.plan.ask(other)
    with pytest.raises(WrongAnswer, match="something else"):
        ws.plan.approve(other, "hanako", ALL_SPECS, proof)


@pytest.mark.req("PT-8", "PT-12")
def test_a_signature_for_another_version_does_not_count(ws, keys):
    plan_id = proposed(ws, write("README.md", "x\n"))
    proof = signed(ws, keys, ws.plan.ask(plan_id))
    ws.plan.set_action_specs(plan_id, [write("README.md", "y\n")])
    with pytest.raises(NotRequested):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    ws.plan.ask(plan_id)
    with pytest.raises(WrongAnswer, match="something else"):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)


@pytest.mark.req("PT-8")
def test_a_signature_is_used_once(ws, keys):
    clock = set_clock(ws)
    plan_id = proposed(ws, write("README.md", "x\n"))
    proof = signed(ws, keys, ws.plan.ask(plan_id))
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    ws.plan.mark_pending(plan_id, True)
    # The request is answered; a new one with the same digest (the clock stands still) is another question.
    with pytest.raises(NotRequested):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    ws.plan.ask(plan_id)
    with pytest.raises(WrongAnswer, match="used already"):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    unused = signed(ws, keys, ws.plan.ask(plan_id))
    clock.pass_by(1)
    asked = ws.plan.ask(plan_id)
    with pytest.raises(WrongAnswer, match="something else"):
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, unused)
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, signed(ws, keys, asked))
    assert len(ledger_of(ws).approvals.of(plan_id)) == 2


@pytest.mark.req("PT-8", "PT-9")
def test_a_key_that_left_the_list_ends_what_it_approved(ws, keys, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, signed(ws, keys, ws.plan.ask(plan_id)))
    keys.listed.clear()
    with untouched(root), pytest.raises(UnlistedKey):
        ws.plan.execute(plan_id)


@pytest.mark.req("PT-8")
def test_an_undo_is_signed_as_an_undo(ws, keys, root: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, signed(ws, keys, ws.plan.ask(plan_id)))
    ws.plan.execute(plan_id)
    asked, _ = ws.plan.ask_undo(plan_id)
    with untouched(root), pytest.raises(WrongAnswer, match="signed to approve, not to undo"):
        ws.plan.undo(plan_id, "hanako", signed(ws, keys, asked))
    text = ws.plan.statement(asked, "hanako", act=SignedAct.UNDO)
    assert ws.plan.undo(plan_id, "hanako", keys.sign("hers", text)).overall_success
    assert (root / "README.md").read_text() == "# Sample\n"
    given = ws.plan.outcome(plan_id)
    assert given.approval.proof.kind == "signed"
    assert_whole(ws)


# What is approved, and what is left out.


def test_the_checks_and_the_sandbox_are_part_of_what_is_approved(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    document = with_state(ws.plan.get(plan_id), planned_checks=msgspec.UNSET)
    plain = codec.canonical(of_plan(document, ALL_SPECS, "w", "t"))
    assert b"checks" not in plain
    assert b"sandboxed" not in plain
    empty = with_state(document, planned_checks=PlannedChecks())
    assert codec.canonical(of_plan(empty, ALL_SPECS, "w", "t")) == plain
    checked = with_state(document, planned_checks=PlannedChecks(after=("make test",)))
    subject = of_plan(checked, ALL_SPECS, "w", "t", sandboxed=True)
    assert subject.checks.after == ("make test",)
    assert subject.sandboxed is True
    unsafe = of_plan(checked, ALL_SPECS, "w", "t", sandboxed=False)
    assert codec.canonical(unsafe) != codec.canonical(subject)


@pytest.mark.req("PT-8")
def test_only_what_has_a_content_of_its_own_is_compared_with_its_hash(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    spec = ws.plan.get_state(plan_id).action_specs[0]
    changed = {
        kind: msgspec.structs.replace(spec, base=msgspec.structs.replace(spec.base, kind=kind, content="y\n"))
        for kind in SpecKind
    }
    assert {kind for kind, found in changed.items() if unlike_their_hashes([found])} == {"create", "write"}


@pytest.mark.req("PT-8")
def test_what_was_left_out_is_reported_to_the_proposer(ws, keys):
    plan_id = proposed(ws, write("app/hello.py", "x\n"), delete("README.md"), create("n.txt", "n\n"))
    asked = ws.plan.ask(plan_id, some("s1"))
    ws.plan.approve(plan_id, "hanako", some("s1"), signed(ws, keys, asked, "half"), "half")
    told = "not approved: s2 delete README.md, s3 create n.txt"
    assert [given.text for given in ws.plan.get_state(plan_id).feedback] == [told]
    assert list(ws.log(plan_id))[-1].event.reason == f"half; {told}"
    assert isinstance(ws.plan.outcome(plan_id), ApprovedPlan)
    assert ws.plan.execute(plan_id).overall_success


def test_of_very_many_left_out_some_are_named(ws, keys):
    plan_id = proposed(ws, *(create(f"n{n}.txt", "n\n") for n in range(30)))
    asked = ws.plan.ask(plan_id, some("s1"))
    ws.plan.approve(plan_id, "hanako", some("s1"), signed(ws, keys, asked))
    text = ws.plan.get_state(plan_id).feedback[0].text
    assert text.count("create") == 20
    assert text.endswith("and 9 more")


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ((), InvalidSpecs, "no spec was selected"),
        (("s9",), NotFound, "no spec s9"),
        (("",), NotFound, "no spec "),
        (("s1", "s1"), InvalidSpecs, "s1 is selected twice"),
    ],
)
def test_selections_that_mean_nothing_are_refused_by_name(ws, ids, error, words: str):
    plan_id = proposed(ws, write("README.md", "x\n"), create("n.txt", "n\n"))
    with pytest.raises(error, match=words):
        ws.plan.request_approval(plan_id, some(*ids))


# What becomes of a request.


@pytest.mark.req("PT-8")
def test_the_outcomes_of_a_request(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        clock = set_clock(ws)
        plan_id = proposed(ws, write("README.md", "x\n"))
        assert ws.plan.outcome(plan_id) is None
        asked = ws.plan.ask(plan_id)
        assert ws.plan.outcome(plan_id) is None
        ws.plan.reject(plan_id, "not so")
        assert ws.plan.outcome(plan_id) == Declined("not so")
        ws.plan.mark_pending(plan_id, True)
        with pytest.raises(NotRequested):
            ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(asked))
        ws.plan.ask(plan_id)
        assert ws.plan.outcome(plan_id) is None
        ws.plan.mark_pending(plan_id, pending=False)
        assert ws.plan.outcome(plan_id) == Cancelled("")
        ws.plan.set_action_specs(plan_id, [write("README.md", "y\n")])
        asked = ws.plan.ask(plan_id)
        ws.plan.set_action_specs(plan_id, [write("README.md", "z\n")])
        assert "specs_set" in ws.plan.outcome(plan_id).reason
        asked = ws.plan.ask(plan_id)
        clock.pass_by(DAY + 1)
        assert ws.plan.outcome(plan_id) == ExpiredRequest(asked.expires_at)
        approve(ws, plan_id)
        given = ledger_of(ws).approvals.of(plan_id)[-1]
        assert ws.plan.outcome(plan_id) == ApprovedPlan(given)
        clock.pass_by(DAY + 1)
        assert ws.plan.outcome(plan_id) == ApprovedPlan(given)
        assert_whole(ws)


@pytest.mark.req("PT-8")
def test_a_request_beside_another_that_was_answered_is_over(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        plan_id = proposed(ws, write("README.md", "x\n"), create("n.txt", "n\n"))
        whole = ws.plan.ask(plan_id)
        ws.plan.ask(plan_id, some("s1"))
        ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(whole))
        assert ws.plan.outcome(plan_id) == Cancelled("another request for the plan was answered")


@pytest.mark.req("PT-8")
def test_only_what_is_undecided_is_sent_back(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        plan_id = proposed(ws, write("README.md", "x\n"))
        asked = ws.plan.ask(plan_id)
        assert ws.plan.mark_pending(plan_id, pending=False).status is PlanStatus.PROPOSED
        with pytest.raises(BadTransition):
            ws.plan.mark_pending(plan_id, pending=False)
        ws.plan.mark_pending(plan_id, True)
        # Whoever was asked before need not answer, and cannot.
        with pytest.raises(NotRequested):
            ws.plan.approve(plan_id, "hanako", ALL_SPECS, answer(asked))
        approve(ws, plan_id)
        with pytest.raises(BadTransition):
            ws.plan.mark_pending(plan_id, pending=False)
        assert kinds(ws, plan_id).count("sent_back") == 1


# Hands in the ledger and in .agent.


@pytest.mark.req("PT-8", "PT-9")
@pytest.mark.parametrize("what", ["proof", "note", "approver", "digest", "subject", "after_event"])
def test_an_approval_edited_in_the_ledger_covers_nothing(tmp_path: Path, what: str):
    with open_scratch(tmp_path) as ws:
        plan_id = approved(ws, write("README.md", "x\n"))
        given = ledger_of(ws).approvals.of(plan_id)[0]
        value = {"proof": msgspec.structs.replace(given.proof, user="taro")}.get(what, "0" * 64)
        forged = codec.canonical(msgspec.structs.replace(given, **{what: value})).decode()
        ledger_of(ws).database.execute("UPDATE approvals SET document = ?", (forged,))
        with untouched(ws.places.root), pytest.raises(NotProven):
            ws.plan.execute(plan_id)
        assert ws.verify_log()


@pytest.mark.req("PT-8", "PT-9")
@pytest.mark.parametrize("rewritten", [False, True], ids=["as it is", "made to fit"])
def test_an_approval_row_copied_to_another_plan_covers_nothing(tmp_path: Path, rewritten: bool):
    with open_scratch(tmp_path) as ws:
        plan_id = approved(ws, write("README.md", "x\n"))
        other = proposed(ws, write("README.md", "x\n"))
        given = ledger_of(ws).approvals.of(plan_id)[0]
        if rewritten:
            subject = of_plan(ws.plan.get(other), ALL_SPECS, ledger_of(ws).workspace_id(), given.expires_at)
            text = codec.canonical(subject).decode()
            given = msgspec.structs.replace(given, subject=text, digest=codec.digest(text.encode()))
        forged = codec.canonical(msgspec.structs.replace(given, id="copied", subject_id=other)).decode()
        database = ledger_of(ws).database
        database.execute(
            "INSERT INTO approvals (id, subject_id, kind, at, document) VALUES ('copied', ?, 'plan', 99, ?)",
            (other, forged),
        )
        database.execute(
            "UPDATE plans SET status = 'approved',"
            " document = replace(document, 'pending_review', 'approved') WHERE id = ?",
            (other,),
        )
        assert ws.plan.get_state(other).status is PlanStatus.APPROVED
        with untouched(ws.places.root), pytest.raises(NotProven):
            ws.plan.execute(other)
        assert ws.verify_log()


@pytest.mark.req("PT-8", "PT-9")
def test_forged_files_in_agent_approve_nothing(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        done, waiting = approved(ws, write("app/hello.py", "x\n")), proposed(ws, write("README.md", "x\n"))
        ws.plan.ask(waiting)
        folder = ws.places.root / ".agent/logs/plans"
        forged = sorted(path for path in folder.rglob("*") if path.is_file())
        assert {path.name for path in forged} >= {"approval.json", "plan.json", "events.jsonl", "index.json"}
        # Every file of the plan that waits says what the approved one says.
        for path in (folder / done).rglob("*"):
            if path.is_file():
                there = folder / waiting / path.relative_to(folder / done)
                there.write_text(path.read_text().replace(done, waiting))
        index = folder / "index.json"
        index.write_text(index.read_text().replace("pending_review", "approved"))
        assert json.loads((folder / waiting / "approval.json").read_text())["approvals"]
        assert ws.plan.get_state(waiting).status is PlanStatus.PENDING_REVIEW
        assert ws.plan.outcome(waiting) is None
        with untouched(ws.places.root), pytest.raises(NotApproved):
            ws.plan.execute(waiting)
        assert ws.upkeep._projection.differences(ledger_of(ws))


# With ssh-keygen itself.


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> RealKey:
    return RealKey(tmp_path_factory.mktemp("keys"), "hers")


@pytest.fixture
def signing(tmp_path: Path, key: RealKey):
    lists = [SignerList("the list", f"hanako {key.public}\n".encode())]
    with open_scratch(tmp_path, person=Person(Text("this runs below an agent"))) as workspace:
        signatures = SshSignatures(lambda: lists)
        workspace.plan = PlanTool(workspace.replace(signatures=signatures))
        yield workspace


@pytest.mark.req("PT-8")
def test_approval_json_alone_proves_who_approved_what(signing, key: RealKey, tmp_path: Path):
    """Nothing of the program is used to check it: JSON, SHA-256 and ssh-keygen."""
    plan_id = proposed(signing, write("README.md", "new\n"))
    asked = signing.plan.ask(plan_id)
    proof = key.sign(signing.plan.statement(asked, "hanako", "yes"))
    signing.plan.approve(plan_id, "hanako", ALL_SPECS, proof, "yes")
    assert signing.plan.execute(plan_id).overall_success
    path = signing.places.root / ".agent/logs/plans" / plan_id / "approval.json"
    given = json.loads(path.read_text())["approvals"][0]
    record = given["proof"]
    statement = record["statement"].encode()
    assert_signed(tmp_path, record, statement)
    with pytest.raises(subprocess.CalledProcessError):
        assert_signed(tmp_path, record, statement + b"x")
    assert key.public.startswith(record["key"])
    said = json.loads(statement.split(b" ", 4)[4])["predicate"]
    assert said["digest"] == hashlib.sha256(given["subject"].encode()).hexdigest()
    subject = json.loads(given["subject"])
    assert subject["plan_id"] == plan_id
    written = (signing.places.root / "README.md").read_bytes()
    assert subject["changes"][0]["after"]["sha256"] == hashlib.sha256(written).hexdigest()
    assert_whole(signing)


@pytest.mark.req("PT-8")
def test_real_signatures_that_prove_nothing_are_refused_by_name(signing, key: RealKey, tmp_path: Path):
    plan_id = proposed(signing, write("README.md", "x\n"))
    asked = signing.plan.ask(plan_id)
    text = signing.plan.statement(asked, "hanako")
    other = RealKey(tmp_path, "agents")
    wrong = [
        (BadSignature, key.sign(text, "git")),
        (UnlistedKey, other.sign(text)),
        (BadSignature, SignedAnswer(text, key.sign(text + " ").signature)),
    ]
    for error, proof in wrong:
        with pytest.raises(error):
            signing.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    signing.plan.approve(plan_id, "hanako", ALL_SPECS, key.sign(text))
    assert signing.plan.execute(plan_id).overall_success
