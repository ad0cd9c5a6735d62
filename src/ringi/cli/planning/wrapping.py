"""Text folded to the columns of a terminal: words stay whole, Japanese breaks anywhere it may."""

import os
import re
from collections.abc import Iterator
from typing import Final

from ringi.cli.ui import Ui, width
from ringi.text import visible

LONGEST: Final = 100
"""Columns that an eye follows; a wider terminal changes nothing."""
_USUAL: Final = 80
_NARROWEST: Final = 16
_ROOM: Final = 8
"""At least so many columns for words, however deep they are indented."""
# No line of Japanese begins with one of these.
_CLINGING: Final = frozenset("、。，．・：；？！）」』】〕〉》ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…")  # noqa: RUF001
# And none ends with one of these.
_OPENING: Final = frozenset("（「『【〔〈《")  # noqa: RUF001
# A blank, one wide character, or a run of others.
_PIECE: Final = re.compile(
    r"\s+|[\u1100-\u115f\u2e80-\uffef\U0001f000-\U0003ffff]|[^\s\u1100-\u115f\u2e80-\uffef\U0001f000-\U0003ffff]+"
)


def columns(ui: Ui) -> int:
    """Of the terminal that is written to, or what is usual."""
    try:
        found = os.get_terminal_size(ui.out.fileno()).columns
    except (OSError, ValueError):
        found = 0
    return max(_NARROWEST, min(found or _USUAL, LONGEST))


def cut(text: str, room: int) -> str:
    """Filtered, and no wider than the room."""
    shown = visible(text, keep="")
    if width(shown) <= room:
        return shown
    end, left = 0, room - 1
    while (left := left - width(shown[end])) >= 0:
        end += 1
    return f"{shown[:end].rstrip()}…"


def shown_lines(text: str) -> list[str]:
    """Each line of a text from outside, harmless to a terminal."""
    return [visible(line.expandtabs(4), keep="") for line in text.replace("\r\n", "\n").split("\n")]


def folded(line: str, room: int) -> list[str]:
    """One line as several, none wider than the room; at least one."""
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
    """What stays together: a word, or a wide character with what clings to it; never wider than the room."""
    waiting = ""
    for piece in _PIECE.findall(line):
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


def paragraph(ui: Ui, text: str, *, style: str = "", indent: int = 0, mark: str = "") -> None:
    """Words from outside, filtered and folded; the mark stands before the first line, in its own columns.

    A mark may be from outside too: a session that was taken in names its questions itself.
    """
    mark = visible(mark, keep="")
    hanging = indent + width(mark)
    room = columns(ui) - hanging
    before = " " * indent + mark
    for line in shown_lines(text):
        for row in folded(line, room):
            ui.line(before + ui.styled(row, style) if row else before.rstrip())
            before = " " * hanging
