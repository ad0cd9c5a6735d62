"""Makes a model's patch exact. Its text must be in the file; only its numbers may be wrong.

All its hunks must fit, in order, in exactly one way; anything else is an error.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, NoReturn

from ringi.errors import AmbiguousPatch, BadPatch, BinaryPatch, PatchMismatch
from ringi.kernel.text import Text
from ringi.patch.apply import FileOutcome, Read, outcome, shorten_line
from ringi.patch.lenient_parse import LooseFile, LooseHunk, read_loosely
from ringi.patch.parse import parse_patch
from ringi.patch.patch import (
    NOWHERE,
    PLAIN_MODE,
    FilePatch,
    Patch,
    PatchKind,
    decode,
    dump,
    name_pairs,
    whole_pairs,
    without_prefix,
)
from ringi.patch.render import FileDelta, FileSide, is_binary, render_change

# The prefixes that git itself uses; any other first folder belongs to the name.
_PREFIXED: Final = re.compile(rb'(?:diff --git |--- )(?:"?[aciow12]/|/dev/null)').match


_NAMED: Final = 8


class HunkPiece(NamedTuple):
    """A hunk to place: its old lines, and how many of them at each end are only context."""

    number: int
    old: list[bytes]
    lead: int
    trail: int
    stated: int | None
    at_end: bool
    """It claims that its last line is the last of the file."""

    @property
    def core(self) -> tuple[int, int]:
        """The lines it changes, counted from its own beginning."""
        return self.lead, len(self.old) - self.trail


class _SearchableLines:
    """A text as lines, searchable in bulk from either end."""

    def __init__(self, lines: list[bytes]) -> None:
        self.count = len(lines)
        self.forward = _LineSearch(b"\n".join([b"", *lines, b""]))
        self._backward: _LineSearch | None = None
        self._lines = lines

    @property
    def backward(self) -> "_LineSearch":
        if self._backward is None:
            # Reversed, because searching from the end is not linear for every text.
            self._backward = _LineSearch(self.forward.text[::-1])
        return self._backward

    def holds(self, piece: HunkPiece, at: int) -> bool:
        return at >= 0 and self._lines[at : at + len(piece.old)] == piece.old


class _LineSearch:
    """Continues from the last match, so that many searches pass over a text once."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._line = self._offset = 0

    def find(self, needle: bytes, line: int) -> int:
        """The first match at or after `line`; -1 if there is none."""
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


def places(path: str, lines: list[bytes], pieces: list[HunkPiece]) -> list[int]:
    """For each hunk the number of lines before it."""
    if _as_stated(lines, pieces):
        return [piece.stated or 0 for piece in pieces]
    text = _SearchableLines(lines)
    first = _earliest(path, text, pieces)
    last = _latest(text, pieces)
    for piece, low, high in zip(pieces, first, last, strict=True):
        if low != high:
            found = _candidates(text, piece, low, high)
            raise AmbiguousPatch(path=path, hunk=piece.number, candidates=found)
    return first


def _as_stated(lines: list[bytes], pieces: list[HunkPiece]) -> bool:
    """If all line numbers are right, they say where the hunks belong."""
    end = 0
    for piece in pieces:
        at = piece.stated
        if at is None or at < end or lines[at : at + len(piece.old)] != piece.old:
            return False
        if at > len(lines) or (piece.at_end and at + len(piece.old) != len(lines)):
            return False
        end = at + len(piece.old)
    return True


def _needle(piece: HunkPiece) -> bytes:
    return b"\n".join([b"", *piece.old, b""])


def _earliest(path: str, text: _SearchableLines, pieces: list[HunkPiece]) -> list[int]:
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


def _next(text: _SearchableLines, piece: HunkPiece, begin: int) -> int:
    return text.forward.find(_needle(piece), begin) if piece.old else begin


def _at_end(text: _SearchableLines, piece: HunkPiece, begin: int) -> int:
    at = text.count - len(piece.old)
    return at if at >= begin and text.holds(piece, at) else -1


def _latest(text: _SearchableLines, pieces: list[HunkPiece]) -> list[int]:
    """Like the earliest, from the end of the text; they fit at least where the earliest did."""
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


def _candidates(text: _SearchableLines, piece: HunkPiece, low: int, high: int) -> str:
    """Line numbers, from 1 on; the first few of many."""
    found: list[str] = []
    at = low
    while 0 <= at <= high:
        if len(found) == _NAMED:
            return ", ".join([*found, "…"])
        found.append(str(at + 1))
        at = _next(text, piece, at + 1)
    return ", ".join(found)


