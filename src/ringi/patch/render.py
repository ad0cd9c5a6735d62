"""Unified diffs as `git apply` reads them, on bytes.

Patience matching first, so that diffs follow what people moved and kept.
"""

import io
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ringi.patch.patch import NO_NEWLINE, FilePatch, Hunk, PatchKind, dump_file, header, sides

# A longer stretch without a unique common line counts as rewritten instead of being compared for seconds.
_LARGEST_SQUARE: Final = 25_000_000
# How often, on average, a line is visited in the search for unique ones: some texts need a round per line.
_ROUNDS: Final = 40


class Block(NamedTuple):
    """`size` equal lines, from `a` in the old text and from `b` in the new one."""

    a: int
    b: int
    size: int


def matching_blocks(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """In order, without overlap; the last is an empty block at the end of both texts."""
    found: list[Block] = []
    work = [(0, len(old), 0, len(new))]
    patience = _ROUNDS * (len(old) + len(new))
    while work:
        a_low, a_high, b_low, b_high = work.pop()
        a_low, b_low = _take_prefix(old, new, (a_low, a_high, b_low, b_high), found)
        a_high, b_high = _take_suffix(old, new, (a_low, a_high, b_low, b_high), found)
        if a_low == a_high or b_low == b_high:
            continue
        patience -= a_high - a_low + b_high - b_low
        anchors = _unique_common(old, new, a_low, a_high, b_low, b_high) if patience > 0 else []
        if not anchors:
            found += _compare_small(old, new, a_low, a_high, b_low, b_high)
            continue
        for a, b in anchors:
            work.append((a_low, a, b_low, b))
            found.append(Block(a, b, 1))
            a_low, b_low = a + 1, b + 1
        work.append((a_low, a_high, b_low, b_high))
    return [*_join(sorted(found)), Block(len(old), len(new), 0)]


_Range = tuple[int, int, int, int]


def _take_prefix(
    old: Sequence[bytes], new: Sequence[bytes], limits: _Range, found: list[Block]
) -> tuple[int, int]:
    a_low, a_high, b_low, b_high = limits
    size = 0
    while a_low + size < a_high and b_low + size < b_high and old[a_low + size] == new[b_low + size]:
        size += 1
    if size:
        found.append(Block(a_low, b_low, size))
    return a_low + size, b_low + size


def _take_suffix(
    old: Sequence[bytes], new: Sequence[bytes], limits: _Range, found: list[Block]
) -> tuple[int, int]:
    a_low, a_high, b_low, b_high = limits
    size = 0
    while (
        a_high - size > a_low and b_high - size > b_low and old[a_high - size - 1] == new[b_high - size - 1]
    ):
        size += 1
    if size:
        found.append(Block(a_high - size, b_high - size, size))
    return a_high - size, b_high - size


def _unique_common(
    old: Sequence[bytes], new: Sequence[bytes], a_low: int, a_high: int, b_low: int, b_high: int
) -> list[tuple[int, int]]:
    """Lines that occur once in each text: their longest sequence in the same order."""
    places: dict[bytes, int] = {}
    for a in range(a_low, a_high):
        places[old[a]] = -1 if old[a] in places else a
    pairs: dict[bytes, int] = {}
    for b in range(b_low, b_high):
        if places.get(new[b], -1) >= 0:
            pairs[new[b]] = -1 if new[b] in pairs else b
    ordered = [(places[line], b) for line, b in pairs.items() if b >= 0]
    return _longest_increasing(sorted(ordered, key=lambda pair: pair[1]))


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    tops: list[int] = []
    piles: list[int] = []
    back: list[int] = []
    for index, (a, _) in enumerate(pairs):
        pile = bisect_left(tops, a)
        if pile == len(tops):
            tops.append(a)
            piles.append(index)
        else:
            tops[pile] = a
            piles[pile] = index
        back.append(piles[pile - 1] if pile else -1)
    result = []
    at = piles[-1] if piles else -1
    while at >= 0:
        result.append(pairs[at])
        at = back[at]
    return result[::-1]


def _compare_small(
    old: Sequence[bytes], new: Sequence[bytes], a_low: int, a_high: int, b_low: int, b_high: int
) -> list[Block]:
    """The longest common subsequence, each row of its table as the bits of one number (Hyyrö 2004)."""
    width = b_high - b_low
    if (a_high - a_low) * width > _LARGEST_SQUARE:
        return []
    places: dict[bytes, int] = {}
    for b in range(width):
        places[new[b_low + b]] = places.get(new[b_low + b], 0) | 1 << b
    row = everywhere = (1 << width) - 1
    rows = []
    for a in range(a_low, a_high):
        common = row & places.get(old[a], 0)
        row = (row + common | row - common) & everywhere
        rows.append(row)
    return [Block(a_low + a, b_low + b, 1) for a, b in _walk_back(rows, width)]


def _walk_back(rows: list[int], width: int) -> Iterator[tuple[int, int]]:
    """A clear bit means that the subsequence grew there."""
    a, b = len(rows), width
    while a and b:
        if rows[a - 1] >> b - 1 & 1:
            b -= 1
            continue
        a -= 1
        if not a or rows[a - 1] >> b - 1 & 1:
            b -= 1
            yield a, b


def _join(blocks: list[Block]) -> list[Block]:
    result: list[Block] = []
    for block in blocks:
        if result and (result[-1].a + result[-1].size, result[-1].b + result[-1].size) == (block.a, block.b):
            last = result.pop()
            result.append(Block(last.a, last.b, last.size + block.size))
        else:
            result.append(block)
    return result


_CONTEXT: Final = 3
_BINARY_PROBE: Final = 8000
_BYTES_OF_A_LINE: Final = 100
"""In a budget: otherwise one line could hold a whole program."""
_LONG_LINE: Final = re.compile(rb"^[+-](.{%d,})" % (_BYTES_OF_A_LINE + 1), re.MULTILINE)


class FileSide(NamedTuple):
    data: bytes
    mode: str
    """As git writes it: 100644 or 100755."""


class Rendered(NamedTuple):
    diff: bytes
    added: int
    removed: int
    binary: bool
    weight: int = 0
    """Lines as a budget counts them: a long one is several, and so is what has no lines."""
    hunks: tuple[Hunk, ...] = ()


class FileDelta(NamedTuple):
    """One file; None if it does not exist."""

    path: str
    old: FileSide | None
    new: FileSide | None
    old_path: str | None = None
    """The old path, if it was renamed or copied."""
    copied: bool = False


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_BINARY_PROBE]


