"""What a session is waiting for, as commands and tools report it."""

from ringi.domain.base import CamelDocument
from ringi.domain.prompt import Purpose
from ringi.domain.session import DecisionPoint, Question, SessionStatus
from ringi.domain.usage import TokenUsage


class QuestionPending(CamelDocument, frozen=True, tag="question", tag_field="kind"):
    question: Question
    number: int
    """From 1."""
    of: int


class DecisionPending(CamelDocument, frozen=True, tag="decision", tag_field="kind"):
    decision: DecisionPoint
    number: int
    of: int


class ApprovalPending(CamelDocument, frozen=True, tag="approval", tag_field="kind"):
    """Only a person approves."""

    summary: str
    rejects_left: int
    """How many rejections are left; the last one cancels the session."""


class WorkPending(CamelDocument, frozen=True, tag="work", tag_field="kind"):
    """The model is next."""

    purpose: Purpose


class FailedPending(CamelDocument, frozen=True, tag="failed", tag_field="kind"):
    """Continues where it failed, once resumed."""

    error: str


class ApprovedSession(CamelDocument, frozen=True, tag="approved", tag_field="kind"):
    run_id: str


class CancelledSession(CamelDocument, frozen=True, tag="cancelled", tag_field="kind"):
    pass


Pending = (
    QuestionPending
    | DecisionPending
    | ApprovalPending
    | WorkPending
    | FailedPending
    | ApprovedSession
    | CancelledSession
)


class SessionView(CamelDocument, frozen=True, kw_only=True):
    session_id: str
    instruction: str
    status: SessionStatus
    pending: Pending
    usage: TokenUsage = TokenUsage()
    model: str = ""
