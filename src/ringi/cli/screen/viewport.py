"""What a review shows: sections with a cursor, and a page or a question over them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ringi.cli.screen.cells import Pieces
from ringi.cli.screen.line_editor import LineEditor
from ringi.kernel.lines import TextSpan
from ringi.kernel.text import Text
from ringi.plans.diff_view import DiffSection, Row, conflict_at
from ringi.plans.document import PlanDocument
from ringi.plans.review_view import Heading


class RowPlace(NamedTuple):
    """A row of a section."""

    section: int
    row: int


FIRST = RowPlace(0, 0)


class TextPage(NamedTuple):
    """Text to read, over the whole screen."""

    title: Pieces
    lines: tuple[Pieces, ...]


class ScreenQuestion(NamedTuple):
    words: Text
    editor: LineEditor | None
    """None if one key answers."""
    above: Sequence[Text] = ()
    """What the person must see to answer."""


@dataclass
class FileList:
    cursor: int
    top: int = 0

    def move(self, count: int, files: int) -> None:
        self.cursor = min(max(self.cursor + count, 0), files - 1)

    def visible(self, height: int, files: int) -> range:
        """Scrolls so that the cursor is among them."""
        self.top = max(min(self.top, self.cursor), self.cursor - height + 1, 0)
        return range(self.top, min(self.top + height, files))


@dataclass
class Viewport:
    heading: Heading
    sections: list[DiffSection]
    cursor: RowPlace = FIRST
    top: RowPlace = FIRST
    reach: int = 0
    """Rows below the cursor to keep visible."""
    left: int = 0
    """Columns scrolled out on the left."""
    folded: set[str] = field(default_factory=set)
    """By the key of the section."""
    stale: tuple[str, ...] = ()
    undecided: int = 0
    """Conflicts."""
    warnings: tuple[TextSpan, ...] = ()
    delta: list[DiffSection] | None = None
    """Shown instead of the sections: what changed since an earlier version."""
    since: int = 0
    """That version."""
    page: TextPage | None = None
    page_top: int = 0
    message: TextSpan | None = None
    checks: TextSpan | None = None
    output: Sequence[str] = ()
    """The last lines of a failed check's output."""
    question: ScreenQuestion | None = None
    matches: Callable[[str], Sequence[tuple[int, int]]] | None = None
    """Where a text has what the person searches for, from character to character."""
    files: FileList | None = None
    """Shown instead of the diff, to jump from."""
    wrap: bool = False
    """Long lines go on below, instead of beyond the right edge."""

    @property
    def document(self) -> PlanDocument:
        return self.heading.document

    @property
    def shown(self) -> list[DiffSection]:
        return self.sections if self.delta is None else self.delta

    @property
    def section(self) -> DiffSection:
        return self.shown[self.cursor.section]

    @property
    def row(self) -> Row:
        return self.section.row(self.cursor.row)

    def rows_of(self, section: int) -> int:
        return 1 if self.shown[section].key in self.folded else self.shown[section].count

    def show(self, sections: list[DiffSection]) -> None:
        """Replaces the sections; the cursor stays near its place, if a hunk went on the one that follows."""
        before, self.sections = self.sections, sections
        if self.delta is None:
            self.cursor = self._near(self.cursor, before)
            self.top = min(self._near(self.top, before), self.cursor)

    def _near(self, place: RowPlace, before: list[DiffSection]) -> RowPlace:
        section = min(place.section, len(self.sections) - 1)
        if self.sections[section].path != before[place.section].path:
            return beginning(self, section)
        hunk, hunks = before[place.section].hunk_at(place.row), _open_hunks(self, section)
        if hunk and 0 < hunks < before[place.section].hunks:
            return RowPlace(section, self.sections[section].first_change(min(hunk, hunks)))
        return RowPlace(section, min(place.row, self.rows_of(section) - 1))

    def show_delta(self, sections: list[DiffSection] | None, *, since: int = 0) -> None:
        self.delta, self.since = sections, since
        self.cursor = self.top = FIRST
        self.left = 0


def beginning(view: Viewport, section: int) -> RowPlace:
    """The first change of a file, so that drop and edit have something to act on; else its title."""
    hunks = _open_hunks(view, section)
    return RowPlace(section, view.shown[section].first_change(1) if hunks else 0)


def step(view: Viewport, place: RowPlace, count: int) -> RowPlace:
    """Moves by `count` rows, backwards if negative, within the first and last row."""
    section, row = place.section, place.row + count
    while row < 0 and section > 0:
        section -= 1
        row += view.rows_of(section)
    while row >= view.rows_of(section):
        if section + 1 == len(view.shown):
            return RowPlace(section, view.rows_of(section) - 1)
        row -= view.rows_of(section)
        section += 1
    return RowPlace(section, max(0, row))


