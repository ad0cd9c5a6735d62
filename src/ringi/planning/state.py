"""A session with what is known beside it, and what it says about itself."""

from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ringi.domain.prompt import Purpose
from ringi.domain.session import (
    MOST_REJECTS,
    SESSION_MACHINE,
    ConversationMessage,
    PlanningSession,
    Role,
    SessionFacts,
    SessionStatus,
)
from ringi.domain.session_view import (
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    FailedPending,
    Pending,
    QuestionPending,
    SessionView,
    WorkPending,
)
from ringi.ports import StoredSession
from ringi.text import Text

ENDED: Final = {SessionStatus.APPROVED: Text("approved"), SessionStatus.CANCELLED: Text("cancelled")}


class State(NamedTuple):
    session: PlanningSession
    facts: SessionFacts

    def with_(self, **changes: Any) -> "State":
        return self._replace(session=replace(self.session, **changes))

    def knowing(self, **changes: Any) -> "State":
        return self._replace(facts=replace(self.facts, **changes))

    def moved(self, target: SessionStatus) -> "State":
        """In another status; where it is there already, nothing changes."""
        current = self.session.status
        return self if current is target else self.with_(status=SESSION_MACHINE.advance(current, target))

    def said(self, role: Role, content: str, now: str) -> "State":
        """One more message of the conversation."""
        message = ConversationMessage(role=role, phase=self.session.status, content=content, created_at=now)
        return self.with_(conversation_history=(*self.session.conversation_history, message))


def state_of(stored: StoredSession) -> State:
    return State(stored.session, stored.facts)


def writable(words: str) -> str:
    """In characters that every file can hold: what comes from outside may have half of one."""
    return words.encode("utf-8", "backslashreplace").decode()


def pending(state: State) -> Pending:
    session = state.session
    match session.status:
        case SessionStatus.DISCOVERY:
            return _in_discovery(session)
        case SessionStatus.DESIGN:
            return _in_design(state)
        case SessionStatus.REVIEW:
            if not session.design_summary:
                return WorkPending(Purpose.REVIEW)
            return ApprovalPending(session.design_summary, max(0, MOST_REJECTS - session.reject_count))
        case SessionStatus.FAILED:
            return FailedPending(session.error_message or "")
        case SessionStatus.APPROVED:
            return ApprovedSession(session.planner_session_id or "")
        case SessionStatus.CANCELLED:
            return CancelledSession()


def _in_discovery(session: PlanningSession) -> Pending:
    if not session.questions:
        return WorkPending(Purpose.DISCOVERY)
    at, count = session.current_question_index, len(session.questions)
    if at >= count:
        return WorkPending(Purpose.DESIGN)
    return QuestionPending(session.questions[at], at + 1, count)


def _in_design(state: State) -> Pending:
    session = state.session
    if not state.facts.designed:
        return WorkPending(Purpose.DESIGN)
    at, count = session.current_decision_index, len(session.decisions)
    if at >= count:
        return WorkPending(Purpose.REVIEW)
    return DecisionPending(session.decisions[at], at + 1, count)


def view(state: State) -> SessionView:
    session, facts = state
    return SessionView(
        session_id=session.session_id,
        instruction=session.instruction,
        status=session.status,
        pending=pending(state),
        usage=facts.usage,
        model=facts.model,
    )
