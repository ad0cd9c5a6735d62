"""Markdown as lines. Stars are shown only if styles are not; a heading, on its own line, needs no sign."""

import re
from collections.abc import Iterator
from typing import Final

from ringi.kernel.lines import Line, Style, TextSpan

_HEADING: Final = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_ITEM: Final = re.compile(r"(\s*(?:[-*+>]|\d{1,3}[.)])\s+)(.*)")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
_STRONG: Final = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_DEEPEST: Final = 16
_STARS: Final = TextSpan("**", Style.SIGN)


def markdown(text: str, indent: int = 2) -> Iterator[Line]:
    in_code = False
    for row in text.replace("\r\n", "\n").strip("\n").split("\n"):
        fence = bool(_FENCE.match(row))
        if in_code or fence:
            # Code keeps its lines.
            yield Line((TextSpan(row.expandtabs(4), Style.FAINT if fence else Style.PLAIN),), indent)
            in_code ^= fence
        else:
            yield _line(row.expandtabs(4), indent)


def _line(row: str, indent: int) -> Line:
    if heading := _HEADING.match(row):
        words = tuple(span._replace(style=span.style or Style.STRONG) for span in _spans(heading[1]))
        return Line(words, indent, folds=True)
    if item := _ITEM.match(row):
        return Line(tuple(_spans(item[2])), indent, item[1][-_DEEPEST:], folds=True)
    return Line(tuple(_spans(row)), indent, folds=True)


def _spans(words: str) -> Iterator[TextSpan]:
    end = 0
    for found in _STRONG.finditer(words):
        yield TextSpan(words[end : found.start()])
        yield from (_STARS, TextSpan(found[1], Style.STRONG), _STARS)
        end = found.end()
    yield TextSpan(words[end:])
