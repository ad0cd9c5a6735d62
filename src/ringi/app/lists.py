"""What lists need: plans, lines of sessions, the number of runs. Few imports, so that they start fast."""

import contextlib
import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ringi.errors import NotFound
from ringi.kernel.document import decoder
from ringi.kernel.text import Text
from ringi.kernel.words import KeptText, told
from ringi.ledger.connection import DATABASE, Reader, Row, as_bytes, translated
from ringi.ledger.subject import run_of_requester
from ringi.plans.document import (
    OPEN,
    WAITING,
    ActionSpecExt,
    PlanDocument,
    PlanRef,
    files_changed,
    risk_of,
    undone_at,
    with_state,
)

if TYPE_CHECKING:
    from ringi.plans.document import StoredPlan
    from ringi.sessions.document import SessionRef

# Specs as bytes: as text, those of large files would be in memory twice.
_PLAN: Final = (
    "SELECT p.document, CAST(s.document AS BLOB), p.revision, p.number FROM plans p"
    " LEFT JOIN specs s ON s.plan_id = p.id AND s.version = p.version WHERE p.id = ?"
)
_OPEN_DOCUMENTS: Final = "SELECT id, document FROM plans WHERE status IN ({}) AND id <> ?"
_REF: Final = "SELECT ref FROM plans WHERE id = ?"
_REFS: Final = "SELECT ref FROM plans ORDER BY number DESC LIMIT ?"
_REFS_NOT_DISCARDED: Final = "SELECT ref FROM plans WHERE status <> 'discarded' ORDER BY number DESC LIMIT ?"
_REFS_BETWEEN: Final = "SELECT ref FROM plans WHERE number BETWEEN ? AND ? ORDER BY number"
_REFS_WITH_STATUS: Final = "SELECT ref FROM plans WHERE status IN ({}) ORDER BY number DESC LIMIT ?"
COUNT_PLANS: Final = "SELECT COALESCE(MAX(number), 0) FROM plans"
_ID_OF_NUMBER: Final = "SELECT id FROM plans WHERE number = ?"
_IDS_FROM: Final = "SELECT id FROM plans WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
_REVISION: Final = "SELECT revision FROM plans WHERE id = ?"
_IDS_AFTER: Final = "SELECT id FROM plans WHERE number > ? ORDER BY number"
UNFINISHED: Final = "SELECT intent FROM executions WHERE result IS NULL ORDER BY at"
_ANY_UNFINISHED: Final = (
    "SELECT 1 FROM executions WHERE result IS NULL UNION ALL SELECT 1 FROM meta WHERE key = 'checking'"
)
_CUT_OFF: Final = (
    "SELECT 1 FROM commands c JOIN executions e ON e.id = c.execution_id"
    " WHERE e.plan_id = ? AND c.ended IS NULL LIMIT 1"
)
_SESSION_REFS: Final = "SELECT ref FROM sessions ORDER BY at DESC"
# The statuses of OPEN_SESSIONS: importing the documents takes longer than a list without any session.
_OPEN_SESSION_REFS: Final = (
    "SELECT ref FROM sessions WHERE status IN ('discovery', 'design', 'review', 'failed') ORDER BY at DESC"
)
_LAST_OF_WORKSPACE: Final = (
    "SELECT json_extract(document, '$.at'), json_extract(document, '$.reason') FROM events"
    " WHERE subject_id = 'workspace' ORDER BY seq DESC LIMIT 1"
)
RUNS: Final = "SELECT document FROM runs ORDER BY at DESC"

T = TypeVar("T")


def load_plan(database: sqlite3.Connection, plan_id: str) -> "StoredPlan":
    from ringi.plans.document import StoredPlan  # noqa: PLC0415  # dozens of protocols, which a list does without

    return StoredPlan(*load_document(database, plan_id))


def load_document(database: sqlite3.Connection, plan_id: str) -> tuple[PlanDocument, int, int]:
    """With its revision and its number."""
    row = database.execute(_PLAN, (plan_id,)).fetchone()
    if row is None:
        raise NotFound(what=Text("plan"), name=plan_id)
    return as_document(row[0], row[1]), row[2], row[3]


