"""Text measured in columns and folded to a terminal: words stay whole, Japanese breaks anywhere it may."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from ringi.text import visible

_ROOM: Final = 8
"""Minimum columns for text, however deep the indent."""
# No line of Japanese begins with one of these.
_CLINGING: Final = frozenset("、。，．・：；？！）」』】〕〉》ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…")  # noqa: RUF001
# And none ends with one of these.
_OPENING: Final = frozenset("（「『【〔〈《")  # noqa: RUF001
# A blank, one wide character, or a run of narrow ones.
_WIDE: Final = r"\u1100-\u115f\u2e80-\uffef\U0001f000-\U0003ffff"
_PIECE: Final = rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+"


def width(words: str) -> int:
    """Columns on a terminal: Japanese characters take two, combining ones none."""
    if words.isascii():
        return len(words)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in words
    )


def cut(text: str, room: int) -> str:
    """Filtered, and cut to at most `room` columns; a mark shows the cut."""
    if room <= 0:
        return ""
    shown = visible(text, keep="")
    if width(shown) <= room:
        return shown
    end, left = 0, room - 1
    while (left := left - width(shown[end])) >= 0:
        end += 1
    return f"{shown[:end].rstrip()}…"


def shown_lines(text: str) -> list[str]:
    """The lines of an untrusted text, safe to print."""
    return [visible(line.expandtabs(4), keep="") for line in text.replace("\r\n", "\n").split("\n")]


def folded(line: str, room: int) -> list[str]:
    """Wraps a line to at most `room` columns; returns at least one line."""
    return list(_folded(line, max(room, _ROOM))) or [""]


def _folded(line: str, room: int) -> Iterator[str]:
    row = ""
    for piece in _pieces(line, room):
        if width(row) + width(piece.rstrip()) <= room:
            row += piece
        else:
            yield row.rstrip()
            row = piece.lstrip()
    if row.rstrip():
        yield row.rstrip()


def _pieces(line: str, room: int) -> Iterator[str]:
    """Units that must not be split: a word, or a wide character with its punctuation; at most `room` wide."""
    waiting = ""
    for piece in re.findall(_PIECE, line):
        if waiting and piece[0] not in _CLINGING and waiting[-1] not in _OPENING:
            yield waiting
            waiting = ""
        joined = waiting + piece
        if width(joined) > room:
            if waiting:
                yield waiting
            *whole, waiting = _cut(piece, room)
            yield from whole
        else:
            waiting = joined
    if waiting:
        yield waiting


def _cut(word: str, room: int) -> list[str]:
    rows, row = [], ""
    for character in word:
        if width(row) + width(character) > room:
            rows.append(row)
            row = ""
        row += character
    return [*rows, row]
