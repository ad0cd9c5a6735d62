"""A workspace that was moved keeps its ledger; a damaged ledger keeps its bytes."""

import contextlib
import sqlite3
import time
from pathlib import Path
from typing import Final, NamedTuple

from ringi.domain import codec
from ringi.domain.base import Versioned
from ringi.errors import NothingToAdopt, RingiError
from ringi.store import sql
from ringi.store.connection import DATABASE
from ringi.store.projection import IDENTITY

ADOPT: Final = "ringi doctor --adopt"


class Earlier(NamedTuple):
    path: Path
    state: Path


def earlier_place(root: Path, own: Path) -> Earlier | None:
    """Where the ledger of this workspace is, if the workspace came here from a place that is gone now.

    `own` is the folder that its ledger has, beside those of all other workspaces.
    """
    if (own / DATABASE).exists() and _meta(own, "head"):
        return None
    identity = _identity(root)
    if identity is None or not own.parent.is_dir():
        return None
    for state in sorted(own.parent.iterdir()):
        if state != own and _meta(state, "workspace_id") == identity:
            path = Path(_meta(state, "workspace") or "")
            return None if path.exists() else Earlier(path, state)
    return None


def adopt(root: Path, own: Path) -> Earlier:
    earlier = earlier_place(root, own)
    if earlier is None:
        raise NothingToAdopt(path=str(root))
    if own.exists():
        # Made by looking at the workspace at its new place; it holds nothing yet.
        own.rename(_free(own.with_name(f"{own.name}.empty")))
    earlier.state.rename(own)
    with contextlib.closing(sqlite3.connect(own / DATABASE)) as database, database:
        database.execute(sql.SET_META, ("workspace", str(root)))
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
            row = database.execute(sql.GET_META, (key,)).fetchone()
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    return str(row[0]) if row else None
