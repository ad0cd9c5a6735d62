"""What was carried out is what was approved, and every forgery is found."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.approvals.document import Approval, SignedAct, SignedAnswer
from ringi.approvals.grant_document import GrantScope
from ringi.approvals.statement import fingerprint, read_signed, to_sign
from ringi.errors import CheckFailed
from ringi.kernel import codec
from ringi.plans.tool import PlanTool
from ringi.plans.verdict import FileStanding
from ringi.plans.verify import Examination, PlanVerdict, verify_plan
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, CheckFailure, PlannedChecks
from ringi.tree.check_result import CheckResult
from tests.fakes.signing import MadeUpKeys, RealKey
from tests.helpers import (
    accept_signers,
    approved,
    create,
    ledger_of,
    open_scratch,
    proposed,
    rewire,
    undo,
    write,
)

AS_APPROVED, CHANGED, UNDONE = FileStanding.AS_APPROVED, FileStanding.CHANGED_SINCE, FileStanding.UNDONE


@pytest.fixture
def keys() -> MadeUpKeys:
    return MadeUpKeys("hers")


@pytest.fixture
def ws(tmp_path: Path, keys: MadeUpKeys):
    with open_scratch(tmp_path) as workspace:
        rewire(workspace, signatures=keys)
        yield workspace


def executed(ws: Workspace, *specs: ActionSpec) -> str:
    plan_id = approved(ws, *specs or [write("README.md", "new\n"), create("a/b.txt", "b\n")])
    assert ws.plan.execute(plan_id).overall_success
    return plan_id


def signed(ws: Workspace, keys: MadeUpKeys, note: str = "fine") -> str:
    plan_id = proposed(ws, write("README.md", "signed\n"))
    proof = keys.sign("hers", ws.plan.statement(ws.plan.ask(plan_id), "hanako", note))
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof, note)
    assert ws.plan.execute(plan_id).overall_success
    return plan_id


def granted(ws: Workspace, keys: MadeUpKeys) -> str:
    """A plan that a standing approval covered."""
    kinds = (SpecKind.CREATE, SpecKind.WRITE)
    scope = GrantScope("user:hanako", ("docs/**",), kinds, Risk.LOW, 2, 10, 4, 20)
    subject = ws.grants.draft(scope, ws.clock.after(3600))
    ws.grants.add(subject, "hanako", keys.sign("hers", ws.grants.statement(subject, "hanako")))
    plan_id = proposed(ws, create("docs/a.txt", "a\n"))
    ws.plan.ask(plan_id)
    assert ws.plan.execute(plan_id).overall_success
    return plan_id


def looked_at(ws: Workspace, plan_id: str) -> PlanVerdict:
    return Examination(ws).plan(plan_id)


def said(ws: Workspace, plan_id: str) -> str:
    found = looked_at(ws, plan_id)
    assert not found.document.proven
    assert found.document.problems == tuple(map(str, found.problems))
    return "\n".join(found.document.problems)


def standing(ws: Workspace, plan_id: str) -> dict[str, tuple[FileStanding, str]]:
    document = looked_at(ws, plan_id).document
    assert document.proven, document.problems
    return {file.path: (file.status, file.since) for file in document.files}


def edit(ws: Workspace, table: str, column: str, change: Callable[[Any], object], where: str = "1") -> None:
    """Of the newest row, as somebody would who has the ledger's file."""
    database = ledger_of(ws).database
    query = f"SELECT rowid, {column} FROM {table} WHERE {where} ORDER BY at DESC LIMIT 1"
    [row, text] = database.execute(query).fetchone()
    document = json.loads(text)
    change(document)
    new = codec.canonical(document).decode()
    assert new != text
    database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))


# --- what is as it should be ----------------------------------------------------------------------


@pytest.mark.req("PT-8", "PT-11")
def test_files_that_are_as_approved(ws):
    plan_id = executed(ws)
    document = verify_plan(ws, "p1")
    assert (document.plan_id, document.name, document.log_ok) == (plan_id, "p1", True)
    assert document.proven
    assert document.carried_out
    assert {file.path: file.status for file in document.files} == {
        "README.md": AS_APPROVED,
        "a/b.txt": AS_APPROVED,
    }
    [execution] = document.executions
    given = execution.approval
    assert given is not None
    assert (given.approver, given.proof.kind, given.proof.strength) == ("hanako", "typed", "weak")
    assert given.proof.channel == "/dev/pts/7"


