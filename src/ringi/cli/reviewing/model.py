"""What is on the screen of a review: parts, a cursor in them, pages beside them. It knows no terminal."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ringi.cli.reviewing.rows import Part, Row
from ringi.cli.term.cells import Line
from ringi.cli.term.lineedit import LineEditor
from ringi.domain.plan import PlanDocument, PlanRef
from ringi.domain.risk import Risk
from ringi.text import Text


class Place(NamedTuple):
    """A row of a part."""

    part: int
    row: int


FIRST = Place(0, 0)


class Page(NamedTuple):
    """Something to read, over the whole screen."""

    title: Line
    lines: tuple[Line, ...]


class Question(NamedTuple):
    words: Text
    editor: LineEditor | None
    """None where one key answers."""
    above: Sequence[Text] = ()
    """What has to be seen to answer."""


class Message(NamedTuple):
    words: Text
    style: str = ""


class Facts(NamedTuple):
    """What is said of the plan above its diffs; made once, because it looks at all of it."""

    ref: PlanRef
    document: PlanDocument
    risk: Risk
    said: tuple[Message, ...]


@dataclass
class Model:
    facts: Facts
    parts: list[Part]
    cursor: Place = FIRST
    top: Place = FIRST
    reach: int = 0
    """So many rows below the cursor are to be seen with it."""
    left: int = 0
    """Columns that are out of sight on the left."""
    folded: set[str] = field(default_factory=set)
    """By the key of the part."""
    stale: tuple[str, ...] = ()
    warnings: tuple[Message, ...] = ()
    """What else of the workspace and of other plans stands in its way, and the commit that follows."""
    delta: list[Part] | None = None
    """Shown instead of the parts: what changed since the version that was approved last."""
    page: Page | None = None
    page_top: int = 0
    message: Message | None = None
    checks: Message | None = None
    output: Sequence[str] = ()
    """The end of what a failed check printed."""
    question: Question | None = None

    @property
    def document(self) -> PlanDocument:
        return self.facts.document

    @property
    def shown(self) -> list[Part]:
        return self.parts if self.delta is None else self.delta

    @property
    def part(self) -> Part:
        return self.shown[self.cursor.part]

    @property
    def row(self) -> Row:
        return self.part.row(self.cursor.row)

    def rows_of(self, part: int) -> int:
        return 1 if self.shown[part].key in self.folded else self.shown[part].count

    def show(self, parts: list[Part]) -> None:
        """These parts from here on; the cursor stays near where it was."""
        before, self.parts = self.parts, parts
        if self.delta is None:
            self.cursor = self._near(self.cursor, before)
            self.top = min(self._near(self.top, before), self.cursor)

    def _near(self, place: Place, before: list[Part]) -> Place:
        part = min(place.part, len(self.parts) - 1)
        if self.parts[part].path != before[place.part].path:
            return beginning(self, part)
        return Place(part, min(place.row, self.rows_of(part) - 1))

    def show_delta(self, parts: list[Part] | None) -> None:
        self.delta = parts
        self.cursor = self.top = FIRST
        self.left = 0


def beginning(model: Model, part: int) -> Place:
    """Of a file its first change, where keys that drop and edit have something to do; else its name."""
    hunks = _open_hunks(model, part)
    return Place(part, model.shown[part].first_change(1) if hunks else 0)


def step(model: Model, place: Place, count: int) -> Place:
    """So many rows further, or back where the count is negative; no further than the first or last row."""
    part, row = place.part, place.row + count
    while row < 0 and part > 0:
        part -= 1
        row += model.rows_of(part)
    while row >= model.rows_of(part):
        if part + 1 == len(model.shown):
            return Place(part, model.rows_of(part) - 1)
        row -= model.rows_of(part)
        part += 1
    return Place(part, max(0, row))


def visible_rows(model: Model, height: int) -> list[Place]:
    """The places on the screen, from the top; the top moves so that the cursor is among them."""
    model.top = min(model.top, model.cursor)
    places = _below(model, model.top, height)
    last = step(model, model.cursor, min(model.reach, height - 1))
    if last not in places:
        model.top = step(model, last, 1 - height)
        places = _below(model, model.top, height)
    return places


def _below(model: Model, top: Place, height: int) -> list[Place]:
    places: list[Place] = []
    part, row = top
    while len(places) < height and part < len(model.shown):
        last = min(model.rows_of(part), row + height - len(places))
        places += (Place(part, one) for one in range(row, last))
        part, row = part + 1, 0
    return places


def to_hunk(model: Model, direction: int) -> None:
    """To the next hunk, or the one before; across files."""
    part, row = model.cursor
    hunk = 0 if model.part.key in model.folded else model.part.hunk_at(row)
    wanted = hunk + direction
    if direction < 0 and hunk and row > model.part.first_change(hunk):
        wanted = hunk
    while not 1 <= wanted <= _open_hunks(model, part):
        part += direction
        if not 0 <= part < len(model.shown):
            return
        wanted = 1 if direction > 0 else _open_hunks(model, part)
        if not _open_hunks(model, part):
            # A part without hunks is a stop of its own: a command must not be passed unseen.
            model.cursor, model.reach = Place(part, 0), model.rows_of(part) - 1
            return
    found = model.shown[part]
    model.cursor = Place(part, found.first_change(wanted))
    model.reach = found.start(wanted) + found.length(wanted) - model.cursor.row


def _open_hunks(model: Model, part: int) -> int:
    return 0 if model.shown[part].key in model.folded else model.shown[part].hunks


def to_part(model: Model, direction: int) -> None:
    if direction < 0 and model.cursor.row:
        model.cursor = Place(model.cursor.part, 0)
        return
    part = min(max(model.cursor.part + direction, 0), len(model.shown) - 1)
    model.cursor, model.reach = Place(part, 0), model.rows_of(part) - 1


def fold(model: Model) -> None:
    key = model.part.key
    model.folded ^= {key}
    if key in model.folded:
        model.cursor = Place(model.cursor.part, 0)