def _explain(path: str, text: _SearchableLines, piece: HunkPiece) -> NoReturn:
    number = piece.number
    everywhere = text.forward.find(_needle(piece), 0) if piece.old else 0
    if everywhere >= 0:
        why = (
            Text("hunk {hunk} says that the file ends with it, and it does not", hunk=number)
            if piece.at_end
            else Text("hunk {hunk} fits only before or inside the hunk before it", hunk=number)
        )
        raise PatchMismatch(path=path, why=why)
    # The longest run of lines that is in the file; the next line is the wrong one.
    low, high = 0, len(piece.old)
    while high - low > 1:
        middle = (low + high) // 2
        if text.forward.find(_needle(piece._replace(old=piece.old[:middle])), 0) >= 0:
            low = middle
        else:
            high = middle
    line = shorten_line(piece.old[low])
    if low:
        why = Text(
            "hunk {hunk} is not in it: {line} does not follow {before}",
            hunk=number,
            line=line,
            before=shorten_line(piece.old[low - 1]),
        )
    else:
        why = Text("hunk {hunk} is not in it: there is no line {line}", hunk=number, line=line)
    raise PatchMismatch(path=path, why=why)


def normalise(patch: bytes, read: Read) -> bytes:
    """The exact patch with the same changes, as `git diff` would write it.

    Numbers, counts, prefixes and headers may be wrong or missing. Each hunk must be in its file word for
    word. Its place must follow from its text and the order of the hunks alone, unless all line numbers of a
    file are right.
    """
    exact = _exactly(patch, read)
    if exact is None:
        exact = [(file, None) for file in _loosely(patch, read)]
    ordered = sorted(exact, key=lambda pair: pair[0].path.encode("utf-8", "surrogateescape"))
    result = b"".join(_render(file, given) for file, given in ordered)
    if not result:
        raise BadPatch(why=Text("it changes nothing"), line=1)
    return result


def _exactly(patch: bytes, read: Read) -> list[tuple[FileOutcome, FilePatch | None]] | None:
    try:
        parsed = parse_patch(patch)
        if not all(_PREFIXED(file.header) for file in parsed.files):
            return None
        return list(zip(outcome(parsed, read), parsed.files, strict=True))
    except BinaryPatch:
        raise
    except (BadPatch, PatchMismatch):
        return None


def _render(file: FileOutcome, given: FilePatch | None) -> bytes:
    old_mode = file.old_mode or file.new_mode or PLAIN_MODE
    new_mode = file.new_mode or old_mode
    old = FileSide(file.before, old_mode) if file.before is not None else None
    new = FileSide(file.after, new_mode) if file.after is not None else None
    if any(side and is_binary(side.data) for side in (old, new)):
        if given is None:
            raise BinaryPatch(path=file.path, line=1)
        return dump(Patch((given,)))
    copied = file.kind is PatchKind.COPIED
    changed = FileDelta(file.path, old, new, file.old_path, copied)
    if old == new and not copied and file.kind is not PatchKind.RENAMED:
        return b""
    return render_change(changed).diff


class _Named(NamedTuple):
    kind: PatchKind
    old: str
    new: str


def _loosely(patch: bytes, read: Read) -> Iterator[FileOutcome]:
    files = read_loosely(patch)
    if not files:
        why = Text("no file is named in it") if patch.strip() else Text("it is empty")
        raise BadPatch(why=why, line=1)
    named = [_find_file(file, read) for file in files]
    freed = {name.old for name in named if name.kind is PatchKind.RENAMED}
    seen: set[str] = set()
    for file, name in zip(files, named, strict=True):
        again = {name.old, name.new} if name.kind is PatchKind.RENAMED else {name.new}
        if again & seen:
            _fail(file, Text("{path} is in it twice", path=name.new))
        seen |= again
        yield _outcome(file, name, read, freed)


def _find_file(file: LooseFile, read: Read) -> _Named:
    """Which file is meant: without the usual prefixes if it has them, otherwise as written."""
    kind = _kind(file)
    pairs = list(_pairs(file, kind))
    if not pairs:
        _fail(file, Text("the lines of the header name different files"))
    if kind is PatchKind.NEW:
        return _Named(kind, *pairs[0])
    for old, new in pairs:
        if read(old) is not None:
            return _Named(kind, old, new)
    old, new = pairs[0]
    if kind is PatchKind.CHANGED and file.hunks and not any(map(_old, file.hunks)):
        return _Named(PatchKind.NEW, old, new)
    raise PatchMismatch(path=old, why=Text("there is no such file"))


def _kind(file: LooseFile) -> PatchKind:
    said, names = file.said, file.names or (b"", b"")
    if b"rename from" in said:
        return PatchKind.RENAMED
    if b"copy from" in said:
        return PatchKind.COPIED
    if b"new file mode" in said or names[0] == NOWHERE:
        return PatchKind.NEW
    if b"deleted file mode" in said or names[1] == NOWHERE:
        return PatchKind.DELETED
    return PatchKind.CHANGED


