"""A summary in Markdown, made pleasant to read: nothing is lost that stands in it."""

import re
from typing import Final

from ringi.cli.planning.wrapping import columns, folded, shown_lines
from ringi.cli.ui import Ui, width

_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_ITEM: Final = re.compile(r"(\s*(?:[-*+]|\d{1,3}[.)])\s+)(.*)")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
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
    mark, words, style = "", line, ""
    if heading := _HEADING.match(line):
        # Where there is no bold, the signs say what it is.
        bold = ui.styled("#", "bold") != "#"
        mark, words, style = "" if bold else f"{heading[1]} ", heading[2], "bold"
    elif item := _ITEM.match(line):
        mark, words = item[1][-_DEEPEST:], item[2]
    hanging = width(mark)
    for row in folded(words, room - hanging):
        ui.line((" " * indent + mark + ui.styled(row, style)).rstrip())
        mark = " " * hanging