def test_files_that_changed_since_and_who_wrote_them(ws):
    first = executed(ws)
    (ws.places.root / "README.md").write_text("by hand\n")
    second = executed(ws, write("a/b.txt", "later\n"))
    assert standing(ws, first) == {"README.md": (CHANGED, ""), "a/b.txt": (CHANGED, "p2")}
    assert standing(ws, second) == {"a/b.txt": (AS_APPROVED, "")}
    (ws.places.root / "a/b.txt").write_text("by hand\n")
    assert standing(ws, first)["a/b.txt"] == (CHANGED, "")
    (ws.places.root / "a/b.txt").chmod(0o755)
    assert standing(ws, second) == {"a/b.txt": (CHANGED, "")}


PATHS = tuple(f"{folder}{name}.txt" for folder in ("", "deep/er/") for name in "abc")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(
    rewritten=st.sets(st.sampled_from(PATHS)),
    removed=st.sets(st.sampled_from(PATHS)),
    linked=st.sets(st.sampled_from(PATHS)),
)
def test_exactly_what_somebody_changed_is_named(
    six: Workspace, rewritten: set[str], removed: set[str], linked: set[str]
):
    root = six.places.root
    try:
        for path in rewritten:
            (root / path).write_text("by hand\n")
        for path in removed | linked:
            (root / path).unlink()
        for path in linked:
            (root / path).symlink_to("elsewhere")
        found = standing(six, "p1")
        assert {path for path, (status, _) in found.items() if status is CHANGED} == (
            rewritten | removed | linked
        )
        assert set(found) == set(PATHS)
    finally:
        for path in PATHS:
            (root / path).unlink(missing_ok=True)
            (root / path).write_text(path)


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory):
    with open_scratch(tmp_path_factory.mktemp("six")) as ws:
        executed(ws, *(create(path, path) for path in PATHS))
        yield ws


def test_an_undone_plan_was_as_approved(ws):
    plan_id = executed(ws)
    undo(ws, plan_id)
    assert standing(ws, plan_id) == {"README.md": (UNDONE, ""), "a/b.txt": (UNDONE, "")}
    assert [str(one.kind) for one in looked_at(ws, plan_id).document.executions] == ["execute", "undo"]


def test_a_plan_that_was_not_carried_out_says_who_approved_it(ws):
    executed(ws)
    waiting = approved(ws, create("c.txt", "c\n"))
    document = looked_at(ws, waiting).document
    assert document.proven
    assert not document.carried_out
    assert [one.approver for one in document.unused] == ["hanako"]
    assert list(Examination(ws).list_carried_out()) == [ledger_of(ws).plans.find("p1")]


def test_a_plan_that_only_reads_needs_no_approval(ws):
    plan_id = proposed(ws, ActionSpec(SpecKind.READ, "README.md"))
    ws.plan.execute(plan_id)
    document = looked_at(ws, plan_id).document
    assert document.proven
    assert document.carried_out
    assert [one.approval for one in document.executions] == [None]


def test_a_signature_is_checked_again(ws, keys):
    plan_id = signed(ws, keys)
    before = keys.asked
    [execution] = looked_at(ws, plan_id).document.executions
    assert keys.asked > before
    assert execution.approval is not None
    assert (execution.approval.proof.principal, execution.approval.note) == ("hers@example.invalid", "fine")
    keys.listed.clear()
    assert "the key that signed is not listed any more: hers" in said(ws, plan_id)


def test_a_standing_approval_is_checked_with_its_scope(ws, keys):
    plan_id = granted(ws, keys)
    [execution] = looked_at(ws, plan_id).document.executions
    assert execution.approval is not None
    assert execution.approval.proof.grant == ws.grants.list()[0].grant.id
    ws.grants.revoke(ws.grants.list()[0].grant.id, "enough")
    assert standing(ws, plan_id) == {"docs/a.txt": (AS_APPROVED, "")}
    keys.listed.clear()
    assert "the key that signed is not listed any more" in said(ws, plan_id)


