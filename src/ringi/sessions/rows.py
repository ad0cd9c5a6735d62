"""Planning sessions and their logs."""

import sqlite3
from collections.abc import Sequence
from typing import Final

import msgspec

from ringi.errors import BadDocument, NotFound, SessionRace
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject
from ringi.ledger.connection import Row, as_bytes
from ringi.ledger.event import NewEvent
from ringi.ledger.events import EventFacts, text_of
from ringi.ledger.ledger import Ledger
from ringi.ledger.subject import SESSION_PREFIX, is_session_id, short
from ringi.plans.document import title_of
from ringi.sessions.document import (
    OPEN_SESSIONS,
    LogEntry,
    PlanningSession,
    SessionFacts,
    SessionRef,
    SessionStatus,
    StoredSession,
)

_SESSION: Final = "SELECT document, facts, revision FROM sessions WHERE id = ?"
_ADD_SESSION: Final = (
    "INSERT INTO sessions (at, id, revision, status, logs, ref, document, facts, last_event)"
    " VALUES ((SELECT COALESCE(MAX(at), 0) + 1 FROM sessions), ?, 1, ?, ?, ?, ?, ?, ?)"
)
_SAVE_SESSION: Final = (
    "UPDATE sessions SET revision = revision + 1, status = ?, logs = ?, ref = ?, document = ?, facts = ?,"
    " last_event = ? WHERE id = ? AND revision = ?"
)
_SESSION_REVISION: Final = "SELECT revision FROM sessions WHERE id = ?"
_REFS: Final = "SELECT ref FROM sessions ORDER BY at DESC"
_OPEN_REFS: Final = "SELECT ref FROM sessions WHERE status IN (?, ?, ?, ?) ORDER BY at DESC"
_SESSION_IDS: Final = "SELECT id FROM sessions ORDER BY at"
_SESSIONS_FROM: Final = "SELECT id FROM sessions WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
_ADD_LOG: Final = "INSERT INTO session_logs (session_id, seq, phase, ends, text) VALUES (?, ?, ?, ?, ?)"
_COUNT_LOGS: Final = "SELECT logs FROM sessions WHERE id = ? AND revision = ?"
_LOGS: Final = "SELECT phase, text FROM session_logs WHERE session_id = ? ORDER BY seq"
_LOG_END: Final = "SELECT COALESCE(MAX(ends), 0) FROM session_logs WHERE session_id = ? AND phase = ?"
_LOG_END_BEFORE: Final = _LOG_END + " AND ends <= ?"
_LOG_AFTER: Final = (
    "SELECT text FROM session_logs WHERE session_id = ? AND phase = ? AND ends > ? ORDER BY ends"
)

LOG_PHASES: Final = (SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.REVIEW)
"""Phases that have a log."""


