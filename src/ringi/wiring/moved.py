"""A workspace that was moved keeps its ledger; a damaged ledger keeps its bytes."""

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import Final, NamedTuple

from ringi.domain import codec
from ringi.domain.base import Versioned
from ringi.errors import NothingToAdopt, RingiError
from ringi.store.connection import DATABASE
from ringi.store.projection import IDENTITY
from ringi.workspace.places import Places

ADOPT: Final = "ringi doctor --adopt"


class Earlier(NamedTuple):
    path: Path
    state: Path


def earlier_place(places: Places) -> Earlier | None:
    """Where the ledger of this workspace is, if the workspace came here from a place that is gone now."""
    if (places.state / DATABASE).exists() and _meta(places.state, "head"):
        return None
    identity = _identity(places.root)
    if identity is None or not places.states.is_dir():
        return None
    for state in sorted(places.states.iterdir()):
        if state != places.state and _meta(state, "workspace_id") == identity:
            path = Path(_meta(state, "workspace") or "")
            return None if path.exists() else Earlier(path, state)
    return None


def adopt(places: Places) -> Earlier:
    earlier = earlier_place(places)
    if earlier is None:
        raise NothingToAdopt(path=str(places.root))
    if places.state.exists():
        # Made by looking at the workspace at its new place; it holds nothing yet.
        places.state.rename(_free(places.state.with_name(f"{places.state.name}.empty")))
    earlier.state.rename(places.state)
    with contextlib.closing(sqlite3.connect(places.state / DATABASE)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'workspace'", (str(places.root),))
    return earlier


def set_aside(state: Path) -> list[Path]:
    """The damaged database and what belongs to it, under another name."""
    kept = []
    stamp = time.strftime("%Y%m%dT%H%M%S")
    for suffix in ("", "-wal", "-shm"):
        path = state / f"{DATABASE}{suffix}"
        if path.exists():
            kept.append(path.rename(_free(state / f"{DATABASE}.damaged-{stamp}{suffix}")))
    return kept


def _free(path: Path) -> Path:
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}.{number}")
    return free


class Identity(Versioned, frozen=True, kw_only=True):
    workspace_id: str


def _identity(root: Path) -> str | None:
    try:
        data = root.joinpath(*IDENTITY).read_bytes()
        return codec.foreign(data, Identity, IDENTITY[-1]).workspace_id
    except (OSError, RingiError):
        return None


def _meta(state: Path, key: str) -> str | None:
    path = state / DATABASE
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
            row = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    return str(row[0]) if row else None
