"""What the model does for a session: questions, decision points, a summary."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from msgspec.structs import replace

from ringi.domain.context import ProjectFacts
from ringi.domain.events import Actor, EventKind
from ringi.domain.prompt import (
    MOST_DECISIONS,
    MOST_QUESTIONS,
    Material,
    ModelProgress,
    NewDecisions,
    NewQuestions,
    NewSummary,
    OnProgress,
    Prompt,
)
from ringi.domain.session import Brief, Language, Purpose, SessionStatus, TokenUsage, WorkPending, short
from ringi.errors import Busy, ModelFailed, SessionFailed, SessionRace, StorageFailed
from ringi.planning import operations
from ringi.planning.operations import State, pending, put_right, state_of, writable
from ringi.planning.save import PHASES, call_entry, failure_entry, log_path, save
from ringi.planning.services import SessionServices
from ringi.ports import LanguageModel, NewEvent, StoredSession
from ringi.text import Text, visible

_SAID_LENGTH: Final = 200

# Kana, and the characters that Japanese shares with Chinese: the only other language here is English.
_JAPANESE: Final = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f]")


_WORD: Final = re.compile("[A-Za-z]+")


def language_of(instruction: str) -> Language:
    """The main language: an English text may quote Japanese, and a Japanese one may contain English names."""
    japanese = len(_JAPANESE.findall(instruction))
    return "ja" if japanese and japanese >= len(_WORD.findall(instruction)) else "en"


KINDS: Final[Mapping[Purpose, type[Any]]] = {
    Purpose.DISCOVERY: NewQuestions,
    Purpose.DESIGN: NewDecisions,
    Purpose.REVIEW: NewSummary,
}
_RULES: Final = {
    Purpose.DISCOVERY: (
        f"You are planning a change to a software project. Ask at most {MOST_QUESTIONS} questions whose "
        "answers would change what gets built. Ask fewer if the instruction is clear, and nothing that the "
        "instruction or the project data already answers. "
        "type: clarification = what the person means, scope = what is included, technical = how it fits the "
        "existing code, priority = what matters most, constraint = what must not happen. "
        "context: one sentence on why the question matters. "
        "options: 2 to 5 short answers, or none if the question is open-ended."
    ),
    Purpose.DESIGN: (
        f"You are planning a change to a software project. List at most {MOST_DECISIONS} design decisions "
        "that a person should make before work starts. Leave out what is already decided. Give each "
        "decision 2 to 4 realistic options with short, honest pros and cons, and recommend exactly one."
    ),
    Purpose.REVIEW: (
        "You are planning a change to a software project. Summarise the design for the person who approves "
        "it and the engineer who builds it, in Markdown, in at most 300 words. Cover the goal, what will be "
        "built, the decisions and their reasons, priorities and constraints, the steps, how to test it, and "
        "open points. Add nothing that the data does not say."
    ),
}
_REJECTED: Final = (
    " The person rejected the previous design. List the decisions again, changed to address the feedback."
)
_LANGUAGES: Final = {"en": " Write in English.", "ja": " Write in Japanese."}


def prompt_for(state: State, purpose: Purpose) -> Prompt:
    brief = brief_of(state)
    again = _REJECTED if purpose is Purpose.DESIGN and brief.feedback else ""
    rules = _RULES[purpose] + again + _LANGUAGES[brief.language]
    return Prompt(purpose, rules, _material(brief, purpose), brief, state.session.session_id)


def brief_of(state: State) -> Brief:
    operations, facts = state
    return Brief(
        instruction=operations.instruction,
        language=facts.language,
        project=facts.project,
        questions=operations.questions,
        decisions=operations.decisions,
        feedback=facts.feedback,
    )


def _material(brief: Brief, purpose: Purpose) -> tuple[Material, ...]:
    texts = {"instruction": brief.instruction, "project": _project(brief.project), "answers": _answers(brief)}
    # Decisions from before a rejection show what was not wanted.
    if purpose is Purpose.REVIEW or brief.feedback:
        texts["decisions"] = _decisions(brief)
    texts["feedback"] = "\n".join(brief.feedback)
    return tuple(Material(name, text) for name, text in texts.items() if text)


def _project(facts: ProjectFacts) -> str:
    named = {
        "languages": facts.languages,
        "manifests": facts.manifests,
        "tests": facts.tests,
        "top": facts.entries,
    }
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in named.items() if values)


def _answers(brief: Brief) -> str:
    return "\n".join(
        f"{question.question} → {question.answer}"
        for question in brief.questions
        if question.answer is not None
    )


def _decisions(brief: Brief) -> str:
    return "\n".join(
        f"{decision.topic} → {decision.selected.name}"
        + (f" ({decision.rationale})" if decision.rationale else "")
        for decision in brief.decisions
        if decision.selected
    )


def work(services: SessionServices, stored: StoredSession, on_progress: OnProgress) -> StoredSession:
    """Works until it is a person's turn; saves each result at once."""
    stored = _righted(services, stored)
    while isinstance(pending(state_of(stored)), WorkPending):
        # First, so that without a model the session stays as it is.
        model = services.model()
        with services.working_on(stored.session.session_id):
            # Another process may have done the work while this one waited.
            stored = _righted(services, services.store.session(stored.session.session_id))
            due = pending(state_of(stored))
            if isinstance(due, WorkPending):
                stored = _ask(services, stored, due.purpose, model, on_progress)
    return stored


