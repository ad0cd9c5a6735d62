"""A line with styles: what every view is made of, and all that an interface has to draw."""

from enum import StrEnum
from typing import NamedTuple

from ringi.text import Text


class Style(StrEnum):
    """What a span means; the values name the look that terminals give it."""

    PLAIN = ""
    STRONG = "bold"
    FAINT = "dim"
    GOOD = "green"
    WARNING = "yellow"
    BAD = "red"
    ADDED = "add"
    REMOVED = "remove"
    PLACE = "cyan"
    """Where something is: a file, a hunk."""
    REMARK = "magenta"
    """What a person said about it."""
    SIGN = "sign"
    """Says what the styles beside it say, such as the stars of Markdown; left out if styles are shown."""


class Span(NamedTuple):
    text: Text | str
    """A Text is translated; a str may come from outside. Both are filtered by whoever shows them."""
    style: Style = Style.PLAIN


class Line(NamedTuple):
    spans: tuple[Span, ...] = ()
    indent: int = 0
    """In columns; deeper lines belong to the one above them."""
    mark: str = ""
    """Before the first row, such as "1  " or "+ "; further rows hang below the words."""
    folds: bool = False
    """Prose: folded to the reader's width, and a newline in it begins a new row."""


EMPTY = Line()


def line(text: Text | str, style: Style = Style.PLAIN, *, indent: int = 0) -> Line:
    return Line((Span(text, style),), indent)


def prose(text: Text | str, style: Style = Style.PLAIN, *, indent: int = 0, mark: str = "") -> Line:
    return Line((Span(text, style),), indent, mark, folds=True)


def step(command: str, *, indent: int = 2) -> Line:
    """What to type next."""
    return line(f"→ {command}", Style.STRONG, indent=indent)
