"""The ledger: the one truth, in SQLite."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ringi.domain import codec
from ringi.domain.approval import Approval, ApprovalRequest
from ringi.domain.events import Event, LoggedEvent
from ringi.domain.execution import ExecutionIntent
from ringi.domain.plan import WAITING, PlanRef
from ringi.errors import Ambiguous, Busy, NotFound, StorageFailed
from ringi.ports import Clock, Ids, StoredIntent, StoredPlan
from ringi.store import rows, sql
from ringi.store.connection import connect, translated
from ringi.store.contents import Contents
from ringi.store.transaction import Changed, LedgerTransaction
from ringi.text import Text

_SHORTEST_ID: Final = 4
_LONGEST_NUMBER: Final = 18
_EVERYTHING: Final = -1


class LedgerReader:
    def __init__(self, folder: Path, wait_sec: float) -> None:
        self.folder = folder
        self.database = connect(folder, wait_sec)
        self._contents = Contents(folder)

    def close(self) -> None:
        self.database.close()

    def _rows(self, statement: str, *values: object) -> list[rows.Row]:
        with translated(self.folder):
            return self.database.execute(statement, values).fetchall()

    def find(self, name: str) -> str:
        number = name.removeprefix("p")
        if number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER:
            found = self._rows(sql.ID_OF_NUMBER, int(number))
            if found:
                return str(found[0][0])
        prefix = name.lower()
        if len(prefix) >= _SHORTEST_ID and set(prefix) <= set("0123456789abcdef-"):
            found = self._rows(sql.IDS_FROM, prefix, prefix + "~")
            if len(found) == 1:
                return str(found[0][0])
            if found:
                raise Ambiguous(name=name, candidates=", ".join(str(row[0]) for row in found))
        raise NotFound(what=Text("plan"), name=name)

    def plan(self, plan_id: str) -> StoredPlan:
        with translated(self.folder):
            return rows.load_plan(self.database, plan_id)

    def ref(self, plan_id: str) -> PlanRef:
        found = self._rows(sql.REF, plan_id)
        if not found:
            raise NotFound(what=Text("plan"), name=plan_id)
        return rows.as_ref(found[0])

    def refs(self, *, limit: int | None = None, waiting: bool = False) -> list[PlanRef]:
        most = _EVERYTHING if limit is None else limit
        if not waiting:
            return [rows.as_ref(row) for row in self._rows(sql.REFS, most)]
        statement = sql.REFS_WITH_STATUS.format(", ".join("?" * len(WAITING)))
        return [rows.as_ref(row) for row in self._rows(statement, *sorted(WAITING), most)]

    def newest_rows(self, limit: int) -> list[dict[str, object]]:
        """As `refs`, but only good for writing out."""
        return [rows.ref_fields(row) for row in self._rows(sql.REFS, limit)]

    def refs_between(self, first: int, last: int) -> list[PlanRef]:
        return [rows.as_ref(row) for row in self._rows(sql.REFS_BETWEEN, first, last)]

    def count(self) -> int:
        return int(str(self._rows(sql.COUNT_PLANS)[0][0]))

    def revision(self, plan_id: str) -> int:
        found = self._rows(sql.REVISION, plan_id)
        return int(str(found[0][0])) if found else 0

    def changed_after(self, seq: int) -> list[tuple[int, str]]:
        """Number and plan of every event since, in their order."""
        return [(int(str(number)), str(plan_id)) for number, plan_id in self._rows(sql.EVENTS_AFTER, seq)]

    def plan_ids(self) -> list[str]:
        return [str(row[0]) for row in self._rows(sql.ALL_IDS)]

    def get_bytes(self, sha256: str) -> bytes | None:
        with translated(self.folder):
            return self._contents.get(self.database, sha256)

    def unfinished(self) -> tuple[ExecutionIntent, ...]:
        found = self._rows(sql.UNFINISHED)
        return tuple(codec.trusted(rows.as_bytes(row[0]), ExecutionIntent, "intent") for row in found)

    def intent(self, execution_id: str) -> ExecutionIntent | None:
        found = self._rows(sql.INTENT, execution_id)
        return codec.trusted(rows.as_bytes(found[0][0]), ExecutionIntent, "intent") if found else None

    def events(self, plan_id: str | None = None, *, after: int = 0) -> Iterator[LoggedEvent]:
        if plan_id is None:
            found = self._rows(sql.EVENTS, after)
        else:
            found = self._rows(sql.EVENTS_OF, plan_id, after)
        for document, hash_ in found:
            yield LoggedEvent(codec.trusted(rows.as_bytes(document), Event, "event"), str(hash_))

    def requests(self, plan_id: str) -> tuple[ApprovalRequest, ...]:
        with translated(self.folder):
            return rows.load_requests(self.database, plan_id)

    def approvals(self, plan_id: str) -> tuple[Approval, ...]:
        with translated(self.folder):
            return rows.load_approvals(self.database, plan_id)

    def executions(self, plan_id: str) -> tuple[StoredIntent, ...]:
        with translated(self.folder):
            return rows.load_executions(self.database, plan_id)

    def meta(self, key: str) -> str | None:
        found = self._rows(sql.GET_META, key)
        return str(found[0][0]) if found else None


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

    def set_meta(self, key: str, value: str) -> None:
        self._rows(sql.SET_META, key, value)

    def workspace_id(self) -> str:
        """Made once per ledger; an approval names it, so that it counts nowhere else."""
        found = self.meta("workspace_id")
        if found is None:
            self._rows(sql.ADD_META, "workspace_id", self._ids())
            found = self.meta("workspace_id") or ""
        return found

    def forget_bytes(self, before: str) -> None:
        """Only tidying up: what cannot be forgotten now is forgotten the next time."""
        with contextlib.suppress(Busy, StorageFailed, OSError), translated(self.folder):
            self._contents.forget(self.database, before)
