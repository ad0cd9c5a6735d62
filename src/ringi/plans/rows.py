"""Plans and their specs."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ringi.app.lists import COUNT_PLANS, PlanReader, as_document, load_plan, ref_of
from ringi.approvals.rows import as_approval, as_request
from ringi.errors import LostRace, NotFound
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject
from ringi.ledger.connection import Row, as_bytes, translated
from ringi.ledger.event import Counts, NewEvent
from ringi.ledger.events import About, EventLog, as_event, text_of
from ringi.ledger.ports import PlanRecord
from ringi.plans.document import ENDED, OPEN, ActionSpecExt, PlanDocument, StoredPlan, with_state
from ringi.plans.execution_rows import as_execution

_EVERY: Final = "SELECT number, document FROM plans ORDER BY number DESC"
_SPECS: Final = "SELECT document FROM specs WHERE plan_id = ? AND version = ?"
_CURRENT: Final = "SELECT id, status FROM plans WHERE current ORDER BY number DESC LIMIT 1"
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
_CLOSE_CHANGE: Final = "DELETE FROM open_changes WHERE plan_id = ?"


class Plans(PlanReader):
    def specs(self, plan_id: str, version: int) -> tuple[ActionSpecExt, ...]:
        found = self._select(_SPECS, plan_id, version)
        return codec.trusted(as_bytes(found[0][0]), tuple[ActionSpecExt, ...], "specs") if found else ()

    def every_plan(self) -> Iterator[tuple[int, PlanDocument]]:
        """With its number, the newest first; without its specs."""
        with translated(self.folder):
            for number, document in self.database.execute(_EVERY):
                yield number, as_document(document, None)

    def current(self) -> str | None:
        found = self._select(_CURRENT)
        return str(found[0][0]) if found and found[0][1] not in ENDED else None

    def previews(self, plan_id: str) -> dict[str, str] | None:
        """The hash of each diff in `.agent/`, by file name; None if the plan was restored from there."""
        found = self._select(_PREVIEWS, plan_id)
        return codec.trusted(as_bytes(found[0][0]), dict[str, str], "previews") if found else None

    def record(self, plan_id: str) -> PlanRecord:
        """With its requests, approvals, events and executions, read in one query."""
        found: dict[str, list[Row]] = {}
        for kind, *row in self._select(_RECORD, plan_id):
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


class PlanWrites(EventLog):
    def plan(self, plan_id: str) -> StoredPlan:
        return load_plan(self._database, plan_id)

    def add_plan(self, document: PlanDocument, *events: NewEvent, current: bool = True) -> StoredPlan:
        document = self._write_specs(document, None)
        now, text = self._clock.now(), _without_specs(document)
        hash_ = self._add_plan_events(document, text, now, events)
        try:
            stored = self._insert_plan(document, now, text, hash_, current)
        except sqlite3.IntegrityError:
            # Another process has made one meanwhile.
            self.known.plans = None
            stored = self._insert_plan(document, now, text, hash_, current)
        self.changed.new.add(subject.plan(document.plan.id))
        return self._saved(stored)

    def _insert_plan(self, document: PlanDocument, now: str, *rest: object) -> StoredPlan:
        if self.known.plans is None:
            self.known.plans = int(self._database.execute(COUNT_PLANS).fetchone()[0])
        stored = StoredPlan(document, revision=1, number=self.known.plans + 1)
        values = (stored.number, document.plan.id, *_listed(stored, now), *rest)
        self._database.execute(_ADD_PLAN, values)
        self.known.plans = stored.number
        return stored

    def save_plan(self, stored: StoredPlan, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        document = self._write_specs(document, stored.document)
        text, now, read = _without_specs(document), self._clock.now(), stored.revision
        stored = StoredPlan(document, read + 1, stored.number)
        hash_ = self._add_plan_events(document, text, now, events)
        values = (*_listed(stored, now), text, hash_, document.plan.id, read)
        if self._database.execute(_SAVE_PLAN, values).rowcount != 1:
            raise LostRace(plan=f"p{stored.number}")
        return self._saved(stored)

    def _add_plan_events(
        self, document: PlanDocument, text: str, now: str, events: tuple[NewEvent, ...]
    ) -> str:
        """The hash of the last."""
        about = _about(document, text)
        return [self._add_event(about, now, event) for event in events][-1]

    def _saved(self, stored: StoredPlan) -> StoredPlan:
        _note_change(self._database, stored.document)
        self.changed.saved[subject.plan(stored.document.plan.id)] = stored
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
            previews = _hashes(self.changed.diffs.get(plan.id))
            self._database.execute(_SAVE_SPECS, (plan.id, plan.version, data, previews))
        return msgspec.structs.replace(document, specs_sha256=codec.digest(data))

    def clear_current(self) -> None:
        self._database.execute(_CLEAR_CURRENT)

    def show_diffs(self, plan_id: str, diffs: Mapping[str, bytes]) -> None:
        self.changed.diffs[plan_id] = diffs

    def hold_back(self) -> None:
        self.changed.held_back = True


def _hashes(diffs: Mapping[str, bytes] | None) -> str | None:
    if diffs is None:
        return None
    return codec.canonical({name: codec.digest(data) for name, data in diffs.items()}).decode()


def _about(document: PlanDocument, text: str) -> About:
    state = document.state
    paths = {spec.base.path for spec in state.action_specs if spec.base.path}
    counts = Counts(files=len(paths), specs=len(state.action_specs))
    risk_score = state.previews.risk_score if state.previews else 0.0
    return About(subject.plan(document.plan.id), text, counts, risk_score)


def _note_change(database: sqlite3.Connection, document: PlanDocument) -> None:
    """Keeps the list of change plans that a newer project state would supersede."""
    facts = document.change
    if not facts:
        return
    if facts.superseded_at or document.state.status not in OPEN:
        database.execute(_CLOSE_CHANGE, (document.plan.id,))
    else:
        database.execute(_OPEN_CHANGE, (document.plan.id, facts.snapshot_id))


def _listed(stored: StoredPlan, now: str) -> tuple[str, int, str]:
    document = stored.document
    ref = msgspec.json.encode(ref_of(document, stored.number, now)).decode()
    return str(document.state.status), document.plan.version, ref


def _without_specs(document: PlanDocument) -> str:
    return text_of(with_state(document, action_specs=()))
