"""A summary in Markdown, made pleasant to read: nothing is lost that stands in it."""

import re
from collections.abc import Sequence
from typing import Final

from ringi.cli.planning.wrapping import columns, folded, shown_lines
from ringi.cli.ui import Ui, width

_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_ITEM: Final = re.compile(r"(\s*(?:[-*+]|\d{1,3}[.)])\s+)(.*)")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_STRONG: Final = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_DEEPEST: Final = 16


def show_markdown(ui: Ui, text: str, indent: int = 2) -> None:
    room = columns(ui) - indent
    in_code = False
    for line in shown_lines(text.strip("\n")):
        fence = bool(_FENCE.match(line))
        if in_code or fence:
            # Code keeps its lines; a terminal breaks them where it must.
            ui.line(" " * indent + ui.styled(line, "dim" if fence else ""))
            in_code ^= fence
        else:
            _show_line(ui, line, room, indent)


def _show_line(ui: Ui, line: str, room: int, indent: int) -> None:
    # Where there is no bold, the signs say what it is.
    bold = ui.styled("#", "bold") != "#"
    mark, words = "", line
    strong: Sequence[range] = ()
    if heading := _HEADING.match(line):
        mark, words = "" if bold else f"{heading[1]} ", heading[2]
    elif item := _ITEM.match(line):
        mark, words = item[1][-_DEEPEST:], item[2]
    if bold:
        words, strong = _unmarked(words)
        strong = [range(len(words))] if heading else strong
    hanging, at = width(mark), 0
    for row in folded(words, room - hanging):
        at = words.index(row, at)
        ui.line((" " * indent + mark + _styled(ui, row, at, strong)).rstrip())
        mark, at = " " * hanging, at + len(row)


def _unmarked(words: str) -> tuple[str, list[range]]:
    """The words without their pairs of stars, and what stood between them."""
    plain, strong, end = "", [], 0
    for found in _STRONG.finditer(words):
        plain += words[end : found.start()]
        strong.append(range(len(plain), len(plain) + len(found[1])))
        plain, end = plain + found[1], found.end()
    return plain + words[end:], strong


def _styled(ui: Ui, row: str, at: int, strong: Sequence[range]) -> str:
    """A row that begins `at` this place of the words, with what is strong in it in bold."""
    shown, done = "", 0
    for part in strong:
        begin, end = max(part.start - at, done), min(part.stop - at, len(row))
        if begin < end:
            shown += row[done:begin] + ui.styled(row[begin:end], "bold")
            done = end
    return shown + row[done:]