def _pairs(file: LooseFile, kind: PatchKind) -> Iterator[tuple[str, str]]:
    """Old and new path, the likelier first."""
    moved = kind in {PatchKind.RENAMED, PatchKind.COPIED}
    named = {*name_pairs(file.git_line), *whole_pairs(file.git_line)} if file.git_line else None
    for old, new in _raw_pairs(file):
        left, right = (new if old == NOWHERE else old), (old if new == NOWHERE else new)
        usual = (old == NOWHERE or old.startswith(b"a/")) and (new == NOWHERE or new.startswith(b"b/"))
        plain, stripped = (left, right), (without_prefix(left), without_prefix(right))
        for first, second in (stripped, plain) if usual and not moved else (plain, stripped):
            if not first or not second or (first != second) is not moved:
                continue
            if named is None or (first, second) in named:
                yield decode(first), decode(second)


def _raw_pairs(file: LooseFile) -> Iterator[tuple[bytes, bytes]]:
    return iter([file.names]) if file.names else whole_pairs(file.git_line)


def _outcome(file: LooseFile, name: _Named, read: Read, freed: set[str]) -> FileOutcome:
    kind, old, new = name
    if (
        kind in {PatchKind.NEW, PatchKind.RENAMED, PatchKind.COPIED}
        and new not in freed
        and read(new) is not None
    ):
        raise PatchMismatch(path=new, why=Text("it is there already"))
    before = None if kind is PatchKind.NEW else read(old)
    after: bytes | None = _apply_hunks(new, file.hunks, before or b"")
    if kind is PatchKind.DELETED:
        if after:
            why = Text("it is to be deleted and has more lines than the patch removes")
            raise PatchMismatch(path=old, why=why)
        after = None
    modes = [file.said.get(key) for key in (b"old mode", b"new mode", b"new file mode", b"deleted file mode")]
    old_mode, new_mode = modes[0] or modes[3], modes[1] or modes[2]
    if any(mode is not None and mode not in {b"100644", b"100755"} for mode in modes):
        raise PatchMismatch(path=new, why=Text("it is a link or a repository of its own, not a file"))
    return FileOutcome(
        new,
        None if kind is PatchKind.NEW else old,
        before,
        after,
        old_mode.decode() if old_mode else None,
        new_mode.decode() if new_mode else None,
        kind,
    )


def _apply_hunks(path: str, hunks: tuple[LooseHunk, ...], data: bytes) -> bytes:
    lines = data.split(b"\n")
    whole = not lines[-1]  # ends with a newline, or is empty
    if whole:
        lines.pop()
    # A hunk that changes nothing does no harm, wherever it is.
    changing = [hunk for hunk in hunks if any(sign != b" " for sign, _ in hunk.lines)]
    if not changing:
        return data
    if _lacks_returns(lines, changing):
        changing = [_with_returns(hunk) for hunk in changing]
    _check_ends(path, changing, whole=whole)
    pieces = [_piece(number, hunk) for number, hunk in enumerate(changing, 1)]
    found = places(path, lines, pieces)
    result: list[bytes] = []
    at = 0
    for hunk, piece, place in zip(changing, pieces, found, strict=True):
        low, high = piece.core
        result += lines[at : place + low]
        inner = hunk.lines[piece.lead : len(hunk.lines) - piece.trail]
        result += [text for sign, text in inner if sign != b"-"]
        at = place + high
    result += lines[at:]
    last = changing[-1]
    if last.old_bare or last.new_bare:
        whole = not last.new_bare
    return b"\n".join(result) + (b"\n" if whole and result else b"")


def _piece(number: int, hunk: LooseHunk) -> HunkPiece:
    signs = b"".join(sign for sign, _ in hunk.lines)
    lead = len(signs) - len(signs.lstrip(b" "))
    trail = len(signs) - len(signs.rstrip(b" "))
    at_end = hunk.old_bare or hunk.new_bare
    return HunkPiece(number, _old(hunk), lead, trail, hunk.stated, at_end)


def _old(hunk: LooseHunk) -> list[bytes]:
    return [text for sign, text in hunk.lines if sign != b"+"]


def _check_ends(path: str, hunks: list[LooseHunk], *, whole: bool) -> None:
    """If a hunk says that the newline is missing, it must be missing; not saying so is fine."""
    for number, hunk in enumerate(hunks, 1):
        if hunk.old_bare and whole:
            why = Text("hunk {hunk} says that the file ends without a newline, and it does not", hunk=number)
            raise PatchMismatch(path=path, why=why)


def _lacks_returns(lines: list[bytes], hunks: list[LooseHunk]) -> bool:
    """Whether every line of the file ends with CR LF but the patch has LF only."""
    return (
        bool(lines)
        and all(line.endswith(b"\r") for line in lines)
        and not any(text.endswith(b"\r") for hunk in hunks for _, text in hunk.lines)
    )


def _with_returns(hunk: LooseHunk) -> LooseHunk:
    return hunk._replace(lines=tuple((sign, text + b"\r") for sign, text in hunk.lines))


def _fail(file: LooseFile, why: Text) -> NoReturn:
    raise BadPatch(why=why, line=file.line)
