"""Whatever is changed, removed, swapped or put into the ledger, `verify` names the place."""

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

import pytest
from hypothesis import assume, currently_in_test_context, given
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.app.integrity import verify
from ringi.app.store import Store
from ringi.approvals.grant_document import GrantScope
from ringi.kernel import codec
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.execution import CommandEnd, CommandStart
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS
from tests.fakes.signing import MadeUpKeys
from tests.helpers import (
    approve,
    approved,
    create,
    delete,
    ledger_of,
    open_scratch,
    proposed,
    rewire,
    undo,
    write,
)
from tests.unit.ledger.tampering import name_last_event

EVENTS = 37
TABLES = ("events", "plans", "specs", "approvals", "executions", "requests", "commands", "grants")
COPIED = "revision, status, version, ref, document, last_event, current"
# Not bound by the log, on purpose: counters and times that decide nothing, and the order where it stays.
# Of files that nothing is decided from.
HASHES = ("specs", "previews")
UNBOUND = {("plans", "revision"), ("plans", "current"), HASHES}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with plans in every stage; the tests tamper with copies of it."""
    tmp_path = tmp_path_factory.mktemp("verify")
    with open_scratch(tmp_path) as ws:
        done = approved(ws, write("README.md", "one\n"), create("a/b.txt", "b\n"))
        ws.plan.execute(done)
        undo(ws, done)
        again = approved(ws, delete("README.md"))
        ws.plan.execute(again)
        waiting = proposed(ws, write("app/hello.py", "x\n"))
        ws.plan.set_action_specs(waiting, [write("app/hello.py", "y\n")])
        approve(ws, waiting)
        ws.plan.propose("Only words")
        signed_and_granted(ws)
        commanded(ws, again)
        assert ws.verify_log() == []
        assert len(list(ws.log())) == EVENTS
        copy = tmp_path / "copy.db"
        with contextlib.closing(sqlite3.connect(copy)) as target:
            ledger_of(ws).database.backup(target)
    return copy


def signed_and_granted(ws: Workspace) -> None:
    """A signed approval, a grant that is used, and one that was revoked."""
    keys = MadeUpKeys("hers")
    rewire(ws, signatures=keys)
    plan_id = proposed(ws, create("signed.txt", "x\n"))
    proof = keys.sign("hers", ws.plan.statement(ws.plan.ask(plan_id), "hanako"))
    ws.plan.approve(plan_id, "hanako", ALL_SPECS, proof)
    scope = GrantScope("user:hanako", ("docs/**",), (SpecKind.CREATE,), Risk.LOW, 9, 9, 99, 99)
    for revoked in (True, False):
        subject = ws.grants.draft(scope, ws.clock.after(3600))
        proof = keys.sign("hers", ws.grants.statement(subject, "hanako"))
        grant = ws.grants.add(subject, "hanako", proof)
        if revoked:
            ws.grants.revoke(grant.id, "no more")
    ws.plan.ask(proposed(ws, create("docs/a.txt", "x\n")))


def commanded(ws: Workspace, plan_id: str) -> None:
    """Two commands, the first of which a person told the end of after the second had ended."""
    ledger = ledger_of(ws)
    execution_id = ledger.executions.of(plan_id)[-1].intent.id
    same = {"execution_id": execution_id, "plan_id": plan_id}
    starts = [
        CommandStart(**same, spec_id=name, argv=("make",), sandboxed=True, snapshot_id="s", started_at="t")
        for name in ("r1", "r2")
    ]
    ends = [
        CommandEnd(**same, spec_id=name, exit_code=0, output="", cut=False, timed_out=False,
                   duration_sec=0.5, ended_at="t")
        for name in ("r2", "r1")
    ]  # fmt: skip
    with ledger.transaction() as transaction:
        for start in starts:
            transaction.executions.start_command(start)
            event = NewEvent(EventKind.COMMAND_STARTED, Actor.SYSTEM, "", start)
            stored = transaction.plans.get(plan_id)
            transaction.plans.save(stored, stored.document, event)
        for end in ends:
            transaction.executions.end_command(end)
            stored = transaction.plans.get(plan_id)
            transaction.plans.save(
                stored, stored.document, NewEvent(EventKind.COMMAND_ENDED, Actor.SYSTEM, "", end)
            )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tampered")


def breaks(
    original: Path, place: Path, tamper: Callable[[sqlite3.Connection], object], plan: int = 0
) -> list[str]:
    """All of them, or those that matter to the plan with this number."""
    for name in ("ringi.db", "ringi.db-wal", "ringi.db-shm"):
        (place / name).unlink(missing_ok=True)
    copyfile(original, place / "ringi.db")
    with contextlib.closing(sqlite3.connect(place / "ringi.db")) as database, database:
        before = everything(database)
        tamper(database)
        if everything(database) == before:
            assert currently_in_test_context(), "the test changed nothing"
            assume(condition=False)
    reader = Store(place, 1)
    with contextlib.closing(reader.database):
        return [str(text) for text in verify(reader, reader.plans.find(f"p{plan}") if plan else "")]


def everything(database: sqlite3.Connection) -> list[object]:
    database.text_factory = bytes
    found = [
        database.execute(f"SELECT * FROM {table}").fetchall()
        for table in (*TABLES, "meta", "sqlite_sequence")
    ]
    database.text_factory = str
    return found


def sql(*statements: str) -> Callable[[sqlite3.Connection], object]:
    return lambda database: [database.execute(statement) for statement in statements]


def test_an_untouched_copy_is_whole(original: Path, place: Path):
    copyfile(original, place / "ringi.db")
    reader = Store(place, 1)
    with contextlib.closing(reader.database):
        assert verify(reader) == []
        assert [verify(reader, plan_id) for plan_id in reader.plans.ids()] == [[]] * reader.plans.count()


def test_an_empty_ledger_is_whole(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        assert ws.verify_log() == []


@pytest.mark.req("PT-11")
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE events SET document = document || ' ' WHERE seq = 7", "event 7: its text was changed"),
        (
            "UPDATE events SET document = replace(document, 'user', 'system') WHERE seq = 3",
            "event 3: its text",
        ),
        ("UPDATE events SET hash = upper(hash) WHERE seq = 4", "event 4: its text was changed"),
        ("UPDATE events SET subject_id = 'x' WHERE seq = 2", "event 2: event 2 stands in its place"),
        ("UPDATE events SET document = '{}' WHERE seq = 5", "event 5: it cannot be read"),
        ("UPDATE events SET document = x'ff' WHERE seq = 5", "event 5: it cannot be read"),
        ("UPDATE events SET document = CAST(x'ff' AS TEXT) WHERE seq = 5", "event 5: it cannot be read"),
        ("DELETE FROM events WHERE seq = 1", "event 2: 1 event before it is missing"),
        ("DELETE FROM events WHERE seq = 9", "event 10: 1 event before it is missing"),
        ("DELETE FROM events WHERE seq BETWEEN 9 AND 11", "event 12: 3 events before it are missing"),
        (
            f"DELETE FROM events WHERE seq = {EVENTS}",
            f"event {EVENTS - 1}: the log ends here, but it was longer",
        ),
        ("DELETE FROM events", "event 0: the log ends here, but it was longer"),
        ("DELETE FROM sqlite_sequence", f"event {EVENTS}: the log ends here"),
        ("UPDATE plans SET last_event = '' WHERE number = 1", "it is not the last one about"),
        ("UPDATE grants SET last_event = ''", "it is not the last one about"),
        (
            f"INSERT INTO events SELECT seq + 1, subject_id, document, hash FROM events WHERE seq = {EVENTS}",
            f"event {EVENTS + 1}: event {EVENTS} stands in its place",
        ),
        ("INSERT INTO events SELECT 0, subject_id, document, hash FROM events WHERE seq = 1", "event 0: "),
    ],
)
def test_the_log(original: Path, place: Path, statement: str, words: str):
    found = breaks(original, place, sql(statement))
    assert any(words in line for line in found), found


@pytest.mark.req("PT-11")
@given(data=st.data())
def test_any_event_matters_to_every_plan(original: Path, place: Path, data: st.DataObject):
    seq, plan = data.draw(st.integers(1, EVENTS)), data.draw(st.integers(1, 4))
    column = data.draw(st.sampled_from(["subject_id", "document", "hash"]))
    way = data.draw(st.sampled_from(["'x'", f"{column} || 'x'", f"substr({column}, 2)", "NULL"]))
    statement = f"UPDATE OR IGNORE events SET {column} = {way} WHERE seq = {seq}"
    if way == "NULL":
        statement = f"DELETE FROM events WHERE seq = {seq}"
    assert breaks(original, place, sql(statement), plan), statement


@pytest.mark.req("PT-11")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE plans SET document = document || ' ' WHERE number = {n}",
        'UPDATE plans SET ref = replace(ref, \'"title":"\', \'"title":"not \') WHERE number = {n}',
        "UPDATE specs SET document = document || ' ' WHERE plan_id = {id}",
        "UPDATE requests SET document = replace(document, '2', '3') WHERE plan_id = {id}",
        "DELETE FROM requests WHERE plan_id = {id}",
        "UPDATE approvals SET document = document || ' ' WHERE subject_id = {id}",
        "DELETE FROM approvals WHERE subject_id = {id}",
        "UPDATE executions SET intent = intent || ' ' WHERE plan_id = {id}",
        "UPDATE executions SET result = result || ' ' WHERE plan_id = {id}",
        "DELETE FROM executions WHERE plan_id = {id}",
    ],
)
def test_one_plan_is_looked_at_without_the_others(original: Path, place: Path, statement: str):
    tamper = sql(statement.format(n=1, id="(SELECT id FROM plans WHERE number = 1)"))
    assert breaks(original, place, tamper, plan=1)
    assert breaks(original, place, tamper, plan=2) == []


@pytest.mark.req("PT-11")
def test_an_event_that_was_rewritten_with_its_hash_is_named_by_the_next(original: Path, place: Path):
    def rewrite(database: sqlite3.Connection) -> None:
        ((text,),) = database.execute("SELECT document FROM events WHERE seq = 3").fetchall()
        new = text.replace('"user"', '"system"')
        values = (new, codec.digest(new.encode()))
        database.execute("UPDATE events SET document = ?, hash = ? WHERE seq = 3", values)

    assert "event 4: it does not follow the event before it" in breaks(original, place, rewrite)


@pytest.mark.req("PT-11")
def test_swapped_events_are_named(original: Path, place: Path):
    swap = sql(
        "UPDATE events SET seq = -1 WHERE seq = 5",
        "UPDATE events SET seq = 5 WHERE seq = 6",
        "UPDATE events SET seq = 6 WHERE seq = -1",
    )
    found = breaks(original, place, swap)
    assert "event 5: event 6 stands in its place" in found
    assert "event 6: event 5 stands in its place" in found


@pytest.mark.req("PT-11")
def test_the_newest_subject_taken_out_with_all_its_events(original: Path, place: Path):
    def take_out(database: sqlite3.Connection) -> None:
        ((plan_id,),) = database.execute("SELECT subject_id FROM events ORDER BY seq DESC LIMIT 1").fetchall()
        for table, column in (
            ("events", "subject_id"),
            ("plans", "id"),
            ("sessions", "id"),
            ("grants", "id"),
        ):
            database.execute(f"DELETE FROM {table} WHERE {column} = ?", (plan_id,))

    found = breaks(original, place, take_out)
    assert any("the log ends here, but it was longer" in line for line in found), found


def rewritten(database: sqlite3.Connection, *, thoroughly: bool) -> None:
    """Another past, with all hashes made anew; thoroughly: also in what was approved and granted."""
    previous, given = "0" * 64, {}
    for table in ("approvals", "grants"):
        for row_id, document in database.execute(f"SELECT id, document FROM {table}").fetchall():
            given[codec.digest(document.encode())] = (table, row_id, document)
    grants: dict[str, str] = {}
    for seq, document in database.execute("SELECT seq, document FROM events ORDER BY seq").fetchall():
        raw = codec.decode_own(document.encode(), dict, "")
        if thoroughly and raw["evidence"] in given:
            table, row_id, text = given[raw["evidence"]]
            new = codec.canonical(codec.decode_own(text.encode(), dict, "") | {"after_event": previous})
            database.execute(f"UPDATE {table} SET document = ? WHERE id = ?", (new.decode(), row_id))
            grants[raw["evidence"]] = raw["evidence"] = codec.digest(new)
        if raw["subject_kind"] == "grant":
            raw["document"] = grants.get(raw["document"], raw["document"])
        raw["previous"] = previous
        if seq == 1:
            raw["reason"] = "another past"
        data = codec.canonical(raw)
        previous = codec.digest(data)
        database.execute(
            "UPDATE events SET document = ?, hash = ? WHERE seq = ?", (data.decode(), previous, seq)
        )
        name_last_event(database, raw["plan_id"], previous)


@pytest.mark.req("PT-11")
def test_a_log_rewritten_to_its_end_contradicts_the_approvals(original: Path, place: Path):
    """All hashes made anew: only what the approvals wrote down still tells."""
    found = breaks(original, place, lambda database: rewritten(database, thoroughly=False))
    assert len(found) == 8
    assert sum("an approval, intent or result was changed" in line for line in found) == 6
    assert sum("standing approval" in line for line in found) == 2


@pytest.mark.req("PT-11")
def test_a_past_rewritten_with_all_that_it_speaks_of_contradicts_the_signatures(original: Path, place: Path):
    """Whoever can write the ledger can make everything fit, except what a key signed."""
    found = breaks(original, place, lambda database: rewritten(database, thoroughly=True))
    assert len(found) == 4
    assert sum("an approval, intent or result was changed" in line for line in found) == 2
    assert sum("standing approval" in line for line in found) == 2


@pytest.mark.req("PT-11")
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE plans SET document = document || ' ' WHERE number = 2", "plan p2: it is not what event"),
        ("UPDATE plans SET document = 'x' WHERE number = 2", "plan p2: it is not what event"),
        ("DELETE FROM plans WHERE number = 3", "is gone"),
        ("DELETE FROM plans", "is gone"),
        ("UPDATE specs SET document = replace(document, '\"low\"', '\"high\"')", "its specs were changed"),
        ("DELETE FROM specs WHERE version = 2", "plan p3: its specs were changed"),
        ("UPDATE plans SET version = 1 WHERE number = 3", "plan p3: its specs were changed"),
        ("UPDATE plans SET status = 'completed' WHERE number = 3", "plan p3: the list does not say"),
        (
            "UPDATE plans SET ref = replace(ref, 'high', 'low') WHERE number = 2",
            "plan p2: the list does not say",
        ),
        (
            'UPDATE plans SET ref = replace(ref, \'"title":"\', \'"title":"not \') WHERE number = 4',
            "plan p4: the list does not say",
        ),
        (
            "UPDATE plans SET ref = replace(ref, '\"undone\":true', '\"undone\":false') WHERE number = 1",
            "plan p1: the list does not say",
        ),
        ("UPDATE plans SET number = 9 WHERE number = 1", "plan p9: the list does not say"),
        (
            "INSERT INTO plans SELECT 7, 'new', " + COPIED + " FROM plans WHERE number = 3",
            "plan p7: it is not what event 0 says was saved",
        ),
        ("UPDATE approvals SET document = replace(document, 'hanako', 'taro')", "was changed or put in"),
        ("DELETE FROM approvals WHERE at = 1", "the approval, intent or result it speaks of is gone"),
        (
            "INSERT INTO approvals SELECT 'x', subject_id, kind, 9, document, '', '' FROM approvals LIMIT 1",
            "or put in",
        ),
        ("UPDATE approvals SET subject_id = 'other' WHERE at = 1", "plan other: an approval"),
        ("UPDATE approvals SET id = 'other' WHERE at = 1", "an approval, intent or result was changed"),
        ("UPDATE approvals SET at = 99 WHERE at = 1", "an approval, intent or result was changed"),
        ("UPDATE approvals SET spent_by = 'x' WHERE spent_by IS NULL", "an approval, intent or result"),
        ("UPDATE executions SET intent = replace(intent, 'README', 'README2')", "was changed or put in"),
        ("UPDATE executions SET result = replace(result, 'true', 'false')", "was changed or put in"),
        ("UPDATE executions SET result = NULL WHERE at = 1", "it speaks of is gone"),
        ("DELETE FROM executions WHERE at = 2", "it speaks of is gone"),
        ("UPDATE executions SET at = 99 WHERE at = 1", "an approval, intent or result was changed"),
        ("UPDATE requests SET document = replace(document, '2', '3')", "a request for approval was changed"),
        ("DELETE FROM requests WHERE at = 1", "a request for approval is gone"),
        (
            "INSERT INTO requests SELECT 'x', plan_id, 99, document FROM requests LIMIT 1",
            "was changed or put in",
        ),
        ("UPDATE approvals SET granted_by = NULL", "an approval, intent or result was changed"),
        ("UPDATE approvals SET granted_by = 'x' WHERE at = 1", "an approval, intent or result was changed"),
        ("UPDATE grants SET document = replace(document, 'hanako', 'taro')", "it was changed or put in"),
        ("UPDATE grants SET document = 'x' WHERE at = 2", "it was changed or put in"),
        ("UPDATE grants SET id = 'other' WHERE at = 2", "standing approval other: it was changed or put in"),
        ("UPDATE grants SET at = 99 WHERE at = 1", "it was changed or put in"),
        ("UPDATE grants SET revoked_at = NULL", "the log says otherwise of its end"),
        ("UPDATE grants SET revoked_at = '2030'", "the log says otherwise of its end"),
        (
            "INSERT INTO grants SELECT 'x', 9, document, NULL, last_event FROM grants LIMIT 1",
            "standing approval x: it was changed",
        ),
        ("DELETE FROM grants WHERE at = 1", "it speaks of is gone"),
        ("DELETE FROM grants", "it speaks of is gone"),
        ("UPDATE commands SET started = replace(started, 'make', 'rm')", "a command was changed or put in"),
        ("UPDATE commands SET ended = replace(ended, '0.5', '0.6')", "a command was changed or put in"),
        ("UPDATE commands SET ended = NULL WHERE at = 1", "it speaks of is gone"),
        ("UPDATE commands SET at = 99 WHERE at = 1", "a command was changed or put in"),
        ("UPDATE commands SET spec_id = 'r9' WHERE at = 1", "a command was changed or put in"),
        ("UPDATE commands SET execution_id = 'x' WHERE at = 1", "execution x: a command was changed"),
        ("DELETE FROM commands WHERE at = 2", "it speaks of is gone"),
        (
            "INSERT INTO commands SELECT 'x', spec_id, 9, started, NULL FROM commands WHERE at = 1",
            "execution x: a command was changed or put in",
        ),
    ],
)
def test_what_the_log_speaks_of(original: Path, place: Path, statement: str, words: str):
    found = breaks(original, place, sql(statement))
    assert any(words in line for line in found), found


@pytest.fixture(scope="module")
def columns(original: Path) -> list[tuple[str, str, int]]:
    with contextlib.closing(sqlite3.connect(original)) as database:
        return [
            (table, column, database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])
            for table in TABLES
            for _, column, *_ in database.execute(f"PRAGMA table_info({table})")
            if (table, column) not in UNBOUND
        ]


@pytest.mark.req("PT-11")
@given(data=st.data())
def test_any_value_of_any_row(original: Path, place: Path, columns, data: st.DataObject):
    table, column, count = data.draw(st.sampled_from(columns))
    row = data.draw(st.integers(0, count - 1))
    # Order columns only tell where they change the order; specs of earlier versions are history.
    value: object = "tampered" if column not in {"seq", "number", "version", "at"} else 77
    way = data.draw(st.sampled_from(["set", "cut", "grow"]))
    if isinstance(value, str) and way != "set":
        value = None

    def tamper(database: sqlite3.Connection) -> None:
        rowid = database.execute(
            f"SELECT rowid FROM {table} ORDER BY rowid LIMIT 1 OFFSET ?", (row,)
        ).fetchone()[0]
        if table == "specs":
            current = database.execute(
                "SELECT 1 FROM specs s JOIN plans p ON p.id = s.plan_id AND p.version = s.version"
                " WHERE s.rowid = ?",
                (rowid,),
            ).fetchone()
            assume(current)
        if column == "at":
            last = database.execute(f"SELECT MAX(at) FROM {table}").fetchone()[0]
            mine = database.execute(f"SELECT at FROM {table} WHERE rowid = ?", (rowid,)).fetchone()[0]
            assume(mine != last and table != "requests")
        if value is not None:
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rowid))
        elif way == "cut":
            database.execute(f"UPDATE {table} SET {column} = substr({column}, 2) WHERE rowid = ?", (rowid,))
        else:
            database.execute(f"UPDATE {table} SET {column} = {column} || 'x' WHERE rowid = ?", (rowid,))

    assert breaks(original, place, tamper), (table, column, row, way)


@pytest.mark.req("PT-11")
@given(data=st.data())
def test_any_change_of_the_order(original: Path, place: Path, data: st.DataObject):
    order = data.draw(st.permutations(range(1, EVENTS + 1)))
    assume(order != list(range(1, EVENTS + 1)))
    numbers = data.draw(st.sampled_from(["swap rows", "swap hashes", "swap documents"]))

    def tamper(database: sqlite3.Connection) -> None:
        rows = database.execute("SELECT subject_id, document, hash FROM events ORDER BY seq").fetchall()
        for seq, other in enumerate(order, 1):
            plan_id, document, hash_ = rows[seq - 1]
            if numbers == "swap rows":
                plan_id, document, hash_ = rows[other - 1]
            elif numbers == "swap hashes":
                hash_ = rows[other - 1][2]
            else:
                document = rows[other - 1][1]
            database.execute(
                "UPDATE events SET subject_id = ?, document = ?, hash = ? WHERE seq = ?",
                (plan_id, document, hash_, seq),
            )

    first = next(seq for seq, other in enumerate(order, 1) if seq != other)
    assert any(line.startswith(f"event {first}: ") for line in breaks(original, place, tamper))


@pytest.mark.req("PT-11")
@given(gone=st.sets(st.integers(1, EVENTS), min_size=1))
def test_any_events_removed(original: Path, place: Path, gone: set[int]):
    marks = ", ".join(map(str, gone))
    assert breaks(original, place, sql(f"DELETE FROM events WHERE seq IN ({marks})"))