def render_patch(changes: Iterable[FileDelta]) -> bytes:
    """One patch, files in the order of their paths; what did not change is left out.

    A file that is not text is only named, as git does; applying such a patch refuses it.
    """
    return b"".join(render_change(change).diff for change in sorted(changes, key=_path) if _changes(change))


def _path(change: FileDelta) -> bytes:
    return change.path.encode("utf-8", "surrogateescape")


def _changes(change: FileDelta) -> bool:
    return change.old != change.new or change.old_path not in {None, change.path}


def render(path: str, old: FileSide | None, new: FileSide | None) -> Rendered:
    """The difference of one file; None for a file that does not exist."""
    return render_change(FileDelta(path, old, new))


def render_change(change: FileDelta) -> Rendered:
    old, new = change.old, change.new
    file = _describe(change)
    if any(side and is_binary(side.data) for side in (old, new)):
        changed = (old and old.data) != (new and new.data)
        note = b"Binary files %s and %s differ\n" % sides(file) if changed else b""
        weight = sum(count_budget_lines(len(side.data)) for side in (old, new) if side and changed)
        return Rendered(b"".join(header(file)) + note, 0, 0, binary=True, weight=weight)
    hunks = _hunks_of(old.data if old else b"", new.data if new else b"")
    added = sum(hunk.body.startswith(b"+") + hunk.body.count(b"\n+") for hunk in hunks)
    removed = sum(hunk.body.startswith(b"-") + hunk.body.count(b"\n-") for hunk in hunks)
    if file.kind in {PatchKind.RENAMED, PatchKind.COPIED}:
        file = file._replace(likeness=b"similarity index %d%%" % _likeness(old, new, hunks))
    long = (line for hunk in hunks for line in _LONG_LINE.finditer(hunk.body))
    weight = added + removed + sum(count_budget_lines(len(line[1])) - 1 for line in long)
    diff = b"".join(dump_file(file._replace(hunks=hunks)))
    return Rendered(diff, added, removed, binary=False, weight=weight, hunks=hunks)


