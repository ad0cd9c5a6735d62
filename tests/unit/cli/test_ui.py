"""Folding: nothing is wider than its room, and nothing is lost."""

import io
import re
import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ringi.cli.ui import Ui, fold, safe_lines, width
from ringi.kernel.text import deceiving

WORDS = st.text(
    st.sampled_from("abc de-f.、。稟議です「ー」ｱé\u0301 ")
    | st.characters(codec="utf-8", exclude_characters="\n")
)


def printed(text: str, **how: object) -> list[str]:
    ui = Ui(as_json=False, environment={})
    ui.out = io.StringIO()
    ui.prose(text, **how)  # type: ignore[arg-type]
    return ui.out.getvalue().splitlines()


def without_blanks(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(WORDS, st.integers(8, 60))
def test_rows_fit_and_lose_nothing(text: str, room: int) -> None:
    [line, *_] = safe_lines(text)
    rows = fold(line, room)
    assert all(width(row) <= room for row in rows)
    assert without_blanks("".join(rows)) == without_blanks(line)


def test_words_stay_whole() -> None:
    assert fold("one two three four", 9) == ["one two", "three", "four"]


def test_japanese_breaks_anywhere_but_before_what_clings() -> None:
    assert fold("これは、とても長い文章です。", 8) == ["これは、", "とても長", "い文章で", "す。"]
    rows = fold("あ、「い」。" * 30, 10)
    assert not any(row.startswith(("、", "。", "」")) or row.endswith("「") for row in rows)


def test_a_word_wider_than_the_room_is_cut() -> None:
    assert fold("x" * 20, 8) == ["x" * 8, "x" * 8, "x" * 4]


def test_a_mark_has_columns_of_its_own() -> None:
    lines = printed("word " * 30, indent=2, mark="+ ")
    assert lines[0].startswith("  + word")
    assert {line[:4] for line in lines[1:]} == {"    "}
    assert max(map(width, lines)) <= 80


def test_nothing_from_outside_commands_the_terminal() -> None:
    [line] = printed("a\x1b[2Jb\u202ec\td\x07")
    assert line == r"a\x1b[2Jb\u202ec    d\x07"


def test_lines_of_the_text_stay_lines() -> None:
    assert printed("one\r\n\ntwo", indent=1) == [" one", "", " two"]


def test_without_a_terminal_eighty_columns_are_usual() -> None:
    ui = Ui(as_json=False, environment={})
    ui.out = io.StringIO()
    assert ui.columns == 80


def test_only_what_a_terminal_draws_over_another_character_has_no_width():
    wrong = []
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        if not deceiving(character):
            nothing = unicodedata.category(character) in {"Mn", "Me"}
            wide = unicodedata.east_asian_width(character) in "WF"
            if width(character) != (0 if nothing else 2 if wide else 1):
                wrong.append(hex(number))
    assert wrong == []
    assert [width("\u0903"), width("\u0e31"), width("\u20dd"), width("\u3099")] == [1, 0, 0, 0]
