"""A plan with everything that the ledger has about it, read in one query."""

from typing import Final, NamedTuple

from ringi.approvals.document import Approval, ApprovalRequest
from ringi.approvals.rows import as_approval, as_request
from ringi.errors import NotFound
from ringi.kernel.text import Text
from ringi.ledger.connection import Row
from ringi.ledger.event import Event
from ringi.ledger.events import as_event
from ringi.ledger.ledger import Ledger
from ringi.plans.document import StoredPlan
from ringi.plans.execution import StoredIntent
from ringi.plans.execution_rows import as_execution
from ringi.plans.rows import as_document

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
