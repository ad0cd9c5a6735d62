"""A workspace that was moved keeps its ledger; a damaged ledger keeps its bytes."""

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import NothingToAdopt, RingiError
from ringi.kernel import codec
from ringi.kernel.document import Versioned
from ringi.kernel.fs import read_bounded
from ringi.kernel.places import DATABASE
from ringi.ledger.agentfolder import IDENTITY
from ringi.ledger.connection import GET_META, SET_META
from ringi.ledger.head import Head

_ANY_EVENT: Final = "SELECT seq FROM events LIMIT 1"


class _Earlier(NamedTuple):
    path: Path
    state: Path


class MovedLedger:
    """The ledger of a workspace that may have been somewhere else before."""

    def __init__(self, root: Path, state: Path) -> None:
        """`state` is the ledger's folder for the current path, beside those of all other workspaces."""
        self._root = root
        self._state = state

    def earlier(self) -> Path | None:
        """The earlier path, if it no longer exists and its ledger does."""
        found = self._earlier()
        return found.path if found else None

    def _earlier(self) -> _Earlier | None:
        own = self._state
        if _first(own, _ANY_EVENT):
            return None
        identity = _identity(self._root)
        if identity is None or not own.parent.is_dir():
            return None
        for state in sorted(own.parent.iterdir()):
            if state != own and _meta(state, "workspace_id") == identity:
                path = Path(_meta(state, "workspace") or "")
                return None if path.exists() else _Earlier(path, state)
        return None

    def adopt(self) -> Path:
        earlier, own = self._earlier(), self._state
        if earlier is None:
            raise NothingToAdopt(path=str(self._root))
        if own.exists():
            # Made by a first look at the moved workspace; it is still empty.
            own.rename(_free(own.with_name(f"{own.name}.empty")))
        earlier.state.rename(own)
        _take_along(Head(earlier.state).path, Head(own).path)
        with contextlib.closing(sqlite3.connect(own / DATABASE)) as database, database:
            database.execute(SET_META, ("workspace", str(self._root)))
        return earlier.path

    def set_aside(self) -> list[Path]:
        """Renames the damaged database and its files."""
        kept = []
        stamp = time.strftime("%Y%m%dT%H%M%S")
        _take_along(Head(self._state).path, _free(self._state / f"head.damaged-{stamp}"))
        for suffix in ("", "-wal", "-shm"):
            path = self._state / f"{DATABASE}{suffix}"
            if path.exists():
                kept.append(path.rename(_free(self._state / f"{DATABASE}.damaged-{stamp}{suffix}")))
        return kept


def _take_along(path: Path, to: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.rename(to)


def _free(path: Path) -> Path:
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


_LARGEST_IDENTITY: Final = 65_536


class Identity(Versioned, frozen=True, kw_only=True):
    workspace_id: str


def _identity(root: Path) -> str | None:
    try:
        data = read_bounded(root.joinpath(*IDENTITY), _LARGEST_IDENTITY)
        return codec.decode_foreign(data, Identity, IDENTITY[-1]).workspace_id
    except (OSError, RingiError):
        return None


def _meta(state: Path, key: str) -> str | None:
    return _first(state, GET_META, key)


def _first(state: Path, statement: str, *values: str) -> str | None:
    path = state / DATABASE
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            row = database.execute(statement, values).fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    return str(row[0]) if row else None
