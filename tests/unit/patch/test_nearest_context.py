"""Where a hunk that does not fit was meant to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import BadPatch, PatchMismatch
from ringi.patch.lenient_parse import find_intended_lines
from ringi.patch.repair import normalise

pytestmark = pytest.mark.req("PP-15")

LINES = [f"line {number}" for number in range(1, 21)]


def meant(patch: str, lines: list[str], path: str = "a.txt") -> range | None:
    data = "".join(f"{line}\n" for line in lines).encode()
    try:
        normalise(patch.encode(), {path: data}.get)
    except PatchMismatch as error:
        return find_intended_lines(error, patch.encode(), lines)
    return None


def test_at_a_line_that_is_there_once():
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n nothing\n-other\n+new\n line 12\n"
    assert meant(patch, LINES) == range(9, 12)


def test_else_where_it_says():
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -5,2 +5,2 @@\n-other\n-nothing\n+new\n"
    assert meant(patch, LINES) == range(4, 6)
    assert meant(patch, ["x"] * 3) == range(2, 3)


def test_the_second_hunk_of_the_second_file():
    first = "--- a/b.txt\n+++ b/b.txt\n@@ -0,0 +1 @@\n+new\n"
    good = "@@ -1,2 +1,2 @@\n-line 1\n+LINE 1\n line 2\n"
    bad = "@@ -14,2 +14,2 @@\n-line fourteen\n+x\n line 15\n"
    assert meant(f"{first}--- a/a.txt\n+++ b/a.txt\n{good}{bad}", LINES) == range(13, 15)


def test_nowhere_if_it_is_about_no_hunk():
    gone = "--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-a\n+b\n"
    assert meant(gone, LINES) is None
    new = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+b\n"
    assert meant(new, LINES) is None


@given(
    old=st.lists(st.sampled_from(["a", "b", "line 3", "line 9", ""]), min_size=1, max_size=5),
    stated=st.integers(0, 99),
    lines=st.lists(st.sampled_from(["a", "c", "line 3", ""]), max_size=8),
)
def test_always_within_the_file(old: list[str], stated: int, lines: list[str]):
    hunk = "".join(f"-{line}\n" for line in old)
    try:
        found = meant(f"--- a/a.txt\n+++ b/a.txt\n@@ -{stated},{len(old)} +{stated} @@\n{hunk}+new\n", lines)
    except BadPatch:
        return
    assert found is None or (0 <= found.start < found.stop <= len(lines))