def as_document(text: object, specs: object) -> PlanDocument:
    document = _decoded(as_bytes(text), PlanDocument, "plan")
    if specs is None:
        return document
    return with_state(document, action_specs=_decoded(as_bytes(specs), tuple[ActionSpecExt, ...], "specs"))


def _decoded(data: bytes, kind: type[T], what: str) -> T:
    """As `codec.trusted`, which takes longer to import than a list takes, and is only needed for errors."""
    try:
        return decoder(kind).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        from ringi.kernel import codec  # noqa: PLC0415  # see above

        return codec.trusted(data, kind, what)


def as_ref(row: Row) -> PlanRef:
    return _decoded(as_bytes(row[0]), PlanRef, "plan")


def ref_of(document: PlanDocument, number: int, updated_at: str) -> PlanRef:
    """The columns beside the document, so that lists need not read it."""
    plan, state = document.plan, document.state
    totals = state.previews
    return PlanRef(
        id=plan.id,
        number=number,
        title=plan.title,
        status=state.status,
        version=plan.version,
        proposer=plan.proposer,
        created_at=plan.created_at,
        updated_at=updated_at,
        files=files_changed(document),
        added=totals.added if totals else 0,
        removed=totals.removed if totals else 0,
        risk=risk_of(document),
        undone=undone_at(document) is not None,
        superseded=True if document.change and document.change.superseded_at else UNSET,
        step=document.step,
        called_by=UNSET if document.step else run_of_requester(plan.requester or "") or UNSET,
    )


_LONGEST_NUMBER: Final = 18
_EVERYTHING: Final = -1
_OVER: Final = frozenset(["completed", "cancelled"])
"""As in RunPhase."""


class _Step(msgspec.Struct):
    status: str = "waiting"


class _Stop(msgspec.Struct):
    message: str = ""
    next_action: str = ""
    told: KeptText | UnsetType = UNSET

    @property
    def why(self) -> Text:
        return told(self.told, self.message)


class RunRef(msgspec.Struct):
    """What a list shows of a run; importing its document takes longer than the list."""

    run_id: str
    phase: str
    instruction: str
    updated_at: str
    steps: tuple[_Step, ...] = ()
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


class _Files(msgspec.Struct):
    files: tuple[str, ...]


class _State(msgspec.Struct):
    previews: _Files | None = None


class _Previewed(msgspec.Struct):
    """Of a plan, which files it changes."""

    state: _State


def names_of_plans(folder: Path, most: int) -> list[tuple[str, str]]:
    """Name and title of the newest plans."""
    return [(ref.name, ref.title) for ref in map(as_ref, _peeked(folder, _REFS_NOT_DISCARDED, most))]


def names_of_runs(folder: Path, most: int) -> list[tuple[str, str]]:
    """Id and first line of the newest runs."""
    found = (_decoded(as_bytes(row[0]), RunRef, "run") for row in _peeked(folder, f"{RUNS} LIMIT ?", most))
    return [(run.run_id, run.instruction.strip().partition("\n")[0]) for run in found]


def branches_of_runs(folder: Path) -> list[RunBranchRef]:
    """Those that runs work on, or left; not of runs that were undone."""
    rows = _peeked(folder, f"{RUNS} LIMIT ?", _EVERYTHING)
    found = (_decoded(as_bytes(row[0]), RunBranchRef, "run") for row in rows)
    return [run for run in found if run.base_commit and not run.undone]


def is_cut_off(folder: Path, plan_id: str) -> bool:
    """Whether a command of the plan was started, and nobody knows how it ended."""
    return bool(_peeked(folder, _CUT_OFF, plan_id))


def _peeked(folder: Path, statement: str, value: int | str) -> list[Row]:
    """Opens the database to read only; nothing is made or migrated."""
    path = folder / DATABASE
    if not path.is_file():
        return []
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.2)) as found:
            return found.execute(statement, (value,)).fetchall()
    except sqlite3.Error:
        return []


