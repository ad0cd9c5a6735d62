"""Reading plans from the ledger."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ringi.domain.plan import WAITING, PlanDocument, PlanRef
from ringi.errors import Ambiguous, NotFound
from ringi.store import sql
from ringi.store.connection import connect, translated
from ringi.store.planrows import Row, as_bytes, as_ref, load_document, load_plan
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.domain.session import SessionRef
    from ringi.ports import StoredPlan

_SHORTEST_ID: Final = 4
_LONGEST_NUMBER: Final = 18
_EVERYTHING: Final = -1
_WAITS: Final = "planning"
"""As RunPhase has it: to load the documents takes longer than to count."""


class _Phased(msgspec.Struct):
    """Of a run, all that is counted by."""

    phase: str


class _Opened:
    def __init__(self, folder: Path, wait_sec: float) -> None:
        self.folder = folder
        self.database = connect(folder, wait_sec)

    def close(self) -> None:
        self.database.close()

    def _select(self, statement: str, *values: object) -> list[Row]:
        with translated(self.folder):
            return self.database.execute(statement, values).fetchall()


class PlanReader(_Opened):
    """Plans, sessions as lines, runs counted: what lists need, and nothing that would slow their start."""

    def find(self, name: str) -> str:
        number = name.removeprefix("p")
        if number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER:
            found = self._select(sql.ID_OF_NUMBER, int(number))
            if found:
                return str(found[0][0])
        prefix = name.lower()
        if len(prefix) >= _SHORTEST_ID and set(prefix) <= set("0123456789abcdef-"):
            found = self._select(sql.IDS_FROM, prefix, prefix + "~")
            if len(found) == 1:
                return str(found[0][0])
            if found:
                raise Ambiguous(name=name, candidates=", ".join(str(row[0]) for row in found))
        raise NotFound(what=Text("plan"), name=name)

    def plan(self, plan_id: str) -> "StoredPlan":
        with translated(self.folder):
            return load_plan(self.database, plan_id)

    def document(self, plan_id: str) -> PlanDocument:
        """Of a plan that is only shown."""
        with translated(self.folder):
            return load_document(self.database, plan_id)[0]

    def ref(self, plan_id: str) -> PlanRef:
        found = self._select(sql.REF, plan_id)
        if not found:
            raise NotFound(what=Text("plan"), name=plan_id)
        return as_ref(found[0])

    def refs(self, *, limit: int | None = None, waiting: bool = False) -> list[PlanRef]:
        most = _EVERYTHING if limit is None else limit
        if not waiting:
            return [as_ref(row) for row in self._select(sql.REFS, most)]
        statement = sql.REFS_WITH_STATUS.format(", ".join("?" * len(WAITING)))
        return [as_ref(row) for row in self._select(statement, *sorted(WAITING), most)]

    def newest_refs(self, limit: int) -> list[bytes]:
        """As `refs`, but as JSON."""
        return [as_bytes(row[0]) for row in self._select(sql.REFS, limit)]

    def refs_between(self, first: int, last: int) -> list[PlanRef]:
        return [as_ref(row) for row in self._select(sql.REFS_BETWEEN, first, last)]

    def session_refs(self, *, open_only: bool = False) -> list["SessionRef"]:
        """Planning sessions, the newest first; the open ones are those that a person can go on with."""
        found = self._select(sql.OPEN_SESSION_REFS if open_only else sql.SESSION_REFS)
        if not found:
            return []
        from ringi.store.sessionrows import as_session_ref  # noqa: PLC0415  # only where there is one

        return [as_session_ref(row) for row in found]

    def waiting_runs(self) -> int:
        """How many wait to be started."""
        found = self._select(sql.RUNS)
        if not found:
            return 0
        from ringi.domain import codec  # noqa: PLC0415  # only where there is one

        return sum(codec.trusted(as_bytes(row[0]), _Phased, "run").phase == _WAITS for row in found)

    def count(self) -> int:
        return int(str(self._select(sql.COUNT_PLANS)[0][0]))

    def revision(self, plan_id: str) -> int:
        found = self._select(sql.REVISION, plan_id)
        return int(str(found[0][0])) if found else 0

    def plan_ids(self) -> list[str]:
        return [str(row[0]) for row in self._select(sql.ALL_IDS)]

    def any_unfinished(self) -> bool:
        return bool(self._select(sql.UNFINISHED))

    def meta(self, key: str) -> str | None:
        found = self._select(sql.GET_META, key)
        return str(found[0][0]) if found else None
