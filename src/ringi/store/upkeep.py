"""Care of the ledger as a file, and of what is written from it into `.agent/`."""

import contextlib
import sqlite3
from collections.abc import Callable

from ringi.errors import Busy, LedgerCorrupt, RingiError
from ringi.store import sql
from ringi.store.connection import DATABASE, translated
from ringi.store.ledger import Ledger
from ringi.store.projection import Projection
from ringi.store.verify import verify
from ringi.text import Text


class LedgerUpkeep:
    def __init__(self, ledger: Ledger, projection: Projection, flush: Callable[[], None]) -> None:
        self._ledger = ledger
        self._projection = projection
        self._flush = flush

    def require_sound(self) -> str:
        path = str(self._ledger.folder / DATABASE)
        try:
            verdict = str(self._ledger.database.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.DatabaseError as error:
            verdict = str(error)
        if verdict != "ok":
            raise LedgerCorrupt(path=path, why=verdict)
        self._try_to_write()
        return path

    def _try_to_write(self) -> None:
        # Somebody else's write proves it as well.
        with contextlib.suppress(Busy), translated(self._ledger.folder):
            self._ledger.database.execute("BEGIN IMMEDIATE")
            try:
                self._ledger.database.execute(sql.SET_META, ("tried", "1"))
            finally:
                with contextlib.suppress(sqlite3.Error):
                    self._ledger.database.execute("ROLLBACK")

    def breaks(self) -> list[Text]:
        return verify(self._ledger)

    def flush(self) -> None:
        self._flush()

    def problem(self) -> RingiError | None:
        return self._projection.problem

    def differences(self) -> list[str]:
        self._flush()
        return self._projection.differences(self._ledger)

    def write_anew(self) -> None:
        self._projection.rebuild(self._ledger)
