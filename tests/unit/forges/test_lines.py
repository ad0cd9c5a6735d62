"""Lines of a change, found again in the plans of its steps."""

import pytest

from ringi.approvals.feedback import Side
from ringi.forges.run_feedback import Bytes, FeedbackPlace, StepFiles, find_place
from tests.tables import each

BASE = b"one\ntwo\nthree\nfour\n"
FIRST = b"zero\none\ntwo\nTHREE\nfour\n"
SECOND = b"zero\none\nTHREE\nfour\nfive\n"
STEPS = [
    StepFiles("S01", {"a.txt": Bytes(BASE, FIRST), "made.txt": Bytes(None, b"x\ny\n")}),
    StepFiles("S02", {"b.txt": Bytes(b"b\n", None)}),
    StepFiles("S03", {"a.txt": Bytes(FIRST, SECOND)}),
]


@pytest.mark.req("PP-20")
@each(
    ("path", "line", "side", "place"),
    [
        ("a.txt", 1, Side.NEW, FeedbackPlace("S01", "a.txt", 1, Side.NEW)),
        # In between two lines went, so it was further down then.
        ("a.txt", 3, Side.NEW, FeedbackPlace("S01", "a.txt", 4, Side.NEW)),
        ("a.txt", 5, Side.NEW, FeedbackPlace("S03", "a.txt", 5, Side.NEW)),
        # Nobody changed it: the newest step shows it as it is now.
        ("a.txt", 4, Side.NEW, FeedbackPlace("S03", "a.txt", 4, Side.NEW)),
        ("a.txt", 3, Side.OLD, FeedbackPlace("S01", "a.txt", 3, Side.OLD)),
        ("a.txt", 2, Side.OLD, FeedbackPlace("S03", "a.txt", 3, Side.OLD)),
        ("a.txt", 1, Side.OLD, FeedbackPlace("S01", "a.txt", 1, Side.OLD)),
        ("made.txt", 2, Side.NEW, FeedbackPlace("S01", "made.txt", 2, Side.NEW)),
        ("b.txt", 1, Side.OLD, FeedbackPlace("S02", "b.txt", 1, Side.OLD)),
        ("b.txt", 1, Side.NEW, FeedbackPlace("S02", "b.txt", 0, Side.NEW)),
        ("a.txt", 99, Side.NEW, FeedbackPlace("S03", "a.txt", 0, Side.NEW)),
        ("a.txt", 0, Side.NEW, FeedbackPlace("S03", "a.txt", 0, Side.NEW)),
        ("made.txt", 1, Side.OLD, FeedbackPlace("S01", "made.txt", 0, Side.OLD)),
        ("other.txt", 1, Side.NEW, None),
    ],
)
def test_a_line_is_of_the_step_that_made_or_removed_it(
    path: str, line: int, side: Side, place: FeedbackPlace | None
):
    assert find_place(STEPS, path, line, side) == place


def test_a_file_that_comes_and_goes_within_the_run():
    steps = [
        StepFiles("S01", {"f": Bytes(None, b"a\n")}),
        StepFiles("S02", {"f": Bytes(b"a\n", None)}),
    ]
    assert find_place(steps, "f", 1, Side.NEW) == FeedbackPlace("S02", "f", 0, Side.NEW)
    assert find_place([], "f", 1, Side.NEW) is None
