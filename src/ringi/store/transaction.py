"""One API call's worth of changes to the ledger."""

import sqlite3
from collections.abc import Mapping

import msgspec

from ringi.domain import codec
from ringi.domain.approval import Approval, ApprovalRequest
from ringi.domain.base import Document
from ringi.domain.events import FIRST_PREVIOUS, Counts, Event, LoggedEvent
from ringi.domain.execution import ExecutionIntent, ExecutionResult
from ringi.domain.plan import OPEN, PlanDocument, with_state
from ringi.domain.project_state import ProjectState
from ringi.errors import LostRace
from ringi.ports import Clock, NewEvent, StoredPlan
from ringi.store import sql
from ringi.store.contents import Contents
from ringi.store.planrows import load_plan, ref_of


class Changed:
    """What a committed transaction leaves to be shown: plans, events, diffs."""

    def __init__(self) -> None:
        self.plans: dict[str, StoredPlan] = {}
        self.events: list[LoggedEvent] = []
        self.diffs: dict[str, Mapping[str, bytes]] = {}


class LedgerTransaction:
    def __init__(self, database: sqlite3.Connection, contents: Contents, clock: Clock) -> None:
        self._database = database
        self._contents = contents
        self._clock = clock
        self.changed = Changed()

    def plan(self, plan_id: str) -> StoredPlan:
        return load_plan(self._database, plan_id)

    def add_plan(self, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        document = _write_specs(self._database, document, None)
        number = self._database.execute(sql.COUNT_PLANS).fetchone()[0] + 1
        stored, now = StoredPlan(document, revision=1, number=number), self._clock.now()
        text = _without_specs(document)
        self._database.execute(sql.ADD_PLAN, (number, document.plan.id, *_listed(stored, now), text))
        return self._saved(stored, text, now, events)

    def save_plan(self, stored: StoredPlan, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        document = _write_specs(self._database, document, stored.document)
        text, now, read = _without_specs(document), self._clock.now(), stored.revision
        stored = StoredPlan(document, read + 1, stored.number)
        values = (*_listed(stored, now), text, document.plan.id, read)
        if self._database.execute(sql.SAVE_PLAN, values).rowcount != 1:
            raise LostRace(plan=f"p{stored.number}")
        return self._saved(stored, text, now, events)

    def _saved(self, stored: StoredPlan, text: str, now: str, events: tuple[NewEvent, ...]) -> StoredPlan:
        _note_change(self._database, stored.document)
        for event in events:
            self._add_event(stored.document, text, now, event)
        self.changed.plans[stored.document.plan.id] = stored
        return stored

    def set_state(self, state: ProjectState) -> list[str]:
        self._database.execute(sql.SET_STATE, (state.snapshot_id, _text(state)))
        rows = self._database.execute(sql.OTHER_CHANGES, (state.snapshot_id,))
        return [str(row[0]) for row in rows]

    def _add_event(self, document: PlanDocument, text: str, now: str, new: NewEvent) -> None:
        row = self._database.execute(sql.LAST_EVENT).fetchone()
        seq, previous = row or (0, FIRST_PREVIOUS)
        state = document.state
        paths = {spec.base.path for spec in state.action_specs if spec.base.path}
        event = Event(
            seq=seq + 1,
            at=now,
            event=new.kind,
            plan_id=document.plan.id,
            actor=new.actor,
            reason=new.reason,
            counts=Counts(files=len(paths), specs=len(state.action_specs)),
            risk_score=state.previews.risk_score if state.previews else 0.0,
            document=codec.digest(text.encode()),
            evidence=evidence_of(new.evidence) if new.evidence else "",
            previous=previous,
        )
        data = codec.canonical(event)
        logged = LoggedEvent(event, codec.digest(data))
        self._database.execute(sql.ADD_EVENT, (event.seq, event.plan_id, data.decode(), logged.hash))
        # The end of the chain stands elsewhere too, so that a log cut short is noticed.
        self._database.execute(sql.SET_META, ("head", f"{event.seq} {logged.hash}"))
        self.changed.events.append(logged)

    def last_hash(self) -> str:
        row = self._database.execute(sql.LAST_EVENT).fetchone()
        return str(row[1]) if row else FIRST_PREVIOUS

    def set_current(self, plan_id: str | None) -> None:
        if plan_id is None:
            self._database.execute(sql.DROP_META, ("current",))
        else:
            self._database.execute(sql.SET_META, ("current", plan_id))

    def add_request(self, request: ApprovalRequest) -> None:
        self._database.execute(sql.ADD_REQUEST, (request.id, request.plan_id, _text(request)))

    def add_approval(self, approval: Approval) -> None:
        self._database.execute(sql.ADD_APPROVAL, (approval.id, approval.plan_id, _text(approval)))

    def spend(self, approval_id: str, execution_id: str) -> None:
        self._database.execute(sql.SPEND, (execution_id, approval_id))

    def put_bytes(self, data: bytes, kept_until: str) -> None:
        self._contents.put(self._database, data, kept_until)

    def show_diffs(self, plan_id: str, diffs: Mapping[str, bytes]) -> None:
        self.changed.diffs[plan_id] = diffs

    def add_intent(self, intent: ExecutionIntent) -> None:
        self._database.execute(sql.ADD_INTENT, (intent.id, intent.plan_id, _text(intent)))

    def add_result(self, result: ExecutionResult) -> None:
        self._database.execute(sql.ADD_RESULT, (_text(result), result.execution_id))


def _write_specs(
    database: sqlite3.Connection, document: PlanDocument, earlier: PlanDocument | None
) -> PlanDocument:
    """The specs stand in a row of their own, so that a change of status does not write them again."""
    specs, version = document.state.action_specs, document.plan.version
    if earlier and specs is earlier.state.action_specs and version == earlier.plan.version:
        return document
    data = codec.canonical(specs)
    database.execute(sql.SAVE_SPECS, (document.plan.id, version, data.decode()))
    return msgspec.structs.replace(document, specs_sha256=codec.digest(data))


def _note_change(database: sqlite3.Connection, document: PlanDocument) -> None:
    """Keeps the list of change plans that a newer project state would supersede."""
    facts = document.change
    if not facts:
        return
    if facts.superseded_at or document.state.status not in OPEN:
        database.execute(sql.CLOSE_CHANGE, (document.plan.id,))
    else:
        database.execute(sql.OPEN_CHANGE, (document.plan.id, facts.snapshot_id))


def _listed(stored: StoredPlan, now: str) -> tuple[str, int, str]:
    document = stored.document
    ref = msgspec.json.encode(ref_of(document, stored.number, now)).decode()
    return str(document.state.status), document.plan.version, ref


def evidence_of(document: Document) -> str:
    if isinstance(document, Approval):
        document = msgspec.structs.replace(document, spent_by=None)
    return codec.digest(codec.canonical(document))


def _without_specs(document: PlanDocument) -> str:
    return _text(with_state(document, action_specs=()))


def _text(document: Document) -> str:
    return codec.canonical(document).decode()