def test_an_undo_by_signature(ws, keys):
    plan_id = executed(ws)
    asked, _ = ws.plan.ask_undo(plan_id)
    text = ws.plan.statement(asked, "hanako", act=SignedAct.UNDO)
    assert ws.plan.undo(plan_id, "hanako", keys.sign("hers", text)).overall_success
    assert set(standing(ws, plan_id).values()) == {(UNDONE, "")}
    edit(
        ws,
        "approvals",
        "document",
        lambda row: row["proof"].update(statement=retold(text, act=SignedAct.APPROVE)),
    )
    assert "something else was signed" in said(ws, plan_id)


def test_what_a_command_wrote_is_recorded_not_approved(ws):
    executed(ws, ActionSpec(SpecKind.RUN, argv=("touch", "made.txt")))
    [file] = looked_at(ws, "p1").document.files
    assert (file.path, file.status, file.command) == ("made.txt", AS_APPROVED, "touch made.txt")
    edit(ws, "commands", "started", lambda row: row.update(argv=["touch", "other.txt"]))
    assert "it ran touch other.txt, which nobody approved" in said(ws, "p1")


def test_a_check_that_failed_may_take_the_plan_back(ws):
    planned = PlannedChecks(after=("make test",), on_failure=CheckFailure.UNDO)
    parts = ws
    failing = CheckResult("make test", 1, 0.1, "tree", "")
    ws.plan = PlanTool(parts.replace(checks=planned, check=lambda *_: (failing,)))
    plan_id = approved(ws, write("README.md", "new\n"))
    with pytest.raises(CheckFailed):
        ws.plan.execute(plan_id)
    assert standing(ws, plan_id) == {"README.md": (UNDONE, "")}
    edit(ws, "executions", "intent", lambda row: row["changes"][0]["after"].update(sha256="0" * 64))
    assert "README.md was not changed as approved" in said(ws, plan_id)


def test_a_plan_that_failed_in_the_middle_is_proven_as_far_as_it_went(ws):
    failing = ActionSpec(SpecKind.RUN, argv=("false",))
    plan_id = approved(ws, create("a.txt", "a\n"), failing, create("c.txt", "c\n"))
    assert not ws.plan.execute(plan_id).overall_success
    assert standing(ws, plan_id) == {"a.txt": (AS_APPROVED, "")}
    assert looked_at(ws, plan_id).document.carried_out


def test_a_command_that_was_cut_off_is_not_recorded(ws):
    executed(ws, ActionSpec(SpecKind.RUN, argv=("touch", "made.txt")))
    database = ledger_of(ws).database
    database.execute("UPDATE commands SET ended = NULL")
    document = looked_at(ws, "p1").document
    assert document.unrecorded == ("touch made.txt",)
    assert document.files == ()


# --- what somebody forged -------------------------------------------------------------------------


@pytest.mark.req("PT-8", "PT-9")
def test_an_approval_copied_to_another_plan(ws):
    executed(ws)
    other = proposed(ws, create("c.txt", "c\n"))
    database = ledger_of(ws).database
    database.execute(
        "INSERT INTO approvals SELECT 'copy', ?, kind, at + 1, document, granted_by, NULL FROM approvals",
        (other,),
    )
    assert "it was given for plan p1" in said(ws, other)
    edit(ws, "approvals", "document", lambda row: row.update(id="copy", plan_id=other), "id = 'copy'")
    assert "it was given for plan p1" in said(ws, other)
    assert "the log does not have it: it was put in or changed" in said(ws, other)


