import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.cli.screen.cells import STYLES, Pieces, StyledText, clip, has_many_colours, pad, sgr
from ringi.cli.ui import width
from tests.tables import each

letters = st.sampled_from([*"ab 1", *"稟議ｱあ", "é", "\u0301", "\u3099", "🎉", "\uff48", "\t", "\x1b"])
texts = st.one_of(st.text(letters, max_size=12), st.text(max_size=8))
lines = st.lists(st.builds(StyledText, texts, st.sampled_from(["", "bold", "red"])), max_size=5).map(tuple)


def text_of(line: Pieces) -> str:
    return "".join(span.text for span in line)


@given(lines, st.integers(-2, 30), st.integers(0, 20))
def test_clip_is_never_wider_than_asked(line: Pieces, columns: int, start: int):
    whole = width(text_of(line))
    assert width(text_of(clip(line, columns, start=start))) == min(max(columns, 0), max(0, whole - start))


@given(lines)
def test_clip_leaves_alone_what_fits(line: Pieces):
    assert text_of(clip(line, 1000)) == text_of(line)


@given(lines, st.integers(0, 20), st.integers(0, 20))
def test_clipped_in_two_steps_or_in_one(line: Pieces, first: int, second: int):
    """Except for the halves of wide characters, which are blank from then on."""
    once = text_of(clip(line, 20, start=first + second))
    twice = text_of(clip(clip(line, 20 + second, start=first), 20, start=second))
    assert width(once) == width(twice)


def test_half_a_character_is_a_space():
    line = (StyledText("a稟", "red"), StyledText("議b"))
    assert clip(line, 2) == (StyledText("a ", "red"),)
    assert clip(line, 3, start=2) == (StyledText(" ", "red"), StyledText("議"))
    assert clip(line, 1, start=4) == (StyledText(" "),)


def test_marks_stay_with_their_letter():
    line = (StyledText("e\u0301"), StyledText("\u0301x"))
    assert text_of(clip(line, 1)) == "e\u0301\u0301"
    assert text_of(clip(line, 1, start=1)) == "x"


@given(lines, st.integers(0, 60))
def test_pad_reaches_the_width(line: Pieces, columns: int):
    padded = pad(line, columns)
    assert width(text_of(padded)) == max(columns, width(text_of(line)))
    assert text_of(padded).rstrip() == text_of(line).rstrip()


def test_a_tinted_line_is_tinted_to_its_end():
    assert pad((StyledText("x", "add-tint"),), 3)[-1] == StyledText("  ", "add-tint")


def test_without_colour_only_shapes_are_left():
    assert sgr("bold red add-tint reverse", colour=False, many=True) == "1;7"
    assert sgr("bold red", colour=True) == "1;31"
    assert sgr("", colour=True) == ""


def test_tints_need_256_colours_and_bring_their_own_foregrounds():
    assert sgr("keyword add-tint", colour=True, many=False) == STYLES["keyword"]
    tinted = sgr("keyword add-tint", colour=True, many=True)
    assert tinted.startswith(STYLES["add-tint"])
    assert tinted.count("38;5;") == 2


@each("name", STYLES)
@each("colour", [True, False])
def test_every_style_has_a_code(name: str, colour: bool):
    assert sgr(name, colour=colour, many=True).replace(";", "").isdigit() or not sgr(name, colour=colour)


def test_unknown_style_is_our_mistake():
    with pytest.raises(KeyError):
        sgr("purple", colour=True)


def test_many_colours():
    assert has_many_colours({"TERM": "xterm-256color"})
    assert has_many_colours({"TERM": "xterm", "COLORTERM": "truecolor"})
    assert not has_many_colours({"TERM": "linux"})
