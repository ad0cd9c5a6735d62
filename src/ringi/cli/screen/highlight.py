"""Syntax highlighting. A lexer only colours; it cannot hide or change text."""

import contextlib
import gc
import re
import signal
import threading
import time
from collections.abc import Generator, Iterator
from functools import lru_cache
from types import FrameType
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.cli.screen.cells import Pieces, StyledText
from ringi.cli.ui import width
from ringi.kernel.text import visible

if TYPE_CHECKING:
    from pygments.lexer import Lexer  # type: ignore[import-untyped]  # it has none

_MOST_CHARACTERS: Final = 200_000
_LONGEST_LINE: Final = 2_000
_TAB: Final = 4

# If several languages share an ending, the most common one.
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
# Errors that third-party lexers are known to raise on unexpected text.
_LEXER_FAULTS: Final = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, RuntimeError,
    TypeError, ValueError, re.error,
)  # fmt: skip


class HighlightLimits(NamedTuple):
    """A text crafted for it can keep a lexer's regular expressions busy for years.

    Seconds of the processor: a busy machine must not take the colours away.
    """

    steps: int = 200
    step_sec: float = 0.02
    """A step ends with the next token after that."""
    most_sec: float = 0.2
    """A step that takes longer is the last."""


_LIMITS: Final = HighlightLimits()


class _TimeIsUp(BaseException):
    """A BaseException, so that no lexer catches it."""


def highlight(path: str, text: str) -> list[Pieces] | None:
    """One styled line for each line of the text; None if there is no lexer, or it would take too long."""
    steps = highlighting(path, text)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # the type of what a generator returns is lost here


def highlighting(path: str, text: str) -> Generator[None, None, list[Pieces] | None]:
    """Like `highlight`, a little at a time, so that keys are not delayed."""
    if len(text) > _MOST_CHARACTERS or any(len(line) > _LONGEST_LINE for line in text.split("\n")):
        return None
    try:
        lexer = _lexer_for(path.rpartition("/")[2])
    except _LEXER_FAULTS:
        return None
    return (yield from highlighting_by(lexer, text)) if lexer else None


def highlighting_by(
    lexer: "Lexer", text: str, limits: HighlightLimits = _LIMITS
) -> Generator[None, None, list[Pieces] | None]:
    lines = _LineBuilder()
    try:
        tokens = _lex(lexer, text)
        for _ in range(limits.steps):
            yield
            with _at_most(limits.most_sec):
                if lines.take(tokens, time.process_time() + limits.step_sec):
                    # Reject a lexer that drops or adds text.
                    return lines.finish() if "".join(lines.text) == text else None
    except (*_LEXER_FAULTS, _TimeIsUp):
        pass
    return None


def plain(text: str) -> Pieces:
    """A line without styles, filtered, with tabs expanded as in `highlight`."""
    return (StyledText(_expand(text, 0)),)


def _lex(lexer: "Lexer", text: str) -> Iterator[tuple[int, object, str]]:
    # Not `get_tokens`, which normalises newlines and drops a byte-order mark.
    yield from lexer.get_tokens_unprocessed(text)


@lru_cache(maxsize=16)
def _lexer_for(name: str) -> "Lexer | None":
    # Slow to import, and only needed for colours; it has no type hints.
    from pygments.lexers import LEXERS, find_lexer_class  # type: ignore[import-untyped]  # noqa: PLC0415

    patterns = (name, *(f"*{name[at:].lower()}" for at, c in enumerate(name) if c == "."))
    for pattern in patterns:
        # A lexer's first pattern is its own; others may be shared.
        found = [
            (key != _PREFERRED.get(pattern), files.index(pattern), title)
            for key, (_, title, _, files, _) in LEXERS.items()
            if pattern in files
        ]
        if found:
            kind = find_lexer_class(min(found)[2])
            return None if kind is None else kind()
    return None


class _LineBuilder:
    """Builds lines from the tokens so far."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self._lines: list[Pieces] = []
        self._pieces: list[StyledText] = []
        self._column = 0

    def take(self, tokens: Iterator[tuple[int, object, str]], until: float) -> bool:
        """Takes tokens until the process has used that much time; returns whether that was all of them."""
        for _, kind, value in tokens:
            self._add(_style(str(kind)), value)
            if time.process_time() >= until:
                return False
        return True

    def _add(self, style: str, value: str) -> None:
        self.text.append(value)
        for number, piece in enumerate(value.split("\n")):
            if number:
                self._end_line()
            if piece:
                shown = _expand(piece, self._column)
                self._column += width(shown)
                _add(self._pieces, shown, style)

    def _end_line(self) -> None:
        self._lines.append(tuple(self._pieces))
        self._pieces, self._column = [], 0

    def finish(self) -> list[Pieces]:
        self._end_line()
        return self._lines


def _add(pieces: list[StyledText], text: str, style: str) -> None:
    if pieces and (pieces[-1].style == style or text.isspace()):
        pieces[-1] = StyledText(pieces[-1].text + text, pieces[-1].style)
    else:
        pieces.append(StyledText(text, style))


def _expand(text: str, column: int) -> str:
    first, *others = visible(text).split("\t")
    for other in others:
        first += " " * (_TAB - (column + width(first)) % _TAB) + other
    return first


@lru_cache(maxsize=256)
def _style(kind: str) -> str:
    """The style of a token such as `Token.Literal.String.Doc`, or of its nearest ancestor that has one."""
    name = kind.removeprefix("Token.")
    while name not in _STYLE_OF and "." in name:
        name = name.rpartition(".")[0]
    return _STYLE_OF.get(name, "")


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Only the main thread can be interrupted; other threads rely on the size limits.

    The collector is off meanwhile: an exception raised inside its callbacks is printed and lost.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise _TimeIsUp

    collecting = gc.isenabled()
    gc.disable()
    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collecting:
            gc.enable()
