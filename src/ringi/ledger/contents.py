"""The bytes that executions replace and write: small ones in the ledger, large ones as files beside it."""

import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Final

from ringi.errors import StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.fs import OsFileSystem, open_for_block, replace_file

_KEEP_CONTENT: Final = (
    "INSERT INTO contents (sha256, body, kept_until) VALUES (?, ?, ?)"
    " ON CONFLICT (sha256) DO UPDATE SET kept_until = excluded.kept_until"
    " WHERE excluded.kept_until > contents.kept_until"
)
_CONTENT: Final = "SELECT body FROM contents WHERE sha256 = ?"
_CONTENT_FILES: Final = "SELECT sha256 FROM contents WHERE body IS NULL"
_DROP_CONTENTS: Final = "DELETE FROM contents WHERE kept_until < ?"

_FOLDER: Final = "contents"
_SEEN: Final = "date-seen"
_LARGE: Final = 1024 * 1024
_SYNC_ONE_BY_ONE: Final = 2


def _days_between(earlier: str, later: str) -> int | None:
    """Negative if it is earlier by any time; None if one of them is no date."""
    try:
        return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).days
    except (ValueError, TypeError):
        return None


class Contents:
    def __init__(self, folder: Path) -> None:
        self._folder = folder / _FOLDER
        self._seen = folder / _SEEN
        self._fs = OsFileSystem()
        self._unsynced: list[str] = []

    def put(self, database: sqlite3.Connection, data: bytes, kept_until: str) -> None:
        sha256 = digest(data)
        body: bytes | None = data
        if len(data) > _LARGE:
            self._write(sha256, data)
            body = None
        database.execute(_KEEP_CONTENT, (sha256, body, kept_until))

    def get(self, database: sqlite3.Connection, sha256: str) -> bytes | None:
        row = database.execute(_CONTENT, (sha256,)).fetchone()
        if row is None:
            return None
        try:
            data = (self._folder / sha256).read_bytes() if row[0] is None else bytes(row[0])
        except OSError:
            return None
        return data if digest(data) == sha256 else None

    def flush(self) -> None:
        """Syncs the large ones, which must happen before the commit that names them."""
        if not self._unsynced:
            return
        names, self._unsynced = self._unsynced, []
        with open_for_block(self._fs, self._fs.open_root(self._folder)) as folder:
            if len(names) > _SYNC_ONE_BY_ONE:
                self._fs.sync_everything(folder)
                return
            for name in names:
                self._fs.sync_file(folder, name)
            self._fs.sync_folder(folder)

    def date_to_forget(self, now: str) -> str | None:
        """The date that an earlier call saw, once a day has passed since; None to forget nothing.

        One execution with a wrong clock must not cost what an undo needs: its date counts only if a later
        call confirms it. If the clock went back, the earlier date was wrong.
        """
        seen = self._seen.read_text(errors="replace") if self._seen.is_file() else ""
        days = _days_between(seen, now)
        if days is None or days != 0:
            replace_file(self._seen, now.encode(), synced=False)
        return seen if days and days > 0 else None

    def forget(self, database: sqlite3.Connection, before: str) -> None:
        """Inside a transaction, so that nobody keeps the same bytes again meanwhile."""
        database.execute(_DROP_CONTENTS, (before,))
        named = {str(row[0]) for row in database.execute(_CONTENT_FILES)}
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            # Also those that no row ever named: a crash came before the commit.
            if path.name not in named:
                path.unlink(missing_ok=True)

    def _write(self, sha256: str, data: bytes) -> None:
        path = self._folder / sha256
        try:
            if not path.is_file() or digest(path.read_bytes()) != sha256:
                self._folder.mkdir(mode=0o700, exist_ok=True)
                replace_file(path, data, synced=False)
        except OSError as error:
            raise StorageFailed(what=str(path), why=error.strerror or str(error)) from None
        self._unsynced.append(sha256)
