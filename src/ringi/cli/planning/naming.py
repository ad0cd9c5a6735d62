"""What a session is called in commands, and how far it is. Light, because `ringi` alone needs it."""

import time
from calendar import timegm
from collections.abc import Iterable
from gettext import gettext as _
from itertools import takewhile
from typing import Final

import click

from ringi.domain.session import SessionRef, SessionStatus
from ringi.domain.subject import SESSION_PREFIX
from ringi.text import Text, visible

_SHORTEST: Final = 8
LEAST: Final = 4
"""So many characters of an id are looked for; fewer could mean anything."""
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

PHASE: Final = {
    SessionStatus.DISCOVERY: Text("in its questions"),
    SessionStatus.DESIGN: Text("in its decisions"),
    SessionStatus.REVIEW: Text("waits for your approval"),
    SessionStatus.APPROVED: Text("approved"),
    SessionStatus.CANCELLED: Text("cancelled"),
    SessionStatus.FAILED: Text("stopped by an error"),
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


def require_long(name: str) -> None:
    """That it is enough of an id to be looked for."""
    if len(name.lower().removeprefix(SESSION_PREFIX)) < LEAST:
        words = _("{name} is too short for an id: it needs at least {count} characters")
        raise click.UsageError(words.format(name=visible(name), count=LEAST))


def _progress(ref: SessionRef) -> Text | None:
    if ref.status is SessionStatus.DESIGN and ref.decisions:
        return Text("{done} of {count} decisions", done=ref.decisions_done, count=ref.decisions)
    if ref.questions and ref.status in {SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.FAILED}:
        return Text("{done} of {count} questions", done=ref.questions_done, count=ref.questions)
    return None


def phase(ref: SessionRef) -> Text:
    """With how far it is, where there is something to count."""
    far = _progress(ref)
    if far is None:
        return PHASE[ref.status]
    if ref.status is SessionStatus.FAILED:
        return Text("{phase}, {progress}", phase=PHASE[ref.status], progress=far)
    return far


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
