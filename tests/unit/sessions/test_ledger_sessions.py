"""Planning sessions and runs in the ledger: saved together or not at all, found by what people type."""

import contextlib
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.app.integrity import verify
from ringi.app.store import Store
from ringi.engine.run_state import RunPhase
from ringi.errors import Ambiguous, BadDocument, NotFound, SessionRace, StorageFailed
from ringi.kernel import codec
from ringi.ledger.connection import connect
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import SubjectKind
from ringi.sessions.document import OPEN_SESSIONS, LogEntry, SessionFacts, SessionStatus
from tests.helpers import SetClock, assert_not_loaded, ledger_of, modules_after, open_scratch
from tests.unit.sessions.made_sessions import (
    ANSWERED,
    STARTED,
    added,
    approved,
    id_of,
    log,
    question,
    run,
    saved,
    session,
)


@pytest.fixture
def ledger(tmp_path: Path):
    made = Store(tmp_path, clock=SetClock(), ids=lambda: "here", wait_sec=0.2, after_commit=lambda *_: None)
    with contextlib.closing(made):
        yield made


def test_a_session_is_found_once_it_is_committed(ledger: Store):
    with ledger.transaction() as transaction:
        transaction.sessions.add(session(), SessionFacts(), STARTED)
    assert ledger.sessions.get(id_of(1)).session == session()
    assert ledger.sessions.refs()[0].session_id == id_of(1)


@pytest.mark.req("IP-2", "IP-17")
def test_what_is_saved_comes_back(ledger: Store):
    first = added(ledger, 1, log("discovery", "asked\n"))
    assert (first.revision, first.session) == (1, session())
    facts = SessionFacts(language="ja", model="playbook", designed=True, feedback=("no", "はい"))
    newer = session(status=SessionStatus.DESIGN, questions=(question(1, answer="x", answered_at="t"),))
    with ledger.transaction() as transaction:
        assert transaction.sessions.get(id_of(1)) == first
        logs = [log("discovery", "again"), log("design", "decided\n")]
        second = transaction.sessions.save(first, newer, facts, ANSWERED, logs)
        assert transaction.sessions.get(id_of(1)) == second
    assert ledger.sessions.get(id_of(1)) == second
    assert (second.revision, second.session, second.facts) == (2, newer, facts)
    found = [(entry.phase, entry.text) for entry in ledger.sessions.logs(id_of(1))]
    assert found == [("discovery", "asked\n"), ("discovery", "again\n"), ("design", "decided\n")]
    assert ledger.approvals.of(id_of(1)) == ()
    assert verify(ledger) == []


def test_each_save_is_one_event_bound_to_session_facts_and_count(ledger: Store):
    stored = saved(ledger, added(ledger, 1, log("design", "a\n"), log("review", "b\n")), log("review", "c\n"))
    events = [logged.event for logged in ledger.events(id_of(1))]
    assert [event.event for event in events] == [EventKind.SESSION_STARTED, EventKind.SESSION_ANSWERED]
    document, facts = codec.canonical(stored.session), codec.canonical(stored.facts)
    assert events[1].document == codec.digest(document + b"\n" + facts + b"\n3")
    assert (events[1].counts.files, events[1].counts.specs, events[1].risk_score) == (0, 0, 0.0)
    assert ledger.plans.count() == 0
    assert ledger.plans.ids() == []


@pytest.mark.req("IP-13")
def test_somebody_else_saved_first(ledger: Store):
    stale = added(ledger)
    saved(ledger, stale, current_question_index=1)
    with pytest.raises(SessionRace, match="planning-00000001 in the meantime") as caught:
        saved(ledger, stale, log("discovery", "lost\n"), current_question_index=2)
    assert caught.value.exit_code == 7
    assert ledger.sessions.get(id_of(1)).session.current_question_index == 1
    assert ledger.sessions.logs(id_of(1)) == ()
    assert len(list(ledger.events())) == 2
    assert verify(ledger) == []


def test_the_same_id_twice_is_a_race(ledger: Store):
    added(ledger)
    with pytest.raises(SessionRace):
        added(ledger)
    with pytest.raises(SessionRace):
        saved(ledger, ledger.sessions.get(id_of(1)), session_id=id_of(2))
    assert verify(ledger) == []


@pytest.mark.parametrize(
    "name", ["planning-../../etc/x", "planning-", "x", "", id_of(1).upper(), id_of(1) + "\n", id_of(1) + "/x"]
)
def test_an_id_that_is_no_file_name_is_refused(ledger: Store, name: str):
    with pytest.raises(BadDocument, match="its id is not planning-<uuid>"):
        added(ledger, session_id=name)
    assert ledger.sessions.ids() == []


