"""Patches applied strictly: each hunk at its line, every byte of it as it says. No fuzz, no search."""

import re
from collections.abc import Callable
from operator import itemgetter
from typing import Final, NamedTuple, NoReturn

from ringi.errors import BadPatch, PatchMismatch
from ringi.patching.model import FilePatch, Hunk, Kind, Patch
from ringi.patching.parse import parse_patch, read_patch
from ringi.text import Text

Read = Callable[[str], bytes | None]

_PLUS, _MINUS, _SPACE, _MARK, _NEWLINE = b"+- \\\n"
# For each sign, where a stretch of its lines ends, and what stands before each of them but the first.
_STRETCH: Final = {
    _PLUS: (re.compile(rb"\n[^+]").search, b"\n+"),
    _MINUS: (re.compile(rb"\n[^-]").search, b"\n-"),
    _SPACE: (re.compile(rb"\n[^ ]").search, b"\n "),
}
# Up to here, lines are passed one by one.
_NEAR: Final = 64
_PROBE: Final = 400
# More hunks than this are looked at together, unless they are larger than this or the file is much larger.
_MANY: Final = 16
_WHOLE: Final = 1 << 20
_MUCH: Final = 8
_SHOWN: Final = 60
_REGULAR: Final = "100"
# Compared one by one: to hash a kind takes longer.
_ARRIVES: Final = (Kind.NEW, Kind.RENAMED, Kind.COPIED)


class FileOutcome(NamedTuple):
    path: str
    """Where the content stands afterwards, or stood if it is deleted."""
    old_path: str | None
    """Where it came from; None for a new file."""
    before: bytes | None
    after: bytes | None
    old_mode: str | None
    new_mode: str | None
    kind: Kind


def apply_patch(patch: bytes, read: Read) -> dict[str, bytes | None]:
    """New content by path, None for what is deleted; a renamed file gives both its paths."""
    try:
        outcomes = outcome(read_patch(patch, counted=False), read)
    except (BadPatch, PatchMismatch):
        # Read once more, counting: what is wrong with the patch itself is said first.
        outcomes = outcome(parse_patch(patch), read)
    result: dict[str, bytes | None] = {}
    for file in outcomes:
        if file.kind is Kind.RENAMED and file.old_path is not None:
            result[file.old_path] = None
    # Afterwards: a path may be left by one file and taken by another.
    result.update((file.path, file.after) for file in outcomes)
    return result


def outcome(patch: Patch, read: Read) -> list[FileOutcome]:
    """What becomes of every file, or an error and nothing."""
    freed = {file.old_path for file in patch.files if file.kind is Kind.RENAMED}
    return [_outcome(file, read, freed) for file in patch.files]


def _outcome(file: FilePatch, read: Read, freed: set[str | None]) -> FileOutcome:
    kind, old_path, new_path, old_mode, new_mode, hunks, _, _, _ = file
    path = new_path or old_path or ""
    if _special(old_mode) or _special(new_mode):
        _fail(path, Text("it is a link or a repository of its own, not a file"))
    if kind in _ARRIVES and path not in freed and read(path) is not None:
        _fail(path, Text("it is there already"))
    before = read(old_path) if old_path is not None else None
    if before is None and old_path is not None:
        _fail(old_path, Text("there is no such file"))
    after = applied(path, hunks, before or b"") if hunks else before or b""
    if kind is not Kind.DELETED:
        return FileOutcome(path, old_path, before, after, old_mode, new_mode, kind)
    if after:
        _fail(path, Text("it is to be deleted and has more lines than the patch removes"))
    return FileOutcome(path, old_path, before, None, old_mode, new_mode, kind)


def _special(mode: str | None) -> bool:
    return mode is not None and not mode.startswith(_REGULAR)


def applied(path: str, hunks: tuple[Hunk, ...], data: bytes) -> bytes:
    """The text with the hunks in it; `path` is for the words of an error."""
    if len(hunks) > _MANY and (result := _all_at_once(hunks, data)) is not None:
        return result
    pieces: list[bytes] = []
    at = line = 0
    for hunk in hunks:
        old_start, old_count, _, new_count, _, body = hunk
        before = old_start - 1 if old_count else old_start
        old, new, last = _sides(body)
        if not last and (old.count(b"\n") != old_count or new.count(b"\n") != new_count or old == new):
            _fail(path, Text("the lines of a hunk are not those that its header counts"))
        start = _found(data, at, before - line, old)
        end = start + len(old)
        if start < 0 or (last and end != len(data)):
            _explain(path, hunks.index(hunk) + 1, hunk, data, _forward(data, at, before - line))
        pieces += (data[at:start], new)
        at = end
        line = before + old_count
    pieces.append(data[at:])
    return b"".join(pieces)