@pytest.mark.req("PT-8")
def test_an_edited_subject(ws):
    plan_id = executed(ws)

    def other_bytes(row: dict[str, Any]) -> None:
        subject = json.loads(row["subject"])
        subject["changes"][0]["after"]["sha256"] = "0" * 64
        row["subject"] = codec.canonical(subject).decode()

    edit(ws, "approvals", "document", other_bytes)
    told = said(ws, plan_id)
    assert "what it says was approved was changed" in told
    assert "README.md was not changed as approved" in told
    edit(ws, "approvals", "document", lambda row: row.update(digest=codec.digest(row["subject"].encode())))
    told = said(ws, plan_id)
    assert "what it says was approved was changed" not in told
    assert "the log does not have it: it was put in or changed" in told
    assert "nobody asked for it" in told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"workspace": "elsewhere"}, "it was given for another workspace"),
        ({"expires_at": "2999"}, "it says otherwise how long it lasts"),
        ({"kind": "undo"}, "it was approved to undo, not to execute"),
        ({"more": 1}, "what it says was approved cannot be read"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_subject_that_speaks_of_something_else(ws, change: dict[str, object], words: str):
    plan_id = executed(ws)
    edit(ws, "approvals", "document", lambda row: row.update(
        subject=codec.canonical({**json.loads(row["subject"]), **change}).decode()))  # fmt: skip
    assert words in said(ws, plan_id)


def with_signature(text: str) -> Callable[[Any, MadeUpKeys], object]:
    return lambda proof, _: proof.update(signature=text)


def by_another_key(proof: dict[str, str], keys: MadeUpKeys) -> None:
    proof["signature"] = keys.sign("his", proof["statement"]).signature


def for_something_else(**changes: str) -> Callable[[Any, MadeUpKeys], object]:
    return lambda proof, keys: proof.update(resigned(keys, proof, **changes))


@pytest.mark.parametrize(
    ("forged", "words"),
    [
        (with_signature("hers ringi-approval " + "0" * 64), "does not match"),
        (with_signature("hers git " + "0" * 64), "made for git"),
        (by_another_key, "not listed"),
        (lambda proof, _: proof.update(key="made-up other"), "names another key"),
        (lambda proof, _: proof.update(statement="{}"), "what was signed cannot be read"),
        (for_something_else(digest="0" * 64), "something else was signed"),
        (for_something_else(approver="taro"), "something else was signed"),
    ],
    ids=["bytes", "namespace", "unlisted", "key", "no statement", "digest", "approver"],
)
def test_a_forged_signature(ws, keys, forged: Callable[[Any, MadeUpKeys], object], words: str):
    plan_id = signed(ws, keys)
    edit(ws, "approvals", "document", lambda row: forged(row["proof"], keys))
    assert words in said(ws, plan_id)


def retold(statement: str, **changes: object) -> str:
    whole = read_signed(statement)
    return to_sign(replace(whole, predicate=replace(whole.predicate, **changes)))


def resigned(keys: MadeUpKeys, proof: dict[str, str], **changes: str) -> dict[str, str]:
    """By the right key, for something that the person did sign, but not for this."""
    text = retold(proof["statement"], **changes)
    made: SignedAnswer = keys.sign("hers", text)
    return {"statement": made.statement, "signature": made.signature}


def test_a_typed_answer_that_is_no_yes(ws):
    plan_id = executed(ws)
    edit(ws, "approvals", "document", lambda row: row["proof"].update(answer="no"))
    assert "the answer that it keeps is no yes" in said(ws, plan_id)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda proof: proof.update(used_files=0), "it took 0 files of the budget and changes 1"),
        (lambda proof: proof.update(used_files=3), "more than one use may take"),
        (lambda proof: proof.update(used_files=5), "the budget was used up"),
        (lambda proof: proof.update(grant_subject="{}"), "does not say what the standing approval says"),
        (lambda proof: proof.update(grant="other"), "is not in the ledger"),
    ],
    ids=["nothing", "per use", "in all", "quoted", "which"],
)
def test_a_use_beyond_the_standing_approval(ws, keys, change: Callable[[Any], object], words: str):
    plan_id = granted(ws, keys)
    edit(ws, "approvals", "document", lambda row: change(row["proof"]))
    assert words in said(ws, plan_id)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"globs": ["src/**"]}, "docs/a.txt is not among its paths"),
        ({"kinds": ["delete"]}, "s1 is of kind create"),
        ({"requester": "with:claude"}, "user:hanako asked, and the standing approval is for with:claude"),
    ],
    ids=["paths", "kinds", "requester"],
)
def test_a_standing_approval_that_was_made_for_something_else(ws, keys, change, words: str):
    plan_id = granted(ws, keys)

    def narrower(row: dict[str, Any]) -> None:
        subject = json.loads(row["subject"])
        subject["scope"] |= change
        row["subject"] = codec.canonical(subject).decode()

    edit(ws, "grants", "document", narrower)
    told = said(ws, plan_id)
    assert words in told
    assert "it is not what was signed" in told


