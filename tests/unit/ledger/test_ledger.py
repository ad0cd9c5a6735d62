"""The database: made, migrated, refused, shared, and its bytes kept."""

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from ringi.engine.process import ActionRecord, Process
from ringi.errors import (
    Busy,
    EarlierVersion,
    LedgerCorrupt,
    LedgerUpgraded,
    LostRace,
    NewerVersion,
    NotFound,
    NothingToUndo,
    StorageFailed,
)
from ringi.kernel import codec
from ringi.kernel.system import SystemClock
from ringi.ledger.connection import GET_META, connect, private_folder
from ringi.ledger.contents import Contents
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.ledger import Ledger
from ringi.ledger.migrations import MIGRATIONS
from ringi.plans.document import PlanStatus, with_state
from ringi.plans.rows import Plans
from ringi.project.state import Dependencies, ProjectState, StateSource
from ringi.tools.effects import ErrorKind
from tests.helpers import (
    FILES,
    approved,
    assert_whole,
    create,
    kinds,
    ledger_of,
    open_scratch,
    proposed,
    set_clock,
    undo,
    write,
)

DAY = 86400
FAR = "9999-01-01T00:00:00.000000Z"
TABLES = {"meta", "plans", "specs", "events", "requests", "approvals", "executions", "contents"}
STATE = ProjectState(
    snapshot_id="0" * 64,
    captured_at=1,
    source=StateSource.WORKSPACE,
    files=(),
    diagnostics=(),
    dependencies=Dependencies({}),
    critical_files=(),
    mutable_state_files=(),
    complete=True,
    gaps=(),
)
TABLES |= {"project_state", "open_changes", "commands", "grants"}
TABLES |= {"sessions", "session_logs", "runs"}
TABLES |= {"processes", "process_actions", "feedback", "recoveries"}
RECORD = ActionRecord(number=1, action_id="task_1_action_1", task_id="task_1", tool="read")


def process_of() -> Process:
    return Process(process_id="p", task="Add a login")


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        yield workspace


def database_of(ws) -> Path:
    return ledger_of(ws).folder / "ringi.db"


def tables(database: sqlite3.Connection) -> set[str]:
    """All but SQLite's own."""
    found = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {name for name in found if not name.startswith("sqlite_")}


def test_made_from_nothing(tmp_path: Path):
    folder = tmp_path / "a" / "b"
    with contextlib.closing(connect(folder, 1)) as database:
        assert tables(database) == TABLES
        assert database.execute(GET_META, ("format",)).fetchone() == ("1",)
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert database.execute("PRAGMA synchronous").fetchone() == (2,)
    assert folder.stat().st_mode & 0o777 == 0o700
    with contextlib.closing(connect(folder, 1)) as again:
        assert again.execute("SELECT COUNT(*) FROM plans").fetchone() == (0,)


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path):
    broken = (*MIGRATIONS, ("CREATE TABLE extra (x)", "CREATE TABLE plans (x)"))
    with pytest.raises(LedgerCorrupt):
        connect(tmp_path / "state", 1, broken)
    with contextlib.closing(connect(tmp_path / "state", 1)) as database:
        assert tables(database) == TABLES