def _all_at_once(hunks: tuple[Hunk, ...], data: bytes) -> bytes | None:
    """The same for many hunks that make up much of a file of some size; None where it does not work."""
    bodies = b"".join([hunk.body for hunk in hunks])
    if len(bodies) > _WHOLE or len(data) > _MUCH * len(bodies) or b"\n\\" in bodies:
        return None
    signed = bodies.split(b"\n")
    del signed[-1]
    signs = bytes(map(itemgetter(0), signed))
    old = [line[1:] for line in signed if line[0] != _PLUS]
    new = [line[1:] for line in signed if line[0] != _MINUS]
    lines = data.split(b"\n")
    last = lines.pop()  # it has no newline, so no hunk here can hold it
    result: list[bytes] = []
    replaced: list[bytes] = []
    at = taken = signed_at = 0
    for old_start, old_count, _, new_count, _, body in hunks:
        start = old_start - 1 if old_count else old_start
        end = signed_at + body.count(b"\n")
        removed = signs.count(_MINUS, signed_at, end)
        if (
            start + old_count > len(lines)
            or end - signed_at != new_count + removed
            or end - signed_at != old_count + signs.count(_PLUS, signed_at, end)
            or old_count == new_count == end - signed_at  # nothing but context
        ):
            return None
        result += lines[at:start]
        at = start + old_count
        replaced += lines[start:at]
        result += new[taken : taken + new_count]
        taken += new_count
        signed_at = end
    if replaced != old:
        return None
    result += lines[at:]
    result.append(last)
    return b"\n".join(result)


def _sides(body: bytes) -> tuple[bytes, bytes, bool]:
    """The old and the new text of a hunk, and whether it says that the file ends with it."""
    old: list[bytes] = []
    new: list[bytes] = []
    last = False
    at, size = 0, len(body)
    while at < size:
        sign = body[at]
        search, between = _STRETCH[sign]
        found = search(body, at)
        stop = found.start() + 1 if found else size
        text = body[at + 1 : stop].replace(between, b"\n")
        if stop < size and body[stop] == _MARK:
            text = text[:-1]
            last = True
            stop = body.find(b"\n", stop) + 1
        if sign != _PLUS:
            old.append(text)
        if sign != _MINUS:
            new.append(text)
        at = stop
    return b"".join(old), b"".join(new), last


def _found(data: bytes, at: int, lines: int, old: bytes) -> int:
    """Where the old text stands, so many lines later and nowhere else; -1 if it does not."""
    # To find its beginning and to count is quicker than to step from line to line.
    start = data.find(old[:_PROBE], at) if lines else at
    if start < 0 or data.count(b"\n", at, start) != lines or (start and data[start - 1] != _NEWLINE):
        # The same text may stand somewhere before as well.
        start = _forward(data, at, lines)
    return start if start >= 0 and data.startswith(old, start) else -1


def _forward(data: bytes, at: int, lines: int) -> int:
    """Where the line stands that comes so many lines later; -1 if no line can begin there."""
    while lines > _NEAR:
        passed = data.count(b"\n", at, at + lines)
        if not passed:  # long lines, or the end
            break
        at += lines
        lines -= passed
    # It may stand in the middle of a line by now: only line ends are counted.
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
        if not at:
            return -1
    return at


def _explain(path: str, number: int, hunk: Hunk, data: bytes, start: int) -> NoReturn:
    """Names the first line that is not as the hunk says."""
    lines = hunk.lines
    at, line = start, hunk.old_at
    if start < 0:
        _fail(
            path, Text("hunk {hunk} begins at line {line}, after its end", hunk=number, line=hunk.old_start)
        )
    for place, expected in enumerate(lines):
        if expected[0] not in b" -":
            continue
        line += 1
        marked = lines[place + 1 : place + 2] and lines[place + 1].startswith(b"\\")
        text = expected[1:-1] if marked else expected[1:]
        end = data.find(b"\n", at) + 1 or len(data)
        found = data[at:end]
        if found != text:
            _fail_at(path, number, line, text, found)
        at = end
    _fail(
        path, Text("hunk {hunk} ends the file at line {line}, and the file goes on", hunk=number, line=line)
    )


def _fail_at(path: str, number: int, line: int, expected: bytes, found: bytes) -> NoReturn:
    if not found:
        why = Text("hunk {hunk} goes on at line {line}, after its end", hunk=number, line=line)
    elif expected.rstrip(b"\r\n") == found.rstrip(b"\r\n"):
        why = Text("line {line} ends differently than hunk {hunk} says", hunk=number, line=line)
    else:
        why = Text(
            "line {line} is {found}, and hunk {hunk} says {expected}",
            hunk=number,
            line=line,
            found=shown(found),
            expected=shown(expected),
        )
    _fail(path, why)


def shown(line: bytes) -> str:
    """A line for the words of an error, cut if it is long."""
    text = line.removesuffix(b"\n").decode("utf-8", "backslashreplace")
    return f"“{text}”" if len(text) <= _SHOWN else f"“{text[:_SHOWN]}…”"


def _fail(path: str, why: Text) -> NoReturn:
    raise PatchMismatch(path=path, why=why)