@pytest.mark.req("IP-13")
def test_all_or_nothing(ledger: Store):
    stored = added(ledger)
    with pytest.raises(ZeroDivisionError), ledger.transaction() as transaction:  # noqa: PT012  # all of it
        transaction.runs.add(run(1, id_of(1)), STARTED)
        transaction.sessions.save(
            stored, session(reject_count=1), stored.facts, ANSWERED, [log("design", "x")]
        )
        raise ZeroDivisionError
    assert ledger.sessions.get(id_of(1)) == stored
    assert (ledger.runs.all(), ledger.sessions.logs(id_of(1))) == ([], ())
    assert verify(ledger) == []


def test_an_approval_is_kept_once_with_its_run(ledger: Store):
    stored = approved(ledger, added(ledger, status=SessionStatus.REVIEW))
    approval = ledger.approvals.of(id_of(1))[-1]
    assert approval.spent_by == stored.session.planner_session_id == ledger.runs.all()[0].run_id
    evidence = [logged.event.evidence for logged in ledger.events(id_of(1))]
    assert evidence == ["", approval.evidence]
    with pytest.raises(SessionRace):
        approved(ledger, stored, 2)
    assert len(ledger.runs.all()) == 1
    assert verify(ledger) == []


def test_lists(ledger: Store):
    statuses = list(SessionStatus)
    for number, status in enumerate(statuses, 1):
        added(ledger, number, status=status, error_message="why" if status is SessionStatus.FAILED else None)
    assert [ref.status for ref in ledger.sessions.refs()] == statuses[::-1]
    assert [ref.status for ref in ledger.sessions.refs(open_only=True)] == [
        status for status in reversed(statuses) if status in OPEN_SESSIONS
    ]
    changed = {"questions": (question(1), question(2)), "current_question_index": 1, "updated_at": "later"}
    saved(ledger, ledger.sessions.get(id_of(1)), **changed)
    ref = ledger.sessions.refs()[-1]
    assert (ref.title, ref.questions_done, ref.questions, ref.updated_at) == ("Instruction 1", 1, 2, "later")
    assert ledger.sessions.refs()[0].error_message == "why"


def test_found_by_what_people_type(ledger: Store):
    for number in (0xABCD0001, 0xABCD0002, 0xFACE0001):
        added(ledger, number)
    whole = id_of(0xFACE0001)
    for name in (whole, whole.upper(), "planning-face", "face", "FACE0001", whole.removeprefix("planning-")):
        assert ledger.sessions.find(name) == whole
    with pytest.raises(Ambiguous) as caught:
        ledger.sessions.find("planning-abcd")
    assert id_of(0xABCD0001) in str(caught.value)
    for name in ("fac", "planning-fac", "planning-", "", "nothing", "face%", "p1", "planning-planning-face"):
        with pytest.raises(NotFound, match="no planning session") as missing:
            ledger.sessions.find(name)
        assert missing.value.details["see"] == "ringi plan --resume"
    with pytest.raises(NotFound):
        ledger.sessions.get(id_of(9))


def test_runs(ledger: Store):
    with ledger.transaction() as transaction:
        for number in (1, 2):
            transaction.runs.add(run(number, id_of(1)), STARTED)
    first = run(1, id_of(1))
    assert [one.run_id for one in ledger.runs.all()] == ["20260102-030405-000002", first.run_id]
    assert ledger.runs.find(first.run_id) == ledger.runs.find("20260102-030405-000001") == first.run_id
    with pytest.raises(Ambiguous):
        ledger.runs.find("2026")
    with ledger.transaction() as transaction:
        transaction.runs.save(
            replace(first, phase=RunPhase.CANCELLED), NewEvent(EventKind.RUN_CANCELLED, Actor.USER)
        )
    assert ledger.runs.get(first.run_id).phase is RunPhase.CANCELLED
    for look in (ledger.runs.find, ledger.runs.get):
        with pytest.raises(NotFound, match="no run 20270101") as caught:
            look("20270101-000000-000000")
        assert caught.value.details["see"] == "ringi status"
    with pytest.raises(NotFound), ledger.transaction() as transaction:
        transaction.runs.save(run(3, id_of(1)), STARTED)
    with pytest.raises(SessionRace), ledger.transaction() as transaction:
        transaction.runs.add(first, STARTED)
    assert verify(ledger) == []


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(SessionStatus)), st.text(st.characters(codec=None), max_size=40)),
        max_size=12,
    ),
    st.integers(0, 300),
)
def test_logs_take_any_text_and_know_their_length(tmp_path_factory, entries, size: int):
    """Half characters and other phases too: what failed must not fail again because of its log."""
    folder = tmp_path_factory.mktemp("logs")
    made = Store(folder, clock=SetClock(), ids=lambda: "x", wait_sec=1, after_commit=lambda *_: None)
    with contextlib.closing(made) as ledger:
        stored = added(ledger)
        for phase, text in entries:
            stored = saved(ledger, stored, LogEntry(phase, text))
        for phase in ("discovery", "design", "review"):
            texts = [entry.text for entry in ledger.sessions.logs(id_of(1)) if entry.phase == phase]
            data = "".join(texts).encode()
            assert ledger.sessions.log_size(id_of(1), SessionStatus(phase)) == len(data)
            begins, rest = ledger.sessions.log_after(id_of(1), SessionStatus(phase), size)
            assert (data[:begins] + rest, begins <= size) == (data, True)
            assert all(text.endswith("\n") for text in texts)
        assert len(ledger.sessions.logs(id_of(1))) == len(entries)
        assert verify(ledger) == []


