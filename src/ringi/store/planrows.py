"""Rows of plans to documents and back."""

import sqlite3
from typing import Any, Final

from ringi.domain import codec
from ringi.domain.plan import (
    ActionSpecExt,
    PlanDocument,
    PlanRef,
    PlanStatus,
    Risk,
    highest,
    with_state,
)
from ringi.errors import BadDocument, NotFound
from ringi.ports import StoredPlan
from ringi.store import sql
from ringi.text import Text

Row = tuple[object, ...]
_COLUMNS: Final = sql.REF_COLUMNS.split(", ")
_STATUS: Final = _COLUMNS.index("status")
_RISK: Final = _COLUMNS.index("risk")
_UNDONE: Final = _COLUMNS.index("undone")


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
    """The columns stand in the order of the document's fields."""
    values: list[Any] = list(row)
    try:
        values[_STATUS], values[_RISK] = PlanStatus(values[_STATUS]), Risk(values[_RISK])
    except ValueError as error:
        raise BadDocument(what=Text("plan"), why=str(error)) from None
    values[_UNDONE] = bool(values[_UNDONE])
    return PlanRef(*values)


def ref_fields(row: Row) -> dict[str, object]:
    fields = dict(zip(_COLUMNS, row, strict=True))
    fields["undone"] = bool(fields["undone"])
    return fields


def plan_values(document: PlanDocument, updated_at: str) -> tuple[object, ...]:
    """What stands beside the document so that lists need not read it; in the order of the statements."""
    plan, state = document.plan, document.state
    totals = state.previews
    newest = state.executions[-1] if state.executions else None
    return (
        str(state.status),
        plan.title,
        plan.proposer,
        plan.created_at,
        updated_at,
        plan.version,
        len(totals.files) if totals else 0,
        totals.added if totals else 0,
        totals.removed if totals else 0,
        str(highest(tuple(spec.risk for spec in state.action_specs))),
        int(newest is not None and newest.kind == "undo" and newest.overall_success),
    )
