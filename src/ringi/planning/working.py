"""What the model does for a session: questions, decision points, a summary."""

from typing import Any

from ringi.domain.events import Actor, EventKind
from ringi.domain.model_output import NewDecisions, NewQuestions, NewSummary
from ringi.domain.prompt import OnWorking, Purpose
from ringi.domain.session import SessionStatus, short
from ringi.domain.session_view import WorkPending
from ringi.domain.usage import TokenUsage
from ringi.errors import ModelFailed, SessionFailed
from ringi.planning import operations
from ringi.planning.logs import call_entry, failure_entry
from ringi.planning.parts import PlanningParts
from ringi.planning.position import put_right
from ringi.planning.prompts import KINDS, prompt_for
from ringi.planning.saving import save
from ringi.planning.state import State, pending, state_of, writable
from ringi.ports import LanguageModel, NewEvent, StoredSession
from ringi.text import Text


def work(parts: PlanningParts, stored: StoredSession, on_working: OnWorking) -> StoredSession:
    """Until it is a person's turn; each piece is saved as soon as it is there."""
    stored = _righted(parts, stored)
    while isinstance(pending(state_of(stored)), WorkPending):
        # First: a model that cannot be had leaves the session as it is.
        model = parts.model()
        with parts.working_on(stored.session.session_id):
            # Somebody else may have had it done while this process waited.
            stored = _righted(parts, parts.store.session(stored.session.session_id))
            due = pending(state_of(stored))
            if isinstance(due, WorkPending):
                stored = _ask(parts, stored, due.purpose, model, on_working)
    return stored


def resume(parts: PlanningParts, stored: StoredSession) -> StoredSession:
    """In the phase that it failed in, and put right."""
    return _saved(parts, stored, operations.resumed(state_of(stored)))


def _righted(parts: PlanningParts, stored: StoredSession) -> StoredSession:
    return _saved(parts, stored, put_right(state_of(stored)))


def _saved(parts: PlanningParts, stored: StoredSession, state: State) -> StoredSession:
    """Saved, where it is another than before."""
    if state == state_of(stored):
        return stored
    return save(parts, stored, state, NewEvent(EventKind.SESSION_RESUMED, Actor.SYSTEM))


def _ask(
    parts: PlanningParts,
    stored: StoredSession,
    purpose: Purpose,
    model: LanguageModel,
    on_working: OnWorking,
) -> StoredSession:
    state = state_of(stored)
    if purpose is Purpose.DESIGN and state.facts.designed:
        # They were drawn up already; only the position was lost.
        return _saved(parts, stored, state.moved(SessionStatus.DESIGN))
    try:
        answer = model.ask(prompt_for(state, purpose), KINDS[purpose], parts.budget, on_working)
    except ModelFailed as error:
        _fail(parts, stored, purpose, model.name, error)
        raise SessionFailed(session=short(stored.session.session_id), why=_told(parts, error)) from error
    state = _taken(state, answer.value, parts.clock.now())
    state = state.knowing(usage=state.facts.usage.plus(answer.usage), model=answer.model)
    entry = call_entry(parts, purpose, answer.model, answer.usage, answer.exchanges)
    event = NewEvent(EventKind.SESSION_PREPARED, Actor.AI, str(purpose))
    return save(parts, stored, state, event, [entry])


def _taken(state: State, value: Any, now: str) -> State:
    match value:
        case NewQuestions():
            return operations.questioned(state, value, now)
        case NewDecisions():
            return operations.designed(state, value, now)
        case NewSummary():
            return operations.summarised(state, value.summary, now)
    raise TypeError(type(value).__name__)


def _fail(
    parts: PlanningParts, stored: StoredSession, purpose: Purpose, model: str, error: ModelFailed
) -> None:
    usage = error.usage or TokenUsage()
    state = operations.failed(state_of(stored), _words(parts, error))
    state = state.knowing(usage=state.facts.usage.plus(usage), model=model)
    entry = failure_entry(parts, purpose, model, usage, error.exchanges, error)
    save(parts, stored, state, NewEvent(EventKind.SESSION_FAILED, Actor.SYSTEM, error.code), [entry])


def _told(parts: PlanningParts, error: ModelFailed) -> Text:
    """To be translated, with its details masked."""
    details = {
        name: value if isinstance(value, Text) else writable(parts.mask(str(value)))
        for name, value in error.details.items()
    }
    return Text(error.message, **details)


def _words(parts: PlanningParts, error: ModelFailed) -> str:
    return writable(parts.mask(str(error)))
