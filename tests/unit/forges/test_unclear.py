"""Which comments tried to say something that nobody understands."""

import pytest

from ringi.approvals.forge import Item, ItemKind
from ringi.forges.document import Account, Comment
from ringi.forges.listen import Spoken
from ringi.forges.misread_commands import explain_misread
from ringi.forges.run_feedback import first_line
from ringi.kernel.text import Text, in_language
from tests.tables import each

pytestmark = pytest.mark.req("PP-10")
DIGITS = "0123456789ab"


def told(body: str, *asked: str) -> str:
    author = Account("bob", 2)
    comment = Comment("1", author, body, "", "", "")
    found = explain_misread(
        Spoken("comment:1", author, body, "", "", Item(ItemKind.ISSUE, 1), comment), asked
    )
    return str(found) if found else ""


@each(
    ("body", "asked", "label"),
    [
        ("1. yes", ["d-1"], "d1."),
        ("/ringi answer 1 yes", ["d-2"], "d2."),
        ("/ringi answer yes", ["q-2"], "2."),
        ("d1. 2", ["q-1"], ""),  # it waits
        ("1. yes\n9. no", ["q-1"], ""),
        ("1. yes", [], ""),
        ("yes", ["q-1"], ""),
    ],
)
def test_answers(body: str, asked: list[str], label: str):
    found = told(body, *asked)
    assert bool(found) == bool(label)
    assert found.endswith(label)


@each(
    ("body", "is_told"),
    [
        (f"/ringi approve {DIGITS}", False),
        ("/ringi reject it", False),
        (f"> /ringi approve {DIGITS}\n\nThanks", False),
        (f"Look:\n```\n/ringi approve {DIGITS}\n```", False),
        ("/ringi answer 1 yes", False),
        ("/ringi approve 0123", True),
        (f"/ringi approve {DIGITS} please", True),
        (f"Fine.\n/ringi approve {DIGITS}", True),
        ("No.\n/ringi reject it", True),
        (f"`/ringi approve {DIGITS}`", True),
        (f"```\n/ringi approve {DIGITS}\n```", True),
        (f"    /ringi approve {DIGITS}", True),
        (f"/ringi approve {DIGITS}\n/ringi reject it", True),
        ("/ringi yes", True),
    ],
)
def test_decisions(body: str, *, is_told: bool):
    assert told(body).startswith("not understood: ") is is_told


def test_a_review_without_words_is_told_in_the_readers_language():
    author, item = Account("bob", 2), Item(ItemKind.CHANGE, 1)
    silent = first_line(Spoken("review:1", author, "", "", "", item))
    assert isinstance(silent, Text)
    assert in_language("ja")(silent) != str(silent) == "changes requested"
    assert first_line(Spoken("review:2", author, "Say more\nhere", "", "", item)) == "Say more"