def test_a_standing_approval_that_had_ended(ws, keys):
    plan_id = granted(ws, keys)
    edit(ws, "approvals", "document", lambda row: row.update(timestamp="2999-01-01"))
    assert "it was given when the standing approval did not hold" in said(ws, plan_id)


def test_a_revocation_before_the_use(ws, keys):
    plan_id = granted(ws, keys)
    grant = ledger_of(ws).grants.all()[0].grant
    hash_ = codec.digest(codec.canonical(grant))
    [event] = [logged.event for logged in ws.log() if logged.event.evidence == hash_]
    forged = codec.canonical(
        {**json.loads(codec.canonical(event)), "event": "grant_revoked", "document": hash_}
    )
    ledger_of(ws).database.execute(
        "UPDATE events SET document = ? WHERE seq = ?", (forged.decode(), event.seq)
    )
    told = said(ws, plan_id)
    assert "it had been revoked" in told
    assert "the log does not have it" in told


def test_an_execution_that_nobody_approved(ws):
    plan_id = executed(ws)
    edit(ws, "executions", "intent", lambda row: row.update(approval_id=""))
    assert "it changed something, and nobody had approved it" in said(ws, plan_id)
    edit(ws, "executions", "intent", lambda row: row.update(approval_id="nowhere"))
    assert "there is no approval nowhere of this plan" in said(ws, plan_id)


def test_an_execution_of_other_bytes(ws):
    plan_id = executed(ws)
    edit(ws, "executions", "intent", lambda row: row["changes"][0]["after"].update(sha256="0" * 64))
    told = said(ws, plan_id)
    assert "README.md was not changed as approved" in told
    assert "the log does not have it: it was put in or changed" in told


def test_a_result_of_something_else(ws):
    plan_id = executed(ws)
    edit(ws, "executions", "result", lambda row: row["results"][0].update(path="elsewhere"))
    assert "elsewhere was done and never begun" in said(ws, plan_id)
    edit(ws, "executions", "result", lambda row: row.update(kind="undo"))
    assert "its result belongs to another one" in said(ws, plan_id)


def test_an_execution_after_its_approval_had_expired(ws):
    plan_id = executed(ws)
    edit(ws, "executions", "intent", lambda row: row.update(started_at="2999-01-01"))
    assert "its approval had expired" in said(ws, plan_id)


def test_an_approval_that_came_afterwards(ws):
    plan_id = executed(ws)
    database = ledger_of(ws).database
    numbers = dict(database.execute("SELECT json_extract(document, '$.event'), seq FROM events"))
    for old, new in ((numbers["approved"], 1000), (numbers["executed"], numbers["approved"])):
        database.execute(
            "UPDATE events SET seq = ?, document = json_set(document, '$.seq', ?) WHERE seq = ?",
            (new, new, old),
        )
    assert "it began before it was approved" in said(ws, plan_id)


def test_commands_that_left_the_sandbox(ws):
    plan_id = executed(ws, ActionSpec(SpecKind.RUN, argv=("true",)))

    def boxed(row: dict[str, Any]) -> None:
        row["subject"] = codec.canonical({**json.loads(row["subject"]), "sandboxed": True}).decode()
        row["note"] = "changed"

    edit(ws, "approvals", "document", boxed)
    database = ledger_of(ws).database
    database.execute("UPDATE commands SET started = json_set(started, '$.sandboxed', json('false'))")
    assert "true ran outside the sandbox that was approved" in said(ws, plan_id)


