"""The append-only log (PT-11): every event carries the hash of the one before it."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from ringi.kernel.document import Document, Versioned
from ringi.ledger.subject import Subject, SubjectKind


class EventKind(StrEnum):
    PLAN_PROPOSED = "plan_proposed"
    SPECS_SET = "specs_set"
    MARKED_PENDING = "marked_pending"
    CHECKED = "checked"
    COMMENTED = "commented"
    COMMITTED = "committed"
    COMMIT_FAILED = "commit_failed"
    COMMIT_REWRITTEN = "commit_rewritten"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVED = "approved"
    DECLINED = "declined"
    DISCARDED = "discarded"
    SENT_BACK = "sent_back"
    FOUND_STALE = "found_stale"
    SUPERSEDED = "superseded"
    APPROVAL_EXPIRED = "approval_expired"
    EXECUTED = "executed"
    COMPLETED = "completed"
    ABORTED = "aborted"
    UNDO_APPROVED = "undo_approved"
    UNDO_STARTED = "undo_started"
    UNDONE = "undone"
    UNDO_ABORTED = "undo_aborted"
    TAKEN_IN = "taken_in"
    COMMAND_STARTED = "command_started"
    COMMAND_ENDED = "command_ended"
    FORKED = "forked"
    REVERTED = "reverted"
    AMENDED = "amended"
    GRANTED = "granted"
    GRANT_REVOKED = "grant_revoked"
    SESSION_STARTED = "session_started"
    SESSION_PREPARED = "session_prepared"
    SESSION_ANSWERED = "session_answered"
    SESSION_DECIDED = "session_decided"
    SESSION_APPROVED = "session_approved"
    SESSION_REJECTED = "session_rejected"
    SESSION_CANCELLED = "session_cancelled"
    SESSION_FAILED = "session_failed"
    SESSION_RESUMED = "session_resumed"
    SESSION_TAKEN_IN = "session_taken_in"
    SESSION_BROUGHT = "session_brought"
    RUN_CREATED = "run_created"
    RUN_CANCELLED = "run_cancelled"
    RUN_APPROVED = "run_approved"
    RUN_ADVANCED = "run_advanced"
    """One transition; the reason says which."""
    RUN_STOPPED = "run_stopped"
    RUN_RESUMED = "run_resumed"
    RUN_COMPLETED = "run_completed"
    RUN_UNDONE = "run_undone"
    RUN_FEEDBACK = "run_feedback"
    """Somebody said something about it; the run itself is unchanged."""
    RUN_REVISION_APPROVED = "run_revision_approved"
    RUN_REVISION_DECLINED = "run_revision_declined"
    SIGNERS_SET = "signers_set"


class Actor(StrEnum):
    AI = "ai"
    USER = "user"
    SYSTEM = "system"


class Counts(Document, frozen=True):
    files: int
    specs: int


class Event(Versioned, frozen=True, kw_only=True):
    seq: int
    at: str
    event: EventKind
    subject_id: str = msgspec.field(name="plan_id")
    subject_kind: SubjectKind
    actor: Actor
    reason: str
    counts: Counts
    risk_score: float
    document: str
    """SHA-256 of the plan as it was saved with this event."""
    evidence: str = ""
    """SHA-256 of the approval, intent or result that came with this event."""
    previous: str

    @property
    def subject(self) -> Subject:
        return Subject(self.subject_kind, self.subject_id)


class LoggedEvent(Document, frozen=True):
    """An event with the hash that the next one names."""

    event: Event
    hash: str


FIRST_PREVIOUS: Final = "0" * 64


class NewEvent(NamedTuple):
    kind: EventKind
    actor: Actor
    reason: str = ""
    evidence: Document | None = None
    """The approval, intent or result that the event is about; its hash goes into the chain."""


EventSink = Callable[[LoggedEvent], None]
