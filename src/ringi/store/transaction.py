"""One API call's worth of changes to the ledger."""

import sqlite3
from collections.abc import Mapping
from typing import Final

import msgspec

from ringi.domain import codec, subject
from ringi.domain.events import Counts
from ringi.domain.plan import OPEN, PlanDocument, with_state
from ringi.errors import LostRace
from ringi.ports import NewEvent, StoredPlan
from ringi.store.approvals import ApprovalWrites
from ringi.store.connection import SET_META
from ringi.store.events import About, text_of
from ringi.store.executions import ExecutionWrites
from ringi.store.grants import GrantWrites
from ringi.store.plans import COUNT_PLANS, load_plan, ref_of
from ringi.store.project_state import StateWrites
from ringi.store.runs import RunWrites
from ringi.store.sessions import SessionWrites

_DROP_META: Final = "DELETE FROM meta WHERE key = ?"
_DROP_VALUE: Final = "DELETE FROM meta WHERE key = ? AND value = ?"
_ADD_PLAN: Final = (
    "INSERT INTO plans (number, id, revision, status, version, ref, document) VALUES (?, ?, 1, ?, ?, ?, ?)"
)
_SAVE_PLAN: Final = (
    "UPDATE plans SET revision = revision + 1, status = ?, version = ?, ref = ?, document = ?"
    " WHERE id = ? AND revision = ?"
)
_SAVE_SPECS: Final = (
    "INSERT INTO specs (plan_id, version, document) VALUES (?, ?, ?)"
    " ON CONFLICT (plan_id, version) DO UPDATE SET document = excluded.document"
)
_OPEN_PATH: Final = "INSERT INTO open_paths (path, plan_id) VALUES (?, ?)"
_CLOSE_PATHS: Final = "DELETE FROM open_paths WHERE plan_id = ?"
_OPEN_CHANGE: Final = (
    "INSERT INTO open_changes (plan_id, snapshot_id) VALUES (?, ?)"
    " ON CONFLICT (plan_id) DO UPDATE SET snapshot_id = excluded.snapshot_id"
)
_CLOSE_CHANGE: Final = "DELETE FROM open_changes WHERE plan_id = ?"


class LedgerTransaction(SessionWrites, RunWrites, ApprovalWrites, GrantWrites, ExecutionWrites, StateWrites):
    """Includes writing plans, which every other kind is about."""

    def plan(self, plan_id: str) -> StoredPlan:
        return load_plan(self._database, plan_id)

    def add_plan(self, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        _note_paths(self._database, document, None)
        document = _write_specs(self._database, document, None)
        now, text = self._clock.now(), _without_specs(document)
        try:
            stored = self._insert_plan(document, text, now)
        except sqlite3.IntegrityError:
            # Another process has made one meanwhile.
            self.known.plans = None
            stored = self._insert_plan(document, text, now)
        self.changed.new.add(document.plan.id)
        return self._saved(stored, text, now, events)

    def _insert_plan(self, document: PlanDocument, text: str, now: str) -> StoredPlan:
        if self.known.plans is None:
            self.known.plans = int(self._database.execute(COUNT_PLANS).fetchone()[0])
        stored = StoredPlan(document, revision=1, number=self.known.plans + 1)
        self._database.execute(_ADD_PLAN, (stored.number, document.plan.id, *_listed(stored, now), text))
        self.known.plans = stored.number
        return stored

    def save_plan(self, stored: StoredPlan, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        _note_paths(self._database, document, stored.document)
        document = _write_specs(self._database, document, stored.document)
        text, now, read = _without_specs(document), self._clock.now(), stored.revision
        stored = StoredPlan(document, read + 1, stored.number)
        values = (*_listed(stored, now), text, document.plan.id, read)
        if self._database.execute(_SAVE_PLAN, values).rowcount != 1:
            raise LostRace(plan=f"p{stored.number}")
        return self._saved(stored, text, now, events)

    def _saved(self, stored: StoredPlan, text: str, now: str, events: tuple[NewEvent, ...]) -> StoredPlan:
        _note_change(self._database, stored.document)
        about = _about(stored.document, text)
        for event in events:
            self._add_event(about, now, event)
        self.changed.plans[stored.document.plan.id] = stored
        return stored

    def set_current(self, plan_id: str | None) -> None:
        self._set_meta("current", plan_id)

    def clear_current(self, plan_id: str) -> None:
        """If this is the current plan, there is none afterwards."""
        self._database.execute(_DROP_VALUE, ("current", plan_id))

    def set_checking(self, plan_id: str | None) -> None:
        self._set_meta("checking", plan_id)

    def _set_meta(self, key: str, value: str | None) -> None:
        if value is None:
            self._database.execute(_DROP_META, (key,))
        else:
            self._database.execute(SET_META, (key, value))

    def put_bytes(self, data: bytes, kept_until: str) -> None:
        self._contents.put(self._database, data, kept_until)

    def show_diffs(self, plan_id: str, diffs: Mapping[str, bytes]) -> None:
        self.changed.diffs[plan_id] = diffs

    def hold_back(self) -> None:
        self.changed.held_back = True


def _about(document: PlanDocument, text: str) -> About:
    state = document.state
    paths = {spec.base.path for spec in state.action_specs if spec.base.path}
    counts = Counts(files=len(paths), specs=len(state.action_specs))
    risk_score = state.previews.risk_score if state.previews else 0.0
    return About(subject.plan(document.plan.id), text, counts, risk_score)


def _write_specs(
    database: sqlite3.Connection, document: PlanDocument, earlier: PlanDocument | None
) -> PlanDocument:
    """The specs have a row of their own, so that a change of status does not write them again.

    A plan that was only proposed has none yet.
    """
    specs, version = document.state.action_specs, document.plan.version
    if earlier and specs is earlier.state.action_specs and version == earlier.plan.version:
        return document
    data = codec.canonical(specs)
    if specs or earlier:
        database.execute(_SAVE_SPECS, (document.plan.id, version, data.decode()))
    return msgspec.structs.replace(document, specs_sha256=codec.digest(data))


def _note_change(database: sqlite3.Connection, document: PlanDocument) -> None:
    """Keeps the list of change plans that a newer project state would supersede."""
    facts = document.change
    if not facts:
        return
    if facts.superseded_at or document.state.status not in OPEN:
        database.execute(_CLOSE_CHANGE, (document.plan.id,))
    else:
        database.execute(_OPEN_CHANGE, (document.plan.id, facts.snapshot_id))


def _note_paths(database: sqlite3.Connection, document: PlanDocument, earlier: PlanDocument | None) -> None:
    """Keeps the list of what open plans change."""
    before, now = _open_paths(earlier), _open_paths(document)
    if before is now or before == now:
        return
    plan_id = document.plan.id
    if before:
        database.execute(_CLOSE_PATHS, (plan_id,))
    database.executemany(_OPEN_PATH, [(path, plan_id) for path in now])


def _open_paths(document: PlanDocument | None) -> tuple[str, ...]:
    if document is None or document.state.previews is None or document.state.status not in OPEN:
        return ()
    return document.state.previews.files


def _listed(stored: StoredPlan, now: str) -> tuple[str, int, str]:
    document = stored.document
    ref = msgspec.json.encode(ref_of(document, stored.number, now)).decode()
    return str(document.state.status), document.plan.version, ref


def _without_specs(document: PlanDocument) -> str:
    return text_of(with_state(document, action_specs=()))
