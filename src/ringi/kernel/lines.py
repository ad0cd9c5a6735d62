"""A line with styles: views return them, interfaces draw them."""

from enum import StrEnum
from typing import NamedTuple

from ringi.kernel.text import Text


class Style(StrEnum):
    """What a span means; the values are the terminal styles."""

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
    """A sign that repeats a style, such as the stars of Markdown; omitted if styles are shown."""


class TextSpan(NamedTuple):
    text: Text | str
    """A Text is translated; a str may be untrusted. The interface filters both."""
    style: Style = Style.PLAIN


class Line(NamedTuple):
    spans: tuple[TextSpan, ...] = ()
    indent: int = 0
    """In columns."""
    mark: str = ""
    """Before the first row, such as "1  " or "+ "; further rows align with the text."""
    folds: bool = False
    """Prose: wrapped to the reader's width; a newline starts a new row."""
    command: str = ""
    """What a person types next; an interface without a command line names its own way to do it."""


EMPTY = Line()


def line(text: Text | str, style: Style = Style.PLAIN, *, indent: int = 0) -> Line:
    return Line((TextSpan(text, style),), indent)


def prose(text: Text | str, style: Style = Style.PLAIN, *, indent: int = 0, mark: str = "") -> Line:
    return Line((TextSpan(text, style),), indent, mark, folds=True)


def step(command: str, *, indent: int = 2) -> Line:
    """What to type next."""
    return Line((TextSpan(Text("→ {command}", command=command), Style.STRONG),), indent, command=command)
