"""Source text with the styles of its language. A lexer only colours; it can hide or change nothing."""

import contextlib
import re
import signal
import threading
import time
from collections.abc import Generator, Iterator
from functools import lru_cache
from types import FrameType
from typing import TYPE_CHECKING, Final

from ringi.cli.screen.cells import Piece, Pieces, width
from ringi.text import visible

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]  # it has none

_MOST_CHARACTERS: Final = 200_000
_LONGEST_LINE: Final = 2_000
_TAB: Final = 4
# Lexers are made of expressions that a text written for it can keep busy for years.
_MOST_SEC: Final = 0.2
_STEP_SEC: Final = 0.02
_MOST_STEPS: Final = 200

# Where several languages share an ending, the one that is met most.
_PREFERRED: Final = {
    "*.h": "CLexer", "*.m": "ObjectiveCLexer", "*.pl": "PerlLexer", "*.pm": "PerlLexer", "*.s": "GasLexer",
    "*.sql": "SqlLexer", "*.t": "PerlLexer", "*.ttl": "TurtleLexer", "*.v": "VerilogLexer",
}  # fmt: skip
_STYLE_OF: Final = {
    "Keyword.Type": "type", "Keyword": "keyword",
    "Name.Function": "function", "Name.Class": "type", "Name.Builtin": "function", "Name.Exception": "type",
    "Name.Decorator": "function", "Name.Tag": "keyword", "Name.Attribute": "function", "Name": "name",
    "Literal.String": "string", "Literal.Number": "number", "Literal": "string",
    "Comment": "comment", "Operator.Word": "keyword", "Operator": "operator",
    "Generic.Heading": "bold", "Generic.Subheading": "bold", "Generic.Strong": "bold",
}  # fmt: skip
# What the lexers of other people are known to fail with on text they did not expect.
_LEXER_FAULTS: Final = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, RuntimeError,
    TypeError, ValueError, re.error,
)  # fmt: skip


class _TimeIsUp(BaseException):
    """Not an error that a lexer would catch."""


def highlight(path: str, text: str) -> list[Pieces] | None:
    """One styled line for each line of the text; None if there is no lexer, or it would take too long."""
    steps = highlighting(path, text)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # the type of what a generator returns is lost here


def highlighting(path: str, text: str) -> Generator[None, None, list[Pieces] | None]:
    """As `highlight`, a little at a time: whoever types meanwhile need not wait for all of it."""
    if len(text) > _MOST_CHARACTERS or any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        return None
    lines = _Lines()
    try:
        lexer = _lexer_for(path.rpartition("/")[2])
        if lexer is None:
            return None
        tokens = _lexed(lexer, text)
        for _ in range(_MOST_STEPS):
            yield
            with _at_most(_MOST_SEC):
                if lines.take(tokens, time.monotonic() + _STEP_SEC):
                    # A lexer that leaves something out, or puts something in, would show what is not there.
                    return lines.ended() if "".join(lines.text) == text else None
    except (*_LEXER_FAULTS, _TimeIsUp):
        pass
    return None


def plain(text: str) -> Pieces:
    """A line without styles, filtered and with its tabs as `highlight` has them."""
    return (Piece(_shown(text, 0)),)


def _lexed(lexer: "Lexer", text: str) -> Iterator[tuple[int, object, str]]:
    # Not `get_tokens`: it would mend line ends and drop a byte-order mark.
    yield from lexer.get_tokens_unprocessed(text)


@lru_cache(maxsize=16)
def _lexer_for(name: str) -> "Lexer | None":
    # Heavy, and only needed to colour; it comes without types.
    from pygments.lexers import (  # type: ignore[import-untyped]  # noqa: PLC0415
        LEXERS,
        find_lexer_class,
    )

    patterns = (name, *(f"*{name[at:].lower()}" for at, c in enumerate(name) if c == "."))
    for pattern in patterns:
        # The first pattern of a lexer is its own; further ones it shares with others.
        found = [
            (key != _PREFERRED.get(pattern), files.index(pattern), title)
            for key, (_, title, _, files, _) in LEXERS.items()
            if pattern in files
        ]
        if found:
            kind = find_lexer_class(min(found)[2])
            return None if kind is None else kind()
    return None


class _Lines:
    """Made of tokens, as far as they have come."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._lines: list[Pieces] = []
        self._pieces: list[Piece] = []
        self._column = 0

    def take(self, tokens: Iterator[tuple[int, object, str]], until: float) -> bool:
        """Until that moment; whether those were all."""
        for _, kind, value in tokens:
            self._add(_style(str(kind)), value)
            if time.monotonic() > until:
                return False
        return True

    def _add(self, style: str, value: str) -> None:
        self.text.append(value)
        for number, piece in enumerate(value.split("\n")):
            if number:
                self._end_line()
            if piece:
                shown = _shown(piece, self._column)
                self._column += width(shown)
                _add(self._pieces, shown, style)

    def _end_line(self) -> None:
        self._lines.append(tuple(self._pieces))
        self._pieces, self._column = [], 0

    def ended(self) -> list[Pieces]:
        self._end_line()
        return self._lines


def _add(pieces: list[Piece], text: str, style: str) -> None:
    if pieces and (pieces[-1].style == style or text.isspace()):
        pieces[-1] = Piece(pieces[-1].text + text, pieces[-1].style)
    else:
        pieces.append(Piece(text, style))


def _shown(text: str, column: int) -> str:
    first, *others = visible(text).split("\t")
    for other in others:
        first += " " * (_TAB - (column + width(first)) % _TAB) + other
    return first


@lru_cache(maxsize=256)
def _style(kind: str) -> str:
    """`Token.Literal.String.Doc`: of itself, or of the nearest above it."""
    name = kind.removeprefix("Token.")
    while name not in _STYLE_OF and "." in name:
        name = name.rpartition(".")[0]
    return _STYLE_OF.get(name, "")


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Only the main thread can be called off; another one has to be content with the limits of size."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
