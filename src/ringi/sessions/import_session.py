"""Imports a session from a file, which anyone can write: drops approvals, repairs contradictions."""

from collections.abc import Iterable, Iterator

from ringi.engine.instruction import language_of
from ringi.errors import BadDocument
from ringi.kernel import codec
from ringi.kernel.problems import Fault
from ringi.kernel.text import Text
from ringi.ledger.subject import is_session_id, short
from ringi.sessions.document import PlanningSession, Role, SessionFacts, SessionStatus
from ringi.sessions.operations import (
    APPROVED_WORDS,
    LONGEST_INSTRUCTION,
    SessionState,
    repair_position,
    why_unfit,
)


def read_session(data: bytes, what: str) -> PlanningSession:
    """Raises BadDocument if the session cannot be resumed."""
    session = codec.decode_foreign(data, PlanningSession, what)
    for fault in session_faults(session):
        raise BadDocument(what=what, why=fault.message)
    return session


def import_state(session: PlanningSession) -> SessionState:
    """Approvals in the file do not count, because anyone can write it."""
    approved = session.status is SessionStatus.APPROVED
    state = SessionState(session, _facts_of(session)).with_session(
        status=SessionStatus.REVIEW if approved else session.status,
        planner_session_id=None,
        # The logs belong to the session that the file was exported from.
        discovery_log_path=None,
        design_log_path=None,
        review_log_path=None,
    )
    return repair_position(state)


def describe_changes(file: PlanningSession, session: PlanningSession) -> Iterator[Text]:
    """How the session differs from the file."""
    if file.session_id != session.session_id:
        name = short(session.session_id)
        yield Text("a session with its id was here already; it is {session} now", session=name)
    if file.status is SessionStatus.APPROVED:
        yield Text("an approval in a file does not count; a person approves it again")
    if _place(file) != _place(session):
        yield Text("its position contradicts its answers; it continues at the first one that is missing")


def _place(session: PlanningSession) -> tuple[object, ...]:
    status = SessionStatus.REVIEW if session.status is SessionStatus.APPROVED else session.status
    return (status, session.current_question_index, session.current_decision_index, session.decisions)


def _facts_of(session: PlanningSession) -> SessionFacts:
    """What can be derived from the session; the rest is lost."""
    rejects = [
        message.content
        for message in session.conversation_history
        if (message.role, message.phase) == (Role.USER, SessionStatus.REVIEW)
        and message.content != APPROVED_WORDS
    ]
    return SessionFacts(
        language=language_of(session.instruction),
        designed=_has_design(session),
        feedback=tuple(rejects[-session.reject_count :]) if session.reject_count else (),
    )


def _has_design(session: PlanningSession) -> bool:
    """Whether its decision points are current: each has a choice, none is from before a rejection."""
    decisions = session.decisions
    chosen = all(decision.selected for decision in decisions)
    rejected = session.reject_count > 0 and session.current_decision_index == 0 and chosen
    return bool(decisions) and all(decision.options for decision in decisions) and not rejected


def session_faults(session: PlanningSession) -> Iterator[Fault]:
    """Why it cannot be resumed."""
    if not is_session_id(session.session_id):
        yield Fault("$.sessionId", Text("{id} is no id of a planning session", id=session.session_id[:80]))
    if not session.instruction.strip():
        yield Fault("$.instruction", Text("it has no instruction"))
    elif why := why_unfit(session.instruction, LONGEST_INSTRUCTION):
        yield Fault("$.instruction", why)
    lists = {
        "$.questions": [question.id for question in session.questions],
        "$.decisions": [point.id for point in session.decisions],
    }
    for at, point in enumerate(session.decisions):
        lists[f"$.decisions[{at}].options"] = [option.id for option in point.options]
    for path, names in lists.items():
        if twice := _twice(names):
            yield Fault(path, Text("{id} stands in it twice", id=twice))


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
