"""What a session is called, and how far it is."""

import time
from uuid import uuid4

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.cli.arguments import LEAST, require_long
from ringi.errors import NotFound
from ringi.ledger import ledger
from ringi.plans.words import age
from ringi.sessions.document import SessionRef, SessionStatus
from ringi.sessions.status_view import session_phase, short_names
from tests.tables import each


def ref(status: SessionStatus, *counts: int) -> SessionRef:
    done, questions, decided, decisions = counts
    return SessionRef(
        session_id="planning-1",
        title="t",
        status=status,
        questions_done=done,
        questions=questions,
        decisions_done=decided,
        decisions=decisions,
        created_at="",
        updated_at="",
    )


def test_enough_of_an_id_is_what_is_looked_for() -> None:
    assert ledger._SHORTEST_NAME == LEAST
    for name in ("abcd", "planning-abcd", "x" * 50):
        require_long(name)
    for name in ("abc", "planning-", "PLANNING-abc", "\x1b[2"):
        with pytest.raises(click.UsageError, match=r"too short.*ringi status") as refused:
            require_long(name)
        assert "\x1b" not in refused.value.message
    for name in ("", " "):
        with pytest.raises(NotFound) as missing:
            require_long(name)
        assert missing.value.details["see"] == "ringi status"


def test_eight_digits_are_enough_for_most() -> None:
    name = f"planning-{uuid4()}"
    assert short_names([name]) == {name: name[:17]}


@given(st.sets(st.text("ab", min_size=12, max_size=12), min_size=1))
def test_no_name_is_the_beginning_of_two(ids: set[str]) -> None:
    sessions = [f"planning-{one}" for one in ids]
    for session, name in short_names(sessions).items():
        assert [other for other in sessions if other.startswith(name)] == [session]
        assert len(name) >= 17


def test_ten_thousand_sessions_are_named_at_once() -> None:
    sessions = [f"planning-{uuid4()}" for _ in range(10_000)]
    assert len(short_names(sessions)) == 10_000


@each(
    ("given_ref", "words"),
    [
        (ref(SessionStatus.DISCOVERY, 0, 0, 0, 0), "answering questions"),
        (ref(SessionStatus.DISCOVERY, 2, 4, 0, 0), "2 of 4 questions"),
        (ref(SessionStatus.DESIGN, 4, 4, 1, 3), "1 of 3 decisions"),
        (ref(SessionStatus.DESIGN, 4, 4, 0, 0), "4 of 4 questions"),
        (ref(SessionStatus.REVIEW, 4, 4, 3, 3), "waits for approval"),
        (ref(SessionStatus.FAILED, 2, 4, 0, 0), "stopped by an error, 2 of 4 questions"),
    ],
)
def test_how_far(given_ref: SessionRef, words: str) -> None:
    assert str(session_phase(given_ref)) == words


@each(
    ("seconds", "words"),
    [
        (-50, "just now"),
        (5, "just now"),
        (130, "2 min ago"),
        (7300, "2 h ago"),
        (100_000, "27 h ago"),
        (200_000, "2 days ago"),
    ],
)
def test_how_long_ago(seconds: int, words: str) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S.123456Z", time.gmtime(time.time() - seconds))
    assert str(age(moment)) == words


def test_a_moment_that_is_none_is_shown_as_it_is() -> None:
    assert str(age("yesterday")) == "yesterday"
