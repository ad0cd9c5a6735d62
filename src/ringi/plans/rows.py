"""Plans and their specs."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from ringi.approvals.document import Approval, ApprovalRequest
from ringi.approvals.rows import as_approval, as_request
from ringi.errors import LostRace, NotFound
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject
from ringi.ledger.connection import Row, as_bytes, translate_errors
from ringi.ledger.event import Counts, Event, NewEvent
from ringi.ledger.events import EventFacts, as_event, text_of
from ringi.ledger.ledger import Ledger
from ringi.ledger.subject import run_of_requester
from ringi.plans.document import (
    ENDED,
    OPEN,
    WAITING,
    PlanDocument,
    PlanRef,
    StoredPlan,
    files_changed,
    undone_at,
    with_state,
)
from ringi.plans.execution import (
    CommandEnd,
    CommandStart,
    ExecutionIntent,
    ExecutionResult,
    StoredCommand,
    StoredIntent,
)
from ringi.tree.action_spec import ActionSpecExt

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
_COUNT: Final = "SELECT COALESCE(MAX(number), 0) FROM plans"
_ID_OF_NUMBER: Final = "SELECT id FROM plans WHERE number = ?"
_IDS_FROM: Final = "SELECT id FROM plans WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
_REVISION: Final = "SELECT revision FROM plans WHERE id = ?"
_IDS_AFTER: Final = "SELECT id FROM plans WHERE number > ? ORDER BY number"
_ANY_UNFINISHED: Final = (
    "SELECT 1 FROM executions WHERE result IS NULL UNION ALL SELECT 1 FROM meta WHERE key = 'checking'"
)
_EVERY: Final = "SELECT number, document FROM plans ORDER BY number DESC"
_SPECS: Final = "SELECT document FROM specs WHERE plan_id = ? AND version = ?"
_CURRENT: Final = "SELECT id, status FROM plans WHERE current ORDER BY number DESC LIMIT 1"
_CLEAR_CURRENT: Final = "UPDATE plans SET current = FALSE WHERE current"
_ADD_PLAN: Final = (
    "INSERT INTO plans (number, id, revision, status, version, ref, document, last_event, current)"
    " VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)"
)
_SAVE_PLAN: Final = (
    "UPDATE plans SET revision = revision + 1, status = ?, version = ?, ref = ?, document = ?,"
    " last_event = ? WHERE id = ? AND revision = ?"
)
# Given as bytes, which may be large: a string would be another copy of them.
_SAVE_SPECS: Final = (
    "INSERT INTO specs (plan_id, version, document, previews) VALUES (?, ?, CAST(? AS TEXT), ?)"
    " ON CONFLICT (plan_id, version) DO UPDATE"
    " SET document = excluded.document, previews = excluded.previews"
)
_OPEN_CHANGE: Final = (
    "INSERT INTO open_changes (plan_id, snapshot_id) VALUES (?, ?)"
    " ON CONFLICT (plan_id) DO UPDATE SET snapshot_id = excluded.snapshot_id"
)
_PREVIEWS: Final = (
    "SELECT s.previews FROM plans p JOIN specs s ON s.plan_id = p.id AND s.version = p.version"
    " WHERE p.id = ? AND s.previews IS NOT NULL"
)
_CHECKING: Final = "checking"
_COUNTED: Final = "plans"
_LONGEST_NUMBER: Final = 18
_WHOLE_ID: Final = len("00000000-0000-0000-0000-000000000000")
_EVERYTHING: Final = -1
_CLOSE_CHANGE: Final = "DELETE FROM open_changes WHERE plan_id = ?"


class _Files(msgspec.Struct):
    files: tuple[str, ...]


class _PlanState(msgspec.Struct):
    previews: _Files | None = None


class _Previewed(msgspec.Struct):
    """Of a plan, which files it changes."""

    state: _PlanState


class Plans:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def find(self, name: str) -> str:
        """The id of the plan with this name: p7, an id, or the beginning of one."""
        number = name.removeprefix("p")
        if number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER:
            found = self._ledger.select(_ID_OF_NUMBER, int(number))
            if found:
                return str(found[0][0])
        prefix = name.lower()
        if (beginning := self._ledger.find_id(_IDS_FROM, name, prefix, prefix)) is not None:
            return beginning
        raise NotFound(what=Text("plan"), name=name)

    def id_of(self, name: str) -> str:
        """As `find`, but a whole id need not be known."""
        return name.lower() if len(name) == _WHOLE_ID else self.find(name)

    def get(self, plan_id: str) -> StoredPlan:
        found = self._ledger.select(_PLAN, plan_id)
        if not found:
            raise NotFound(what=Text("plan"), name=plan_id)
        document, specs, revision, number = found[0]
        return StoredPlan(as_document(document, specs), int(str(revision)), int(str(number)))

    def ref(self, plan_id: str) -> PlanRef:
        found = self._ledger.select(_REF, plan_id)
        if not found:
            raise NotFound(what=Text("plan"), name=plan_id)
        return as_ref(found[0])

    def refs(
        self, *, limit: int | None = None, waiting: bool = False, discarded: bool = False
    ) -> list[PlanRef]:
        """The newest first; those that were discarded only on request."""
        most = _EVERYTHING if limit is None else limit
        if not waiting:
            return [
                as_ref(row) for row in self._ledger.select(_REFS if discarded else _REFS_NOT_DISCARDED, most)
            ]
        statement = _REFS_WITH_STATUS.format(", ".join("?" * len(WAITING)))
        return [as_ref(row) for row in self._ledger.select(statement, *sorted(WAITING), most)]

    def newest_refs(self, limit: int) -> list[bytes]:
        """As `refs`, but as JSON."""
        return [as_bytes(row[0]) for row in self._ledger.select(_REFS, limit)]

    def refs_between(self, first: int, last: int) -> list[PlanRef]:
        return [as_ref(row) for row in self._ledger.select(_REFS_BETWEEN, first, last)]

    def ids(self, newest: int | None = None) -> list[str]:
        """In the order they were made; only so many of the newest if a number is given."""
        before = 0 if newest is None else self.count() - newest
        return [str(row[0]) for row in self._ledger.select(_IDS_AFTER, before)]

    def count(self) -> int:
        return int(str(self._ledger.select(_COUNT)[0][0]))

    def revision(self, plan_id: str) -> int:
        found = self._ledger.select(_REVISION, plan_id)
        return int(str(found[0][0])) if found else 0

    def overlapping(self, plan_id: str, paths: Collection[str]) -> dict[str, list[str]]:
        """Other open plans that change one of the paths: their ids, and the paths."""
        wanted, found = set(paths), {}
        statement = _OPEN_DOCUMENTS.format(", ".join("?" * len(OPEN)))
        for other, document in self._ledger.select(statement, *sorted(OPEN), plan_id):
            previews = codec.decode_own(as_bytes(document), _Previewed, "plan").state.previews
            if previews and (common := wanted.intersection(previews.files)):
                found[str(other)] = sorted(common)
        return found

    def any_unfinished(self) -> bool:
        """Whether an execution, or the checks after one, must be recovered."""
        return bool(self._ledger.select(_ANY_UNFINISHED))

    def specs(self, plan_id: str, version: int) -> tuple[ActionSpecExt, ...]:
        """Of an earlier version, too."""
        found = self._ledger.select(_SPECS, plan_id, version)
        return codec.decode_own(as_bytes(found[0][0]), tuple[ActionSpecExt, ...], "specs") if found else ()

    def every(self) -> Iterator[tuple[int, PlanDocument]]:
        """With its number, the newest first; without its specs."""
        with translate_errors(self._ledger.folder):
            for number, document in self._ledger.database.execute(_EVERY):
                yield number, as_document(document, None)

    def current(self) -> str | None:
        """The plan that was proposed last, until it is carried out."""
        found = self._ledger.select(_CURRENT)
        return str(found[0][0]) if found and found[0][1] not in ENDED else None

    def clear_current(self) -> None:
        self._ledger.execute(_CLEAR_CURRENT)

    def previews(self, plan_id: str) -> dict[str, str] | None:
        """The hash of each diff in `.agent/`, by file name; None if the plan was restored from there."""
        found = self._ledger.select(_PREVIEWS, plan_id)
        return codec.decode_own(as_bytes(found[0][0]), dict[str, str], "previews") if found else None

    def show_diffs(self, plan_id: str, diffs: Mapping[str, bytes]) -> None:
        """For people and editors only: the diffs are written beside the plan, not into the ledger."""
        self._ledger.changed.diffs[plan_id] = diffs

    def checking(self) -> str | None:
        """The plan whose checks after its execution are under way."""
        return self._ledger.meta(_CHECKING)

    def set_checking(self, plan_id: str | None) -> None:
        self._ledger.set_meta(_CHECKING, plan_id)

    def add(self, document: PlanDocument, *events: NewEvent, current: bool = True) -> StoredPlan:
        """The current plan from now on, if it is not said otherwise."""
        document = self._write_specs(document, None)
        now, text = self._ledger.clock.now(), _without_specs(document)
        hash_ = self._append(document, text, now, events)
        try:
            stored = self._insert(document, now, text, hash_, current)
        except sqlite3.IntegrityError:
            # Another process has made one meanwhile.
            self._ledger.known.pop(_COUNTED, None)
            stored = self._insert(document, now, text, hash_, current)
        self._ledger.changed.new.add(subject.plan(document.plan.id))
        return self._note_saved(stored)

    def _insert(self, document: PlanDocument, now: str, *rest: object) -> StoredPlan:
        known = self._ledger.known
        if _COUNTED not in known:
            known[_COUNTED] = self.count()
        stored = StoredPlan(document, revision=1, number=known[_COUNTED] + 1)
        values = (stored.number, document.plan.id, *_list_columns(stored, now), *rest)
        self._ledger.execute(_ADD_PLAN, *values)
        known[_COUNTED] = stored.number
        return stored

    def save(self, stored: StoredPlan, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        document = self._write_specs(document, stored.document)
        text, now, read = _without_specs(document), self._ledger.clock.now(), stored.revision
        stored = StoredPlan(document, read + 1, stored.number)
        hash_ = self._append(document, text, now, events)
        values = (*_list_columns(stored, now), text, hash_, document.plan.id, read)
        if self._ledger.execute(_SAVE_PLAN, *values).rowcount != 1:
            raise LostRace(plan=f"p{stored.number}")
        return self._note_saved(stored)

    def _append(self, document: PlanDocument, text: str, now: str, events: tuple[NewEvent, ...]) -> str:
        """The hash of the last."""
        about = _about(document, text)
        return [self._ledger.append(about, event, now) for event in events][-1]

    def _note_saved(self, stored: StoredPlan) -> StoredPlan:
        self._note_change(stored.document)
        self._ledger.changed.saved[subject.plan(stored.document.plan.id)] = stored
        return stored

    def _write_specs(self, document: PlanDocument, earlier: PlanDocument | None) -> PlanDocument:
        """The specs have a row of their own, so that a change of status does not write them again.

        A plan that was only proposed has none yet.
        """
        specs, plan = document.state.action_specs, document.plan
        if earlier and specs is earlier.state.action_specs and plan.version == earlier.plan.version:
            return document
        data = codec.canonical(specs)
        if specs or earlier:
            previews = _hashes(self._ledger.changed.diffs.get(plan.id))
            self._ledger.execute(_SAVE_SPECS, plan.id, plan.version, data, previews)
        return msgspec.structs.replace(document, specs_sha256=codec.digest(data))

    def _note_change(self, document: PlanDocument) -> None:
        """Keeps the list of change plans that a newer project state would supersede."""
        facts = document.change
        if not facts:
            return
        if facts.superseded_at or document.state.status not in OPEN:
            self._ledger.execute(_CLOSE_CHANGE, document.plan.id)
        else:
            self._ledger.execute(_OPEN_CHANGE, document.plan.id, facts.snapshot_id)


def _hashes(diffs: Mapping[str, bytes] | None) -> str | None:
    if diffs is None:
        return None
    return codec.canonical({name: codec.digest(data) for name, data in diffs.items()}).decode()


def _about(document: PlanDocument, text: str) -> EventFacts:
    state = document.state
    paths = {spec.base.path for spec in state.action_specs if spec.base.path}
    counts = Counts(files=len(paths), specs=len(state.action_specs))
    risk_score = state.previews.risk_score if state.previews else 0.0
    return EventFacts(subject.plan(document.plan.id), text, counts, risk_score)


def _list_columns(stored: StoredPlan, now: str) -> tuple[str, int, str]:
    document = stored.document
    ref = msgspec.json.encode(ref_of(document, stored.number, now)).decode()
    return str(document.state.status), document.plan.version, ref


def _without_specs(document: PlanDocument) -> str:
    return text_of(with_state(document, action_specs=()))


def as_document(text: object, specs: object) -> PlanDocument:
    document = codec.decode_own(as_bytes(text), PlanDocument, "plan")
    if specs is None:
        return document
    return with_state(
        document, action_specs=codec.decode_own(as_bytes(specs), tuple[ActionSpecExt, ...], "specs")
    )


def as_ref(row: Row) -> PlanRef:
    return codec.decode_own(as_bytes(row[0]), PlanRef, "plan")


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
        risk=document.risk(),
        undone=undone_at(document) is not None,
        superseded=True if document.change and document.change.superseded_at else UNSET,
        step=document.step,
        called_by=UNSET if document.step else run_of_requester(plan.requester or "") or UNSET,
    )


_UNFINISHED: Final = "SELECT intent FROM executions WHERE result IS NULL ORDER BY at"
_ADD_INTENT: Final = (
    "INSERT INTO executions (id, plan_id, at, intent)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM executions), ?)"
)
_ADD_RESULT: Final = "UPDATE executions SET result = ? WHERE id = ? AND result IS NULL"
_EXECUTIONS: Final = "SELECT intent, result FROM executions WHERE plan_id = ? ORDER BY at"
_INTENT: Final = "SELECT intent FROM executions WHERE id = ?"
_START_COMMAND: Final = (
    "INSERT INTO commands (execution_id, spec_id, at, started)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM commands), ?)"
)
_END_COMMAND: Final = "UPDATE commands SET ended = ? WHERE execution_id = ? AND spec_id = ? AND ended IS NULL"
_COMMANDS: Final = "SELECT started, ended FROM commands WHERE execution_id = ? ORDER BY at"
# As JSON writes the path.
_WROTE: Final = (
    "SELECT plan_id FROM executions WHERE instr(intent, ?1) UNION SELECT e.plan_id FROM commands c"
    " JOIN executions e ON e.id = c.execution_id WHERE instr(c.ended, ?1)"
)


class Executions:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def list_unfinished(self) -> tuple[ExecutionIntent, ...]:
        found = self._ledger.select(_UNFINISHED)
        return tuple(codec.decode_own(as_bytes(row[0]), ExecutionIntent, "intent") for row in found)

    def intent(self, execution_id: str) -> ExecutionIntent | None:
        found = self._ledger.select(_INTENT, execution_id)
        return codec.decode_own(as_bytes(found[0][0]), ExecutionIntent, "intent") if found else None

    def of(self, plan_id: str) -> tuple[StoredIntent, ...]:
        return tuple(as_execution(*row) for row in self._ledger.select(_EXECUTIONS, plan_id))

    def commands(self, execution_id: str) -> tuple[StoredCommand, ...]:
        return tuple(
            StoredCommand(
                codec.decode_own(as_bytes(started), CommandStart, "command"),
                None if ended is None else codec.decode_own(as_bytes(ended), CommandEnd, "command"),
            )
            for started, ended in self._ledger.select(_COMMANDS, execution_id)
        )

    def plans_that_wrote(self, paths: Collection[str]) -> set[str]:
        """The ids of plans whose executions or commands name one of them."""
        return {
            str(row[0])
            for path in paths
            for row in self._ledger.select(_WROTE, codec.canonical(path).decode())
        }

    def add(self, intent: ExecutionIntent) -> None:
        self._ledger.execute(_ADD_INTENT, intent.id, intent.plan_id, text_of(intent))

    def add_result(self, result: ExecutionResult) -> None:
        self._ledger.execute(_ADD_RESULT, text_of(result), result.execution_id)

    def start_command(self, start: CommandStart) -> None:
        self._ledger.execute(_START_COMMAND, start.execution_id, start.spec_id, text_of(start))

    def end_command(self, end: CommandEnd) -> None:
        self._ledger.execute(_END_COMMAND, text_of(end), end.execution_id, end.spec_id)


def as_execution(intent: object, result: object) -> StoredIntent:
    return StoredIntent(
        codec.decode_own(as_bytes(intent), ExecutionIntent, "intent"),
        None if result is None else codec.decode_own(as_bytes(result), ExecutionResult, "result"),
    )


_RECORD: Final = """
    SELECT 'plan' AS kind, p.number AS at, p.document, s.document, p.revision FROM plans p
        LEFT JOIN specs s ON s.plan_id = p.id AND s.version = p.version WHERE p.id = ?1
    UNION ALL SELECT 'request', at, document, NULL, NULL FROM requests WHERE plan_id = ?1
    UNION ALL SELECT 'approval', at, document, spent_by, NULL FROM approvals WHERE subject_id = ?1
    UNION ALL SELECT 'event', seq, document, NULL, NULL FROM events WHERE subject_id = ?1
    UNION ALL SELECT 'execution', at, intent, result, NULL FROM executions WHERE plan_id = ?1
    UNION ALL SELECT 'grant', at, id, NULL, NULL FROM grants
    UNION ALL SELECT 'interrupted', at, id, NULL, NULL FROM executions WHERE result IS NULL
    UNION ALL SELECT 'interrupted', 0, value, NULL, NULL FROM meta WHERE key = 'checking'
    ORDER BY at
