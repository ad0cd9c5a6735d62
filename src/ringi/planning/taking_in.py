"""A session from a file: believed as far as anybody could have written it, and put right where it must be."""

import re
from collections.abc import Iterable
from typing import Final

from ringi.domain import codec
from ringi.domain.session import SESSION_PREFIX, PlanningSession, SessionFacts, SessionStatus
from ringi.errors import BadDocument, NotFound
from ringi.planning.language import language_of
from ringi.planning.parts import PlanningParts
from ringi.planning.position import put_right
from ringi.planning.state import State
from ringi.text import Text

_ID: Final = re.compile(SESSION_PREFIX + r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def read_session(parts: PlanningParts, data: bytes, what: str) -> State:
    session = codec.foreign(data, PlanningSession, what)
    if why := _unfit(session):
        raise BadDocument(what=what, why=why)
    state = State(session, facts_of(parts, session))
    if _known(parts, session.session_id):
        state = state.with_(session_id=f"{SESSION_PREFIX}{parts.ids()}")
    # The logs are those of the session that the file was written of.
    state = state.with_(discovery_log_path=None, design_log_path=None, review_log_path=None)
    return put_right(unapproved(state))


def unapproved(state: State) -> State:
    """Nothing that a person approved is believed from a file that anybody can write."""
    approved = state.session.status is SessionStatus.APPROVED
    state = state.with_(planner_session_id=None)
    return state.with_(status=SessionStatus.REVIEW) if approved else state


def facts_of(parts: PlanningParts, session: PlanningSession) -> SessionFacts:
    return SessionFacts(
        language=language_of(session.instruction), designed=bool(session.decisions), project=parts.project()
    )


def _unfit(session: PlanningSession) -> Text | None:
    if not _ID.fullmatch(session.session_id):
        return Text("{id} is no id of a planning session", id=session.session_id[:80])
    if not session.instruction.strip():
        return Text("it has no instruction")
    ids = [[question.id for question in session.questions], [point.id for point in session.decisions]]
    ids += [[option.id for option in point.options] for point in session.decisions]
    if twice := next((name for names in ids if (name := _twice(names))), None):
        return Text("{id} stands in it twice", id=twice)
    return None


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _known(parts: PlanningParts, session_id: str) -> bool:
    try:
        parts.store.session(session_id)
    except NotFound:
        return False
    return True