class Sessions:
    """Each save is one event of the chain."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def find(self, name: str) -> str:
        """The id of the session, given its id or the beginning of it, with or without `planning-`."""
        beginning = name.lower().removeprefix(SESSION_PREFIX)
        found = self._ledger.find_id(_SESSIONS_FROM, name, beginning, SESSION_PREFIX + beginning)
        if found is None:
            raise _no_session(name)
        return found

    def get(self, session_id: str) -> StoredSession:
        return _as_stored(self._ledger.select(_SESSION, session_id), session_id)

    def revision(self, session_id: str) -> int:
        found = self._ledger.select(_SESSION_REVISION, session_id)
        return int(str(found[0][0])) if found else 0

    def ids(self) -> list[str]:
        return [str(row[0]) for row in self._ledger.select(_SESSION_IDS)]

    def refs(self, *, open_only: bool = False) -> list[SessionRef]:
        """The newest first; the open ones are those that a person can continue."""
        found = (
            self._ledger.select(_OPEN_REFS, *sorted(OPEN_SESSIONS))
            if open_only
            else self._ledger.select(_REFS)
        )
        return [as_session_ref(row) for row in found]

    def logs(self, session_id: str) -> tuple[LogEntry, ...]:
        return tuple(_as_log_entry(row) for row in self._ledger.select(_LOGS, session_id))

    def log_size(self, session_id: str, phase: SessionStatus) -> int:
        """The length of the phase's log in bytes."""
        return int(str(self._ledger.select(_LOG_END, session_id, phase)[0][0]))

    def log_after(self, session_id: str, phase: SessionStatus, size: int) -> tuple[int, bytes]:
        """The offset of the first entry that is not within that many bytes, and the log from there on."""
        begins = int(str(self._ledger.select(_LOG_END_BEFORE, session_id, phase, size)[0][0]))
        rows = self._ledger.select(_LOG_AFTER, session_id, phase, begins)
        return begins, b"".join(as_bytes(row[0]) for row in rows)

    def add(
        self, session: PlanningSession, facts: SessionFacts, event: NewEvent, logs: Sequence[LogEntry] = ()
    ) -> StoredSession:
        if not is_session_id(session.session_id):
            raise BadDocument(what="PlanningSession", why=Text("its id is not planning-<uuid>"))
        stored = StoredSession(session, facts, revision=1)
        status, ref, document, known = _columns(stored)
        hash_ = self._session_event(stored, _bind(document, known, len(logs)), event)
        values = (session.session_id, status, len(logs), ref, document, known, hash_)
        try:
            self._ledger.execute(_ADD_SESSION, *values)
        except sqlite3.IntegrityError:
            raise SessionRace(session=short(session.session_id)) from None
        self._add_logs(session.session_id, 0, logs)
        return stored

    def save(
        self,
        stored: StoredSession,
        session: PlanningSession,
        facts: SessionFacts,
        event: NewEvent,
        logs: Sequence[LogEntry] = (),
    ) -> StoredSession:
        """Raises SessionRace if it was saved since it was read."""
        session_id, read = stored.session.session_id, stored.revision
        row = self._ledger.execute(_COUNT_LOGS, session_id, read).fetchone()
        if row is None or session.session_id != session_id:
            raise SessionRace(session=short(session_id))
        count = row[0] + len(logs)
        newest = StoredSession(session, facts, read + 1)
        status, ref, document, known = _columns(newest)
        hash_ = self._session_event(newest, _bind(document, known, count), event)
        values = (status, count, ref, document, known, hash_, session_id, read)
        self._ledger.execute(_SAVE_SESSION, *values)
        self._add_logs(session_id, row[0], logs)
        return newest

    def _session_event(self, stored: StoredSession, text: str, event: NewEvent) -> str:
        session_id = stored.session.session_id
        about = subject.session(session_id)
        self._ledger.changed.saved[about] = stored
        return self._ledger.append(EventFacts(about, text), event)

    def _add_logs(self, session_id: str, count: int, logs: Sequence[LogEntry]) -> None:
        ends: dict[SessionStatus, int] = {}
        rows = []
        for seq, entry in enumerate(logs, count + 1):
            phase = entry.phase if entry.phase in LOG_PHASES else LOG_PHASES[-1]
            text = _as_lines(entry.text)
            if phase not in ends:
                ends[phase] = self._ledger.execute(_LOG_END, session_id, phase).fetchone()[0]
            ends[phase] += len(text.encode())
            rows.append((session_id, seq, phase, ends[phase], text))
        self._ledger.execute_many(_ADD_LOG, rows)


def _columns(stored: StoredSession) -> tuple[str, str, str, str]:
    """Status, line for lists, session and facts."""
    session = stored.session
    ref = msgspec.json.encode(ref_of_session(session)).decode()
    return str(session.status), ref, text_of(session), text_of(stored.facts)


def _bind(document: str, facts: str, logs: int) -> str:
    return bytes_of_save(document.encode(), facts.encode(), logs).decode()


def _as_lines(text: str) -> str:
    """Whole lines, without lone surrogates, which a model may send and no file can contain."""
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if text.endswith("\n") else f"{text}\n"


def _no_session(name: str) -> NotFound:
    return NotFound(what=Text("planning session"), name=name, see="ringi plan --resume")


def bytes_of_save(document: bytes, facts: bytes, logs: object) -> bytes:
    """What the event of a save binds: session, facts, and the number of log entries so far.

    Each on a line of its own; canonical JSON has no line ends. The text of the logs is not part of it:
    it helps to find a fault, and may be deleted without breaking the chain.
    """
    return b"\n".join((document, facts, str(logs).encode()))


def ref_of_session(session: PlanningSession) -> SessionRef:
    """The columns beside the document, so that lists need not read it."""
    return SessionRef(
        session_id=session.session_id,
        title=title_of(session.instruction),
        status=session.status,
        questions_done=min(session.current_question_index, len(session.questions)),
        questions=len(session.questions),
        decisions_done=min(session.current_decision_index, len(session.decisions)),
        decisions=len(session.decisions),
        created_at=session.created_at,
        updated_at=session.updated_at,
        error_message=session.error_message,
    )


def as_session_ref(row: Row) -> SessionRef:
    return codec.decode_own(as_bytes(row[0]), SessionRef, "planning session")


def _as_log_entry(row: Row) -> LogEntry:
    phase, text = row
    # Logs are outside the chain, so show entries even if their phase is unknown.
    known = str(phase) in LOG_PHASES
    return LogEntry(SessionStatus(str(phase)) if known else SessionStatus.REVIEW, str(text))


def _as_stored(rows: Sequence[Row], session_id: str) -> StoredSession:
    if not rows:
        raise _no_session(session_id)
    document, facts, revision = rows[0]
    return StoredSession(
        codec.decode_own(as_bytes(document), PlanningSession, "planning session"),
        codec.decode_own(as_bytes(facts), SessionFacts, "planning session"),
        int(str(revision)),
    )
