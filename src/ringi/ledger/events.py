"""The chain of events, which every transaction extends, and what a transaction leaves to be written out."""

import sqlite3
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar

from ringi.kernel import codec
from ringi.kernel.document import Document
from ringi.ledger.connection import as_bytes
from ringi.ledger.event import FIRST_PREVIOUS, Counts, Event, LoggedEvent, NewEvent
from ringi.ledger.subject import Subject

_LAST_EVENT: Final = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
_ADD_EVENT: Final = "INSERT INTO events (seq, subject_id, document, hash) VALUES (?, ?, ?, ?)"

T = TypeVar("T")


class PendingProjections:
    """What a transaction leaves to be written out for people once it is committed."""

    def __init__(self) -> None:
        self.saved: dict[Subject, object] = {}
        """Each subject that was saved, as it is now."""
        self.new: set[Subject] = set()
        self.events: list[LoggedEvent] = []
        self.diffs: dict[str, Mapping[str, bytes]] = {}
        """By subject and file name; the ledger has only their hashes."""
        self.held_back = False
        """Written out together with the transaction that follows at once."""

    def of(self, kind: type[T]) -> dict[str, T]:
        """What was saved of this kind, by its id."""
        return {subject.id: one for subject, one in self.saved.items() if isinstance(one, kind)}

    def take(self, later: "PendingProjections") -> None:
        """Adds later changes, to be written out together."""
        self.saved |= later.saved
        self.new |= later.new
        self.events += later.events
        self.diffs |= later.diffs


class EventFacts(NamedTuple):
    """What an event is about."""

    subject: Subject
    text: str
    """The document as saved with the event."""
    counts: Counts = Counts(files=0, specs=0)
    risk_score: float = 0.0


class Chain:
    """The end of the log as this process knows it. If another extended it, the next row is refused."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._last: tuple[int, str] | None = None
        self._sure = False
        """Nobody else can extend the log before the transaction ends."""

    def look_again(self) -> None:
        """A transaction begins."""
        self._sure = False

    def forget(self) -> None:
        """What it wrote was rolled back."""
        self._last = None

    def last_hash(self) -> str:
        return self._read()[1]

    def _read(self) -> tuple[int, str]:
        if not self._sure or self._last is None:
            self._last = self._database.execute(_LAST_EVENT).fetchone() or (0, FIRST_PREVIOUS)
            self._sure = True
        return self._last

    def extend(self, about: EventFacts, now: str, new: NewEvent) -> LoggedEvent:
        try:
            logged = self._insert(self._last or self._read(), about, now, new)
        except sqlite3.IntegrityError:
            if self._sure:
                raise
            # Another process has extended the log meanwhile.
            logged = self._insert(self._read(), about, now, new)
        self._last, self._sure = (logged.event.seq, logged.hash), True
        return logged

    def _insert(self, last: tuple[int, str], about: EventFacts, now: str, new: NewEvent) -> LoggedEvent:
        event = Event(
            seq=last[0] + 1,
            at=now,
            event=new.kind,
            subject_id=about.subject.id,
            subject_kind=about.subject.kind,
            actor=new.actor,
            reason=new.reason,
            counts=about.counts,
            risk_score=about.risk_score,
            document=codec.digest(about.text.encode()),
            evidence=codec.digest(codec.canonical(new.evidence)) if new.evidence else "",
            previous=last[1],
        )
        data = codec.canonical(event)
        logged = LoggedEvent(event, codec.digest(data))
        self._database.execute(_ADD_EVENT, (event.seq, event.subject_id, data.decode(), logged.hash))
        return logged


def text_of(document: Document) -> str:
    return codec.canonical(document).decode()


def as_event(document: object) -> Event:
    return codec.decode_own(as_bytes(document), Event, "event")
