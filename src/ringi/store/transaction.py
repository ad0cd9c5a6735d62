"""One API call's worth of changes to the ledger."""

import sqlite3
from collections.abc import Mapping

import msgspec

from ringi.domain import codec, subject
from ringi.domain.approval import Approval, ApprovalRequest
from ringi.domain.events import Actor, Counts, EventKind
from ringi.domain.execution import CommandEnd, CommandStart, ExecutionIntent, ExecutionResult
from ringi.domain.grant import Grant
from ringi.domain.plan import OPEN, PlanDocument, with_state
from ringi.domain.project_state import ProjectState
from ringi.domain.session import short
from ringi.errors import LostRace, SessionRace
from ringi.ports import NewEvent, StoredPlan
from ringi.store import sql
from ringi.store.chain import About, EventLog, text_of
from ringi.store.planrows import load_plan, ref_of
from ringi.store.rows import load_grants
from ringi.store.sessionwriting import SessionWriting


class _Decisions(EventLog):
    """What people said, and the standing approvals, which belong to no plan."""

    def add_request(self, request: ApprovalRequest) -> None:
        self._database.execute(sql.ADD_REQUEST, (request.id, request.subject_id, text_of(request)))

    def add_approval(self, approval: Approval) -> None:
        kind, subject_id = approval.about
        grant = approval.proof.grant or None
        values = (approval.id, subject_id, kind, grant, text_of(approval))
        try:
            self._database.execute(sql.ADD_APPROVAL, values)
        except sqlite3.IntegrityError:
            # A session is approved once.
            raise SessionRace(session=short(subject_id)) from None

    def spend(self, approval_id: str, used_by: str) -> None:
        self._database.execute(sql.SPEND, (used_by, approval_id))

    def add_grant(self, grant: Grant) -> None:
        text = text_of(grant)
        self._database.execute(sql.ADD_GRANT, (grant.id, text))
        event = NewEvent(EventKind.GRANTED, Actor.USER, grant.id, grant)
        self._add_event(About(subject.grant(grant.id), text), self._clock.now(), event)

    def revoke_grant(self, grant_id: str, reason: str) -> None:
        """Once; the log keeps when, and the row says the same."""
        now = self._clock.now()
        if self._database.execute(sql.REVOKE_GRANT, (now, grant_id)).rowcount == 1:
            found = next(
                stored.grant for stored in load_grants(self._database) if stored.grant.id == grant_id
            )
            event = NewEvent(EventKind.GRANT_REVOKED, Actor.USER, f"{grant_id} {reason}".rstrip())
            self._add_event(About(subject.grant(grant_id), text_of(found)), now, event)


class LedgerTransaction(_Decisions, SessionWriting):
    def plan(self, plan_id: str) -> StoredPlan:
        return load_plan(self._database, plan_id)

    def add_plan(self, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        _note_paths(self._database, document, None)
        document = _write_specs(self._database, document, None)
        number = self._database.execute(sql.COUNT_PLANS).fetchone()[0] + 1
        stored, now = StoredPlan(document, revision=1, number=number), self._clock.now()
        text = _without_specs(document)
        self._database.execute(sql.ADD_PLAN, (number, document.plan.id, *_listed(stored, now), text))
        self.changed.new.add(document.plan.id)
        return self._saved(stored, text, now, events)

    def save_plan(self, stored: StoredPlan, document: PlanDocument, *events: NewEvent) -> StoredPlan:
        _note_paths(self._database, document, stored.document)
        document = _write_specs(self._database, document, stored.document)
        text, now, read = _without_specs(document), self._clock.now(), stored.revision
        stored = StoredPlan(document, read + 1, stored.number)
        values = (*_listed(stored, now), text, document.plan.id, read)
        if self._database.execute(sql.SAVE_PLAN, values).rowcount != 1:
            raise LostRace(plan=f"p{stored.number}")
        return self._saved(stored, text, now, events)

    def _saved(self, stored: StoredPlan, text: str, now: str, events: tuple[NewEvent, ...]) -> StoredPlan:
        _note_change(self._database, stored.document)
        about = _about(stored.document, text)
        for event in events:
            self._add_event(about, now, event)
        self.changed.plans[stored.document.plan.id] = stored
        return stored

    def set_state(self, state: ProjectState) -> list[str]:
        self._database.execute(sql.SET_STATE, (state.snapshot_id, text_of(state)))
        rows = self._database.execute(sql.OTHER_CHANGES, (state.snapshot_id,))
        return [str(row[0]) for row in rows]

    def set_current(self, plan_id: str | None) -> None:
        self._set_meta("current", plan_id)

    def set_checking(self, plan_id: str | None) -> None:
        self._set_meta("checking", plan_id)

    def _set_meta(self, key: str, value: str | None) -> None:
        if value is None:
            self._database.execute(sql.DROP_META, (key,))
        else:
            self._database.execute(sql.SET_META, (key, value))

    def put_bytes(self, data: bytes, kept_until: str) -> None:
        self._contents.put(self._database, data, kept_until)

    def show_diffs(self, plan_id: str, diffs: Mapping[str, bytes]) -> None:
        self.changed.diffs[plan_id] = diffs

    def hold_back(self) -> None:
        self.changed.held_back = True

    def add_intent(self, intent: ExecutionIntent) -> None:
        self._database.execute(sql.ADD_INTENT, (intent.id, intent.plan_id, text_of(intent)))

    def add_result(self, result: ExecutionResult) -> None:
        self._database.execute(sql.ADD_RESULT, (text_of(result), result.execution_id))

    def start_command(self, start: CommandStart) -> None:
        self._database.execute(sql.START_COMMAND, (start.execution_id, start.spec_id, text_of(start)))

    def end_command(self, end: CommandEnd) -> None:
        self._database.execute(sql.END_COMMAND, (text_of(end), end.execution_id, end.spec_id))


def _about(document: PlanDocument, text: str) -> About:
    state = document.state
    paths = {spec.base.path for spec in state.action_specs if spec.base.path}
    counts = Counts(files=len(paths), specs=len(state.action_specs))
    risk_score = state.previews.risk_score if state.previews else 0.0
    return About(subject.plan(document.plan.id), text, counts, risk_score)


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


def _note_paths(database: sqlite3.Connection, document: PlanDocument, earlier: PlanDocument | None) -> None:
    """Keeps the list of what open plans change."""
    before, now = _open_paths(earlier), _open_paths(document)
    if before is now or before == now:
        return
    plan_id = document.plan.id
    if before:
        database.execute(sql.CLOSE_PATHS, (plan_id,))
    database.executemany(sql.OPEN_PATH, [(path, plan_id) for path in now])


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
