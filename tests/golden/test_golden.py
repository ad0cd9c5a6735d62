"""Files that a release wrote are still read, and what was signed then still holds."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from ringi.approvals.document import (
    Approval,
    ApprovalHistory,
    ApprovalSubject,
    ProofRecord,
    SessionSubject,
    SignedAct,
    Strength,
)
from ringi.approvals.grant_document import Grant, GrantSubject
from ringi.approvals.statement import Approved, read_predicate
from ringi.kernel import codec
from ringi.ledger.event import FIRST_PREVIOUS, EventKind, LoggedEvent
from ringi.plans.document import PlanDocument, with_state
from ringi.plans.execution import ExecutionResult
from ringi.runs.document import Run
from ringi.sessions.approve import build_enhanced_instruction
from ringi.sessions.document import PlanningSession, SessionFacts
from tests.fakes.signing import assert_signed
from tests.golden.golden import HERE, make_plan, make_session, make_signed
from tests.tables import each

KINDS = ["write", "create", "create", "delete", "move", "mkdir"]
PLANS, SIGNED, SESSIONS = (sorted(HERE.glob(f"{kind}-*")) for kind in ("plan", "signed", "session"))
by_name = pytest.mark.parametrize("folder", PLANS, ids=lambda folder: folder.name)
by_signed_name = pytest.mark.parametrize("folder", SIGNED, ids=lambda folder: folder.name)


def shown(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def read(folder: Path) -> tuple[PlanDocument, ApprovalHistory, ExecutionResult, list[LoggedEvent]]:
    return (
        codec.decode_foreign((folder / "plan.json").read_bytes(), PlanDocument, "plan.json"),
        codec.decode_foreign((folder / "approval.json").read_bytes(), ApprovalHistory, "approval.json"),
        codec.decode_foreign((folder / "result.json").read_bytes(), ExecutionResult, "result.json"),
        log(folder),
    )


def log(folder: Path) -> list[LoggedEvent]:
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    return [codec.decode_foreign(line, LoggedEvent, "events.jsonl") for line in lines]


def assert_chained(events: list[LoggedEvent]) -> None:
    previous = FIRST_PREVIOUS
    for logged in events:
        assert logged.event.previous == previous
        assert codec.digest(codec.canonical(logged.event)) == logged.hash
        previous = logged.hash


def assert_approved(approval: Approval, history: ApprovalHistory, events: list[LoggedEvent]) -> None:
    """Its words, what was asked, and its place in the log."""
    subject = codec.decode_foreign(approval.subject.encode(), ApprovalSubject, "subject")
    assert codec.canonical(subject).decode() == approval.subject
    assert codec.digest(approval.subject.encode()) == approval.digest
    assert approval.digest in [request.digest for request in history.requests]
    at = [logged.event.evidence for logged in events].index(approval.evidence)
    assert approval.after_event == events[at - 1].hash


def assert_saved(document: PlanDocument, result: ExecutionResult, events: list[LoggedEvent]) -> None:
    assert events[-1].event.evidence == codec.digest(codec.canonical(result))
    assert codec.digest(codec.canonical(document.state.action_specs)) == document.specs_sha256
    saved = codec.canonical(with_state(document, action_specs=()))
    assert events[-1].event.document == codec.digest(saved)


@pytest.mark.req("PT-1", "PT-2", "PT-3", "PT-10")
@by_name
def test_still_readable(folder: Path):
    document, history, result, events = read(folder)
    assert document.plan.title == "挨拶を増やす"
    assert document.plan.version == 3
    assert document.state.comments
    assert [str(spec.base.kind) for spec in document.state.action_specs] == KINDS
    assert [approval.approver for approval in history.approvals] == ["Hanako", "hanako"]
    assert result.overall_success
    assert str(events[0].event.event) == "plan_proposed"
    assert str(events[-1].event.event) == "undone"


@pytest.mark.req("PT-8", "PT-11")
@by_name
def test_every_hash_still_holds(folder: Path):
    document, history, result, events = read(folder)
    assert_chained(events)
    for approval in history.approvals:
        assert_approved(approval, history, events)
        assert (approval.proof.strength, approval.proof.answer) == (Strength.WEAK, approval.digest[:6])
    assert_saved(document, result, events)


@pytest.mark.req("PT-10")
def test_the_program_still_writes_the_same_bytes(tmp_path: Path):
    make_plan(tmp_path, tmp_path / "again")
    assert shown(tmp_path / "again") == shown(PLANS[-1])


# --- signatures: proven by the files alone, with ssh-keygen and without the program's own lists ---


def said_by(record: ProofRecord, folder: Path, tmp_path: Path) -> Approved:
    """What was signed, after ssh-keygen has agreed that it was, by the key that stands there."""
    assert record.statement
    assert record.key
    assert record.key == (folder / "key.pub").read_text().strip()
    proof = {"key": record.key, "signature": record.signature or ""}
    assert_signed(tmp_path, proof, record.statement.encode())
    with pytest.raises(subprocess.CalledProcessError):
        assert_signed(tmp_path, proof, record.statement.encode() + b" ")
    return read_predicate(record.statement)


@pytest.mark.req("PT-8", "PT-11")
@by_signed_name
def test_a_signed_approval_still_verifies(folder: Path, tmp_path: Path):
    document, history, result, own = read(folder / "signed")
    events = log(folder)
    assert_chained(events)
    assert [logged for logged in events if logged.event.subject_id == document.plan.id] == own
    assert_saved(document, result, own)
    [approval] = history.approvals
    assert_approved(approval, history, events)
    said = said_by(approval.proof, folder, tmp_path)
    assert (said.act, said.digest) == (SignedAct.APPROVE, approval.digest)
    assert (said.approver, said.note) == (approval.approver, approval.note) == ("hanako", "fine")
    hashes = [logged.hash for logged in events]
    assert hashes.index(said.after_event) <= hashes.index(approval.after_event)
    assert result.overall_success


@pytest.mark.req("PT-8", "PT-11")
@by_signed_name
def test_a_standing_approval_still_verifies(folder: Path, tmp_path: Path):
    document, history, result, own = read(folder / "granted")
    events = log(folder)
    assert_saved(document, result, own)
    [approval] = history.approvals
    assert_approved(approval, history, events)
    grant = codec.decode_foreign((folder / "grant.json").read_bytes(), Grant, "grant.json")
    subject = codec.decode_foreign(grant.subject.encode(), GrantSubject, "subject")
    assert codec.canonical(subject).decode() == grant.subject == approval.proof.grant_subject
    for record in (grant.proof, approval.proof):
        said = said_by(record, folder, tmp_path)
        assert (said.act, said.digest) == (SignedAct.GRANT, codec.digest(grant.subject.encode()))
        assert said.approver == approval.approver
    [given] = [logged.event for logged in events if logged.event.event is EventKind.GRANTED]
    assert given.evidence == codec.digest(codec.canonical(grant))
    assert approval.proof.grant == grant.id == subject.id
    assert subject.created_at <= approval.timestamp <= subject.expires_at
    assert document.plan.requester == subject.scope.requester
    assert (approval.proof.used_files or 0) <= subject.scope.files_per_use


def test_signed_files_can_be_made_again(tmp_path: Path):
    """By another key, so that only the names of the files are the same."""
    make_signed(tmp_path, tmp_path / "signed")
    assert SIGNED
    assert set(shown(tmp_path / "signed")) == set(shown(SIGNED[-1]))


@pytest.mark.req("IP-7", "IP-8")
@each("folder", SESSIONS)
def test_a_session_is_read_and_its_approval_still_fits(folder: Path):
    def written(name: str, kind: type) -> Any:
        return codec.decode_foreign((folder / f"{name}.json").read_bytes(), kind, name)

    session = written("session", PlanningSession)
    approval, run = written("approval", Approval), written("run", Run)
    assert (session.status, session.planner_session_id) == ("approved", run.run_id)
    assert written("facts", SessionFacts).feedback == ("小さく始める",)
    subject = codec.decode_foreign(approval.subject.encode(), SessionSubject, "subject")
    assert codec.digest(approval.subject.encode()) == approval.digest
    assert subject.instruction == run.instruction == build_enhanced_instruction(session)
    events = log(folder)
    assert_chained(events)
    at = [logged.event.evidence for logged in events].index(approval.evidence)
    assert approval.after_event == events[at - 1].hash


@pytest.mark.req("IP-7")
def test_sessions_are_still_written_like_that(tmp_path: Path):
    make_session(tmp_path, tmp_path / "again")
    assert shown(tmp_path / "again") == shown(SESSIONS[-1])
