"""Where hunks fit: the one way in which all of them stand in a text in their order, or an error."""

from typing import Final, NamedTuple, NoReturn

from ringi.errors import AmbiguousPatch, PatchMismatch
from ringi.patching.apply import shown
from ringi.text import Text

_NAMED: Final = 8


class Piece(NamedTuple):
    """A hunk to be placed: its old lines, and how many of them at both ends only show the place."""

    number: int
    old: list[bytes]
    lead: int
    trail: int
    stated: int | None
    at_end: bool
    """It says that its last line is the last of the file."""

    @property
    def core(self) -> tuple[int, int]:
        """The lines it changes, counted from its own beginning."""
        return self.lead, len(self.old) - self.trail


class _Lines:
    """A text as lines that can be searched from either side in bulk."""

    def __init__(self, lines: list[bytes]) -> None:
        self.count = len(lines)
        self.forward = _Search(b"\n".join([b"", *lines, b""]))
        self._backward: _Search | None = None
        self._lines = lines

    @property
    def backward(self) -> "_Search":
        if self._backward is None:
            # Turned round, because searching from the end is not linear for every text.
            self._backward = _Search(self.forward.text[::-1])
        return self._backward

    def holds(self, piece: Piece, at: int) -> bool:
        return at >= 0 and self._lines[at : at + len(piece.old)] == piece.old


class _Search:
    """Finds lines from where it last stood, so that many searches pass a text once."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._line = self._offset = 0

    def find(self, needle: bytes, line: int) -> int:
        """The first line from `line` on at which it stands; -1 if there is none."""
        while self._line > line:
            self._offset = self.text.rindex(b"\n", 0, self._offset)
            self._line -= 1
        while self._line < line:
            self._offset = self.text.index(b"\n", self._offset + 1)
            self._line += 1
        found = self.text.find(needle, self._offset)
        if found < 0:
            return -1
        self._line += self.text.count(b"\n", self._offset, found)
        self._offset = found
        return self._line


def places(path: str, lines: list[bytes], pieces: list[Piece]) -> list[int]:
    """For each hunk the number of lines before it."""
    if _as_stated(lines, pieces):
        return [piece.stated or 0 for piece in pieces]
    text = _Lines(lines)
    first = _earliest(path, text, pieces)
    last = _latest(text, pieces)
    for piece, low, high in zip(pieces, first, last, strict=True):
        if low != high:
            found = _candidates(text, piece, low, high)
            raise AmbiguousPatch(path=path, hunk=piece.number, candidates=found)
    return first


def _as_stated(lines: list[bytes], pieces: list[Piece]) -> bool:
    """All line numbers are right: the patch says itself where it belongs."""
    end = 0
    for piece in pieces:
        at = piece.stated
        if at is None or at < end or lines[at : at + len(piece.old)] != piece.old:
            return False
        if at > len(lines) or (piece.at_end and at + len(piece.old) != len(lines)):
            return False
        end = at + len(piece.old)
    return True


def _needle(piece: Piece) -> bytes:
    return b"\n".join([b"", *piece.old, b""])


def _earliest(path: str, text: _Lines, pieces: list[Piece]) -> list[int]:
    found: list[int] = []
    end = 0
    for piece in pieces:
        low, high = piece.core
        begin = max(0, end - low)
        at = _at_end(text, piece, begin) if piece.at_end else _next(text, piece, begin)
        if at < 0:
            _explain(path, text, piece)
        found.append(at)
        end = at + high
    return found


def _next(text: _Lines, piece: Piece, begin: int) -> int:
    return text.forward.find(_needle(piece), begin) if piece.old else begin


def _at_end(text: _Lines, piece: Piece, begin: int) -> int:
    at = text.count - len(piece.old)
    return at if at >= begin and text.holds(piece, at) else -1


def _latest(text: _Lines, pieces: list[Piece]) -> list[int]:
    """As the earliest, from the end of the text; they fit at least where those did."""
    found: list[int] = []
    limit = text.count
    for piece in reversed(pieces):
        low, high = piece.core
        after = min(text.count, limit + len(piece.old) - high)
        if piece.at_end:
            at = text.count - len(piece.old)
        elif not piece.old:
            at = after
        else:
            turned = text.backward.find(_needle(piece)[::-1], text.count - after)
            at = text.count - turned - len(piece.old)
        found.append(at)
        limit = at + low
    return found[::-1]


def _candidates(text: _Lines, piece: Piece, low: int, high: int) -> str:
    """Line numbers, from 1 on; the first few of many."""
    found: list[str] = []
    at = low
    while 0 <= at <= high:
        if len(found) == _NAMED:
            return ", ".join([*found, "…"])
        found.append(str(at + 1))
        at = _next(text, piece, at + 1)
    return ", ".join(found)


def _explain(path: str, text: _Lines, piece: Piece) -> NoReturn:
    number = piece.number
    everywhere = text.forward.find(_needle(piece), 0) if piece.old else 0
    if everywhere >= 0:
        why = (
            Text("hunk {hunk} says that the file ends with it, and it does not", hunk=number)
            if piece.at_end
            else Text("hunk {hunk} fits only before or inside the hunk before it", hunk=number)
        )
        raise PatchMismatch(path=path, why=why)
    # As many lines as can be found together; the next one is what is wrong.
    low, high = 0, len(piece.old)
    while high - low > 1:
        middle = (low + high) // 2
        if text.forward.find(_needle(piece._replace(old=piece.old[:middle])), 0) >= 0:
            low = middle
        else:
            high = middle
    line = shown(piece.old[low])
    if low:
        why = Text(
            "hunk {hunk} is not in it: {line} does not follow {before}",
            hunk=number,
            line=line,
            before=shown(piece.old[low - 1]),
        )
    else:
        why = Text("hunk {hunk} is not in it: there is no line {line}", hunk=number, line=line)
    raise PatchMismatch(path=path, why=why)