class PlanReader(Reader):
    def find(self, name: str) -> str:
        number = name.removeprefix("p")
        if number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER:
            found = self._select(_ID_OF_NUMBER, int(number))
            if found:
                return str(found[0][0])
        prefix = name.lower()
        if (beginning := self._beginning_with(_IDS_FROM, name, prefix, prefix)) is not None:
            return beginning
        raise NotFound(what=Text("plan"), name=name)

    def plan(self, plan_id: str) -> "StoredPlan":
        with translated(self.folder):
            return load_plan(self.database, plan_id)

    def document(self, plan_id: str) -> PlanDocument:
        """The document of a plan, for display."""
        with translated(self.folder):
            return load_document(self.database, plan_id)[0]

    def changed_without_plan(self) -> tuple[str, str] | None:
        """When somebody was last seen to change files without a plan, and who changed what."""
        found = self._select(_LAST_OF_WORKSPACE)
        return (str(found[0][0]), str(found[0][1])) if found else None

    def overlapping(self, plan_id: str, paths: Collection[str]) -> dict[str, list[str]]:
        """Other open plans that change one of the paths: their ids, and the paths."""
        wanted, found = set(paths), {}
        statement = _OPEN_DOCUMENTS.format(", ".join("?" * len(OPEN)))
        for other, document in self._select(statement, *sorted(OPEN), plan_id):
            previews = _decoded(as_bytes(document), _Previewed, "plan").state.previews
            if previews and (common := wanted.intersection(previews.files)):
                found[str(other)] = sorted(common)
        return found

    def ref(self, plan_id: str) -> PlanRef:
        found = self._select(_REF, plan_id)
        if not found:
            raise NotFound(what=Text("plan"), name=plan_id)
        return as_ref(found[0])

    def refs(
        self, *, limit: int | None = None, waiting: bool = False, discarded: bool = False
    ) -> list[PlanRef]:
        """The newest first; those that were discarded only on request."""
        most = _EVERYTHING if limit is None else limit
        if not waiting:
            return [as_ref(row) for row in self._select(_REFS if discarded else _REFS_NOT_DISCARDED, most)]
        statement = _REFS_WITH_STATUS.format(", ".join("?" * len(WAITING)))
        return [as_ref(row) for row in self._select(statement, *sorted(WAITING), most)]

    def newest_refs(self, limit: int) -> list[bytes]:
        """As `refs`, but as JSON."""
        return [as_bytes(row[0]) for row in self._select(_REFS, limit)]

    def refs_between(self, first: int, last: int) -> list[PlanRef]:
        return [as_ref(row) for row in self._select(_REFS_BETWEEN, first, last)]

    def session_refs(self, *, open_only: bool = False) -> list["SessionRef"]:
        """Planning sessions, the newest first; the open ones are those that a person can continue."""
        found = self._select(_OPEN_SESSION_REFS if open_only else _SESSION_REFS)
        if not found:
            return []
        from ringi.sessions.rows import as_session_ref  # noqa: PLC0415  # only if there is one

        return [as_session_ref(row) for row in found]

    def open_runs(self) -> list[RunRef]:
        """Those that can go on, the newest first."""
        found = [_decoded(as_bytes(row[0]), RunRef, "run") for row in self._select(RUNS)]
        return [run for run in found if run.phase not in _OVER]

    def count(self) -> int:
        return int(str(self._select(COUNT_PLANS)[0][0]))

    def revision(self, plan_id: str) -> int:
        found = self._select(_REVISION, plan_id)
        return int(str(found[0][0])) if found else 0

    def plan_ids(self, newest: int | None = None) -> list[str]:
        """In the order they were made; only so many of the newest if a number is given."""
        before = 0 if newest is None else self.count() - newest
        return [str(row[0]) for row in self._select(_IDS_AFTER, before)]

    def any_unfinished(self) -> bool:
        return bool(self._select(_ANY_UNFINISHED))
