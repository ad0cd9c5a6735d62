"""Opening the ledger's database, and what its failures mean."""

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ringi.errors import (
    Busy,
    EarlierVersion,
    InTheWay,
    LedgerCorrupt,
    LedgerUpgraded,
    NewerVersion,
    RingiError,
    StorageFailed,
)
from ringi.kernel.fs import folder_unusable
from ringi.kernel.places import DATABASE
from ringi.kernel.process.environment import STATE_VARIABLE
from ringi.kernel.text import Text
from ringi.ledger.migrations import MIGRATIONS, Migration

GET_META: Final = "SELECT value FROM meta WHERE key = ?"
SET_META: Final = (
    "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)

_FORMAT: Final = "format"
"""Before version 1 the number was kept under another key."""
Row = tuple[object, ...]
_PRIMARY_CODE: Final = 0xFF
_PAUSE_SEC: Final = 0.01
_CORRUPT: Final = frozenset([sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB])
_NO_VERSION: Final = "its version is not a number"
# Our statements are constants: they fail like this only if the tables are not ours.
_FOREIGN_TABLES: Final = (
    "no such table",
    "no such column",
    "already exists",
    "Could not decode to UTF-8",
    _NO_VERSION,
)
_BUSY: Final = frozenset([sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED])


def private_folder(folder: Path) -> Path:
    """Makes the folder, readable only by its owner; refuses a link or somebody else's folder."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise InTheWay(what=str(folder), why=Text("it is a symbolic link"))
        if found.st_uid != os.geteuid():
            raise StorageFailed(what=str(folder), why=Text("it belongs to another user"))
        if found.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise folder_unusable(folder, error, STATE_VARIABLE) from None
    return folder


def connect(
    folder: Path, wait_sec: float, migrations: Sequence[Migration] = MIGRATIONS
) -> sqlite3.Connection:
    """Brings the tables up to the last of the migrations.

    A ledger that had more of them, or that none of them made, is refused and not touched.
    """
    private_folder(folder)
    path = folder / DATABASE
    if path.is_symlink():
        raise InTheWay(what=str(path), why=Text("it is a symbolic link"))
    with translate_errors(folder, opening=True):
        # The folder protects the database files, whatever the caller's umask is.
        only_read = is_read_only(folder)
        database = sqlite3.connect(
            _as_it_is(path) if only_read else path,
            uri=only_read,
            timeout=wait_sec,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _prepare_patiently(database, folder, wait_sec, migrations)
        except BaseException:
            database.close()
            raise
    return database


def is_read_only(folder: Path) -> bool:
    """Whether there is a ledger that can only be read, as on a read-only mount."""
    return (folder / DATABASE).exists() and not os.access(folder, os.W_OK)


def _as_it_is(path: Path) -> str:
    """Without a log of its own, SQLite would make one even to read."""
    logged = path.with_name(f"{path.name}-wal").exists()
    return f"{path.as_uri()}?{'mode=ro' if logged else 'immutable=1'}"


def _prepare_patiently(
    database: sqlite3.Connection, folder: Path, wait_sec: float, migrations: Sequence[Migration]
) -> None:
    """For several processes making the ledger at once: SQLite does not wait when it switches its journal."""
    end = time.monotonic() + wait_sec
    while True:
        try:
            return _prepare(database, folder, migrations)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE not in _BUSY or time.monotonic() >= end:
                raise
            time.sleep(_PAUSE_SEC)


def _prepare(database: sqlite3.Connection, folder: Path, migrations: Sequence[Migration]) -> None:
    # Before anything else, so that a damaged, newer or earlier file is not touched.
    version = _version(database, folder)
    if version > len(migrations):
        raise NewerVersion(what=Text("The ledger"), found=version, known=len(migrations))
    if not is_read_only(folder):
        database.execute("PRAGMA journal_mode = WAL").fetchone()
        database.execute("PRAGMA synchronous = FULL")
    if version < len(migrations):
        _migrate(database, folder, migrations)


def _version(database: sqlite3.Connection, folder: Path) -> int:
    """0 if there are no tables yet. Raises EarlierVersion if they were made before version 1."""
    found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
    if found is None:
        return 0
    row = database.execute(GET_META, (_FORMAT,)).fetchone()
    if row and not str(row[0]).isdigit():
        raise sqlite3.DatabaseError(_NO_VERSION)
    if not row or not int(row[0]):
        raise EarlierVersion(path=str(folder))
    return int(row[0])


def _migrate(database: sqlite3.Connection, folder: Path, migrations: Sequence[Migration]) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        # Check again under the lock: another process may have migrated meanwhile.
        version = _version(database, folder)
        for number in range(version, len(migrations)):
            for statement in migrations[number]:
                if isinstance(statement, str):
                    database.execute(statement)
                else:
                    statement(database)
        database.execute(SET_META, (_FORMAT, str(len(migrations))))
        if version:
            _mark(folder, range(version + 1, len(migrations) + 1))
        database.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def _mark(folder: Path, versions: range) -> None:
    """For processes that have the ledger open: looking for a file costs them less than a query."""
    for version in versions:
        path = _mark_of(folder, version)
        try:
            path.touch(0o600)
        except OSError as error:
            raise StorageFailed(what=str(path), why=error.strerror or str(error)) from None


def _mark_of(folder: Path, version: int) -> Path:
    return folder / f"format-{version}"


def _is_marked(folder: Path) -> bool:
    return _mark_of(folder, len(MIGRATIONS) + 1).exists()


def require_known_format(database: sqlite3.Connection, folder: Path) -> None:
    """Raises LedgerUpgraded if a later version of the program has migrated the open ledger."""
    # A migration that failed also leaves its mark: only the ledger knows.
    if _is_marked(folder) and _version(database, folder) > len(MIGRATIONS):
        raise LedgerUpgraded


@contextlib.contextmanager
def translate_errors(folder: Path, *, opening: bool = False) -> Iterator[None]:
    """Turns the database's errors into ours."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not opening and _is_about_tables(error) and _is_marked(folder):
            raise LedgerUpgraded from None
        ours = _in_our_words(error, str(folder / DATABASE))
        if ours is None:
            raise
        raise ours from None


def _is_about_tables(error: sqlite3.DatabaseError | UnicodeDecodeError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR


def _in_our_words(error: sqlite3.DatabaseError | UnicodeDecodeError, path: str) -> RingiError | None:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in _BUSY:
        return Busy(holder=Text("another process is writing to the ledger"))
    # The database's own message about a damaged schema may not be decodable.
    undecodable = isinstance(error, UnicodeDecodeError)
    if undecodable or code in _CORRUPT or any(words in str(error) for words in _FOREIGN_TABLES):
        return LedgerCorrupt(path=path, why=str(error))
    if isinstance(error, sqlite3.OperationalError):
        return StorageFailed(what=path, why=str(error))
    return None


def as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