def count_budget_lines(size: int) -> int:
    """How many lines of a budget so many bytes take."""
    return -(-size // _BYTES_OF_A_LINE)


def render_move(old_path: str, path: str, old: FileSide, new: FileSide, *, copy: bool = False) -> Rendered:
    """A renamed or copied file, with what changed in it."""
    return render_change(FileDelta(path, old, new, old_path, copy))


def _describe(change: FileDelta) -> FilePatch:
    old, new = change.old, change.new
    old_path = change.old_path or change.path
    kind = PatchKind.CHANGED
    if old is None:
        kind = PatchKind.NEW
    elif new is None:
        kind = PatchKind.DELETED
    elif old_path != change.path:
        kind = PatchKind.COPIED if change.copied else PatchKind.RENAMED
    return FilePatch(
        kind,
        old_path if old else None,
        change.path if new else None,
        old.mode if old else None,
        new.mode if new else None,
    )


def _likeness(old: FileSide | None, new: FileSide | None, hunks: tuple[Hunk, ...]) -> int:
    """How much of the larger side is kept, in percent; all of it only if nothing changed."""
    if not hunks or old is None or new is None:
        return 100
    lines = (line for hunk in hunks for line in hunk.lines if line.startswith(b"-"))
    kept = len(old.data) - sum(len(line) - 1 for line in lines)
    return max(0, min(99, kept * 100 // max(len(old.data), len(new.data))))


def _hunks_of(old: bytes, new: bytes) -> tuple[Hunk, ...]:
    a, b = lines_of(old), lines_of(new)
    return tuple(_hunks(a, b)) if a != b else ()


def lines_of(data: bytes) -> list[bytes]:
    """Each with its newline; the last one may have none."""
    # Not splitlines, which splits elsewhere too.
    return list(io.BytesIO(data))


def _hunks(a: list[bytes], b: list[bytes]) -> Iterator[Hunk]:
    for group in _groups(matching_blocks(a, b)):
        first, last = group[0], group[-1]
        a_low, a_high = max(0, first[0] - _CONTEXT), min(len(a), last[1] + _CONTEXT)
        b_low, b_high = max(0, first[2] - _CONTEXT), min(len(b), last[3] + _CONTEXT)
        body = io.BytesIO()  # a list of all lines would need several times the memory
        at = a_low
        for a_from, a_to, b_from, b_to in group:
            body.writelines(_line(b" ", a[number]) for number in range(at, a_from))
            body.writelines(_line(b"-", a[number]) for number in range(a_from, a_to))
            body.writelines(_line(b"+", b[number]) for number in range(b_from, b_to))
            at = a_to
        body.writelines(_line(b" ", a[number]) for number in range(at, a_high))
        yield Hunk(*span(a_low, a_high), *span(b_low, b_high), b"", body.getvalue())


def _groups(blocks: list[Block]) -> Iterator[list[tuple[int, int, int, int]]]:
    """Groups changes that are close enough to share their context."""
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


def span(low: int, high: int) -> tuple[int, int]:
    """Start and count as a hunk has them."""
    return (low + 1 if high > low else low), high - low


def context_line(line: bytes) -> bytes:
    return _line(b" ", line)


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n" + NO_NEWLINE
