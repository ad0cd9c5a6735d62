"""The ledger: the one truth, in SQLite."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ringi.domain import codec
from ringi.domain.approval import Approval, ApprovalRequest
from ringi.domain.events import FIRST_PREVIOUS, Event, LoggedEvent
from ringi.domain.execution import ExecutionIntent
from ringi.domain.plan import ActionSpecExt
from ringi.domain.project_state import ProjectState
from ringi.errors import Busy, StorageFailed
from ringi.ports import Clock, Ids, StoredCommand, StoredGrant, StoredIntent
from ringi.store import rows, sql
from ringi.store.chain import Changed
from ringi.store.connection import translated
from ringi.store.contents import Contents
from ringi.store.planrows import as_bytes
from ringi.store.sessionreading import SessionReader
from ringi.store.transaction import LedgerTransaction

# From the end: what is asked for is nearly always among the newest.


class LedgerReader(SessionReader):
    """The whole of it, to be read."""

    def __init__(self, folder: Path, wait_sec: float) -> None:
        super().__init__(folder, wait_sec)
        self._contents = Contents(folder)

    def get_bytes(self, sha256: str) -> bytes | None:
        with translated(self.folder):
            return self._contents.get(self.database, sha256)

    def unfinished(self) -> tuple[ExecutionIntent, ...]:
        found = self._select(sql.UNFINISHED)
        return tuple(codec.trusted(as_bytes(row[0]), ExecutionIntent, "intent") for row in found)

    def intent(self, execution_id: str) -> ExecutionIntent | None:
        found = self._select(sql.INTENT, execution_id)
        return codec.trusted(as_bytes(found[0][0]), ExecutionIntent, "intent") if found else None

    def events(self, subject_id: str | None = None, *, after: int = 0) -> Iterator[LoggedEvent]:
        if subject_id is None:
            found = self._select(sql.EVENTS, after)
        else:
            found = self._select(sql.EVENTS_OF, subject_id, after)
        for document, hash_ in found:
            yield LoggedEvent(codec.trusted(as_bytes(document), Event, "event"), str(hash_))

    def requests(self, plan_id: str) -> tuple[ApprovalRequest, ...]:
        with translated(self.folder):
            return rows.load_requests(self.database, plan_id)

    def approvals(self, plan_id: str) -> tuple[Approval, ...]:
        with translated(self.folder):
            return rows.load_approvals(self.database, plan_id)

    def executions(self, plan_id: str) -> tuple[StoredIntent, ...]:
        with translated(self.folder):
            return rows.load_executions(self.database, plan_id)

    def commands(self, execution_id: str) -> tuple[StoredCommand, ...]:
        with translated(self.folder):
            return rows.load_commands(self.database, execution_id)

    def specs(self, plan_id: str, version: int) -> tuple[ActionSpecExt, ...] | None:
        found = self._select(sql.SPECS, plan_id, version)
        return codec.trusted(as_bytes(found[0][0]), tuple[ActionSpecExt, ...], "specs") if found else None

    def overlapping(self, plan_id: str, paths: Sequence[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in paths:
            for (other,) in self._select(sql.OVERLAPPING, path, plan_id):
                found.setdefault(str(other), []).append(path)
        return found

    def grants(self) -> tuple[StoredGrant, ...]:
        with translated(self.folder):
            return rows.load_grants(self.database)

    def granted(self, grant_id: str) -> tuple[Approval, ...]:
        with translated(self.folder):
            return rows.load_approvals(self.database, grant_id, sql.GRANTED)

    def project_state(self) -> ProjectState | None:
        """The newest that was captured or pushed."""
        found = self._select(sql.STATE)
        return codec.trusted(as_bytes(found[0][0]), ProjectState, "project state") if found else None

    def last_seq(self) -> int:
        found = self._select(sql.LAST_EVENT)
        return int(str(found[0][0])) if found else 0


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

    @contextlib.contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        with translated(self.folder):
            self.database.execute("BEGIN IMMEDIATE")
            transaction = LedgerTransaction(self.database, self._contents, self._clock)
            try:
                yield transaction
                self._contents.flush()
                self.database.execute("COMMIT")
            except BaseException:
                # A failed COMMIT may have rolled back already.
                with contextlib.suppress(sqlite3.Error):
                    self.database.execute("ROLLBACK")
                raise
        self._after_commit(self, transaction.changed)

    def current(self) -> str | None:
        return self.meta("current")

    def last_hash(self) -> str:
        found = self._select(sql.LAST_EVENT)
        return str(found[0][1]) if found else FIRST_PREVIOUS

    def has_event(self, hash_: str) -> bool:
        return bool(self._select(sql.HAS_EVENT, hash_))

    def checking(self) -> str | None:
        return self.meta("checking")

    def set_meta(self, key: str, value: str) -> None:
        self._select(sql.SET_META, key, value)

    def workspace_id(self) -> str:
        """Made once per ledger; an approval names it, so that it counts nowhere else."""
        found = self.meta("workspace_id")
        if found is None:
            self._select(sql.ADD_META, "workspace_id", self._ids())
            found = self.meta("workspace_id") or ""
        return found

    def forget_bytes(self, before: str) -> None:
        """Only tidying up: what cannot be forgotten now is forgotten the next time."""
        with contextlib.suppress(Busy, StorageFailed, OSError), translated(self.folder):
            self._contents.forget(self.database, before)
