"""Files that an earlier version wrote are still read, and what was signed then still holds."""

from pathlib import Path

import pytest

from ringi.domain import codec
from ringi.domain.approval import ApprovalHistory, ApprovalSubject
from ringi.domain.events import FIRST_PREVIOUS, LoggedEvent
from ringi.domain.execution import ExecutionResult
from ringi.domain.plan import PlanDocument, with_state
from ringi.store.transaction import evidence_of
from tests.golden.golden import HERE, make

FOLDERS = sorted(path for path in HERE.iterdir() if (path / "plan.json").exists())
NEWEST = FOLDERS[-1]


def shown(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def read(folder: Path) -> tuple[PlanDocument, ApprovalHistory, ExecutionResult, list[LoggedEvent]]:
    return (
        codec.foreign((folder / "plan.json").read_bytes(), PlanDocument, "plan.json"),
        codec.foreign((folder / "approval.json").read_bytes(), ApprovalHistory, "approval.json"),
        codec.foreign((folder / "result.json").read_bytes(), ExecutionResult, "result.json"),
        [
            codec.foreign(line, LoggedEvent, "events.jsonl")
            for line in (folder / "events.jsonl").read_bytes().splitlines()
        ],
    )


@pytest.mark.req("PT-1", "PT-2", "PT-3", "PT-10")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_still_readable(folder: Path):
    document, history, result, events = read(folder)
    assert document.plan.title == "挨拶を増やす"
    assert document.plan.version == 2
    assert [str(spec.base.kind) for spec in document.state.action_specs] == [
        "write",
        "create",
        "create",
        "delete",
    ]
    assert [approval.approver for approval in history.approvals] == ["Hanako", "hanako"]
    assert result.overall_success
    assert str(events[0].event.event) == "plan_proposed"
    assert str(events[-1].event.event) == "undone"


@pytest.mark.req("PT-8", "PT-11")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_hash_still_holds(folder: Path):
    document, history, result, events = read(folder)
    previous = FIRST_PREVIOUS
    for logged in events:
        assert logged.event.previous == previous
        assert codec.digest(codec.canonical(logged.event)) == logged.hash
        previous = logged.hash
    evidence = [logged.event.evidence for logged in events]
    hashes = [logged.hash for logged in events]
    for approval in history.approvals:
        subject = codec.foreign(approval.subject.encode(), ApprovalSubject, "subject")
        assert codec.canonical(subject).decode() == approval.subject
        assert codec.digest(approval.subject.encode()) == approval.digest
        assert approval.digest in [request.digest for request in history.requests]
        at = evidence.index(evidence_of(approval))
        assert approval.after_event == hashes[at - 1]
    assert evidence[-1] == codec.digest(codec.canonical(result))
    assert codec.digest(codec.canonical(document.state.action_specs)) == document.specs_sha256
    saved = codec.canonical(with_state(document, action_specs=()))
    assert events[-1].event.document == codec.digest(saved)


@pytest.mark.req("PT-10")
def test_the_program_still_writes_the_same_bytes(tmp_path: Path):
    assert shown(make(tmp_path)) == shown(NEWEST)
