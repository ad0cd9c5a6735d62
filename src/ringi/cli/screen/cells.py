"""Styled text measured in terminal columns."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

from ringi.cli.ui import width


class StyledText(NamedTuple):
    """Translated and filtered, ready for the terminal."""

    text: str
    style: str = ""
    """Names from STYLES, separated by spaces; a later one wins."""


Pieces = tuple[StyledText, ...]

# Kept even without colour: nothing important is shown by colour alone.
_SHAPES: Final = {"bold": "1", "dim": "2", "underline": "4", "reverse": "7"}
# The sixteen colours follow the person's own light or dark theme.
_COLOURS: Final = {
    "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
    "add": "32", "remove": "31",
    "keyword": "35", "string": "33", "comment": "2", "number": "36",
    "name": "", "function": "34", "type": "36", "operator": "",
}  # fmt: skip
# On a coloured background a theme's own colours may be unreadable, so the foregrounds are fixed too.
_TINTS: Final = {"add-tint": "38;5;255;48;5;22", "remove-tint": "38;5;255;48;5;52"}
# A changed word stands out from its line: by a lighter background, or else by a line below it.
_WORD_TINTS: Final = {"add-word": "48;5;28", "remove-word": "48;5;88"}
_ON_TINT: Final = {
    "red": "38;5;217", "green": "38;5;157", "yellow": "38;5;229", "blue": "38;5;153",
    "magenta": "38;5;219", "cyan": "38;5;159", "add": "38;5;157", "remove": "38;5;217",
    "keyword": "38;5;219", "string": "38;5;229", "comment": "38;5;250", "number": "38;5;159",
    "function": "38;5;153", "type": "38;5;159",
}  # fmt: skip
STYLES: Final[Mapping[str, str]] = MappingProxyType({**_SHAPES, **_COLOURS, **_TINTS, **_WORD_TINTS})


@lru_cache(maxsize=512)
def sgr(style: str, *, colour: bool, many: bool = False) -> str:
    """The SGR parameters of a style; `many` is for terminals with 256 colours."""
    names = style.split()
    tinted = colour and many and not _TINTS.keys().isdisjoint(names)
    found = []
    for name in names:
        if name in _SHAPES:
            found.append(_SHAPES[name])
        elif name in _TINTS:
            found.append(_TINTS[name] if tinted else "")
        elif name in _WORD_TINTS:
            found.append(_WORD_TINTS[name] if tinted else _SHAPES["underline"])
        elif colour:
            found.append(_ON_TINT.get(name, "") if tinted else _COLOURS[name])
    # The tint sets a foreground, so it comes first and the style overrides it.
    found.sort(key=lambda code: code not in _TINTS.values())
    return ";".join(filter(None, found))


def has_many_colours(environment: Mapping[str, str]) -> bool:
    return "256color" in environment.get("TERM", "") or bool(environment.get("COLORTERM"))


def clip(line: Pieces, columns: int, *, start: int = 0) -> Pieces:
    """The columns from `start` on; a double-width character cut in half becomes a space."""
    end = start + max(columns, 0)
    column = 0
    result = []
    for text, style in line:
        if column >= end and end > start and not _begins_with_mark(text):
            break
        if text.isascii():
            cut = text[max(0, start - column) : max(0, end - column)]
            column += len(text)
        else:
            cut, column = _clip_text(text, column, start, end)
        if cut:
            result.append(StyledText(cut, style))
    return tuple(result)


def break_rows(line: Pieces, columns: int) -> list[Pieces]:
    """In rows of so many columns; a double-width character that does not fit begins the next one."""
    rows: list[list[StyledText]] = [[]]
    used = 0
    for text, style in line:
        start = 0
        for at, character in enumerate(text):
            size = width(character)
            if used and size and used + size > columns:
                rows[-1].append(StyledText(text[start:at], style))
                rows.append([])
                start, used = at, 0
            used += size
        rows[-1].append(StyledText(text[start:], style))
    return [tuple(piece for piece in row if piece.text) for row in rows]


def _begins_with_mark(text: str) -> bool:
    return bool(text) and width(text[0]) == 0


def _clip_text(text: str, column: int, start: int, end: int) -> tuple[str, int]:
    kept = []
    for character in text:
        size = width(character)
        if size == 0:
            # A mark stays with its character, and a line may begin with one.
            if start < column <= end or column == start == 0:
                kept.append(character)
            continue
        if column >= end:
            return "".join(kept), column
        inside = min(column + size, end) - max(column, start)
        if inside > 0:
            kept.append(character if inside == size else " " * inside)
        column += size
    return "".join(kept), column


def restyle(line: Pieces, ranges: Sequence[tuple[int, int]], style: str) -> Pieces:
    """Adds a style to the characters of these ranges, which are in order."""
    if not ranges:
        return line
    found, at = [], 0
    for text, before in line:
        cuts = {0, len(text)} | {min(max(edge - at, 0), len(text)) for pair in ranges for edge in pair}
        for begin, end in pairwise(sorted(cuts)):
            inside = any(first <= at + begin < last for first, last in ranges)
            found.append(StyledText(text[begin:end], f"{before} {style}".strip() if inside else before))
        at += len(text)
    return tuple(found)


def pad(line: Pieces, columns: int) -> Pieces:
    """Padded to `columns` in the style of the last piece."""
    missing = columns - sum(width(piece.text) for piece in line)
    if missing <= 0:
        return line
    names = line[-1].style.split() if line else ()
    style = " ".join(name for name in names if name not in _WORD_TINTS)
    return (*line, StyledText(" " * missing, style))
