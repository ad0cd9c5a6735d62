"""Where a planning session stands, as the tools tell it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from ringi.domain.base import Document
from ringi.domain.session import DecisionPoint, QuestionType, SessionRef, SessionStatus, short
from ringi.domain.session_view import (
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    FailedPending,
    QuestionPending,
    SessionView,
    WorkPending,
)

_LONGEST_TITLE: Final = 200
_LISTED: Final = 50


class WaitsFor(StrEnum):
    ANSWER = "answer"
    DECISION = "decision"
    APPROVAL = "approval"
    """Of the person, in a terminal of their own; no tool gives it."""
    MODEL = "model"
    """It works for this session now."""
    RESUME = "resume"
    """The model failed or was stopped, and somebody has to let it go on."""
    NOTHING = "nothing"
    """The session is over."""


class AskedQuestion(Document, frozen=True):
    id: str
    type: QuestionType
    question: str
    context: str
    """Why it matters; may be empty."""
    options: tuple[str, ...]
    """None where there is nothing to choose from; other answers are fine as well."""
    number: int
    """From 1."""
    of: int


class OfferedOption(Document, frozen=True):
    id: str
    name: str
    description: str
    pros: tuple[str, ...]
    cons: tuple[str, ...]
    recommended: bool


class AskedDecision(Document, frozen=True):
    id: str
    topic: str
    options: tuple[OfferedOption, ...]
    number: int
    of: int


class PlanningState(Document, frozen=True, kw_only=True):
    session_id: str
    title: str
    status: SessionStatus
    waits_for: WaitsFor
    question: AskedQuestion | None = None
    decision: AskedDecision | None = None
    summary: str | None = None
    """Markdown; what the person approves or rejects."""
    error: str | None = None
    """Why it failed."""
    run_id: str | None = None
    """Where it was approved."""
    person_types: str
    """What the person types, in a terminal of their own."""
    next_step: str
    model: str
    tokens: int
    cost_usd: float | None
    """None where nobody knows the price."""


class OpenSession(Document, frozen=True):
    session_id: str
    title: str
    status: SessionStatus
    questions_done: int
    questions: int
    decisions_done: int
    decisions: int
    created_at: str
    updated_at: str


class Sessions(Document, frozen=True):
    session: PlanningState | None
    """The one that was asked for."""
    open_sessions: tuple[OpenSession, ...]
    """Where none was named: those that can be gone on with, the newest first."""


def title_of(instruction: str) -> str:
    lines = instruction.strip().splitlines()
    return lines[0][:_LONGEST_TITLE] if lines else ""


def state(view: SessionView, *, working: bool, next_step: str) -> PlanningState:
    return PlanningState(
        session_id=view.session_id,
        title=title_of(view.instruction),
        status=view.status,
        waits_for=waits_for(view, working=working),
        person_types=f"ringi plan --resume {short(view.session_id)}",
        next_step=next_step,
        model=view.model,
        tokens=view.usage.input_tokens + view.usage.output_tokens,
        cost_usd=view.usage.cost_usd,
        **_pending(view),
    )


def waits_for(view: SessionView, *, working: bool) -> WaitsFor:
    match view.pending:
        case QuestionPending():
            return WaitsFor.ANSWER
        case DecisionPending():
            return WaitsFor.DECISION
        case ApprovalPending():
            return WaitsFor.APPROVAL
        case WorkPending():
            return WaitsFor.MODEL if working else WaitsFor.RESUME
        case FailedPending():
            return WaitsFor.RESUME
        case ApprovedSession() | CancelledSession():
            return WaitsFor.NOTHING


def _pending(view: SessionView) -> dict[str, Any]:
    match view.pending:
        case QuestionPending(question, number, of):
            asked = AskedQuestion(
                question.id,
                question.type,
                question.question,
                question.context or "",
                question.options or (),
                number,
                of,
            )
            return {"question": asked}
        case DecisionPending(decision, number, of):
            return {
                "decision": AskedDecision(decision.id, decision.topic, tuple(_options(decision)), number, of)
            }
        case ApprovalPending(summary):
            return {"summary": summary}
        case FailedPending(error):
            return {"error": error}
        case ApprovedSession(run_id):
            return {"run_id": run_id}
        case _:
            return {}


def _options(decision: DecisionPoint) -> list[OfferedOption]:
    return [
        OfferedOption(
            option.id,
            option.name,
            option.description,
            option.tradeoffs.pros,
            option.tradeoffs.cons,
            bool(option.recommendation),
        )
        for option in decision.options
    ]


def listed(refs: Sequence[SessionRef]) -> Sessions:
    lines = [
        OpenSession(
            ref.session_id,
            ref.title,
            ref.status,
            ref.questions_done,
            ref.questions,
            ref.decisions_done,
            ref.decisions,
            ref.created_at,
            ref.updated_at,
        )
        for ref in refs[:_LISTED]
    ]
    return Sessions(None, tuple(lines))