def test_later_steps_bring_a_ledger_up_to_date(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        plan_id = proposed(ws, write("README.md", "x\n"))
        folder = ws.places.state

    def fill(database: sqlite3.Connection) -> None:
        database.execute("INSERT INTO later SELECT id FROM plans")

    later = (*MIGRATIONS, ("CREATE TABLE later (x TEXT)",), (fill,))
    with contextlib.closing(Ledger(folder, 1, migrations=later)) as reader:
        assert Plans(reader).get(plan_id).document.state.status is PlanStatus.PENDING_REVIEW
        assert reader.database.execute("SELECT x FROM later").fetchall() == [(plan_id,)]
        assert reader.meta("format") == "3"
    with pytest.raises(NewerVersion, match="format 3, this one knows 1"):
        open_scratch(tmp_path)


def test_all_later_steps_are_taken_or_none(tmp_path: Path):
    connect(tmp_path, 1).close()
    later = (*MIGRATIONS, ("CREATE TABLE later (x TEXT)",), ("CREATE TABLE plans (x)",))
    with pytest.raises(LedgerCorrupt):
        connect(tmp_path, 1, later)
    with contextlib.closing(connect(tmp_path, 1)) as database:
        assert tables(database) == TABLES
        assert database.execute(GET_META, ("format",)).fetchone() == ("1",)


VERSIONS = {
    "newer": ("UPDATE meta SET value = '99' WHERE key = 'format'", NewerVersion),
    "older": ("UPDATE meta SET value = '0' WHERE key = 'format'", EarlierVersion),
    # As it was kept before version 1: whatever the number is, these are not the tables of today.
    "before the first": ("UPDATE meta SET key = 'schema' WHERE key = 'format'", EarlierVersion),
    "without one": ("DELETE FROM meta WHERE key = 'format'", EarlierVersion),
    "foreign": ("UPDATE meta SET value = 'one' WHERE key = 'format'", LedgerCorrupt),
}


@pytest.mark.parametrize("which", VERSIONS)
def test_a_ledger_of_another_version_is_refused_and_not_touched(tmp_path: Path, which: str):
    statement, error = VERSIONS[which]
    with open_scratch(tmp_path) as ws:
        proposed(ws, write("README.md", "x\n"))
        path = database_of(ws)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        assert database.execute(statement).rowcount == 1
        # So that switching the journal, as a ledger of ours would be, shows in the bytes.
        database.execute("COMMIT")
        database.execute("PRAGMA journal_mode = DELETE")
    before = {one: one.read_bytes() for one in sorted(path.parent.rglob("*")) if one.is_file()}
    with pytest.raises(error) as caught:
        open_scratch(tmp_path)
    assert caught.value.exit_code == 1
    assert {one: one.read_bytes() for one in sorted(path.parent.rglob("*")) if one.is_file()} == before


def migrated(folder: Path, *statements: str) -> None:
    """As a later version of the program does it, while others have the ledger open."""
    connect(folder, 1, (*MIGRATIONS, statements)).close()


def test_an_open_ledger_that_was_upgraded_is_not_written(ws):
    ledger = ledger_of(ws)
    plan_id = proposed(ws, write("README.md", "x\n"))
    last = ledger.last_seq()
    migrated(ledger.folder, "CREATE TABLE later (x TEXT)")
    with pytest.raises(LedgerUpgraded, match="start this command again"):
        proposed(ws, write("README.md", "y\n"))
    with pytest.raises(LedgerUpgraded), ledger.transaction() as transaction:
        transaction.plans.set_checking(plan_id)
    assert ledger.last_seq() == last
    assert ledger.plans.checking() is None


def test_old_bytes_of_an_upgraded_ledger_are_kept(ws):
    ledger = ledger_of(ws)
    with ledger.transaction() as transaction:
        transaction.put_bytes(b"old", "2026-01-01")
    migrated(ledger.folder, "CREATE TABLE later (x TEXT)")
    ledger.forget_bytes("2026-02-01T00:00:00Z")
    ledger.forget_bytes("2026-02-03T00:00:00Z")
    assert ledger.get_bytes(codec.digest(b"old")) == b"old"


def test_reading_what_an_upgrade_changed_is_no_damage(ws):
    plan_id = proposed(ws, write("README.md", "x\n"))
    migrated(ledger_of(ws).folder, "ALTER TABLE plans RENAME COLUMN document TO body")
    with pytest.raises(LedgerUpgraded):
        ledger_of(ws).plans.get(plan_id)


def test_the_mark_of_an_upgrade_that_failed_stops_nobody(ws):
    """Power was lost between the mark and the commit."""
    (ledger_of(ws).folder / f"format-{len(MIGRATIONS) + 1}").touch()
    plan_id = proposed(ws, write("README.md", "x\n"))
    assert ledger_of(ws).plans.get(plan_id).document.plan.id == plan_id


def test_a_new_ledger_has_no_mark(ws):
    assert not list(ledger_of(ws).folder.glob("format-*"))


@pytest.mark.parametrize("value", ["", "one", "-1", "1.5"])
def test_a_version_that_is_no_number_is_damage(ws, tmp_path: Path, value: str):
    ledger_of(ws).set_meta("format", value)
    with pytest.raises(LedgerCorrupt):
        open_scratch(tmp_path)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_missing_table_is_damage(ws, tmp_path: Path, table: str):
    ledger_of(ws).database.execute(f"DROP TABLE {table}")
    with pytest.raises(LedgerCorrupt), open_scratch(tmp_path) as again:  # noqa: PT012  # whichever needs it
        again.verify_log()
        ledger_of(again).states.newest()
        for process in [*ledger_of(again).processes.of(), process_of()]:
            ledger_of(again).processes.get(process.process_id)
        ledger_of(again).processes.feedback("20260102-030405-0a0b0c")
        ledger_of(again).processes.recoveries(ErrorKind.TIMEOUT)
        with ledger_of(again).transaction() as transaction:
            transaction.states.set(STATE)
            transaction.processes.save(process_of(), [RECORD], 0)
        again.plan.execute(approved(again, write("README.md", "x\n")))


def test_the_folder_is_made_private(tmp_path: Path):
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    assert private_folder(folder) == folder
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kind", ["link", "broken link", "file", "linked database", "below a file"])
def test_a_folder_that_is_none_is_refused(tmp_path: Path, kind: str):
    folder = tmp_path / "state"
    real = tmp_path / "real"
    real.mkdir()
    if kind == "link":
        folder.symlink_to(real)
    elif kind == "broken link":
        folder.symlink_to(tmp_path / "nowhere")
    elif kind == "file":
        folder.write_text("")
    elif kind == "below a file":
        folder.write_text("")
        folder /= "below"
    else:
        folder.mkdir()
        (folder / "ringi.db").symlink_to(real / "other.db")
    with pytest.raises(StorageFailed) as caught:
        connect(folder, 1)
    assert caught.value.exit_code == 1
    assert list(real.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_somebody_elses_folder_is_refused(tmp_path: Path):
    folder = tmp_path / "state"
    folder.mkdir()
    os.chown(folder, 65534, 65534)
    with pytest.raises(StorageFailed, match="it belongs to another user"):
        connect(folder, 1)
    assert list(folder.iterdir()) == []


def test_nothing_is_written_outside_a_transaction(ws):
    ledger, before = ledger_of(ws), ledger_of(ws).last_hash()
    stored = ledger.plans.get(ws.plan.propose("A change"))
    after, event = ledger.last_hash(), NewEvent(EventKind.CHECKED, Actor.SYSTEM)
    assert after != before
    for attempt in (
        lambda: ledger.plans.save(stored, stored.document, event),
        lambda: ledger.grants.revoke("grant", "", Actor.USER),
        lambda: ledger.put_bytes(b"x", "2100-01-01"),
    ):
        with pytest.raises(RuntimeError, match="outside a transaction"):
            attempt()
    assert (ledger.last_hash(), ledger.plans.get(stored.document.plan.id)) == (after, stored)


def test_a_lost_race_loses_nothing(ws):
    plan_id = ws.plan.propose("A change")
    ledger = ledger_of(ws)
    stale = ledger.plans.get(plan_id)
    ws.plan.mark_pending(plan_id, True)
    event = NewEvent(EventKind.MARKED_PENDING, Actor.USER, "too late")
    with (
        pytest.raises(LostRace, match="Plan p1 was saved by someone else") as caught,
        ledger.transaction() as open_,
    ):
        open_.plans.save(stale, with_state(stale.document, status=PlanStatus.APPROVED), event)
    assert caught.value.exit_code == 7
    assert ledger.plans.get(plan_id).revision == 2
    assert kinds(ws, plan_id) == ["plan_proposed", "marked_pending"]
    assert_whole(ws)


def test_a_transaction_is_all_or_nothing(ws):
    plan_id = ws.plan.propose("A change")
    ledger = ledger_of(ws)
    stored = ledger.plans.get(plan_id)
    with pytest.raises(ZeroDivisionError), ledger.transaction() as transaction:  # noqa: PT012  # all of it
        transaction.plans.save(stored, stored.document, NewEvent(EventKind.CHECKED, Actor.SYSTEM))
        transaction.put_bytes(b"x" * 10, FAR)
        transaction.plans.clear_current()
        raise ZeroDivisionError
    assert ledger.plans.get(plan_id).revision == 1
    assert ledger.plans.current() == plan_id
    assert ledger.get_bytes(codec.digest(b"x" * 10)) is None
    with pytest.raises(NotFound), ledger.transaction() as transaction:
        transaction.plans.get("nothing")
    ws.plan.propose("Goes on")
    assert_whole(ws)


def test_reads_inside_a_transaction_see_what_it_wrote(ws):
    plan_id = ws.plan.propose("A change")
    with ledger_of(ws).transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        new = with_state(stored.document, status=PlanStatus.PENDING_REVIEW)
        saved = transaction.plans.save(stored, new, NewEvent(EventKind.MARKED_PENDING, Actor.USER))
        assert transaction.plans.get(plan_id) == saved
        assert ledger_of(ws).plans.get(plan_id) == saved
    assert ledger_of(ws).plans.get(plan_id) == saved


def test_a_busy_ledger_is_told_after_the_wait(tmp_path: Path):
    with open_scratch(tmp_path, RINGI_LOCK_WAIT_SEC="0.1") as ws:
        plan_id = ws.plan.propose("A change")
        with contextlib.closing(sqlite3.connect(database_of(ws), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Busy, match="another process is writing to the ledger") as caught:
                ws.plan.mark_pending(plan_id, True)
            assert caught.value.exit_code == 7
            assert ws.plan.get_state(plan_id).status is PlanStatus.PROPOSED
        assert ws.plan.mark_pending(plan_id, True).status is PlanStatus.PENDING_REVIEW


@pytest.mark.parametrize("wait_sec", [0.1, 20])
def test_who_makes_the_ledger_is_waited_for(tmp_path: Path, wait_sec: float):
    """To switch its journal SQLite needs the file alone, and does not wait for that by itself."""
    path = private_folder(tmp_path / "state") / "ringi.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        ending = threading.Timer(0.5, other.execute, ["ROLLBACK"])
        ending.start()
        try:
            if wait_sec < 1:
                with pytest.raises(Busy):
                    connect(path.parent, wait_sec)
            else:
                connect(path.parent, wait_sec).close()
        finally:
            ending.join()
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal" if wait_sec > 1 else "delete",)


def test_large_bytes_lie_beside_the_database(ws):
    ledger = ledger_of(ws)
    data = os.urandom(1024 * 1024 + 1)
    with ledger.transaction() as transaction:
        transaction.put_bytes(data, FAR)
        transaction.put_bytes(b"small", FAR)
    path = ledger.folder / "contents" / codec.digest(data)
    assert path.read_bytes() == data
    assert [item.name for item in path.parent.iterdir()] == [path.name]
    assert ledger.get_bytes(codec.digest(data)) == data
    assert ledger.get_bytes(codec.digest(b"small")) == b"small"
    with ledger.transaction() as transaction:
        transaction.put_bytes(data, FAR)
    path.write_bytes(data[::-1])
    assert ledger.get_bytes(codec.digest(data)) is None
    path.unlink()
    assert ledger.get_bytes(codec.digest(data)) is None


def test_bytes_that_were_changed_are_not_handed_out(ws):
    ledger = ledger_of(ws)
    with ledger.transaction() as transaction:
        transaction.put_bytes(b"small", FAR)
    ledger.database.execute("UPDATE contents SET body = x'00'")
    assert ledger.get_bytes(codec.digest(b"small")) is None


def test_undo_with_changed_bytes_is_refused(ws):
    plan_id = approved(ws, write("README.md", "x\n"))
    ws.plan.execute(plan_id)
    ledger_of(ws).database.execute("UPDATE contents SET body = x'00'")
    with pytest.raises(NothingToUndo, match="no longer kept"):
        undo(ws, plan_id)
    assert (ws.places.root / "README.md").read_text() == "x\n"


def test_what_is_no_longer_to_be_kept_is_forgotten(ws):
    proposed(ws, write("README.md", "x\n"))
    ledger, clock = ledger_of(ws), SystemClock()
    large, small = os.urandom(1024 * 1024 + 1), b"small"
    with ledger.transaction() as transaction:
        transaction.put_bytes(large, clock.after(-10))
        transaction.put_bytes(small, clock.after(-10))
        transaction.put_bytes(b"kept", clock.after(10))
        transaction.put_bytes(b"longer", clock.after(-10))
        transaction.put_bytes(b"longer", clock.after(10))
        transaction.put_bytes(b"longer", clock.after(-10))
    ledger.forget_bytes(clock.now())
    assert ledger.get_bytes(codec.digest(large)) == large, "this may be a wrong clock"
    ledger.forget_bytes(clock.after(2 * DAY))
    assert ledger.get_bytes(codec.digest(large)) is None
    assert ledger.get_bytes(codec.digest(small)) is None
    assert ledger.get_bytes(codec.digest(b"kept")) == b"kept"
    assert ledger.get_bytes(codec.digest(b"longer")) == b"longer"
    assert list((ledger.folder / "contents").iterdir()) == []


@pytest.mark.req("PT-9")
def test_no_date_counts_that_the_log_has_not_come_to(ws):
    """The note of the date says what no event confirms."""
    proposed(ws, write("README.md", "x\n"))
    ledger, clock = ledger_of(ws), SystemClock()
    with ledger.transaction() as transaction:
        transaction.put_bytes(b"past", clock.after(-10))
        transaction.put_bytes(b"kept", clock.after(30 * DAY))
    for days in (40, 42):
        ledger.forget_bytes(clock.after(days * DAY))
    assert ledger.get_bytes(codec.digest(b"kept")) == b"kept"
    assert ledger.get_bytes(codec.digest(b"past")) is None


def test_a_file_that_a_crash_left_behind_goes(ws):
    ledger, clock, large = ledger_of(ws), SystemClock(), os.urandom(1024 * 1024 + 1)
    with ledger.transaction() as transaction:
        transaction.put_bytes(large, FAR)
    left = ledger.folder / "contents" / codec.digest(b"never committed")
    left.write_bytes(b"never committed")
    ledger.forget_bytes(clock.now())
    ledger.forget_bytes(clock.after(2 * DAY))
    assert not left.exists()
    assert ledger.get_bytes(codec.digest(large)) == large


@pytest.mark.req("PT-9")
def test_one_wrong_clock_costs_nothing(tmp_path: Path):
    """An execution forty days ahead, and right again after it."""
    with open_scratch(tmp_path) as ws:
        set_clock(ws)
        plan_id = approved(ws, write("README.md", "x\n"))
        ws.plan.execute(plan_id)
    for days in (40, 0, 40, 1, 2, 41):
        with open_scratch(tmp_path) as ws:
            set_clock(ws).pass_by(days * DAY)
            ws.plan.execute(approved(ws, create(f"{days}-{os.urandom(4).hex()}.txt", "x\n")))
    with open_scratch(tmp_path) as ws:
        set_clock(ws)
        undo(ws, plan_id)
        assert (ws.places.root / "README.md").read_text() == FILES["README.md"]


def test_a_file_of_the_right_length_and_other_bytes_is_written_anew(ws):
    ledger, data = ledger_of(ws), os.urandom(1024 * 1024 + 1)
    path = ledger.folder / "contents" / codec.digest(data)
    path.parent.mkdir()
    path.write_bytes(bytes(len(data)))
    with ledger.transaction() as transaction:
        transaction.put_bytes(data, FAR)
    assert path.read_bytes() == data
    assert ledger.get_bytes(codec.digest(data)) == data


def test_large_bytes_that_cannot_be_written_are_told(tmp_path: Path):
    contents = Contents(tmp_path)
    (tmp_path / "contents").write_text("in the way")
    with contextlib.closing(connect(tmp_path / "db", 1)) as database, pytest.raises(StorageFailed):
        contents.put(database, b"x" * (1024 * 1024 + 1), FAR)
    assert (tmp_path / "contents").read_text() == "in the way"


def test_each_workspace_has_a_ledger_and_a_name_of_its_own(tmp_path: Path):
    with open_scratch(tmp_path / "a") as one, open_scratch(tmp_path / "b") as two:
        assert ledger_of(one).workspace_id() != ledger_of(two).workspace_id()
        assert ledger_of(one).workspace_id() == ledger_of(one).workspace_id()
        assert ledger_of(one).meta("workspace") == str(one.places.root)


@pytest.mark.parametrize("table", ["requests", "approvals", "executions", "commands", "grants"])
def test_the_next_number_is_found_without_reading_all(ws, table: str):
    [plan] = ledger_of(ws).database.execute(f"EXPLAIN QUERY PLAN SELECT MAX(at) FROM {table}").fetchall()
    assert f"INDEX {table}_at" in plan[3]
