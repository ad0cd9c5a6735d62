"""Patches applied strictly: each hunk at its line, every byte of it as it says. No fuzz, no search."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from operator import itemgetter
from typing import Final, NamedTuple, NoReturn

from ringi.errors import BadPatch, BinaryPatch, PatchMismatch
from ringi.kernel.text import Text
from ringi.patch.parse import GIT, USUAL, parse_patch
from ringi.patch.patch import FilePatch, Hunk, Patch, PatchKind, decode

Read = Callable[[str], bytes | None]

_PLUS, _MINUS, _SPACE, _MARK, _NEWLINE = b"+- \\\n"
# For each sign, where a run of its lines ends, and what precedes each line but the first.
_STRETCH: Final = {
    _PLUS: (re.compile(rb"\n[^+]").search, b"\n+"),
    _MINUS: (re.compile(rb"\n[^-]").search, b"\n-"),
    _SPACE: (re.compile(rb"\n[^ ]").search, b"\n "),
}
# Up to here, lines are skipped one by one.
_NEAR: Final = 64
_PROBE: Final = 100
# More hunks than this are checked together.
_MANY: Final = 16
# Unless they are larger than this: lists of lines take memory.
_LARGE: Final = 8 << 20
# A file is split into lines if it is less than this many times as large as its hunks.
_DENSE: Final = 4
# Tables over the first byte of a line: 1 for a line of the old side, of the new side, for a header.
_OLD, _NEW, _HEADER = (bytes(sign in signs for sign in range(256)) for signs in (b" -", b" +", b"@"))
_SIGN: Final = itemgetter(0)
_UNSIGNED: Final = itemgetter(slice(1, None))
_NUMBERS: Final = re.compile(rb"@ -(\d{1,15})(?:,(\d{1,15}))? \+(\d{1,15})(?:,(\d{1,15}))? @@").match
_CREATED: Final = re.compile(
    rb'diff --git a/([^\s"\0]+) b/\1\nnew file mode 100[0-7]{3}\n(?:index [0-9a-f]+\.\.[0-9a-f]+\n)?'
    rb"--- /dev/null\n\+\+\+ b/\1\n@@ -0,0 \+1(?:,(\d{1,15}))? @@[^\n]*\n\+"
).match
_SHOWN: Final = 60
_REGULAR: Final = "100"
# Compared one by one: hashing an enum member takes longer.
_ARRIVES: Final = (PatchKind.NEW, PatchKind.RENAMED, PatchKind.COPIED)


class FileOutcome(NamedTuple):
    path: str
    """Path of the content afterwards, or before if it is deleted."""
    old_path: str | None
    """Where it came from; None for a new file."""
    before: bytes | None
    after: bytes | None
    old_mode: str | None
    new_mode: str | None
    kind: PatchKind


def apply_patch(patch: bytes, read: Read) -> dict[str, bytes | None]:
    """New content by path, None for what is deleted; a renamed file gives both its paths."""
    result, rest = _plain_files(patch, read)
    if not rest:
        return result
    if result:
        try:
            others = _in_full(b"".join(rest), read)
        except (BadPatch, BinaryPatch, PatchMismatch):
            pass  # reported below, with line numbers of the whole patch
        else:
            if result.keys().isdisjoint(others):
                return result | others
    return _in_full(patch, read)


def _in_full(patch: bytes, read: Read) -> dict[str, bytes | None]:
    outcomes = outcome(parse_patch(patch), read)
    result: dict[str, bytes | None] = {}
    for file in outcomes:
        if file.kind is PatchKind.RENAMED and file.old_path is not None:
            result[file.old_path] = None
    # Checked at the end: one file may take a path that another has left.
    result.update((file.path, file.after) for file in outcomes)
    return result


def _plain_files(patch: bytes, read: Read) -> tuple[dict[str, bytes | None], list[bytes]]:
    """The results for files in the usual form, and the rest of the patch, which must be parsed in full.

    Nothing is refused here: whatever is unusual or does not fit is left to the full parser.
    """
    result: dict[str, bytes | None] = {}
    rest: list[bytes] = []
    if not patch.endswith(b"\n"):
        return result, [patch]
    for at, end in _sections(patch):
        if usual := USUAL(patch, at):
            path = decode(usual[1])
            data = read(path) if usual[3] is None or usual[3].startswith(b"100") else None
            after = None if data is None else _together(patch[usual.end() : end - 1], data)
        elif created := _CREATED(patch, at):
            path = decode(created[1])
            after = _create(patch[created.end() : end], int(created[2] or 1))
            if after is not None and read(path) is not None:
                after = None
        else:
            path, after = "", None
        if after is None or path in result:
            rest.append(patch[at:end])
        else:
            result[path] = after
    return result, rest


def _sections(patch: bytes) -> Iterator[tuple[int, int]]:
    """Where each file of a patch by git begins and ends; the first includes what precedes it."""
    at = 0
    while end := patch.find(b"\n" + GIT, at) + 1:
        yield at, end
        at = end
    yield at, len(patch)


def _create(text: bytes, count: int) -> bytes | None:
    """The content of a new file, from its lines without the first sign; None if the count is wrong."""
    data = text.replace(b"\n+", b"\n")
    return data if text.count(b"\n") == count == len(text) - len(data) + 1 else None


def outcome(patch: Patch, read: Read) -> list[FileOutcome]:
    """The result for every file; on an error, none at all."""
    freed = {file.old_path for file in patch.files if file.kind is PatchKind.RENAMED}
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
    after = apply_hunks(path, hunks, before or b"") if hunks else before or b""
    if kind is not PatchKind.DELETED:
        return FileOutcome(path, old_path, before, after, old_mode, new_mode, kind)
    if after:
        _fail(path, Text("it is to be deleted and has more lines than the patch removes"))
    return FileOutcome(path, old_path, before, None, old_mode, new_mode, kind)


def _special(mode: str | None) -> bool:
    return mode is not None and not mode.startswith(_REGULAR)


def apply_hunks(path: str, hunks: tuple[Hunk, ...], data: bytes) -> bytes:
    """The text with the hunks applied; `path` is for error messages."""
    if len(hunks) > _MANY:
        text = b"".join([b"@@ -%d,%d +%d,%d @@\n%s" % (*hunk[:4], hunk.body) for hunk in hunks])
        if (result := _together(text[:-1], data)) is not None:
            return result
    pieces: list[bytes] = []
    at = line = 0
    for hunk in hunks:
        old_start, old_count, _, new_count, _, body = hunk
        before = old_start - 1 if old_count else old_start
        old, new, last = _sides(body)
        total = body.count(b"\n")
        if not last and (
            old.count(b"\n") != old_count
            or new.count(b"\n") != new_count
            or old_count == new_count == total  # nothing but context
        ):
            _fail(path, Text("the lines of a hunk are not those that its header counts"))
        start = _locate(data, at, before - line, old)
        end = start + len(old)
        if start < 0 or (last and end != len(data)):
            _explain(path, hunks.index(hunk) + 1, hunk, data, _forward(data, at, before - line))
        pieces += (data[at:start], new)
        at = end
        line = before + old_count
    pieces.append(data[at:])
    return b"".join(pieces)


def _together(text: bytes, data: bytes) -> bytes | None:
    """The same for all hunks at once; None if something is unusual, too large or does not fit."""
    if len(text) > _LARGE:
        return None
    signed = text.split(b"\n")
    try:
        signs = bytes(map(_SIGN, signed))
    except IndexError:  # an empty line
        return None
    if signs.translate(None, b"@ +-"):
        return None
    unsigned = list(map(_UNSIGNED, signed))
    spans = _spans(compress(unsigned, signs.translate(_HEADER)), signs.split(b"@")[1:])
    if spans is None:
        return None
    old = list(compress(unsigned, signs.translate(_OLD)))
    new = list(compress(unsigned, signs.translate(_NEW)))
    return (_in_lines if len(data) < _DENSE * len(text) else _in_text)(spans, old, new, data)


def _spans(headers: Iterable[bytes], hunks: list[bytes]) -> list[tuple[int, int, int]] | None:
    """For each hunk how many lines precede it, its old and its new lines; None if its header is wrong.

    Headers come without their first byte; hunks come as the signs of their lines.
    """
    spans: list[tuple[int, int, int]] = []
    line = shift = 0
    for header, hunk in zip(headers, hunks, strict=True):
        if not (numbers := _NUMBERS(header)):
            return None
        old_start, old_count, new_start, new_count = map(int, numbers.groups(b"1"))
        before = old_start - 1 if old_count else old_start
        size = len(hunk)
        if (
            before < line
            or (new_start - 1 if new_count else new_start) != before + shift
            or old_count != size - hunk.count(b"+")
            or new_count != size - hunk.count(b"-")
            or old_count == new_count == size  # nothing but context
        ):
            return None
        spans.append((before, old_count, new_count))
        line = before + old_count
        shift += new_count - old_count
    return spans


def _in_lines(
    spans: list[tuple[int, int, int]], old: list[bytes], new: list[bytes], data: bytes
) -> bytes | None:
    """For hunks that make up much of a file: splits all of it into lines."""
    lines = data.split(b"\n")
    last = lines.pop()  # it has no newline, so no hunk here can hold it
    result: list[bytes] = []
    replaced: list[bytes] = []
    at = taken = 0
    for before, old_count, new_count in spans:
        result += lines[at:before]
        at = before + old_count
        replaced += lines[before:at]
        result += new[taken : taken + new_count]
        taken += new_count
    if at > len(lines) or replaced != old:
        return None
    result += lines[at:]
    result.append(last)
    return b"\n".join(result)


def _in_text(
    spans: list[tuple[int, int, int]], old: list[bytes], new: list[bytes], data: bytes
) -> bytes | None:
    """For hunks that are a small part of a file: searches only for them."""
    pieces: list[bytes] = []
    at = line = old_at = new_at = 0
    for before, old_count, new_count in spans:
        there = b"\n".join(old[old_at : old_at + old_count]) + b"\n" if old_count else b""
        start = _locate(data, at, before - line, there)
        if start < 0:
            return None
        pieces.append(data[at:start])
        if new_count:
            pieces.append(b"\n".join(new[new_at : new_at + new_count]) + b"\n")
        at = start + len(there)
        line = before + old_count
        old_at += old_count
        new_at += new_count
    pieces.append(data[at:])
    return b"".join(pieces)


def _sides(body: bytes) -> tuple[bytes, bytes, bool]:
    """The old and the new text of a hunk, and whether it claims the end of the file."""
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


def _locate(data: bytes, at: int, lines: int, old: bytes) -> int:
    """The offset of the old text, exactly that many lines later; -1 if it is not there."""
    # Searching for it and counting lines is faster than stepping line by line.
    start = data.find(old[:_PROBE], at) if lines else at
    if start < 0 or data.count(b"\n", at, start) != lines or (start and data[start - 1] != _NEWLINE):
        # The same text may also occur earlier.
        start = _forward(data, at, lines)
    return start if start >= 0 and data.startswith(old, start) else -1


def _forward(data: bytes, at: int, lines: int) -> int:
    """The offset of the line that many lines later; -1 if no line begins there."""
    while lines > _NEAR:
        passed = data.count(b"\n", at, at + lines)
        if not passed:  # long lines, or the end
            break
        at += lines
        lines -= passed
    # It may be in the middle of a line by now: only line ends are counted.
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
        if not at:
            return -1
    return at


def _explain(path: str, number: int, hunk: Hunk, data: bytes, start: int) -> NoReturn:
    """Names the first line that differs from the hunk."""
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
            found=shorten_line(found),
            expected=shorten_line(expected),
        )
    _fail(path, why)


def shorten_line(line: bytes) -> str:
    """A line for an error message, cut if it is long."""
    text = line.removesuffix(b"\n").decode("utf-8", "backslashreplace")
    return f"“{text}”" if len(text) <= _SHOWN else f"“{text[:_SHOWN]}…”"


def _fail(path: str, why: Text) -> NoReturn:
    raise PatchMismatch(path=path, why=why)
