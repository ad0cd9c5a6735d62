from hypothesis import example, given
from hypothesis import strategies as st

from ringi.cli.screen.line_editor import LineEditor
from ringi.cli.ui import width


def typed(*keys: str, text: str = "") -> LineEditor:
    editor = LineEditor(text)
    for key in keys:
        assert editor.feed(key) is None
    return editor


def test_typing_and_ending():
    editor = typed(*"hello", "left", "left", "X")
    assert editor.text == "helXlo"
    assert editor.feed("enter") == "done"
    assert [LineEditor("x").feed(key) for key in ("esc", "ctrl-c", "eof", "stop")] == ["cancel"] * 4
    assert LineEditor("").feed("ctrl-d") == "cancel"


def test_keys_of_a_shell():
    assert typed("ctrl-a", "X", text="abc").text == "Xabc"
    assert typed("home", "right", "ctrl-k", text="abc").text == "a"
    assert typed("left", "ctrl-u", text="abc").text == "c"
    assert typed("ctrl-w", text="one two  ").text == "one "
    assert typed("ctrl-w", "ctrl-w", "ctrl-w", text="one two").text == ""
    assert typed("home", "delete", "end", "backspace", text="abc").text == "b"
    assert typed("home", "ctrl-d", "ctrl-e", "Z", text="abc").text == "bcZ"
    assert typed("home", "left", "backspace", "end", "right", "delete", text="abc").text == "abc"


def test_keys_without_meaning_change_nothing():
    assert typed("up", "f5", "tab", "insert", "resize", "wake", "", text="abc").text == "abc"


def test_letters_and_the_marks_on_them_are_one():
    assert typed("backspace", text="稟か\u3099").text == "稟"
    assert typed("left", "X", text="ae\u0301").text == "aXe\u0301"
    assert typed("home", "delete", text="e\u0301x").text == "x"


def test_pasted():
    assert typed("paste:a\nb").text == "a b"


def test_what_is_dangerous_is_seen():
    line, cursor = typed("paste:a\x1b[31m\u202e\tb").line(40)
    assert line[0].text == r"a\x1b[31m\u202e\tb"
    assert cursor == width(line[0].text)


def test_a_long_line_moves_sideways():
    editor = typed(text="0123456789")
    assert editor.line(5) == (((("6789"), ""),), 4)
    editor.feed("home")
    assert editor.line(5) == (((("01234"), ""),), 0)
    for _ in range(5):
        editor.feed("right")
    assert editor.line(5) == (((("12345"), ""),), 4)


KEYS = st.one_of(
    st.sampled_from(["left", "right", "home", "end", "backspace", "delete", "ctrl-k", "ctrl-u", "ctrl-w"]),
    st.sampled_from([*"a稟é\u0301\u3099🎉", "\u200d", " "]),
    st.text(max_size=5).map(lambda text: f"paste:{text}"),
)


@given(st.lists(KEYS, max_size=25), st.integers(0, 12))
@example(["\u0301", "left", "a"], 1)  # a mark that stands on nothing
def test_the_cursor_is_always_in_sight(keys: list[str], columns: int):
    editor = LineEditor()
    for key in keys:
        assert editor.feed(key) is None
        line, cursor = editor.line(columns)
        assert sum(width(span.text) for span in line) <= columns
        assert 0 <= cursor <= max(0, columns - 1)
    assert "\n" not in editor.text
