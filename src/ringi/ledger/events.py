"""The chain of events, which every transaction extends, and what a transaction leaves to be written out."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from ringi.approvals.document import Approval
from ringi.kernel import codec
from ringi.kernel.document import Document
from ringi.kernel.system import Clock
from ringi.ledger.connection import Reader, as_bytes
from ringi.ledger.contents import Contents
from ringi.ledger.event import FIRST_PREVIOUS, Actor, Counts, Event, EventKind, LoggedEvent, NewEvent
from ringi.ledger.subject import WORKSPACE, Subject

_LAST_EVENT: Final = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
_LAST_DOCUMENT: Final = "SELECT document FROM events ORDER BY seq DESC LIMIT 1"
_ADD_EVENT: Final = "INSERT INTO events (seq, subject_id, document, hash) VALUES (?, ?, ?, ?)"
_EVENTS: Final = "SELECT document, hash FROM events WHERE seq > ? ORDER BY seq"
_EVENTS_OF: Final = "SELECT document, hash FROM events WHERE subject_id = ? AND seq > ? ORDER BY seq"
_HAS_EVENT: Final = "SELECT 1 FROM events WHERE hash = ? ORDER BY seq DESC LIMIT 1"

T = TypeVar("T")


class Changed:
    """What a transaction leaves to be written out for people once it is committed."""

    def __init__(self) -> None:
        self.saved: dict[Subject, object] = {}
        """Each subject that was saved, as it is now."""
        self.new: set[Subject] = set()
        self.events: list[LoggedEvent] = []
        self.diffs: dict[str, Mapping[str, bytes]] = {}
        """By subject and file name; None of the bytes are in the ledger."""
        self.held_back = False
        """Written out together with the transaction that follows at once."""

    def of(self, kind: type[T]) -> dict[str, T]:
        """What was saved of this kind, by its id."""
        return {subject.id: one for subject, one in self.saved.items() if isinstance(one, kind)}

    def take(self, later: "Changed") -> None:
        """Adds later changes, to be written out together."""
        self.saved |= later.saved
        self.new |= later.new
        self.events += later.events
        self.diffs |= later.diffs


class About(NamedTuple):
    """What an event is about."""

    subject: Subject
    text: str
    """The document as saved with the event."""
    counts: Counts = Counts(files=0, specs=0)
    risk_score: float = 0.0


class Known:
    """What this process wrote last. If another wrote since, its next row is refused so it reads again."""

    def __init__(self) -> None:
        self.last_event: tuple[int, str] | None = None
        self.plans: int | None = None
        """The number of events."""


class EventLog:
    """The chain of events, and what a transaction adds to it."""

    def __init__(
        self, database: sqlite3.Connection, contents: Contents, clock: Clock, known: Known | None = None
    ) -> None:
        self._database = database
        self._contents = contents
        self._clock = clock
        self.known = known or Known()
        self._sure = False
        self.changed = Changed()

    def last_hash(self) -> str:
        return self._last()[1]

    def _last(self) -> tuple[int, str]:
        """The last event. Read once: nobody else can extend the log before this transaction ends."""
        if not self._sure:
            row = self._database.execute(_LAST_EVENT).fetchone()
            self.known.last_event, self._sure = row or (0, FIRST_PREVIOUS), True
        return self.known.last_event or (0, FIRST_PREVIOUS)

    def _add_event(self, about: About, now: str, new: NewEvent) -> str:
        """Its hash, which is saved with what it is about: so a log cannot be cut or end differently."""
        if self.known.last_event is None:
            self._last()
        try:
            hash_ = self._insert_event(about, now, new)
        except sqlite3.IntegrityError:
            if self._sure:
                raise
            # Another process has extended the log meanwhile.
            self._last()
            hash_ = self._insert_event(about, now, new)
        self._sure = True
        return hash_

    def note_checkout(self, reason: str, files: int) -> None:
        """Somebody changed files without a plan; the event is all that is kept of it."""
        about = About(WORKSPACE, reason, Counts(files=files, specs=0))
        self._add_event(about, self._clock.now(), NewEvent(EventKind.CHECKOUT_CHANGED, Actor.AI, reason))

    def _insert_event(self, about: About, now: str, new: NewEvent) -> str:
        seq, previous = self.known.last_event or (0, FIRST_PREVIOUS)
        event = Event(
            seq=seq + 1,
            at=now,
            event=new.kind,
            subject_id=about.subject.id,
            subject_kind=about.subject.kind,
            actor=new.actor,
            reason=new.reason,
            counts=about.counts,
            risk_score=about.risk_score,
            document=codec.digest(about.text.encode()),
            evidence=evidence_of(new.evidence) if new.evidence else "",
            previous=previous,
        )
        data = codec.canonical(event)
        logged = LoggedEvent(event, codec.digest(data))
        self._database.execute(_ADD_EVENT, (event.seq, event.subject_id, data.decode(), logged.hash))
        self.known.last_event = event.seq, logged.hash
        self.changed.events.append(logged)
        return logged.hash


def evidence_of(document: Document) -> str:
    if isinstance(document, Approval):
        return document.evidence
    return codec.digest(codec.canonical(document))


def text_of(document: Document) -> str:
    return codec.canonical(document).decode()


def as_event(document: object) -> Event:
    return codec.trusted(as_bytes(document), Event, "event")


class Events(Reader):
    def events(self, subject_id: str | None = None, *, after: int = 0) -> Iterator[LoggedEvent]:
        if subject_id is None:
            found = self._select(_EVENTS, after)
        else:
            found = self._select(_EVENTS_OF, subject_id, after)
        for document, hash_ in found:
            yield LoggedEvent(as_event(document), str(hash_))

    def last_seq(self) -> int:
        found = self._select(_LAST_EVENT)
        return int(str(found[0][0])) if found else 0

    def last_hash(self) -> str:
        found = self._select(_LAST_EVENT)
        return str(found[0][1]) if found else FIRST_PREVIOUS

    def last_at(self) -> str:
        """When the newest event happened; empty if there is none."""
        found = self._select(_LAST_DOCUMENT)
        return as_event(found[0][0]).at if found else ""

    def has_event(self, hash_: str) -> bool:
        return bool(self._select(_HAS_EVENT, hash_))
