"""The ledger: the one truth, in SQLite."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ringi.errors import Busy, LedgerUpgraded, StorageFailed
from ringi.ports import Clock, Ids
from ringi.store.approvals import Approvals, ApprovalWrites
from ringi.store.connection import SET_META, require_known_format, translated
from ringi.store.contents import Contents
from ringi.store.events import Changed, Events, Known
from ringi.store.executions import Executions, ExecutionWrites
from ringi.store.grants import GrantRows, GrantWrites
from ringi.store.plans import Plans, PlanWrites
from ringi.store.project_state import States, StateWrites
from ringi.store.runs import Runs, RunWrites
from ringi.store.sessions import Sessions, SessionWrites

_DROP_META: Final = "DELETE FROM meta WHERE key = ?"
_ADD_META: Final = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"


class LedgerReader(Plans, Sessions, Runs, Approvals, GrantRows, Executions, States, Events):
    """The whole ledger for reading: one module per kind of document."""

    def __init__(self, folder: Path, wait_sec: float) -> None:
        super().__init__(folder, wait_sec)
        self._contents = Contents(folder)

    def get_bytes(self, sha256: str) -> bytes | None:
        with translated(self.folder):
            return self._contents.get(self.database, sha256)


class LedgerTransaction(
    PlanWrites, SessionWrites, RunWrites, ApprovalWrites, GrantWrites, ExecutionWrites, StateWrites
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
        self._forgot_on = ""

    @contextlib.contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
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
        self._after_commit(self, transaction.changed)

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

    def forget_bytes(self, before: str) -> None:
        """Once a day. Only cleanup: what fails now is done the next time."""
        day = before[: len("2026-01-31")]
        if day == self._forgot_on:
            return
        self._forgot_on = day
        failures = (Busy, LedgerUpgraded, StorageFailed, OSError)
        with contextlib.suppress(*failures), translated(self.folder):
            require_known_format(self.database, self.folder)
            self._contents.forget(self.database, before)