"""


class PlanRecord(NamedTuple):
    """A plan with its requests, approvals, events and executions, as of one moment."""

    plan: StoredPlan
    requests: tuple[ApprovalRequest, ...]
    approvals: tuple[Approval, ...]
    events: tuple[Event, ...]
    executions: tuple[StoredIntent, ...]
    granting: bool
    """Whether the workspace has standing approvals."""
    interrupted: bool
    """Whether any execution in the workspace, or its checks, must be recovered."""


def plan_record(store: Ledger, plan_id: str) -> PlanRecord:
    """With its requests, approvals, events and executions, read in one query."""
    found: dict[str, list[Row]] = {}
    for kind, *row in store.select(_RECORD, plan_id):
        found.setdefault(str(kind), []).append(tuple(row))
    if "plan" not in found:
        raise NotFound(what=Text("plan"), name=plan_id)
    number, document, specs, revision = found["plan"][0]
    executions = tuple(as_execution(row[1], row[2]) for row in found.get("execution", ()))
    used = {one.intent.approval_id: one.intent.id for one in executions}
    return PlanRecord(
        plan=StoredPlan(as_document(document, specs), int(str(revision)), int(str(number))),
        requests=tuple(as_request(row[1]) for row in found.get("request", ())),
        approvals=tuple(as_approval(row[1], row[2], used) for row in found.get("approval", ())),
        events=tuple(as_event(row[1]) for row in found.get("event", ())),
        executions=executions,
        granting="grant" in found,
        interrupted="interrupted" in found,
    )
