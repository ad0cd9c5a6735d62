"""Unified diffs as `git apply` reads them, on bytes."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ringi.patching.compare import Block, matching_blocks
from ringi.patching.model import FilePatch, Hunk, Kind
from ringi.patching.write import NO_NEWLINE, header, sides, written

_CONTEXT: Final = 3
_BINARY_PROBE: Final = 8000


class Side(NamedTuple):
    data: bytes
    mode: str
    """As git says it: 100644 or 100755."""


class Rendered(NamedTuple):
    diff: bytes
    added: int
    removed: int
    binary: bool


class Changed(NamedTuple):
    """One file; None stands for a file that is not there."""

    path: str
    old: Side | None
    new: Side | None
    old_path: str | None = None
    """Where the old side stood, if it was renamed or copied."""
    copied: bool = False


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_BINARY_PROBE]


def render_patch(changes: Iterable[Changed]) -> bytes:
    """One patch, files in the order of their paths; what did not change is left out.

    A file that is not text is named in git's words; applying such a patch refuses it by that name.
    """
    return b"".join(render_change(change).diff for change in sorted(changes, key=_path) if _changes(change))


def _path(change: Changed) -> bytes:
    return change.path.encode("utf-8", "surrogateescape")


def _changes(change: Changed) -> bool:
    return change.old != change.new or change.old_path not in {None, change.path}


def render(path: str, old: Side | None, new: Side | None) -> Rendered:
    """The difference of one file; None stands for a file that is not there."""
    return render_change(Changed(path, old, new))


def render_change(change: Changed) -> Rendered:
    old, new = change.old, change.new
    file = _described(change)
    if any(side and is_binary(side.data) for side in (old, new)):
        changed = (old and old.data) != (new and new.data)
        note = b"Binary files %s and %s differ\n" % sides(file) if changed else b""
        return Rendered(b"".join(header(file)) + note, 0, 0, binary=True)
    a, b = _lines(old), _lines(new)
    hunks = tuple(_hunks(a, b)) if a != b else ()
    added = sum(hunk.body.startswith(b"+") + hunk.body.count(b"\n+") for hunk in hunks)
    removed = sum(hunk.body.startswith(b"-") + hunk.body.count(b"\n-") for hunk in hunks)
    if file.kind in {Kind.RENAMED, Kind.COPIED}:
        file = file._replace(likeness=b"similarity index %d%%" % _likeness(old, new, hunks))
    return Rendered(b"".join(written(file._replace(hunks=hunks))), added, removed, binary=False)


def render_move(old_path: str, path: str, old: Side, new: Side, *, copy: bool = False) -> Rendered:
    """A renamed or copied file, with what changed in it."""
    return render_change(Changed(path, old, new, old_path, copy))


def _described(change: Changed) -> FilePatch:
    old, new = change.old, change.new
    old_path = change.old_path or change.path
    kind = Kind.CHANGED
    if old is None:
        kind = Kind.NEW
    elif new is None:
        kind = Kind.DELETED
    elif old_path != change.path:
        kind = Kind.COPIED if change.copied else Kind.RENAMED
    return FilePatch(
        kind,
        old_path if old else None,
        change.path if new else None,
        old.mode if old else None,
        new.mode if new else None,
    )


def _likeness(old: Side | None, new: Side | None, hunks: tuple[Hunk, ...]) -> int:
    """How much of the larger side is kept, in percent; all of it only if nothing changed."""
    if not hunks or old is None or new is None:
        return 100
    lines = (line for hunk in hunks for line in hunk.lines if line.startswith(b"-"))
    kept = len(old.data) - sum(len(line) - 1 for line in lines)
    return max(0, min(99, kept * 100 // max(len(old.data), len(new.data))))


def _lines(side: Side | None) -> list[bytes]:
    if side is None or not side.data:
        return []
    lines = [line + b"\n" for line in side.data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(a: list[bytes], b: list[bytes]) -> Iterator[Hunk]:
    for group in _groups(matching_blocks(a, b)):
        first, last = group[0], group[-1]
        a_low, a_high = max(0, first[0] - _CONTEXT), min(len(a), last[1] + _CONTEXT)
        b_low, b_high = max(0, first[2] - _CONTEXT), min(len(b), last[3] + _CONTEXT)
        lines: list[bytes] = []
        at = a_low
        for a_from, a_to, b_from, b_to in group:
            lines += [_line(b" ", line) for line in a[at:a_from]]
            lines += [_line(b"-", line) for line in a[a_from:a_to]]
            lines += [_line(b"+", line) for line in b[b_from:b_to]]
            at = a_to
        lines += [_line(b" ", line) for line in a[at:a_high]]
        yield Hunk(*_span(a_low, a_high), *_span(b_low, b_high), b"", b"".join(lines))


def _groups(blocks: list[Block]) -> Iterator[list[tuple[int, int, int, int]]]:
    """Changes that are near enough to share their context."""
    group: list[tuple[int, int, int, int]] = []
    a = b = 0
    for block in blocks:
        if a < block.a or b < block.b:
            if group and a - group[-1][1] > 2 * _CONTEXT:
                yield group
                group = []
            group.append((a, block.a, b, block.b))
        a, b = block.a + block.size, block.b + block.size
    if group:
        yield group


def _span(low: int, high: int) -> tuple[int, int]:
    return (low + 1 if high > low else low), high - low


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n" + NO_NEWLINE
