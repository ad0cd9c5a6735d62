"""Rows of plans to documents and back."""

import sqlite3

from msgspec import UNSET

from ringi.domain import codec
from ringi.domain.plan import ActionSpecExt, PlanDocument, PlanRef, risk_of, with_state
from ringi.errors import NotFound
from ringi.ports import StoredPlan
from ringi.store import sql
from ringi.text import Text

Row = tuple[object, ...]


def as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def load_plan(database: sqlite3.Connection, plan_id: str) -> StoredPlan:
    row = database.execute(sql.PLAN, (plan_id,)).fetchone()
    if row is None:
        raise NotFound(what=Text("plan"), name=plan_id)
    document = codec.trusted(as_bytes(row[0]), PlanDocument, "plan")
    if row[1] is not None:
        specs = codec.trusted(as_bytes(row[1]), tuple[ActionSpecExt, ...], "specs")
        document = with_state(document, action_specs=specs)
    return StoredPlan(document, revision=row[2], number=row[3])


def as_ref(row: Row) -> PlanRef:
    return codec.trusted(as_bytes(row[0]), PlanRef, "plan")


def ref_of(document: PlanDocument, number: int, updated_at: str) -> PlanRef:
    """What stands beside the document, so that lists need not read it."""
    plan, state = document.plan, document.state
    totals = state.previews
    newest = state.executions[-1] if state.executions else None
    return PlanRef(
        id=plan.id,
        number=number,
        title=plan.title,
        status=state.status,
        version=plan.version,
        proposer=plan.proposer,
        created_at=plan.created_at,
        updated_at=updated_at,
        files=len(totals.files) if totals else 0,
        added=totals.added if totals else 0,
        removed=totals.removed if totals else 0,
        risk=risk_of(document),
        undone=newest is not None and newest.kind == "undo" and newest.overall_success,
        superseded=True if document.change and document.change.superseded_at else UNSET,
    )
