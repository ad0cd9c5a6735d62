"""Planning sessions and runs, with their progress."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from ringi.kernel.text import Text
from ringi.ledger.subject import SESSION_PREFIX
from ringi.plans.words import age
from ringi.sessions.document import SessionRef, SessionStatus

_SHORTEST: Final = 8

SESSION_PHASE: Final = {
    SessionStatus.DISCOVERY: Text("answering questions"),
    SessionStatus.DESIGN: Text("making decisions"),
    SessionStatus.REVIEW: Text("waits for approval"),
    SessionStatus.APPROVED: Text("approved"),
    SessionStatus.CANCELLED: Text("cancelled"),
    SessionStatus.FAILED: Text("stopped by an error"),
}


def short_names(ids: Iterable[str]) -> dict[str, str]:
    """The shortest unique prefixes, such as planning-1a2b3c4d."""
    known = ["", *sorted(ids), ""]
    # In sorted order, a name shares its longest prefix with a neighbour.
    return {
        one: one[: max(len(SESSION_PREFIX) + _SHORTEST, _common(before, one) + 1, _common(one, after) + 1)]
        for before, one, after in zip(known, known[1:], known[2:], strict=False)
    }


def _common(one: str, other: str) -> int:
    """The length of their common prefix."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _pair in takewhile(lambda pair: pair[0] == pair[1], pairs))


def session_phase(ref: SessionRef) -> Text:
    """With its progress, if there is something to count."""
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
