"""Where a session stands, and putting it right where that contradicts what was answered (IP-14, IP-16)."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from ringi.domain.session import DecisionPoint, PlanningSession, SessionStatus
from ringi.planning.state import State

_AFTER_QUESTIONS: Final = frozenset([SessionStatus.DESIGN, SessionStatus.REVIEW, SessionStatus.APPROVED])
_PHASES: Final = frozenset([SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.REVIEW])
_AFTER_DECISIONS: Final = frozenset([SessionStatus.REVIEW, SessionStatus.APPROVED])


def consistent(session: PlanningSession) -> bool:
    """Whether everything before the position was dealt with, and the status is the one that follows."""
    asked, decided = session.current_question_index, session.current_decision_index
    if asked > len(session.questions) or decided > len(session.decisions):
        return False
    if not all(question.done for question in session.questions[:asked]):
        return False
    if not all(decision.selected for decision in session.decisions[:decided]):
        return False
    if any(decision.selected_option_id and not decision.selected for decision in session.decisions):
        return False
    if session.status in _AFTER_QUESTIONS and asked != len(session.questions):
        return False
    return session.status not in _AFTER_DECISIONS or decided == len(session.decisions)


def put_right(state: State) -> State:
    """From discovery on, with every answer that was given; a review without a summary is design again.

    What has ended stays as it is, and what failed until it is resumed.
    """
    session = state.session
    if session.status not in _PHASES:
        return state
    if not consistent(session):
        decisions = tuple(map(_without_unknown, session.decisions))
        return state.with_(
            current_question_index=_first(question.done for question in session.questions),
            current_decision_index=_first(bool(decision.selected) for decision in decisions),
            decisions=decisions,
            design_summary=None,
        ).moved(SessionStatus.DISCOVERY)
    if session.status is SessionStatus.REVIEW and not session.design_summary:
        return state.with_(design_summary=None).moved(SessionStatus.DESIGN)
    return state


def _first(done: Iterable[bool]) -> int:
    """How many were dealt with before the first that was not."""
    count = 0
    for one in done:
        if not one:
            break
        count += 1
    return count


def _without_unknown(decision: DecisionPoint) -> DecisionPoint:
    if decision.selected:
        return decision
    return replace(decision, selected_option_id=None, rationale=None, decided_at=None)