def visible_rows(
    view: Viewport, height: int, tall: Callable[[RowPlace], int] = lambda _: 1
) -> list[RowPlace]:
    """The visible places from the top; scrolls so that the cursor is among them.

    `tall` is how many lines a place takes; the last one may not fit entirely.
    """
    view.top = min(view.top, view.cursor)
    places = _fitting(_below(view, view.top, height), height, tall)
    last = step(view, view.cursor, min(view.reach, height - 1))
    if last not in places or (last == places[-1] and sum(map(tall, places)) > height):
        above = _below(view, step(view, last, 1 - height), height)
        above = above[: above.index(last) + 1]
        view.top = min(_fitting(above[::-1], height, tall, whole=True)[-1], view.cursor)
        places = _fitting(_below(view, view.top, height), height, tall)
    return places


def _fitting(
    places: list[RowPlace], height: int, tall: Callable[[RowPlace], int], *, whole: bool = False
) -> list[RowPlace]:
    """The first ones that fit; at least one, and the last one only in part unless `whole`."""
    found: list[RowPlace] = []
    used = 0
    for place in places:
        size = tall(place)
        if found and (used + size > height if whole else used >= height):
            break
        found.append(place)
        used += size
    return found


def _below(view: Viewport, top: RowPlace, height: int) -> list[RowPlace]:
    places: list[RowPlace] = []
    section, row = top
    while len(places) < height and section < len(view.shown):
        last = min(view.rows_of(section), row + height - len(places))
        places += (RowPlace(section, one) for one in range(row, last))
        section, row = section + 1, 0
    return places


def to_hunk(view: Viewport, direction: int) -> None:
    """To the next or previous hunk, across files."""
    section, row = view.cursor
    hunk = 0 if view.section.key in view.folded else view.section.hunk_at(row)
    wanted = hunk + direction
    if direction < 0 and hunk and row > view.section.first_change(hunk):
        wanted = hunk
    while not 1 <= wanted <= _open_hunks(view, section):
        section += direction
        if not 0 <= section < len(view.shown):
            return
        wanted = 1 if direction > 0 else _open_hunks(view, section)
        if not _open_hunks(view, section):
            # Stop at a section without hunks too: a command must not be skipped unseen.
            view.cursor, view.reach = RowPlace(section, 0), view.rows_of(section) - 1
            return
    found = view.shown[section]
    view.cursor = RowPlace(section, found.first_change(wanted))
    view.reach = found.start(wanted) + found.length(wanted) - view.cursor.row


def to_conflict(view: Viewport) -> None:
    """To the first conflict that is undecided, if there is one."""
    for number, section in enumerate(view.shown if view.delta is None else ()):
        if not section.loaded and section.key in view.folded:
            continue
        for hunk in range(1, _open_hunks(view, number) + 1):
            found = conflict_at(section, hunk)
            if found is not None and found.decision is None:
                view.cursor = RowPlace(number, section.start(hunk))
                view.reach = section.length(hunk)
                return


def _open_hunks(view: Viewport, section: int) -> int:
    return 0 if view.shown[section].key in view.folded else view.shown[section].hunks


def to_section(view: Viewport, direction: int) -> None:
    if direction < 0 and view.cursor.row:
        view.cursor = RowPlace(view.cursor.section, 0)
        return
    section = min(max(view.cursor.section + direction, 0), len(view.shown) - 1)
    view.cursor, view.reach = RowPlace(section, 0), view.rows_of(section) - 1


def jump(view: Viewport, section: int) -> None:
    """To the first change of a file."""
    view.cursor = beginning(view, section)
    view.top, view.left, view.reach = RowPlace(section, 0), 0, 0


def widen(view: Viewport, direction: int) -> bool:
    """More lines around the hunk under the cursor, or fewer; at the title, around all.

    The cursor stays on its line. False if there are no others.
    """
    section, row = view.section, view.cursor.row
    hunk = section.hunk_at(row)
    if section.key in view.folded or not section.hunks:
        return False
    within = row - section.start(hunk) if hunk else 0
    before = section.first_change(hunk or 1) - section.start(hunk or 1)
    if not section.widen(hunk, direction):
        return False
    if hunk:
        moved = within + section.first_change(hunk) - section.start(hunk) - before if within else 0
        row = section.start(hunk) + min(max(moved, 0), section.length(hunk))
    view.cursor, view.reach = RowPlace(view.cursor.section, row), 0
    return True


def fold(view: Viewport) -> None:
    key = view.section.key
    view.folded ^= {key}
    if key in view.folded:
        view.cursor = RowPlace(view.cursor.section, 0)
