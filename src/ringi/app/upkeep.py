"""Maintains the ledger as a file, and what is written from it to `.agent/`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ringi.app.integrity import verify
from ringi.app.projection import PLANS, Projection
from ringi.app.store import Store
from ringi.errors import Busy, LedgerCorrupt, RingiError
from ringi.kernel.places import DATABASE
from ringi.kernel.text import Text
from ringi.ledger.connection import SET_META, is_read_only, translate_errors
from ringi.ledger.event import Actor
from ringi.ledger.subject import SESSION_PREFIX
from ringi.sessions.document import SessionStatus
from ringi.sessions.files import LOGS, SESSIONS, log_name
from ringi.sessions.rows import LOG_PHASES

_WAIT_SEC: Final = 10.0


class LedgerUpkeep:
    def __init__(self, root: Path, ledger: Store, projection: Projection, flush: Callable[[], None]) -> None:
        self._root = root
        self._ledger = ledger
        self._projection = projection
        self._flush = flush

    def require_sound(self) -> str:
        """Checks that the ledger can be read and written; returns its path. Raises LedgerCorrupt."""
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
        # A write by another process proves it as well.
        with contextlib.suppress(Busy), translate_errors(self._ledger.folder):
            self._ledger.database.execute("BEGIN IMMEDIATE")
            try:
                self._ledger.database.execute(SET_META, ("tried", "1"))
            finally:
                with contextlib.suppress(sqlite3.Error):
                    self._ledger.database.execute("ROLLBACK")

    def breaks(self, plan_id: str = "") -> list[Text]:
        """Every place where the ledger was changed; with a plan, in the chain and what is about that plan."""
        return verify(self._ledger, plan_id)

    def is_read_only(self) -> bool:
        return is_read_only(self._ledger.folder)

    def is_older(self) -> bool:
        """Whether the ledger is an older copy of itself."""
        noted = self._ledger.head.read()
        return noted is not None and self._ledger.is_behind(noted)

    def accept_older(self) -> None:
        """From here on it counts, as after a backup was restored; what was revoked stays revoked."""
        ledger = self._ledger
        with ledger.transaction(even_older=True):
            noted = ledger.head.read()
            for grant_id in ledger.find_unrevoked(noted) if noted else ():
                ledger.grants.revoke(grant_id, "again, after the ledger was restored", Actor.SYSTEM)
        ledger.head.note(ledger.last_seq(), ledger.last_hash())

    def flush(self) -> None:
        """Writes pending changes to `.agent/` now."""
        self._flush()

    def problem(self) -> RingiError | None:
        """Why the last write to `.agent/` failed."""
        return self._projection.problem

    def differences(self, subject_id: str = "") -> list[str]:
        """Files in `.agent/` that differ from the ledger; only those of the subject if one is given."""
        self._flush()
        with self._reader() as reader:
            return self._projection.differences(reader, subject_id)

    def foreign(self) -> list[str]:
        """Plans and sessions in `.agent/` that the ledger does not know."""
        with self._reader() as reader:
            return self._projection.foreign(reader)

    def _reader(self) -> contextlib.closing[Store]:
        """A connection of its own: the caller may be looking at one moment."""
        return contextlib.closing(Store(self._ledger.folder, _WAIT_SEC))

    def write_anew(self) -> None:
        self._projection.rebuild(self._ledger)

    def find_plan_files(self) -> list[Path]:
        """Plans in `.agent/`, whatever the ledger says; regular files only."""
        # Opening a pipe would block until it has a writer.
        return list(filter(_is_regular, sorted(self._root.joinpath(*PLANS).glob("*/plan.json"))))

    def find_session_files(self) -> list[Path]:
        folder = self._root.joinpath(*SESSIONS)
        if _leads_elsewhere(folder):
            return []
        return list(filter(_is_regular, sorted(folder.glob(f"{SESSION_PREFIX}*.json"))))

    def find_log_files(self, session_id: str) -> dict[SessionStatus, Path]:
        folder = self._root.joinpath(*LOGS, session_id)
        if _leads_elsewhere(folder):
            return {}
        files = {phase: folder / log_name(phase) for phase in LOG_PHASES}
        return {phase: path for phase, path in files.items() if _is_regular(path)}


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _leads_elsewhere(folder: Path) -> bool:
    """What is below a link is not ours."""
    return folder.is_symlink() or folder.parent.is_symlink()
