"""Planning sessions and runs as the planning tool would save them."""

from typing import Any, Final

from msgspec.structs import replace

from ringi.app.store import Store
from ringi.approvals.document import Approval, ProofKind, ProofRecord, SessionSubject, Strength
from ringi.engine.run_state import RunPhase
from ringi.kernel import codec
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import SubjectKind
from ringi.models.prompt import QuestionType
from ringi.runs.document import Run
from ringi.sessions.document import (
    LogEntry,
    PlanningSession,
    Question,
    SessionFacts,
    SessionStatus,
    StoredSession,
)
from ringi.tree.action_spec import ALL_SPECS
from tests.unit.runs.run_samples import plan_of, step_of

STARTED: Final = NewEvent(EventKind.SESSION_STARTED, Actor.USER)
ANSWERED: Final = NewEvent(EventKind.SESSION_ANSWERED, Actor.USER)
CREATED: Final = NewEvent(EventKind.RUN_CREATED, Actor.SYSTEM)
PLAN: Final = plan_of(step_of(1, []))
_AT: Final = "2026-01-02T03:04:05.000000Z"


def id_of(number: int) -> str:
    return f"planning-{number:08x}-0000-4000-8000-000000000000"


def session(number: int = 1, **changes: Any) -> PlanningSession:
    made = PlanningSession(
        session_id=id_of(number),
        instruction=f"# Instruction {number}\nwith a second line",
        status=SessionStatus.DISCOVERY,
        questions=(),
        decisions=(),
        design_summary=None,
        conversation_history=(),
        planner_session_id=None,
        created_at=_AT,
        updated_at=_AT,
    )
    return replace(made, **changes)


def question(number: int, **more: Any) -> Question:
    return Question(id=f"q-{number}", type=QuestionType.SCOPE, question=f"What about {number}?", **more)


def log(phase: str, text: str) -> LogEntry:
    return LogEntry(SessionStatus(phase), text)


def run(number: int, session_id: str, **changes: Any) -> Run:
    made = Run(
        run_id=f"20260102-030405-{number:06x}",
        planning_session_id=session_id,
        phase=RunPhase.PLANNING,
        instruction="Do it",
        created_at=_AT,
        updated_at=_AT,
    )
    return replace(made, **changes)


def planned_run(number: int, session_id: str) -> Run:
    """As `approved` makes it."""
    return run(number, session_id, plan_sha256=codec.digest(codec.canonical(PLAN)))


def added(ledger: Store, number: int = 1, *logs: LogEntry, **changes: Any) -> StoredSession:
    with ledger.transaction() as transaction:
        return transaction.sessions.add(session(number, **changes), SessionFacts(), STARTED, logs)


def saved(ledger: Store, stored: StoredSession, *logs: LogEntry, **changes: Any) -> StoredSession:
    with ledger.transaction() as transaction:
        return transaction.sessions.save(
            stored, replace(stored.session, **changes), stored.facts, ANSWERED, logs
        )


def approved(ledger: Store, stored: StoredSession, number: int = 1) -> StoredSession:
    """With its run, in one transaction."""
    session_id = stored.session.session_id
    made = planned_run(number, session_id)
    with ledger.transaction() as transaction:
        transaction.runs.add(made, CREATED._replace(reason=session_id), PLAN)
        subject = SessionSubject(
            workspace=ledger.workspace_id(),
            session_id=session_id,
            reject_count=0,
            instruction="Do it",
            planning_json=PLAN,
        )
        text = codec.canonical(subject)
        approval = Approval(
            id=f"approval-{number}",
            subject_id=session_id,
            subject_kind=SubjectKind.SESSION,
            request_id=None,
            approver="hanako",
            timestamp=_AT,
            expires_at=_AT,
            selection=ALL_SPECS,
            digest=codec.digest(text),
            subject=text.decode(),
            proof=ProofRecord(ProofKind.TYPED, Strength.WEAK, "hanako", "/dev/pts/7", "y"),
            after_event=transaction.last_hash(),
        )
        transaction.approvals.add(approval)
        transaction.approvals.spend(approval.id, made.run_id)
        new = replace(stored.session, status=SessionStatus.APPROVED, planner_session_id=made.run_id)
        event = NewEvent(EventKind.SESSION_APPROVED, Actor.USER, "", approval)
        return transaction.sessions.save(stored, new, stored.facts, event)
