"""What is open, in a line each: planning sessions and runs, how far they are and what they are called."""

import time
from calendar import timegm
from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from ringi.domain.run import Run, RunPhase
from ringi.domain.session import SessionRef, SessionStatus
from ringi.domain.subject import SESSION_PREFIX
from ringi.text import Text

_SHORTEST: Final = 8
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

SESSION_PHASE: Final = {
    SessionStatus.DISCOVERY: Text("in its questions"),
    SessionStatus.DESIGN: Text("in its decisions"),
    SessionStatus.REVIEW: Text("waits for your approval"),
    SessionStatus.APPROVED: Text("approved"),
    SessionStatus.CANCELLED: Text("cancelled"),
    SessionStatus.FAILED: Text("stopped by an error"),
}
_RUN_PHASE: Final = {
    RunPhase.PLANNING: Text("waits to be started"),
    RunPhase.EXECUTING: Text("running"),
    RunPhase.INTEGRATING: Text("being put together"),
    RunPhase.COMPLETED: Text("done"),
    RunPhase.NEEDS_INPUT: Text("needs an answer"),
    RunPhase.CANCELLED: Text("cancelled"),
    RunPhase.FAILED: Text("failed"),
}


def short_names(ids: Iterable[str]) -> dict[str, str]:
    """The shortest beginnings that no other of them has: planning-1a2b3c4d."""
    known = ["", *sorted(ids), ""]
    # Among sorted names, those next to it have the longest beginnings in common with one.
    return {
        one: one[: max(len(SESSION_PREFIX) + _SHORTEST, _common(before, one) + 1, _common(one, after) + 1)]
        for before, one, after in zip(known, known[1:], known[2:], strict=False)
    }


def _common(one: str, other: str) -> int:
    """How many characters they begin with in common."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _pair in takewhile(lambda pair: pair[0] == pair[1], pairs))


def session_phase(ref: SessionRef) -> Text:
    """With how far it is, if there is something to count."""
    far = _progress(ref)
    if far is None:
        return SESSION_PHASE[ref.status]
    if ref.status is SessionStatus.FAILED:
        return Text("{phase}, {progress}", phase=SESSION_PHASE[ref.status], progress=far)
    return far


def _progress(ref: SessionRef) -> Text | None:
    if ref.status is SessionStatus.DESIGN and ref.decisions:
        return Text("{done} of {count} decisions", done=ref.decisions_done, count=ref.decisions)
    if ref.questions and ref.status in {SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.FAILED}:
        return Text("{done} of {count} questions", done=ref.questions_done, count=ref.questions)
    return None


def session_facts(ref: SessionRef, name: str) -> Text:
    return Text("{name} · {age} · {phase}", name=name, age=age(ref.updated_at), phase=session_phase(ref))


def run_facts(run: Run) -> Text:
    phase = _RUN_PHASE[run.phase]
    return Text("{run} · {age} · {phase}", run=run.run_id, age=age(run.updated_at), phase=phase)


def age(moment: str) -> Text:
    """How long ago, as a person would say it."""
    try:
        then = timegm(time.strptime(moment[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return Text("{moment}", moment=moment)
    seconds = max(0, int(time.time()) - then)
    if seconds < _MINUTE:
        return Text("just now")
    if seconds < _HOUR:
        return Text("{count} min ago", count=seconds // _MINUTE)
    if seconds < 2 * _DAY:  # so that there is no "1 days"
        return Text("{count} h ago", count=seconds // _HOUR)
    return Text("{count} days ago", count=seconds // _DAY)
