"""A search in what a review shows: matches on the screen, the next one and the one before."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ringi.cli.screen.viewport import RowPlace, Viewport
from ringi.cli.ui import width
from ringi.kernel.lines import TextSpan
from ringi.kernel.text import Text, show_value
from ringi.plans.diff_view import CONFLICTING, LINES, DiffSection, RowKind

_MARGIN = 8
"""Columns before a match that lies far to the right."""


class Search(NamedTuple):
    words: str

    @property
    def _any_case(self) -> bool:
        """Case matters only if the person typed a capital letter."""
        return self.words == self.words.lower()

    def ranges(self, text: str) -> list[tuple[int, int]]:
        """From character to character of the text; empty if the words are not in it."""
        if self._any_case:
            lower = text.lower()
            text = lower if len(lower) == len(text) else text  # some letters become two
        found, at = [], text.find(self.words)
        while at >= 0:
            found.append((at, at + len(self.words)))
            at = text.find(self.words, at + len(self.words))
        return found

    def is_in(self, section: DiffSection, hunk: int) -> bool:
        """Whether a hunk may have it: quicker than to look at each of its rows."""
        text = section.content.hunks[hunk - 1].body.decode("utf-8", "backslashreplace")
        return bool(self.ranges(text)) or section.length(hunk) != text.count("\n")


class Finder:
    """The search that the person started, until they end it."""

    def __init__(self, view: Viewport, columns: Callable[[], int]) -> None:
        self._view = view
        self._columns = columns
        self._search: Search | None = None

    @property
    def words(self) -> str:
        return self._search.words if self._search else ""

    def search(self, words: str | None) -> None:
        """To the first match after the cursor; nothing to search for ends the search."""
        self._search = Search(words) if words else None
        self._go(1)

    def took(self, key: str) -> bool:
        """Whether the key was one of a search."""
        if self._search is None or key not in {"n", "N", "esc"}:
            return False
        if key == "esc":
            self._search = None
        self._go(1 if key == "n" else -1)
        return True

    def _go(self, direction: int) -> None:
        view, search = self._view, self._search
        view.message = view.matches = None
        if search is None:
            return
        view.reach = 0
        if to_match(view, search, direction, self._columns()):
            view.matches = search.ranges
            line = Text("/{words}  [n] next [N] previous [Esc] ends the search", words=search.words)
        else:
            self._search = None
            line = Text("Not found: {words}", words=search.words)
        view.message = TextSpan(line)


def to_match(view: Viewport, search: Search, direction: int, columns: int) -> bool:
    """To the next match, or the one before; after the last one follows the first."""
    for place, column in _matches(view, search, direction):
        view.folded.discard(view.shown[place.section].key)
        view.cursor = place
        view.left = column - _MARGIN if column + len(search.words) + 2 * _MARGIN > columns else 0
        return True
    return False


def _matches(view: Viewport, search: Search, direction: int) -> Iterator[tuple[RowPlace, int]]:
    sections, here = len(view.shown), view.cursor
    for distance in range(sections + 1):
        number = (here.section + direction * distance) % sections
        section = view.shown[number]
        for row in _candidates(section, search, direction):
            # The section of the cursor comes twice: first what follows it, at last what precedes it.
            beyond = (row - here.row) * direction > 0
            if (distance == 0 and not beyond) or (distance == sections and beyond):
                continue
            text = _text(section, row)
            if ranges := search.ranges(text):
                yield RowPlace(number, row), width(text[: ranges[0][0]])


def _candidates(section: DiffSection, search: Search, direction: int) -> Iterator[int]:
    first = section.start(1) if section.hunks else section.count
    parts = [range(first)]
    for hunk in range(1, section.hunks + 1):
        start = section.start(hunk)
        inside = section.length(hunk) if search.is_in(section, hunk) else 0
        parts.append(range(start, start + 1 + inside))
    for rows in parts[::direction]:
        yield from rows[::direction]


def _text(section: DiffSection, index: int) -> str:
    row = section.row(index)
    if row.kind is RowKind.FILE:
        return show_value(section.title)
    if row.kind in LINES | CONFLICTING or row.kind is RowKind.HUNK:
        return row.data.decode("utf-8", "backslashreplace")
    return show_value(row.note.text)
