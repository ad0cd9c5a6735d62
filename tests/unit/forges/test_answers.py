"""Which comments answer which question."""

from collections.abc import Sequence

import pytest

from ringi.forges.answers import ForgeAnswer, collect_answers
from ringi.forges.document import Account, Comment
from tests.tables import each

pytestmark = pytest.mark.req("PP-10")
ASKED = ("q-1", "q-2", "q-3")
WRITERS = frozenset(["alice", "carol"])


def comment(body: str, number: int = 1, login: str = "alice", *, bot: bool = False) -> Comment:
    at = f"2026-01-01T00:00:{number:02}Z"
    return Comment(str(number), Account(login, number, bot), body, at, at, f"https://f/{number}")


def given(*comments: Comment, asked: Sequence[str] = ASKED, used: Sequence[str] = (), since: str = ""):
    found = collect_answers(comments, asked, since=since, used=used, counts=WRITERS.__contains__)
    return [(one.to, one.text, one.reason) for one in found]


@each(
    ("body", "found"),
    [
        ("1. Only one", [("q-1", "Only one")]),
        ("1. a\n2. b", [("q-1", "a"), ("q-2", "b")]),
        ("2: b\n1) a", [("q-1", "a"), ("q-2", "b")]),
        ("1. a\nb\n\nc\n2. d", [("q-1", "a\nb\n\nc"), ("q-2", "d")]),
        ("/ringi answer 1 Only one", [("q-1", "Only one")]),
        ("Thanks!\n/ringi answer 2 b\nmore", [("q-2", "b\nmore")]),
        ("/ringi skip 2", [("q-2", "")]),
        ("> 1. Which files?\n\n1. All", [("q-1", "All")]),
        ("1. a\n/ringi approve abcdefabcdef", [("q-1", "a")]),
        ("Thanks, that is:\n1. a list\n2. of mine", []),
        ("```\n1. a\n```", []),
        ("    1. a", []),
        ("\t/ringi answer 1 a", []),
        ("So:\n\n    /ringi skip 1", []),
        ("1. a\n\n    and b", [("q-1", "a\n\n    and b")]),
        ("4. not asked", []),
        ("1.", []),
        ("", []),
        ("1.5 is the version", []),
    ],
)
def test_the_grammar(body: str, found: list[tuple[str, str]]):
    assert [(to, text) for to, text, _ in given(comment(body))] == found


def test_a_decision_has_its_reason_below():
    found = given(comment("d1. In a file\nIt survives.\nd2. 2"), asked=("d-1", "d-2"))
    assert found == [("d-1", "In a file", "It survives."), ("d-2", "2", "")]


def test_strangers_bots_and_what_was_said_before_do_not_count():
    assert given(comment("1. x", login="mallory")) == []
    assert given(comment("1. x", bot=True)) == []
    assert given(comment("1. x", 3), since="2026-01-01T00:00:04Z") == []
    assert given(comment("1. x", 3), used=("3",)) == []
    assert given(comment("1. x", 4), since="2026-01-01T00:00:04Z") == [("q-1", "x", "")]


def test_the_newest_answer_counts():
    assert given(comment("1. a"), comment("1. b", 2, "carol"), comment("1. c", 3, "mallory")) == [
        ("q-1", "b", "")
    ]


def test_access_is_looked_up_only_for_those_who_answer():
    looked = []
    collect_answers(
        [comment("hello", 1, "bob"), comment("1. x", 2, "eve")],
        ASKED,
        since="",
        used=(),
        counts=lambda login: bool(looked.append(login)),
    )
    assert looked == ["eve"]


def test_the_log_names_the_comment_and_who_wrote_it():
    assert ForgeAnswer("q-1", "a", "", comment("1. a", 7)).source == "comment 7 by alice"
