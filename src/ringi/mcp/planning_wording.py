"""What an agent reads about a planning session: what to ask its user, and what not to do for them."""

from collections.abc import Iterator
from typing import Final

from ringi.domain.session import short
from ringi.domain.session_view import SessionView
from ringi.mcp.planning_answers import (
    AskedDecision,
    AskedQuestion,
    OpenSession,
    PlanningState,
    Sessions,
    WaitsFor,
    state,
    waits_for,
)
from ringi.text import Text

_NEXT: Final = {
    WaitsFor.ANSWER: "Ask your user this, in their language; do not answer for them. Hand on what they say: "
    "planning_answer. If they do not want to answer: planning_answer with skip: true",
    WaitsFor.DECISION: "Show your user all the options with what speaks for and against them; the choice is "
    "theirs. Hand it on, with their reason: planning_decide",
    WaitsFor.APPROVAL: "Show your user the summary. Approving or rejecting it is theirs alone, no tool does "
    "it: tell them to type, in a terminal of their own: ringi plan --resume {session}",
    WaitsFor.MODEL: "The model still works for this session. Call planning_get; it waits for it.",
    WaitsFor.RESUME: "Nothing your user said is lost. Let it go on: planning_answer with resume: true. If "
    "that fails again, tell your user why; they can also type: ringi plan --resume {session}",
}


def next_step(view: SessionView, *, working: bool) -> str:
    waits = waits_for(view, working=working)
    if waits is WaitsFor.NOTHING:
        return f"The session is {view.status}; nothing is left to do in it."
    return _NEXT[waits].format(session=short(view.session_id))


def stated(view: SessionView, *, working: bool) -> PlanningState:
    return state(view, working=working, next_step=next_step(view, working=working))


def session(found: PlanningState) -> str:
    lines = [f"{short(found.session_id)} ({found.status}): {found.title}"]
    if found.question:
        lines += _question(found.question)
    if found.decision:
        lines += _decision(found.decision)
    if found.summary is not None:
        lines += ["The summary, as the model wrote it:", *_quoted(found.summary)]
    if found.error is not None:
        lines += ["It failed:", *_quoted(found.error)]
    if found.run_id is not None:
        lines.append(f"Approved; the run is {found.run_id}.")
    return "\n".join([*lines, f"Next: {found.next_step}"])


def _question(asked: AskedQuestion) -> Iterator[str]:
    yield f"Question {asked.number} of {asked.of} to your user, {asked.id} ({asked.type}):"
    yield from _quoted(asked.question)
    if asked.context:
        yield from _quoted(f"Why it matters: {asked.context}")
    for number, option in enumerate(asked.options, 1):
        yield from _quoted(f"{number}. {option}")


def _decision(asked: AskedDecision) -> Iterator[str]:
    yield f"Decision {asked.number} of {asked.of} for your user, {asked.id}:"
    yield from _quoted(asked.topic)
    for option in asked.options:
        mark = " (recommended)" if option.recommended else ""
        yield from _quoted(f"{option.id}: {option.name}{mark}. {option.description}")
        yield from (line for pro in option.pros for line in _quoted(f"    + {pro}"))
        yield from (line for con in option.cons for line in _quoted(f"    - {con}"))


def _quoted(text: str) -> list[str]:
    """Written by a model or a person, for the user: no line of it is mistaken for one of ours."""
    return [f"> {line}" for line in text.splitlines()]


def sessions(found: Sessions) -> str:
    if found.session:
        return session(found.session)
    if not found.open_sessions:
        return "No planning session is open. Next: planning_start."
    return "\n".join(map(_line, found.open_sessions))


def _line(one: OpenSession) -> str:
    return (
        f"{short(one.session_id)}  {one.title}  [{one.status}, {one.questions_done} of {one.questions} "
        f"questions, {one.decisions_done} of {one.decisions} decisions]"
    )


def progress(seconds: float, tokens: int, note: Text | str) -> str:
    told = f"The model works: {seconds:.0f} s, {tokens} tokens"
    return f"{told}; {note}" if note else told
