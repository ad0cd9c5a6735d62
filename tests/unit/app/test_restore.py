"""When the ledger is lost, planning sessions come back from their files; nothing that was approved does."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringi.app.doctor import REPAIR, Doctor, DoctorFinding, Mark
from ringi.app.restore import restore_sessions
from ringi.kernel import codec
from ringi.ledger.event import EventKind
from ringi.sessions.document import (
    DecisionPoint,
    DesignOption,
    PlanningSession,
    SessionFacts,
    SessionStatus,
    Tradeoffs,
)
from tests.helpers import environment_of, ledger_of, open_scratch
from tests.unit.sessions.made_sessions import added, approved, id_of, log, question, saved, session

ONE = id_of(1)


def examined(tmp_path: Path) -> list[DoctorFinding]:
    return Doctor(tmp_path / "ws", environment_of(tmp_path)).examine()


def bad(tmp_path: Path) -> list[tuple[str, str]]:
    return [(str(found.text), str(found.mend)) for found in examined(tmp_path) if found.mark is Mark.BAD]


def mended(tmp_path: Path) -> list[str]:
    def no_copy(*_: object) -> None:
        pytest.fail("there is no copy")

    return [str(one.text) for one in Doctor(tmp_path / "ws", environment_of(tmp_path)).repair(no_copy)]


def file_of(tmp_path: Path, session_id: str = ONE) -> Path:
    return tmp_path / "ws" / ".agent" / "planning-sessions" / f"{session_id}.json"


@pytest.mark.req("IP-17")
def test_they_come_back_and_nothing_that_was_approved_does(tmp_path: Path):
    answered = (question(1, answer="はい", answered_at="t"),)
    with open_scratch(tmp_path) as ws:
        ledger = ledger_of(ws)
        later = added(
            ledger,
            1,
            log("design", "one\n"),
            created_at="2026-02",
            questions=answered,
            current_question_index=1,
        )
        approved(ledger, saved(ledger, later, status=SessionStatus.REVIEW, design_summary="So."))
        here = DesignOption(id="opt-a", name="Here", description="", tradeoffs=Tradeoffs((), ()))
        decisions = (DecisionPoint(id="d-1", topic="Where?", options=(here,)),)
        added(
            ledger,
            2,
            created_at="2026-01",
            status=SessionStatus.FAILED,
            error_message="why",
            instruction="ログイン",
            decisions=decisions,
        )
        added(ledger, 3, created_at="2026-03", status=SessionStatus.CANCELLED, planner_session_id="r")
    shutil.rmtree(tmp_path / "state")
    assert ("the ledger has no planning session, but .agent has 3", REPAIR) in bad(tmp_path)
    assert "3 planning sessions came back from .agent; approvals do not come back" in mended(tmp_path)
    with open_scratch(tmp_path) as ws:
        ledger = ledger_of(ws)
        assert ledger.sessions.ids() == [id_of(2), ONE, id_of(3)]
        back = ledger.sessions.get(ONE)
        assert back.session.status is SessionStatus.REVIEW
        assert back.session.planner_session_id is None
        assert (back.session.questions, back.session.design_summary) == (answered, "So.")
        assert back.facts.run_plan, "what a person approves has one"
        assert (replace(back.facts, run_plan=None), back.revision) == (SessionFacts(), 1)
        assert back.session.design_log_path == f"logs/{ONE}/design.log"
        assert [entry.text for entry in ledger.sessions.logs(ONE)] == ["one\n"]
        assert ledger.approvals.of(ONE) == ()
        assert ledger.runs.all() == []
        failed = ledger.sessions.get(id_of(2)).session
        assert (failed.status, failed.error_message) == (SessionStatus.FAILED, "why")
        assert ledger.sessions.get(id_of(2)).facts == SessionFacts(language="ja", designed=True)
        cancelled = ledger.sessions.get(id_of(3)).session
        assert (cancelled.status, cancelled.planner_session_id) == (SessionStatus.CANCELLED, None)
        kinds = {logged.event.event for logged in ledger.events()}
        assert kinds == {EventKind.SESSION_TAKEN_IN}
        assert ws.verify_log() == []
    assert bad(tmp_path) == []
    assert mended(tmp_path) == []


@pytest.mark.req("IP-17")
@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("cut", "cannot be read: line"),
        ("empty", "it is empty"),
        ("not text", "it is not UTF-8"),
        ("newer", "was written by a later version of ringi (format 9"),
        ("unknown field", "unknown field"),
        ("status", "Invalid enum value"),
        ("another id", f"its id is {id_of(9)}, not the name of the file"),
        ("no uuid", "planning-x is no id of a planning session"),
        ("no instruction", "it has no instruction"),
        ("huge", "bytes, 67108864 are allowed"),
        ("twice", "is in it twice"),
        ("half a character", "half a character"),
        ("folder", ""),
        ("pipe", ""),
        ("link", ""),
    ],
)
def test_what_cannot_come_back_is_named_and_stops_nothing(tmp_path: Path, way: str, why: str):
    with open_scratch(tmp_path) as ws:
        added(ledger_of(ws), 1)
        added(ledger_of(ws), 2)
    shutil.rmtree(tmp_path / "state")
    path = file_of(tmp_path)
    data = path.read_bytes()
    changed = {
        "cut": data[: len(data) // 2],
        "empty": b"",
        "not text": data.replace(b"Instruction", b"\xff"),
        "newer": data.replace(b'"schemaVersion": 1', b'"schemaVersion": 9'),
        "unknown field": data.replace(b'"instruction"', b'"destruction": 1, "instruction"'),
        "status": data.replace(b'"discovery"', b'"done"'),
        "no instruction": data.replace(b"# Instruction 1\\nwith a second line", b" "),
        "another id": data.replace(ONE.encode(), id_of(9).encode()),
        "twice": data.replace(b'"questions"', b'"questions": [], "questions"'),
        "half a character": data.replace(b"Instruction", b"\\ud800"),
    }
    if way in changed:
        assert changed[way] != data
        path.write_bytes(changed[way])
    elif way == "huge":
        os.truncate(path, 200_000_000)
    else:
        path.unlink()
    if way == "folder":
        path.mkdir()
    elif way == "pipe":
        os.mkfifo(path)
    elif way == "link":
        (tmp_path / "elsewhere").write_bytes(data)
        path.symlink_to(tmp_path / "elsewhere")
    elif way == "no uuid":
        file_of(tmp_path, "planning-x").write_bytes(data.replace(ONE.encode(), b"planning-x"))
    said = mended(tmp_path)
    assert any("1 planning session came back" in line for line in said)
    named = [line for line in said if "planning-sessions/" in line]
    assert len(named) == (1 if why else 0), said
    assert all(why in line for line in named), said
    with open_scratch(tmp_path) as ws:
        assert ledger_of(ws).sessions.ids() == [id_of(2)]
        assert ws.verify_log() == []


def test_a_folder_that_is_a_link_is_not_looked_into(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        added(ledger_of(ws), 1, log("design", "x\n"))
    shutil.rmtree(tmp_path / "state")
    logs = tmp_path / "ws" / ".agent" / "logs" / ONE
    logs.rename(tmp_path / "logs")
    logs.symlink_to(tmp_path / "logs")
    with open_scratch(tmp_path) as ws:
        assert restore_sessions(ws) == (1, [])
        assert ledger_of(ws).sessions.logs(ONE) == ()
    shutil.rmtree(tmp_path / "state")
    logs.unlink()
    (tmp_path / "logs").rename(logs)
    logs.parent.rename(tmp_path / "all-logs")
    logs.parent.symlink_to(tmp_path / "all-logs")
    with open_scratch(tmp_path) as ws:
        assert restore_sessions(ws) == (1, [])
        assert ledger_of(ws).sessions.logs(ONE) == ()
    shutil.rmtree(tmp_path / "state")
    folder = file_of(tmp_path).parent
    folder.rename(tmp_path / "sessions")
    folder.symlink_to(tmp_path / "sessions")
    with open_scratch(tmp_path) as ws:
        assert restore_sessions(ws) == (0, [])


def test_paths_of_logs_are_not_believed(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        added(ledger_of(ws), 1)
    shutil.rmtree(tmp_path / "state")
    evil = replace(session(1), discovery_log_path="/etc/passwd", review_log_path="../../x")
    file_of(tmp_path).write_bytes(codec.pretty(evil))
    mended(tmp_path)
    with open_scratch(tmp_path) as ws:
        found = ledger_of(ws).sessions.get(ONE).session
        assert (found.discovery_log_path, found.review_log_path) == (None, None)


def test_a_session_that_the_ledger_has_is_not_taken_from_the_file(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        added(ledger_of(ws), 1, log("design", "one\n"))
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"Instruction", b"Evil"))
    (tmp_path / "ws" / ".agent" / "logs" / ONE / "design.log").write_text("edited\n")
    assert bad(tmp_path) == [
        (f".agent/{name} is missing or was changed; ringi does not rely on it", REPAIR)
        for name in (f"planning-sessions/{ONE}.json", f"logs/{ONE}/design.log")
    ]
    assert mended(tmp_path) == ["the files in .agent were rebuilt"]
    assert codec.decode_foreign(path.read_bytes(), PlanningSession, "x") == session(1)
    assert bad(tmp_path) == []


def test_a_damaged_ledger_is_kept_and_the_sessions_come_back(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        added(ledger_of(ws), 1)
        path = ledger_of(ws).folder / "ringi.db"
    path.write_bytes(b"broken" * 1000)
    for suffix in ("-wal", "-shm"):
        path.with_name(f"{path.name}{suffix}").unlink(missing_ok=True)
    said = mended(tmp_path)
    assert any("the damaged ledger was kept as" in line for line in said)
    assert any("1 planning session came back" in line for line in said)
    assert bad(tmp_path) == []
