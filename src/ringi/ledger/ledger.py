"""The open ledger: its database, its log, the bytes it keeps, and one transaction for each call."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from ringi.errors import Ambiguous, Busy, LedgerOlder, LedgerUpgraded, StorageFailed
from ringi.kernel.system import Clock, Ids, SystemClock, new_id
from ringi.ledger.connection import GET_META, SET_META, Row, connect, require_known_format, translate_errors
from ringi.ledger.contents import Contents
from ringi.ledger.event import FIRST_PREVIOUS, EventKind, LoggedEvent, NewEvent
from ringi.ledger.events import Chain, EventFacts, PendingProjections, as_event
from ringi.ledger.head import Head, Noted
from ringi.ledger.migrations import MIGRATIONS, Migration

_LAST_EVENT: Final = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"
_LAST_DOCUMENT: Final = "SELECT document FROM events ORDER BY seq DESC LIMIT 1"
_EVENTS: Final = "SELECT document, hash FROM events WHERE seq > ? ORDER BY seq"
_EVENTS_OF: Final = "SELECT document, hash FROM events WHERE subject_id = ? AND seq > ? ORDER BY seq"
_HAS_EVENT: Final = "SELECT 1 FROM events WHERE hash = ? ORDER BY seq DESC LIMIT 1"
_HASH_OF: Final = "SELECT hash FROM events WHERE seq = ?"
_STANDING: Final = "SELECT id FROM grants WHERE revoked_at IS NULL ORDER BY at"
_DROP_META: Final = "DELETE FROM meta WHERE key = ?"
_ADD_META: Final = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"
_SHORTEST_NAME: Final = 4
_OF_AN_ID: Final = frozenset("0123456789abcdef-")


class Ledger:
    """Reads see the last commit, and inside a transaction what it has written so far.

    It knows no subject: plans, sessions and the others each have a class for their rows, built over it.
    """

    def __init__(
        self,
        folder: Path,
        wait_sec: float,
        *,
        clock: Clock | None = None,
        ids: Ids = new_id,
        after_commit: Callable[[PendingProjections], None] = lambda _: None,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        self.folder = folder
        self.database = connect(folder, wait_sec, migrations)
        self.clock = clock or SystemClock()
        self.head = Head(folder)
        self.noted: Noted | None = None
        """What was committed at least when the last moment began."""
        self.changed = PendingProjections()
        """By the transaction that is open."""
        self.known: dict[str, int] = {}
        """What rows remember of their tables between transactions; empty again after one that failed."""
        self._ids = ids
        self._after_commit = after_commit
        self._chain = Chain(self.database)
        self._contents = Contents(folder)
        self._workspace_id: str | None = None
        self._writing = False
        self._up_to_date = False
        """Whether it was found to be no older copy. Nobody can replace it while it is open."""

    def close(self) -> None:
        self.database.close()

    # Reading.

    def select(self, statement: str, *values: object) -> list[Row]:
        with translate_errors(self.folder):
            return self.database.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[None]:
        """Everything read inside is of one moment, whatever other processes commit."""
        if self.database.in_transaction:
            yield
            return
        # Before it begins: the ledger may be ahead of it, never behind.
        self.noted = self.head.read()
        with translate_errors(self.folder):
            self.database.execute("BEGIN")
            try:
                yield
            finally:
                self.database.execute("ROLLBACK")

    def find_id(self, statement: str, name: str, typed: str, first: str) -> str | None:
        """The one id that begins with `first`; `typed` is what the person typed of it."""
        if len(typed) < _SHORTEST_NAME or not set(typed) <= _OF_AN_ID:
            return None
        found = [str(row[0]) for row in self.select(statement, first, first + "~")]
        if len(found) > 1:
            raise Ambiguous(name=name, candidates=", ".join(found))
        return found[0] if found else None

    # Writing.

    @contextlib.contextmanager
    def transaction(self, *, even_older: bool = False) -> Iterator[Self]:
        """Saves all that is written inside, or nothing. Raises LedgerOlder for an older copy of itself."""
        with translate_errors(self.folder):
            self.database.execute("BEGIN IMMEDIATE")
            self._chain.look_again()
            self.changed, self._writing = PendingProjections(), True
            try:
                require_known_format(self.database, self.folder)
                if not even_older:
                    self._require_newest()
                yield self
                self._contents.flush()
                self.database.execute("COMMIT")
            except BaseException:
                self._chain.forget()
                self.known.clear()
                # A failed COMMIT may have rolled back already.
                with contextlib.suppress(sqlite3.Error):
                    self.database.execute("ROLLBACK")
                raise
            finally:
                # Not kept until the next one: it holds what was saved, and its diffs.
                changed, self.changed, self._writing = self.changed, PendingProjections(), False
        self._note(changed)
        self._after_commit(changed)

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        """Writes rows; only inside a transaction."""
        self._require_transaction()
        return self.database.execute(statement, values)

    def execute_many(self, statement: str, rows: Sequence[Row]) -> None:
        self._require_transaction()
        self.database.executemany(statement, rows)

    def append(self, about: EventFacts, event: NewEvent, now: str = "") -> str:
        """Its hash, which is saved with what it is about: so a log cannot be cut or end differently."""
        self._require_transaction()
        logged = self._chain.extend(about, now or self.clock.now(), event)
        self.changed.events.append(logged)
        return logged.hash

    def hold_back(self) -> None:
        """Delays writing files for people: another transaction follows at once and writes both."""
        self.changed.held_back = True

    def _require_transaction(self) -> None:
        if not self._writing:
            raise RuntimeError("nothing is written outside a transaction")

    def _require_newest(self) -> None:
        if not self._up_to_date:
            noted = self.head.read()
            if noted and self.is_behind(noted):
                raise LedgerOlder(seq=noted.seq)
            self._up_to_date = True

    def _note(self, changed: PendingProjections) -> None:
        if changed.events:
            newest = changed.events[-1]
            ended = [one.event for one in changed.events if one.event.event is EventKind.GRANT_REVOKED]
            self.head.note(newest.event.seq, newest.hash, [event.subject_id for event in ended])

    # The log.

    def events(self, subject_id: str | None = None, *, after: int = 0) -> Iterator[LoggedEvent]:
        if subject_id is None:
            found = self.select(_EVENTS, after)
        else:
            found = self.select(_EVENTS_OF, subject_id, after)
        for document, hash_ in found:
            yield LoggedEvent(as_event(document), str(hash_))

    def last_seq(self) -> int:
        found = self.select(_LAST_EVENT)
        return int(str(found[0][0])) if found else 0

    def last_hash(self) -> str:
        """Of the newest event; without events, the value that the first one will name."""
        if self._writing:
            return self._chain.last_hash()
        found = self.select(_LAST_EVENT)
        return str(found[0][1]) if found else FIRST_PREVIOUS

    def last_at(self) -> str:
        """When the newest event happened; empty if there is none."""
        found = self.select(_LAST_DOCUMENT)
        return as_event(found[0][0]).at if found else ""

    def has_event(self, hash_: str) -> bool:
        """Whether the log has an event with this hash."""
        return bool(self.select(_HAS_EVENT, hash_))

    def is_behind(self, noted: Noted) -> bool:
        """Whether something that was committed is missing. An empty ledger was lost, not rolled back."""
        found = self.select(_HASH_OF, noted.seq)
        if not found or found[0][0] != noted.hash:
            return self.last_seq() > 0
        return bool(self.find_unrevoked(noted))

    def find_unrevoked(self, noted: Noted) -> list[str]:
        """Grants that were revoked and are not any more."""
        return [str(row[0]) for row in self.select(_STANDING) if row[0] in noted.revoked]

    # What it knows beside.

    def meta(self, key: str) -> str | None:
        found = self.select(GET_META, key)
        return str(found[0][0]) if found else None

    def set_meta(self, key: str, value: str | None) -> None:
        if value is None:
            self.select(_DROP_META, key)
        else:
            self.select(SET_META, key, value)
        self._workspace_id = None

    def workspace_id(self) -> str:
        """Made once per ledger; an approval contains it, so that it counts nowhere else."""
        if self._workspace_id is None:
            if self.meta("workspace_id") is None:
                self.select(_ADD_META, "workspace_id", self._ids())
            self._workspace_id = self.meta("workspace_id") or ""
        return self._workspace_id

    # Bytes.

    def get_bytes(self, sha256: str) -> bytes | None:
        with translate_errors(self.folder):
            return self._contents.get(self.database, sha256)

    def put_bytes(self, data: bytes, kept_until: str) -> None:
        self._require_transaction()
        self._contents.put(self.database, data, kept_until)

    def forget_bytes(self, now: str) -> None:
        """Once a day. Only cleanup: what fails now is done the next time."""
        failures = (Busy, LedgerUpgraded, LedgerOlder, StorageFailed, OSError)
        with contextlib.suppress(*failures):
            if seen := self._contents.date_to_forget(now):
                with self.transaction():
                    # No date counts that the log has not come to.
                    self._contents.forget(self.database, min(seen, self.last_at()))
