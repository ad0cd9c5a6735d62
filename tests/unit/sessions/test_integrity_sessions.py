"""Whatever is changed, removed or put into the rows of sessions and runs, `verify` names the place."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.app.integrity import verify
from ringi.app.store import Store
from ringi.engine.run_state import RunPhase
from ringi.kernel import codec
from ringi.sessions.document import SessionStatus
from tests.helpers import SetClock, ledger_of, open_scratch
from tests.unit.ledger.tampering import name_last_event
from tests.unit.sessions.made_sessions import CREATED, added, approved, id_of, log, planned_run, saved

# The words of the logs, and where they stand in their file, are outside the chain on purpose.
UNBOUND = {("session_logs", "phase"), ("session_logs", "ends"), ("session_logs", "text")}
ONE, TWO, THREE = (id_of(number) for number in (1, 2, 3))
COPIED = "revision, status, logs, ref, document, facts, last_event"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sessions")
    made = Store(folder, clock=SetClock(), ids=lambda: "x", wait_sec=1, after_commit=lambda *_: None)
    with contextlib.closing(made) as ledger:
        first = added(ledger, 1, log("discovery", "a\n"), log("design", "b\n"), status=SessionStatus.REVIEW)
        second = added(ledger, 2, status=SessionStatus.REVIEW)
        third = added(ledger, 3)
        saved(ledger, third, log("discovery", "c\n"), current_question_index=1)
        # Approved in another order than they came.
        approved(ledger, second, 1)
        approved(ledger, saved(ledger, first, log("review", "d\n")), 2)
        assert verify(ledger) == []
        copy = folder / "copy.db"
        with contextlib.closing(sqlite3.connect(copy)) as target:
            ledger.database.backup(target)
    return copy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tampered-sessions")


def breaks(original: Path, place: Path, tamper: Callable[[sqlite3.Connection], object]) -> list[str]:
    for name in ("ringi.db", "ringi.db-wal", "ringi.db-shm"):
        (place / name).unlink(missing_ok=True)
    copyfile(original, place / "ringi.db")
    with contextlib.closing(sqlite3.connect(place / "ringi.db")) as database, database:
        tamper(database)
    reader = Store(place, 1)
    with contextlib.closing(reader.database):
        return [str(text) for text in verify(reader)]


@pytest.mark.req("PT-11", "IP-17")
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            "UPDATE sessions SET document = replace(document, 'Instruction', 'X') WHERE at = 2",
            f"planning session {TWO}: it is not what event 6 says was saved",
        ),
        ("UPDATE sessions SET document = x'ff' WHERE at = 3", f"planning session {THREE}: it is not what"),
        ("UPDATE sessions SET document = 'x'", "it is not what event"),
        (
            "UPDATE sessions SET facts = replace(facts, '\"en\"', '\"ja\"') WHERE at = 1",
            f"{ONE}: it is not what",
        ),
        ("UPDATE sessions SET facts = '{}' WHERE at = 1", f"{ONE}: it is not what"),
        ("UPDATE sessions SET status = 'cancelled' WHERE at = 1", f"{ONE}: the list does not say"),
        ("UPDATE sessions SET revision = 1 WHERE at = 1", f"{ONE}: the list does not say"),
        (
            "UPDATE sessions SET ref = replace(ref, 'approved', 'review') WHERE at = 1",
            f"{ONE}: the list does",
        ),
        ("UPDATE sessions SET at = 9 WHERE at = 1", f"{ONE}: the list does not say"),
        ("UPDATE sessions SET at = -at", f"{TWO}: the list does not say"),
        ("UPDATE sessions SET logs = 2 WHERE at = 1", f"{ONE}: it is not what event"),
        (f"UPDATE sessions SET id = '{id_of(9)}' WHERE at = 1", f"its planning session {ONE} is gone"),
        ("DELETE FROM sessions WHERE at = 3", f"event 4: its planning session {THREE} is gone"),
        ("DELETE FROM sessions", f"its planning session {TWO} is gone"),
        (
            f"INSERT INTO sessions SELECT 7, '{id_of(7)}', {COPIED} FROM sessions WHERE at = 3",
            f"planning session {id_of(7)}: it is not what event 0 says was saved",
        ),
        (
            "UPDATE approvals SET document = replace(document, 'hanako', 'taro') WHERE at = 2",
            f"planning session {ONE}: its approval was changed or put in",
        ),
        ("UPDATE approvals SET document = 'x' WHERE at = 2", f"{ONE}: its approval was changed"),
        (
            "DELETE FROM approvals WHERE at = 2",
            "event 9: the approval, intent or result it speaks",
        ),
        (
            f"UPDATE approvals SET subject_id = '{THREE}' WHERE at = 2",
            f"planning session {THREE}: its approval was changed or put in",
        ),
        ("DELETE FROM session_logs WHERE seq = 3", f"planning session {ONE}: log entries were removed"),
        ("DELETE FROM session_logs WHERE seq = 2", f"planning session {ONE}: log entries were removed"),
        ("DELETE FROM session_logs", f"planning session {THREE}: log entries were removed"),
        ("UPDATE session_logs SET seq = seq + 1 WHERE seq = 3", f"{ONE}: log entries were removed or put in"),
        (
            "INSERT INTO session_logs VALUES ('planning-x', 1, 'design', 2, 'x')",
            "planning-x: log entries were",
        ),
        (
            f"INSERT INTO session_logs VALUES ('{TWO}', 1, 'design', 2, 'x')",
            f"planning session {TWO}: log entries were removed or put in",
        ),
        (
            "UPDATE runs SET document = replace(document, 'Do it', 'Do more') WHERE at = 2",
            "000002: it is not what",
        ),
        (
            "UPDATE runs SET document = 'x'",
            "run 20260102-030405-000001: it is not what event 5 says was saved",
        ),
        ("UPDATE runs SET at = 9 WHERE at = 1", "run 20260102-030405-000001: it is not what"),
        ("UPDATE runs SET id = 'x' WHERE at = 1", "event 5: its run 20260102-030405-000001 is gone"),
        ("DELETE FROM runs WHERE at = 2", "event 8: its run 20260102-030405-000002 is gone"),
        (
            "INSERT INTO runs SELECT 7, 'x', revision, document, plan, last_event FROM runs WHERE at = 1",
            "run x: it is not what event 0",
        ),
        ("UPDATE events SET subject_id = 'x' WHERE seq = 2", "event 2: event 2 stands in its place"),
    ],
)
def test_what_the_log_speaks_of(original: Path, place: Path, statement: str, words: str):
    found = breaks(original, place, lambda database: database.execute(statement))
    assert any(words in line for line in found), found


@pytest.mark.parametrize("column", ["phase", "ends", "text"])
def test_the_words_of_logs_are_outside_the_chain(original: Path, place: Path, column: str):
    assert (
        breaks(original, place, lambda database: database.execute(f"UPDATE session_logs SET {column} = 7"))
        == []
    )


@pytest.fixture(scope="module")
def columns(original: Path) -> list[tuple[str, str, int]]:
    with contextlib.closing(sqlite3.connect(original)) as database:
        return [
            (table, column, database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
            for table in ("sessions", "session_logs", "runs")
            for _, column, *_ in database.execute(f"PRAGMA table_info({table})")
            if (table, column) not in UNBOUND
        ]


@pytest.mark.req("PT-11")
@given(data=st.data())
def test_any_value_of_any_row(original: Path, place: Path, columns, data: st.DataObject):
    table, column, count = data.draw(st.sampled_from(columns))
    row = data.draw(st.integers(0, count - 1))
    way = data.draw(st.sampled_from(["'tampered'", "substr({}, 2)", "{} || 'x'", "{} || ' '", "7"]))
    number = column in {"at", "revision", "logs", "seq"}
    value = "77" if number else way.format(column)

    def tamper(database: sqlite3.Connection) -> None:
        found = database.execute(
            f"SELECT rowid, {column} FROM {table} ORDER BY rowid LIMIT 1 OFFSET ?", (row,)
        )
        rowid, before = found.fetchone()
        assume(before is not None or "tampered" in value)
        database.execute(f"UPDATE {table} SET {column} = {value} WHERE rowid = ?", (rowid,))

    assert breaks(original, place, tamper), (table, column, row, value)


@pytest.mark.req("PT-11")
def test_a_past_that_was_written_anew_contradicts_the_approvals(original: Path, place: Path):
    """All hashes made anew, from the first event on."""

    def rewritten(database: sqlite3.Connection) -> None:
        previous = "0" * 64
        rows = database.execute("SELECT seq, document FROM events ORDER BY seq").fetchall()
        for seq, document in rows:
            raw = codec.decode_own(document.encode(), dict, "") | {"previous": previous}
            data = codec.canonical(raw | ({"reason": "another past"} if seq == 1 else {}))
            previous = codec.digest(data)
            database.execute(
                "UPDATE events SET document = ?, hash = ? WHERE seq = ?", (data.decode(), previous, seq)
            )
            name_last_event(database, raw["plan_id"], previous)

    found = breaks(original, place, rewritten)
    assert found == [f"planning session {name}: its approval was changed or put in" for name in (TWO, ONE)]


def test_an_approval_of_one_session_in_the_event_of_another(tmp_path: Path):
    made = Store(tmp_path, clock=SetClock(), ids=lambda: "x", wait_sec=1, after_commit=lambda *_: None)
    with contextlib.closing(made) as ledger:
        added(ledger, 2)
        approved(ledger, added(ledger, 1, status=SessionStatus.REVIEW))
        ledger.database.execute(
            "INSERT INTO approvals (id, subject_id, kind, at, document, spent_by)"
            f" SELECT 'x', '{TWO}', kind, 2, document, spent_by FROM approvals"
        )
        assert any(f"{TWO}: its approval was changed or put in" in str(line) for line in verify(ledger))
        assert ledger.runs.all() == [planned_run(1, ONE)]


@pytest.mark.req("PT-11")
@pytest.mark.parametrize("changes", [{"instruction": "Do more"}, {"planning_session_id": TWO}])
def test_a_run_that_is_not_what_was_approved(tmp_path: Path, changes: dict[str, str]):
    with open_scratch(tmp_path) as ws:
        ledger = ledger_of(ws)
        added(ledger, 2)
        approved(ledger, added(ledger, 1))
        assert ws.verify_log() == []
        with ledger.transaction() as transaction:
            transaction.runs.save(replace(planned_run(1, ONE), phase=RunPhase.EXECUTING), CREATED)
        assert ws.verify_log() == []
        with ledger.transaction() as transaction:
            transaction.runs.save(replace(planned_run(1, ONE), **changes), CREATED)
        [broken] = ws.verify_log()
        assert "its approval was changed or put in" in str(broken)
