"""Rows of planning sessions and runs to documents and back."""

import sqlite3
from typing import Final

from ringi.domain import codec
from ringi.domain.plan import title_of
from ringi.domain.run import Run
from ringi.domain.session import (
    LogEntry,
    PlanningSession,
    SessionFacts,
    SessionRef,
    SessionStatus,
)
from ringi.errors import NotFound
from ringi.ports import StoredSession
from ringi.store import sql
from ringi.store.planrows import Row, as_bytes
from ringi.text import Text

LOG_PHASES: Final = (SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.REVIEW)
"""Those that have a log."""


def no_session(name: str) -> NotFound:
    return NotFound(what=Text("planning session"), name=name, see="ringi plan --resume")


def no_run(name: str) -> NotFound:
    return NotFound(what=Text("run"), name=name, see="ringi status")


def saved(document: bytes, facts: bytes, logs: object) -> bytes:
    """What the event of a save is bound to: session, facts, and how many log entries there are by then.

    Each on a line of its own; canonical JSON has no line ends. The words of the logs are not in it: they help
    to find a fault, and may be emptied without breaking the chain.
    """
    return b"\n".join((document, facts, str(logs).encode()))


def ref_of_session(session: PlanningSession) -> SessionRef:
    """What stands beside the document, so that lists need not read it."""
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
    return codec.trusted(as_bytes(row[0]), SessionRef, "planning session")


def as_log_entry(row: Row) -> LogEntry:
    phase, text = row
    # Outside the chain: what cannot be placed any more is shown all the same.
    known = str(phase) in LOG_PHASES
    return LogEntry(SessionStatus(str(phase)) if known else SessionStatus.REVIEW, str(text))


def load_session(database: sqlite3.Connection, session_id: str) -> StoredSession:
    row = database.execute(sql.SESSION, (session_id,)).fetchone()
    if row is None:
        raise no_session(session_id)
    return StoredSession(
        codec.trusted(as_bytes(row[0]), PlanningSession, "planning session"),
        codec.trusted(as_bytes(row[1]), SessionFacts, "planning session"),
        row[2],
    )


def as_run(row: Row) -> Run:
    return codec.trusted(as_bytes(row[0]), Run, "run")
