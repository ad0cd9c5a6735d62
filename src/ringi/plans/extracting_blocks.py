"""Markdown cut into what matters here: fenced blocks, paragraphs, and text that is set aside.

Where two readings of the fences are possible, the block is kept whole and marked as unreadable.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ringi.text import Text

_FENCE: Final = re.compile(r"([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)", re.DOTALL).fullmatch
_QUOTE: Final = re.compile(r"[ \t]*>").match
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+•][ \t]|\d{1,9}[.)][ \t]|・)").match
_HEADING: Final = re.compile(r"[ \t]*#{1,6}[ \t]").match
_RULE: Final = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t\r]*").fullmatch
# A closing fence may be indented a little more than its opening; the context of a diff begins with a blank.
_SLACK: Final = 3
_IS_DIFF: Final = re.compile(r"\W*(?:diff|patch)\b", re.IGNORECASE).match
_NO_BLANK: Final = re.compile(r"[^ \t]").sub
_BOM: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Fence(NamedTuple):
    line: int
    """Of its opening, from 1."""
    opening: str
    info: str
    lines: tuple[str, ...]
    """Without the indentation that all of them share with the opening."""
    above: str
    """The nearest line above that is not empty, if it is plain text."""
    near: bool
    """Nothing stands between them."""
    why: Text | None = None
    """Why it cannot be read."""


class Paragraph(NamedTuple):
    """Lines without an empty one between them; a bullet or a heading begins a new one."""

    line: int
    lines: tuple[str, ...]
    before_fence: bool


class Aside(NamedTuple):
    """Quoted or hidden: nobody proposes what stands there."""

    line: int
    lines: tuple[str, ...]
    why: Text


class _Mark(NamedTuple):
    """A line that could open or close a fence."""

    lead: str
    sign: str
    info: str

    def reach(self) -> int:
        """How far a line may be indented and still close it."""
        return len(self.lead) + (0 if _IS_DIFF(self.info) else _SLACK)


def blocks(text: str) -> Iterator[Fence | Paragraph | Aside]:
    return _Reader(text.removeprefix(_BOM).split("\n")).blocks()


def is_fence(line: str) -> bool:
    return _mark(line) is not None


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._above = ""
        self._above_end = 0
        self._pairs: dict[int, int] | None = None

    def blocks(self) -> Iterator[Fence | Paragraph | Aside]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if mark := _mark(line):
                yield self._fence(mark)
                self._above = ""
            elif _QUOTE(line):
                yield self._aside(self._quote_end(), Text("it stands in a quotation"))
            elif line.lstrip().startswith("<!--"):
                yield self._aside(self._comment_end(), Text("it stands in a comment"))
            elif line.strip():
                yield self._paragraph()
            else:
                self._at += 1

    def _fence(self, opening: _Mark) -> Fence:
        first, end = self._at, len(self._lines)
        confused, why = False, None
        for at, mark in self._marks_in(first, opening):
            if not mark.info:
                end = at
                break
            # It would open a block of its own if the fence around it were not there.
            confused = True
        else:
            why = Text("its fence is never closed")
        if confused and not why:
            end = max(end, self._nested_end(first, opening, end))
            why = Text("a fence in it is as long as its own; make the outer fence longer")
        self._at = end + 1
        lines = () if why else self._content(first, end, opening)
        return Fence(
            first + 1, self._lines[first], opening.info, lines, self._above, first == self._above_end, why
        )

    def _marks_in(self, first: int, opening: _Mark) -> Iterator[tuple[int, _Mark]]:
        reach = opening.reach()
        for at in range(first + 1, len(self._lines)):
            mark = _mark(self._lines[at])
            if mark and mark.sign.startswith(opening.sign) and len(mark.lead) <= reach:
                yield at, mark

    def _content(self, first: int, end: int, opening: _Mark) -> tuple[str, ...]:
        lines = self._lines[first + 1 : end]
        if self._lines[first].endswith("\r"):  # the text's own line ends, not the block's
            lines = [line.removesuffix("\r") for line in lines]
        # A bullet counts as the blanks that stand below it.
        shared = _NO_BLANK(" ", opening.lead)
        for line in lines:
            if not line.startswith(shared) and line.strip(" \t"):
                shared = _common(shared, line)
        return tuple(
            line.removeprefix(shared) if line.startswith(shared) or line.strip(" \t") else ""
            for line in lines
        )

    def _nested_end(self, first: int, opening: _Mark, end: int) -> int:
        """Where the block ends if the fences in it are pairs; the end of the text if they are not."""
        if not opening.info:  # then the last one closes, whichever of them opened
            return end
        if self._pairs is None:
            self._pairs = _pairs(self._lines)
        return self._pairs.get(first, len(self._lines))

    def _aside(self, end: int, why: Text) -> Aside:
        first, self._at, self._above = self._at, end, ""
        return Aside(first + 1, tuple(self._lines[first:end]), why)

    def _quote_end(self) -> int:
        at = self._at
        while at < len(self._lines) and _QUOTE(self._lines[at]):
            at += 1
        return at

    def _comment_end(self) -> int:
        for at in range(self._at, len(self._lines)):
            if "-->" in self._lines[at]:
                return at + 1
        return len(self._lines)

    def _paragraph(self) -> Paragraph:
        first = self._at
        heading = bool(_HEADING(self._lines[first]))
        self._at += 1
        while self._at < len(self._lines) and not heading and not _begins(self._lines[self._at]):
            self._at += 1
        lines = tuple(line.removesuffix("\r") for line in self._lines[first : self._at])
        self._above, self._above_end = lines[-1], self._at
        following = self._at
        while following < len(self._lines) and not self._lines[following].strip():
            following += 1
        before_fence = following < len(self._lines) and is_fence(self._lines[following])
        self._at = following
        return Paragraph(first + 1, lines, before_fence)


def _common(one: str, other: str) -> str:
    differ = (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return one[: next(differ, min(len(one), len(other)))]


def _mark(line: str) -> _Mark | None:
    if "```" not in line and "~~~" not in line:
        return None
    found = _FENCE(line)
    # Three backticks and more of them later are code within a line.
    if not found or (found[2][0] == "`" and "`" in found[3]):
        return None
    return _Mark(found[1], found[2], found[3].strip())


def _pairs(lines: Sequence[str]) -> dict[int, int]:
    """Openings with words and the closings that belong to them, for each sign by itself."""
    pairs: dict[int, int] = {}
    stacks: dict[str, list[int]] = {"`": [], "~": []}
    for at, line in enumerate(lines):
        if mark := _mark(line):
            stack = stacks[mark.sign[0]]
            if mark.info:
                stack.append(at)
            elif stack:
                pairs[stack.pop()] = at
    return pairs


def _begins(line: str) -> bool:
    """A paragraph does not go on with this line."""
    return not line.strip() or any(
        begins(line) for begins in (_BULLET, _HEADING, _RULE, _QUOTE, is_fence, _is_comment)
    )


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("<!--")
