"""The ledger: the one truth, in SQLite."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ringi.approvals.grant_rows import GrantRows, GrantWrites
from ringi.approvals.rows import Approvals, ApprovalWrites
from ringi.errors import Busy, LedgerOlder, LedgerUpgraded, StorageFailed
from ringi.kernel.system import Clock, Ids
from ringi.ledger.connection import SET_META, require_known_format, translated
from ringi.ledger.contents import Contents
from ringi.ledger.event import Actor, EventKind
from ringi.ledger.events import Changed, Events, Known
from ringi.ledger.head import Head, Noted
from ringi.plans.execution_rows import Executions, ExecutionWrites
from ringi.plans.rows import Plans, PlanWrites
from ringi.project.rows import States, StateWrites
from ringi.runs.process_rows import Processes, ProcessWrites
from ringi.runs.rows import Runs, RunWrites
from ringi.sessions.rows import Sessions, SessionWrites

_HASH_OF: Final = "SELECT hash FROM events WHERE seq = ?"
_STANDING: Final = "SELECT id FROM grants WHERE revoked_at IS NULL ORDER BY at"
_DROP_META: Final = "DELETE FROM meta WHERE key = ?"
_ADD_META: Final = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"


class LedgerReader(Plans, Sessions, Runs, Processes, Approvals, GrantRows, Executions, States, Events):
    """The whole ledger for reading: one module per kind of document."""

    def __init__(self, folder: Path, wait_sec: float) -> None:
        super().__init__(folder, wait_sec)
        self._contents = Contents(folder)
        self.head = Head(folder)
        self.noted: Noted | None = None
        """What was committed at least when the last moment began."""

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[None]:
        if not self.database.in_transaction:
            # Before it begins: the ledger may be ahead of it, never behind.
            self.noted = self.head.read()
        with super().one_moment():
            yield

    def is_behind(self, noted: Noted) -> bool:
        """Whether something that was committed is missing. An empty ledger was lost, not rolled back."""
        with translated(self.folder):
            found = self.database.execute(_HASH_OF, (noted.seq,)).fetchone()
            if found is None or found[0] != noted.hash:
                return self.last_seq() > 0
            return bool(self.unrevoked(noted))

    def unrevoked(self, noted: Noted) -> list[str]:
        """Grants that were revoked and are not any more."""
        return [str(row[0]) for row in self._select(_STANDING) if row[0] in noted.revoked]

    def get_bytes(self, sha256: str) -> bytes | None:
        with translated(self.folder):
            return self._contents.get(self.database, sha256)


class LedgerTransaction(
    PlanWrites,
    SessionWrites,
    RunWrites,
    ProcessWrites,
    ApprovalWrites,
    GrantWrites,
    ExecutionWrites,
    StateWrites,
):
    """One API call's worth of changes to the ledger."""

    def set_checking(self, plan_id: str | None) -> None:
        if plan_id is None:
            self._database.execute(_DROP_META, ("checking",))
        else:
            self._database.execute(SET_META, ("checking", plan_id))

    def put_bytes(self, data: bytes, kept_until: str) -> None:
        self._contents.put(self._database, data, kept_until)


class Ledger(LedgerReader):
    """Reads see the last commit; writing happens in transactions, one per API call."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Clock,
        ids: Ids,
        wait_sec: float,
        after_commit: Callable[["Ledger", Changed], None],
    ) -> None:
        super().__init__(folder, wait_sec)
        self._clock = clock
        self._ids = ids
        self._after_commit = after_commit
        self._known = Known()
        self._workspace_id: str | None = None
        self._up_to_date = False
        """Whether it was found to be no older copy. Nobody can replace it while it is open."""

    @contextlib.contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        with self._transaction() as transaction:
            if not self._up_to_date:
                noted = self.head.read()
                if noted and self.is_behind(noted):
                    raise LedgerOlder(seq=noted.seq)
                self._up_to_date = True
            yield transaction

    def accept_older(self) -> None:
        """From here on it counts, as after a backup was restored; what was revoked stays revoked."""
        with self._transaction() as transaction:
            noted = self.head.read()
            for grant_id in self.unrevoked(noted) if noted else ():
                transaction.revoke_grant(grant_id, "again, after the ledger was restored", Actor.SYSTEM)
        self.head.note(self.last_seq(), self.last_hash())

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[LedgerTransaction]:
        with translated(self.folder):
            self.database.execute("BEGIN IMMEDIATE")
            transaction = LedgerTransaction(self.database, self._contents, self._clock, self._known)
            try:
                require_known_format(self.database, self.folder)
                yield transaction
                self._contents.flush()
                self.database.execute("COMMIT")
            except BaseException:
                self._known = Known()
                # A failed COMMIT may have rolled back already.
                with contextlib.suppress(sqlite3.Error):
                    self.database.execute("ROLLBACK")
                raise
        self._note(transaction.changed)
        self._after_commit(self, transaction.changed)

    def _note(self, changed: Changed) -> None:
        if changed.events:
            newest = changed.events[-1]
            ended = [one.event for one in changed.events if one.event.event is EventKind.GRANT_REVOKED]
            self.head.note(newest.event.seq, newest.hash, [event.subject_id for event in ended])

    def checking(self) -> str | None:
        return self.meta("checking")

    def set_meta(self, key: str, value: str) -> None:
        self._select(SET_META, key, value)
        self._workspace_id = None

    def workspace_id(self) -> str:
        """Made once per ledger; an approval contains it, so that it counts nowhere else."""
        if self._workspace_id is None:
            if self.meta("workspace_id") is None:
                self._select(_ADD_META, "workspace_id", self._ids())
            self._workspace_id = self.meta("workspace_id") or ""
        return self._workspace_id

    def forget_bytes(self, now: str) -> None:
        """Once a day. Only cleanup: what fails now is done the next time."""
        failures = (Busy, LedgerUpgraded, LedgerOlder, StorageFailed, OSError)
        with contextlib.suppress(*failures):
            if seen := self._contents.date_to_forget(now):
                with self.transaction():
                    # No date counts that the log has not come to.
                    self._contents.forget(self.database, min(seen, self.last_at()))