@pytest.mark.req("IP-13")
def test_ten_sessions_side_by_side(tmp_path: Path):
    def work(number: int) -> None:
        made = Store(tmp_path, clock=SetClock(), ids=lambda: "x", wait_sec=20, after_commit=lambda *_: None)
        with contextlib.closing(made):
            stored = added(made, number)
            for turn in range(5):
                stored = saved(made, stored, log("discovery", f"{number} {turn}\n"), reject_count=turn)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 11)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = Store(tmp_path, clock=SetClock(), ids=lambda: "x", wait_sec=1, after_commit=lambda *_: None)
    with contextlib.closing(made):
        assert len(made.sessions.refs()) == 10
        for number in range(1, 11):
            texts = [entry.text for entry in made.sessions.logs(id_of(number))]
            assert texts == [f"{number} {turn}\n" for turn in range(5)]
        assert verify(made) == []


@pytest.mark.req("IP-11")
@pytest.mark.parametrize("way", ["full", "read-only"])
def test_a_disk_that_takes_nothing(ledger: Store, way: str):
    stored = added(ledger)
    if way == "full":
        pages = ledger.database.execute("PRAGMA page_count").fetchone()[0]
        ledger.database.execute(f"PRAGMA max_page_count = {pages}")
    else:
        ledger.database.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageFailed, match="could not be written") as caught:
        saved(ledger, stored, log("design", "x" * 100_000), error_message="y" * 100_000)
    assert caught.value.exit_code == 1
    ledger.database.execute("PRAGMA query_only = OFF")
    ledger.database.execute("PRAGMA max_page_count = 100000")
    assert ledger.sessions.get(id_of(1)) == stored
    assert saved(ledger, stored, error_message="y" * 100_000).revision == 2
    assert verify(ledger) == []


def test_half_a_character_in_a_session_is_refused(ledger: Store):
    stored = added(ledger)
    with pytest.raises(BadDocument):
        saved(ledger, stored, design_summary="\ud800")
    assert ledger.sessions.get(id_of(1)) == stored


def test_a_list_without_sessions_loads_nothing_for_them(tmp_path: Path):
    connect(tmp_path, 1).close()
    script = (
        "import sys; from pathlib import Path; from ringi.app.lists import Ledger, session_refs\n"
        "before = set(sys.modules); found = session_refs(Ledger(Path(sys.argv[1]), 1), open_only=True)\n"
        "assert found == [] and set(sys.modules) == before"
    )
    assert_not_loaded(modules_after(script, str(tmp_path)), "ringi.sessions.document")


def test_plans_and_sessions_do_not_disturb_each_other(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        ledger = ledger_of(ws)
        first = ws.plan.propose("A plan")
        approved(ledger, added(ledger, status=SessionStatus.REVIEW))
        second = ws.plan.propose("Another plan")
        assert [ref.name for ref in ws.plan.list()] == ["p2", "p1"]
        assert ws.verify_log() == []
        assert [logged.event.event for logged in ws.log(first)] == [EventKind.PLAN_PROPOSED]
        assert next(ledger.events(after=1)).event.subject == (SubjectKind.SESSION, id_of(1))
        assert ws.upkeep._projection.problem is None
        assert ws.upkeep._projection.differences(ledger) == []
        assert ws.plan.list()[0].id == second
