"""Planning sessions and runs, as far as a transaction changes them."""

import sqlite3
from collections.abc import Sequence

import msgspec

from ringi.domain import subject
from ringi.domain.run import Run
from ringi.domain.session import (
    LogEntry,
    PlanningSession,
    SessionFacts,
    SessionStatus,
    is_session_id,
    short,
)
from ringi.errors import BadDocument, SessionRace
from ringi.ports import NewEvent, StoredSession
from ringi.store import sql
from ringi.store.chain import About, EventLog, text_of
from ringi.store.sessionrows import (
    LOG_PHASES,
    load_session,
    no_run,
    ref_of_session,
    saved,
)
from ringi.text import Text


class SessionWriting(EventLog):
    """Each save is one event of the chain, which names the session or the run where others name a plan."""

    def session(self, session_id: str) -> StoredSession:
        return load_session(self._database, session_id)

    def add_session(
        self, session: PlanningSession, facts: SessionFacts, event: NewEvent, logs: Sequence[LogEntry] = ()
    ) -> StoredSession:
        if not is_session_id(session.session_id):
            raise BadDocument(what="PlanningSession", why=Text("its id is not planning-<uuid>"))
        stored = StoredSession(session, facts, revision=1)
        status, ref, document, known = _columns(stored)
        values = (session.session_id, status, len(logs), ref, document, known)
        try:
            self._database.execute(sql.ADD_SESSION, values)
        except sqlite3.IntegrityError:
            raise SessionRace(session=short(session.session_id)) from None
        self._add_logs(session.session_id, 0, logs)
        return self._saved_session(stored, _bound(document, known, len(logs)), event)

    def save_session(
        self,
        stored: StoredSession,
        session: PlanningSession,
        facts: SessionFacts,
        event: NewEvent,
        logs: Sequence[LogEntry] = (),
    ) -> StoredSession:
        session_id, read = stored.session.session_id, stored.revision
        row = self._database.execute(sql.COUNT_LOGS, (session_id, read)).fetchone()
        if row is None or session.session_id != session_id:
            raise SessionRace(session=short(session_id))
        count = row[0] + len(logs)
        newest = StoredSession(session, facts, read + 1)
        status, ref, document, known = _columns(newest)
        self._database.execute(sql.SAVE_SESSION, (status, count, ref, document, known, session_id, read))
        self._add_logs(session_id, row[0], logs)
        return self._saved_session(newest, _bound(document, known, count), event)

    def _saved_session(self, stored: StoredSession, text: str, event: NewEvent) -> StoredSession:
        session_id = stored.session.session_id
        self._add_event(About(subject.session(session_id), text), self._clock.now(), event)
        self.changed.sessions[session_id] = stored
        return stored

    def _add_logs(self, session_id: str, count: int, logs: Sequence[LogEntry]) -> None:
        ends: dict[SessionStatus, int] = {}
        rows = []
        for seq, entry in enumerate(logs, count + 1):
            phase = entry.phase if entry.phase in LOG_PHASES else LOG_PHASES[-1]
            text = _as_lines(entry.text)
            if phase not in ends:
                ends[phase] = self._database.execute(sql.LOG_END, (session_id, phase)).fetchone()[0]
            ends[phase] += len(text.encode())
            rows.append((session_id, seq, phase, ends[phase], text))
        self._database.executemany(sql.ADD_LOG, rows)

    def add_run(self, run: Run, event: NewEvent) -> None:
        text = text_of(run)
        try:
            self._database.execute(sql.ADD_RUN, (run.run_id, text))
        except sqlite3.IntegrityError:
            # Begun in the same second with the same digits: another try gives others.
            raise SessionRace(session=short(run.planning_session_id)) from None
        self._add_event(About(subject.run(run.run_id), text), self._clock.now(), event)

    def save_run(self, run: Run, event: NewEvent) -> None:
        text = text_of(run)
        if self._database.execute(sql.SAVE_RUN, (text, run.run_id)).rowcount != 1:
            raise no_run(run.run_id)
        self._add_event(About(subject.run(run.run_id), text), self._clock.now(), event)


def _columns(stored: StoredSession) -> tuple[str, str, str, str]:
    """Status, line for lists, session and facts."""
    session = stored.session
    ref = msgspec.json.encode(ref_of_session(session)).decode()
    return str(session.status), ref, text_of(session), text_of(stored.facts)


def _bound(document: str, facts: str, logs: int) -> str:
    return saved(document.encode(), facts.encode(), logs).decode()


def _as_lines(text: str) -> str:
    """Whole lines, in characters that every file can hold: a model may send half of one."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if text.endswith("\n") else f"{text}\n"
