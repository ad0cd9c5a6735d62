"""A plan with its requests, approvals, events and executions, read in one query."""

from typing import Final

from ringi.errors import NotFound
from ringi.ports import PlanRecord, StoredPlan
from ringi.store.approvals import as_approval, as_request
from ringi.store.connection import Reader, Row
from ringi.store.events import as_event
from ringi.store.executions import as_execution
from ringi.store.plans import as_document
from ringi.text import Text

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


class PlanRecords(Reader):
    def record(self, plan_id: str) -> PlanRecord:
        found: dict[str, list[Row]] = {}
        for kind, *row in self._select(_RECORD, plan_id):
            found.setdefault(str(kind), []).append(tuple(row))
        if "plan" not in found:
            raise NotFound(what=Text("plan"), name=plan_id)
        number, document, specs, revision = found["plan"][0]
        executions = tuple(as_execution(row[1], row[2]) for row in found.get("execution", ()))
        return PlanRecord(
            plan=StoredPlan(as_document(document, specs), int(str(revision)), int(str(number))),
            requests=tuple(as_request(row[1]) for row in found.get("request", ())),
            approvals=tuple(as_approval(row[1], row[2], executions) for row in found.get("approval", ())),
            events=tuple(as_event(row[1]) for row in found.get("event", ())),
            executions=executions,
            granting="grant" in found,
            interrupted="interrupted" in found,
        )
