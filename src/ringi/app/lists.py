"""What lists show beside plans. Few imports, so that they start fast."""

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET, UnsetType

from ringi.kernel import codec
from ringi.kernel.places import DATABASE
from ringi.kernel.text import Text
from ringi.kernel.words import KeptText, restore_kept
from ringi.ledger.connection import Row, as_bytes
from ringi.ledger.ledger import Ledger
from ringi.plans.rows import as_ref

if TYPE_CHECKING:
    from ringi.sessions.document import SessionRef

_CUT_OFF: Final = (
    "SELECT 1 FROM commands c JOIN executions e ON e.id = c.execution_id"
    " WHERE e.plan_id = ? AND c.ended IS NULL LIMIT 1"
)
_ANY_SESSION: Final = "SELECT 1 FROM sessions LIMIT 1"
_NEWEST_PLANS: Final = "SELECT ref FROM plans WHERE status <> 'discarded' ORDER BY number DESC LIMIT ?"
_RUNS: Final = "SELECT document FROM runs ORDER BY at DESC"
_EVERYTHING: Final = -1
_OVER: Final = frozenset(["completed", "cancelled"])
"""As in RunPhase."""


class _ListedStep(msgspec.Struct):
    status: str = "waiting"


class _Stop(msgspec.Struct):
    message: str = ""
    next_action: str = ""
    told: KeptText | UnsetType = UNSET

    @property
    def why(self) -> Text:
        return restore_kept(self.told, self.message)


class RunRef(msgspec.Struct):
    """What a list shows of a run; importing its document takes longer than the list."""

    run_id: str
    phase: str
    instruction: str
    updated_at: str
    steps: tuple[_ListedStep, ...] = ()
    stop: _Stop | None = None

    @property
    def done(self) -> int:
        return sum(step.status == "done" for step in self.steps)


class RunBranchRef(msgspec.Struct):
    """Of a run, its branch."""

    phase: str = ""
    work_branch: str = ""
    base_commit: str = ""
    undone: bool = False

    @property
    def is_over(self) -> bool:
        return self.phase in _OVER


def session_refs(ledger: Ledger, *, open_only: bool = False) -> list["SessionRef"]:
    """Planning sessions, the newest first; the open ones are those that a person can continue."""
    if not ledger.select(_ANY_SESSION):
        return []
    from ringi.sessions.rows import Sessions  # noqa: PLC0415  # only if there is one

    return Sessions(ledger).refs(open_only=open_only)


def open_runs(ledger: Ledger) -> list[RunRef]:
    """Those that can go on, the newest first."""
    return [run for run in map(_as_run, ledger.select(_RUNS)) if run.phase not in _OVER]


def _as_run(row: Row) -> RunRef:
    return codec.decode_own(as_bytes(row[0]), RunRef, "run")


def names_of_plans(folder: Path, most: int) -> list[tuple[str, str]]:
    """Name and title of the newest plans."""
    return [(ref.name, ref.title) for ref in map(as_ref, _read_rows(folder, _NEWEST_PLANS, most))]


def names_of_runs(folder: Path, most: int) -> list[tuple[str, str]]:
    """Id and first line of the newest runs."""
    found = map(_as_run, _read_rows(folder, f"{_RUNS} LIMIT ?", most))
    return [(run.run_id, run.instruction.strip().partition("\n")[0]) for run in found]


def branches_of_runs(folder: Path) -> list[RunBranchRef]:
    """Those that runs work on, or left; not of runs that were undone."""
    rows = _read_rows(folder, f"{_RUNS} LIMIT ?", _EVERYTHING)
    found = (codec.decode_own(as_bytes(row[0]), RunBranchRef, "run") for row in rows)
    return [run for run in found if run.base_commit and not run.undone]


def is_cut_off(folder: Path, plan_id: str) -> bool:
    """Whether a command of the plan was started, and nobody knows how it ended."""
    return bool(_read_rows(folder, _CUT_OFF, plan_id))


def _read_rows(folder: Path, statement: str, value: int | str) -> list[Row]:
    """Opens the database to read only; nothing is made or migrated."""
    path = folder / DATABASE
    if not path.is_file():
        return []
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.2)) as found:
            return found.execute(statement, (value,)).fetchall()
    except sqlite3.Error:
        return []
