"""Rows of plans to documents and back."""

import sqlite3
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import UNSET

from ringi.domain.plan import ActionSpecExt, PlanDocument, PlanRef, risk_of, with_state
from ringi.errors import NotFound
from ringi.store import sql
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.ports import StoredPlan

T = TypeVar("T")
Row = tuple[object, ...]


def as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def load_plan(database: sqlite3.Connection, plan_id: str) -> "StoredPlan":
    from ringi.ports import StoredPlan  # noqa: PLC0415  # dozens of protocols, which a list does without

    return StoredPlan(*load_document(database, plan_id))


def load_document(database: sqlite3.Connection, plan_id: str) -> tuple[PlanDocument, int, int]:
    """With its revision and its number."""
    row = database.execute(sql.PLAN, (plan_id,)).fetchone()
    if row is None:
        raise NotFound(what=Text("plan"), name=plan_id)
    document = _decoded(as_bytes(row[0]), PlanDocument, "plan")
    if row[1] is not None:
        specs = _decoded(as_bytes(row[1]), tuple[ActionSpecExt, ...], "specs")
        document = with_state(document, action_specs=specs)
    return document, row[2], row[3]


def _decoded(data: bytes, kind: type[T], what: str) -> T:
    """As `codec.trusted`, which takes longer to load than a list takes, and is needed to refuse only."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        from ringi.domain import codec  # noqa: PLC0415  # see above

        return codec.trusted(data, kind, what)


def as_ref(row: Row) -> PlanRef:
    return _decoded(as_bytes(row[0]), PlanRef, "plan")


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
