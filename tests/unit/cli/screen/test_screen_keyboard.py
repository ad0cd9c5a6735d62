import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from ringi.cli.screen.keyboard import KeyReader
from tests.tables import each

KNOWN = {
    b"a": "a", b"~": "~", b" ": " ", "é".encode(): "é", "稟".encode(): "稟", "🎉".encode(): "🎉",
    b"\r": "enter", b"\n": "enter", b"\t": "tab", b"\x7f": "backspace", b"\x08": "backspace",
    b"\x01": "ctrl-a", b"\x03": "ctrl-c", b"\x1a": "ctrl-z",
    b"\x1b[A": "up", b"\x1bOA": "up", b"\x1b[B": "down", b"\x1b[C": "right", b"\x1b[D": "left",
    b"\x1b[1;5C": "right", b"\x1b[1;2A": "up",
    b"\x1b[H": "home", b"\x1bOH": "home", b"\x1b[1~": "home", b"\x1b[7~": "home",
    b"\x1b[F": "end", b"\x1b[4~": "end", b"\x1b[2~": "insert", b"\x1b[3~": "delete", b"\x1b[3;5~": "delete",
    b"\x1b[5~": "pgup", b"\x1b[6~": "pgdn", b"\x1b[Z": "backtab",
    b"\x1bOP": "f1", b"\x1b[[A": "f1", b"\x1b[11~": "f1", b"\x1bOR": "f3", b"\x1b[15~": "f5",
    b"\x1b[[E": "f5", b"\x1b[24~": "f12",
}  # fmt: skip

# Not keys, or keys without a name: nothing of them may arrive as a letter.
SWALLOWED = [
    b"\x1ba", b"\x1b\r", b"\x1bz", "\x1bé".encode(), b"\x1b[99~", b"\x1b[200;1R",
    b"\x1b[<0;10;10M", b"\x1b[M abc"[:6], b"\x1b[I", b"\x1b[97;5u", b"\x1b]11;rgb:00/00/00\x07",
    b"\x1b]11;rgb:aa/aa/aa\x1b\\", b"\x1bP>|term a\x1b\\", b"\x1b_Gi=1;OK\x1b\\", b"\x1bOj", b"\x1b[12345~",
    b"\x00", b"\x1c", b"\xff", b"\x80", b"\xed\xa0\x80", "\x9b".encode(),
]  # fmt: skip


def keys(data: bytes) -> list[str]:
    return list(KeyReader().feed(data))


@each(("data", "name"), KNOWN.items())
def test_known(data: bytes, name: str):
    assert keys(data) == [name]


@each("data", SWALLOWED)
def test_unknown_is_swallowed(data: bytes):
    reader = KeyReader()
    assert list(reader.feed(data)) == []
    assert list(reader.flush()) == []
    assert list(reader.feed(b"x")) == ["x"]


def test_a_sequence_that_breaks_off_begins_the_next():
    assert keys(b"\x1b[12\x1b[A") == ["up"]
    assert keys(b"\x1b[\rx") == ["enter", "x"]
    assert keys(b"\xe7\xa8a") == ["a"]


def test_escape_is_told_apart_by_a_pause():
    reader = KeyReader()
    assert list(reader.feed(b"\x1b")) == []
    assert reader.patience is not None
    assert list(reader.flush()) == ["esc"]
    assert reader.patience is None
    assert list(reader.feed(b"\x1b\x1b")) == ["esc"]
    assert list(reader.flush()) == ["esc"]


def test_the_rest_of_an_arrow_never_arrives_as_a_letter():
    """However slow the line is."""
    reader = KeyReader()
    for begun in (b"\x1b[", b"\x1bO", b"\x1b[1;5"):
        assert list(reader.feed(begun)) == []
        assert list(reader.flush()) == []
        assert list(reader.feed(b"A")) == ["up"]


def test_pasted_text_is_one_key():
    assert keys(b"x\x1b[200~a\r\nb\rc\x1b[Ad\x1b[201~y") == ["x", "paste:a\nb\nc\x1b[Ad", "y"]
    assert keys(b"\x1b[200~\x1b[201~") == ["paste:"]


def test_a_paste_without_end_gives_the_keyboard_back():
    reader = KeyReader()
    assert list(reader.feed(b"\x1b[200~abc\x1b[2")) == []
    assert (reader.patience or 0) > 1
    assert list(reader.flush()) == ["paste:abc\x1b[2"]
    assert list(reader.feed(b"a")) == ["a"]


def test_what_is_forgotten_in_a_paste_does_not_turn_into_keys():
    reader = KeyReader()
    assert list(reader.feed(b"\x1b[200~abc")) == []
    reader.forget()
    assert list(reader.feed(b"aaa\x1b[201~b")) == ["b"]
    assert list(reader.feed(b"\x1b[200~abc\x1b[201~")) == ["paste:abc"]
    assert list(reader.feed(b"\xe7")) == []
    reader.forget()
    assert list(reader.feed(b"a")) == ["a"]


def test_a_huge_paste_is_bounded():
    [pasted] = keys(b"\x1b[200~" + b"x" * 3_000_000 + b"\x1b[201~")
    assert len(pasted) < 1_100_000


pieces = st.one_of(
    st.binary(max_size=6),
    st.sampled_from([*KNOWN, *SWALLOWED, b"\x1b", b"\x1b[", b"\x1b[200~", b"\x1b[201~", b"\x1bO", b"\x1b]0"]),
    st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")),
)


@given(st.lists(pieces, max_size=8).map(b"".join), st.sets(st.integers(0, 80)))
@example(b"\x1b[200~a\x1b[201~", {3, 8, 11})
@example("\x1bé稟".encode(), {1, 2, 3, 4, 5})
def test_any_split_gives_the_same_keys(data: bytes, cuts: set[int]):
    whole = KeyReader()
    expected = list(whole.feed(data))
    split = KeyReader()
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    found = [key for start, end in itertools.pairwise(edges) for key in split.feed(data[start:end])]
    assert found == expected
    assert split.patience == whole.patience
    assert list(split.flush()) == list(whole.flush())


@given(st.lists(pieces, max_size=8).map(b"".join))
def test_keys_are_names_or_single_characters(data: bytes):
    reader = KeyReader()
    for key in [*reader.feed(data), *reader.flush()]:
        assert key.startswith("paste:") or len(key) > 1 or key.isprintable() or ord(key) > 0x9F
