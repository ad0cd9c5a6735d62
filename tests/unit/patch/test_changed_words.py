"""The words that differ between two lines: the rest of both lines is the same."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.patch.changed_words import ChangedWords, Ranges, find_changed_words

LINES = st.lists(st.sampled_from([b"a", b"bc", b" ", b"(", b"\t", "é".encode(), "日".encode(), b"\xff"])).map(
    b"".join
)
SIGNED = st.lists(st.tuples(st.sampled_from([b" ", b"-", b"+", b"\\"]), LINES).map(b"".join), max_size=30)


def parts(line: bytes, ranges: Ranges) -> list[bytes]:
    return [line[begin:end] for begin, end in ranges]


def rest(line: bytes, ranges: Ranges) -> bytes:
    for begin, end in reversed(ranges):
        line = line[:begin] + line[end:]
    return line


@given(LINES, LINES)
def test_what_is_left_is_the_same(old: bytes, new: bytes) -> None:
    found = find_changed_words(old, new)
    if found is not None:
        assert b"".join(rest(old, found[0]).split()) == b"".join(rest(new, found[1]).split())
        assert any(found)
        for line, ranges in zip((old, new), found, strict=True):
            edges = [edge for pair in ranges for edge in pair]
            assert edges == sorted(set(edges))
            assert not edges or edges[-1] <= len(line)


def test_only_the_words_that_changed() -> None:
    old, new = b"return foo(a, b)", b"return bar(a, b, c)"
    found = find_changed_words(old, new)
    assert found
    assert (parts(old, found[0]), parts(new, found[1])) == ([b"foo"], [b"bar", b", c"])
    spaced = find_changed_words(b"keep this and one two", b"keep this and three four")
    assert spaced
    assert spaced[0] == ((14, 21),)


def test_other_lines_have_no_changed_words() -> None:
    assert find_changed_words(b"a b c", b"x y z") is None
    assert find_changed_words(b"same", b"same") is None
    assert find_changed_words(b"x" * 3000, b"x" * 3000 + b" y") is None


@given(SIGNED)
def test_only_replaced_lines_have_changed_words(lines: list[bytes]) -> None:
    words = ChangedWords(lines)
    for index, line in enumerate(lines):
        found = words.at(index)
        assert not found or line[:1] in {b"-", b"+"}
        assert all(begin < end <= len(line) - 1 for begin, end in found)


def test_an_added_line_between_does_not_hide_the_pair() -> None:
    lines = [b"-total = price * count", b"+# net", b"+total = price * count * rate", b" end"]
    words = ChangedWords(lines)
    assert [words.at(index) for index in range(4)] == [(), (), ((21, 28),), ()]


def test_a_long_run_is_paired_line_by_line() -> None:
    removed = [b"-value %d" % number for number in range(5000)]
    added = [b"+value %d!" % number for number in range(5000)]
    assert ChangedWords([*removed, *added]).at(9999) == ((10, 11),)
    assert ChangedWords([*removed, *added, b"+one more"]).at(9999) == ()