@pytest.mark.req("PT-10")
def test_a_forged_projection_is_named_and_not_followed(ws):
    first, second = executed(ws), executed(ws, create("c.txt", "c\n"))
    folder = ws.places.root / ".agent" / "logs" / "plans" / first
    for name in ("approval.json", "result.json"):
        (folder / name).write_text((folder / name).read_text().replace("hanako", "taro") + " ")
    document = looked_at(ws, first).document
    assert document.proven
    assert sorted(Path(path).name for path in document.forged) == ["approval.json", "result.json"]
    assert looked_at(ws, second).document.forged == ()


def test_a_broken_log_speaks_against_every_plan(ws):
    first, second = executed(ws), executed(ws, create("c.txt", "c\n"))
    ledger_of(ws).database.execute("DELETE FROM events WHERE seq = 1")
    for plan_id in (first, second):
        document = looked_at(ws, plan_id).document
        assert not document.log_ok
        assert any("missing" in problem for problem in document.problems)


def test_rows_that_cannot_be_read(ws):
    plan_id = executed(ws)
    ledger_of(ws).database.execute("UPDATE executions SET intent = 'x'")
    assert "intent cannot be read" in said(ws, plan_id)
    assert list(Examination(ws).list_carried_out()) == [plan_id]


TEXTS = [
    ("approvals", "document"),
    ("executions", "intent"),
    ("executions", "result"),
    ("events", "document"),
    ("grants", "document"),
    ("commands", "started"),
    ("commands", "ended"),
]
"""Of a request only the digest is bound: the rest of it stands in what is approved."""


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=30)
@given(
    where=st.sampled_from(TEXTS),
    at=st.integers(0, 5000),
    letter=st.sampled_from('0x"'),
    row=st.integers(0, 9),
)
def test_no_changed_letter_is_proven(everything, where: tuple[str, str], at: int, letter: str, row: int):
    """Nor does any of them stop the verifying itself."""
    ws, plans = everything
    [table, column] = where
    database = ledger_of(ws).database
    rows = database.execute(f"SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
    [number, text] = rows[row % len(rows)]
    at %= len(text)
    changed = text[:at] + letter + text[at + 1 :]
    database.execute("BEGIN")
    try:
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, number))
        looked = Examination(ws)
        assert all(looked.plan(plan_id).document.proven is (changed == text) for plan_id in plans)
    finally:
        database.execute("ROLLBACK")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory):
    keys = MadeUpKeys("hers")
    with open_scratch(tmp_path_factory.mktemp("everything")) as ws:
        rewire(ws, signatures=keys)
        ran = ActionSpec(SpecKind.RUN, argv=("touch", "made.txt"))
        yield ws, [executed(ws), signed(ws, keys), granted(ws, keys), executed(ws, ran)]


def test_a_real_key_by_the_users_list(tmp_path: Path):
    key = RealKey(tmp_path, "key")
    folder = tmp_path / "home" / ".config" / "ringi"
    folder.mkdir(parents=True)
    signers = folder / "allowed_signers"
    signers.write_text(f"hanako {key.public}\n")
    signers.chmod(0o600)
    with open_scratch(tmp_path) as ws:
        accept_signers(ws)
        plan_id = proposed(ws, write("README.md", "new\n"))
        proof = key.sign(ws.plan.statement(ws.plan.ask(plan_id), "hanako"))
        given: Approval = ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof).approval
        ws.plan.execute(plan_id)
        [execution] = verify_plan(ws, plan_id).executions
        assert execution.approval is not None
        assert execution.approval.proof.key.startswith("SHA256:")
        assert execution.approval.proof.key == fingerprint(given.proof.key or "")
        signers.write_text("")
        assert "is not listed any more: ssh-ed25519 SHA256:" in verify_plan(ws, plan_id).problems[0]


def test_a_fingerprint_of_no_key_is_the_text_itself():
    assert fingerprint("made-up hers!") == "made-up hers!"


@pytest.mark.req("PT-11")
def test_one_plan_is_not_judged_by_another(ws):
    first, second = (executed(ws, write("README.md", text)) for text in ("x\n", "y\n"))
    change = "UPDATE plans SET document = replace(document, 'README', 'OTHER') WHERE id = ?"
    assert ledger_of(ws).database.execute(change, (second,)).rowcount == 1
    assert verify_plan(ws, first).proven
    assert not verify_plan(ws, second).proven