def resume(services: SessionServices, stored: StoredSession) -> StoredSession:
    """Continues in the phase in which it failed, after repairing the session."""
    return _saved(services, stored, operations.resumed(state_of(stored)))


def _righted(services: SessionServices, stored: StoredSession) -> StoredSession:
    return _saved(services, stored, put_right(state_of(stored)))


def _saved(services: SessionServices, stored: StoredSession, state: State) -> StoredSession:
    """Saves the session if it changed."""
    if state == state_of(stored):
        return stored
    return save(services, stored, state, NewEvent(EventKind.SESSION_RESUMED, Actor.SYSTEM))


def _ask(
    services: SessionServices,
    stored: StoredSession,
    purpose: Purpose,
    model: LanguageModel,
    on_progress: OnProgress,
) -> StoredSession:
    state = state_of(stored)
    if purpose is Purpose.DESIGN and state.facts.designed:
        # They were made already; only the position was lost.
        return _saved(services, stored, state.moved(SessionStatus.DESIGN))
    try:
        with _counted(services, stored, on_progress) as heard:
            answer = model.ask(prompt_for(state, purpose), KINDS[purpose], services.budget, heard)
    except ModelFailed as error:
        why = _told(services, error)
        _fail(services, stored, purpose, model.name, error, why)
        session_id = stored.session.session_id
        log = log_path(session_id, PHASES[purpose])
        raise SessionFailed(session=short(session_id), why=why, log=f".agent/{log}") from error
    state = _taken(state, answer.value, services.clock.now())
    state = state.knowing(usage=state.facts.usage.plus(answer.usage), model=answer.model)
    entry = call_entry(services, purpose, answer.model, answer.usage, answer.exchanges)
    event = NewEvent(EventKind.SESSION_PREPARED, Actor.AI, str(purpose))
    return save(services, stored, state, event, [entry])


@contextmanager
def _counted(
    services: SessionServices, stored: StoredSession, on_progress: OnProgress
) -> Iterator[OnProgress]:
    """Adds what an interrupted call took to the session; a call that ended says so itself."""
    spent = TokenUsage()

    def heard(progress: ModelProgress) -> None:
        nonlocal spent
        spent = progress.spent
        on_progress(progress)

    interrupted = True
    try:
        yield heard
        interrupted = False
    except ModelFailed:
        interrupted = False
        raise
    finally:
        if interrupted and spent.requests:
            facts = replace(stored.facts, usage=stored.facts.usage.plus(spent))
            event = NewEvent(EventKind.SESSION_PREPARED, Actor.SYSTEM, "interrupted")
            with suppress(SessionRace, StorageFailed, Busy):  # whatever interrupted it is to be told
                save(services, stored, State(stored.session, facts), event)


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
    services: SessionServices,
    stored: StoredSession,
    purpose: Purpose,
    model: str,
    error: ModelFailed,
    why: Text,
) -> None:
    usage = error.usage or TokenUsage()
    state = operations.failed(state_of(stored), str(why))
    state = state.knowing(usage=state.facts.usage.plus(usage), model=model)
    entry = failure_entry(services, purpose, model, usage, error.exchanges, error)
    save(services, stored, state, NewEvent(EventKind.SESSION_FAILED, Actor.SYSTEM, error.code), [entry])


def _told(services: SessionServices, error: ModelFailed) -> Text:
    """Translatable, with its details masked, and with the beginning of what the model said."""
    details = {
        name: value if isinstance(value, Text) else writable(services.mask(str(value)))
        for name, value in error.details.items()
    }
    why = Text(error.message, **details)
    said = next((one.reply for one in reversed(error.exchanges) if one.reply.strip()), "")
    if not said:
        return why
    words = writable(visible(" ".join(services.mask(said).split())))
    words = words if len(words) <= _SAID_LENGTH else f"{words[:_SAID_LENGTH]}…"
    return Text("{why} It said: {words}", why=why, words=words)
