"""Three versions of a text or a file merged, clean or in conflict exactly where `git merge-file` says so.

`base` is what both started from, `ours` the person's version, `theirs` the agent's. A merged text never
contains conflict markers: a conflict is a region, and `assembled` joins the regions once it is decided.
"""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import compress, pairwise
from typing import Final, NamedTuple, TypeVar

from ringi.patch.conflict import Clash, ConflictChoice, Decision
from ringi.patch.line_changes import LineChange, line_changes
from ringi.patch.render import FileSide, is_binary

T = TypeVar("T")
Lines = list[bytes]

# Conflicts with at most this many lines between them are shown as one.
_CLOSE: Final = 3
_NEVER: Final = LineChange(1 << 62, 1 << 62, 0, 0)
_HAS_WORD: Final = re.compile(rb"[0-9A-Za-z]").search


class RegionKind(StrEnum):
    SAME = "same"
    OURS = "ours"
    """Only ours changed it."""
    THEIRS = "theirs"
    BOTH = "both"
    """Both changed it in the same way."""
    CONFLICT = "conflict"


class MergePosition(NamedTuple):
    """How many lines of each version precede a region."""

    base: int
    ours: int
    theirs: int


class Region(NamedTuple):
    kind: RegionKind
    base: Lines
    ours: Lines
    theirs: Lines
    place: MergePosition
    written: tuple[int, ...]
    """Which lines of `ours` are not from the base, counted from 0 within the region."""

    @property
    def merged(self) -> Lines:
        """For a conflict, nothing."""
        if self.kind is RegionKind.CONFLICT:
            return []
        return self.theirs if self.kind is RegionKind.THEIRS else self.ours


Regions = tuple[Region, ...]


class MergedText(NamedTuple):
    content: bytes
    regions: Regions


class Conflicted(NamedTuple):
    regions: Regions
    across_line_ends: bytes | None = None
    """If only line ends are in conflict: everything merged, with the line ends of `ours`."""

    @property
    def conflicts(self) -> Regions:
        return tuple(region for region in self.regions if region.kind is RegionKind.CONFLICT)


def merge(base: bytes, ours: bytes, theirs: bytes) -> MergedText | Conflicted:
    regions = _regions(*map(text_lines, (base, ours, theirs)))
    if any(region.kind is RegionKind.CONFLICT for region in regions):
        return Conflicted(regions, _across_line_ends(base, ours, theirs))
    return MergedText(_join(regions), regions)


def _join(regions: Regions) -> bytes:
    lines: Lines = []
    for region in regions:
        lines += region.merged
    return b"".join(lines)


def assemble(regions: Sequence[Region], decisions: Sequence[Decision]) -> bytes:
    """The text with each conflict as decided, one decision for each in order."""
    if len(decisions) != sum(region.kind is RegionKind.CONFLICT for region in regions):
        raise ValueError("as many decisions as conflicts are needed")
    waiting = iter(decisions)
    line_end = next((_line_end(line) for region in regions for line in (*region.ours, *region.theirs)), b"\n")
    pieces: Lines = []
    for region in regions:
        conflict = region.kind is RegionKind.CONFLICT
        for piece in filter(None, _apply_decision(region, next(waiting)) if conflict else region.merged):
            # What was a last line without newline may have got lines behind it.
            if pieces and not pieces[-1].endswith(b"\n"):
                pieces[-1] += line_end
            pieces.append(piece)
    return b"".join(pieces)


def _apply_decision(region: Region, decision: Decision) -> Lines:
    match decision:
        case ConflictChoice.OURS:
            return region.ours
        case ConflictChoice.THEIRS:
            return region.theirs
        case ConflictChoice.BOTH:
            return [*region.ours, *region.theirs]
        case ConflictChoice.BASE:
            return region.base
    return [decision]


def find_written_lines(base: bytes, ours: bytes) -> list[range]:
    """Which lines of `ours` are not from the base, counted from 0."""
    changes = line_changes(text_lines(base), text_lines(ours))
    return [range(change.new, change.new_end) for change in changes if change.new < change.new_end]


def text_lines(text: bytes) -> Lines:
    """With their newlines; only a newline ends a line."""
    return io.BytesIO(text).readlines()


def _line_end(line: bytes) -> bytes:
    return b"\r\n" if line.endswith(b"\r\n") else b"\n"


class _Stretch(NamedTuple):
    """A region as line numbers."""

    kind: RegionKind
    base: int
    base_end: int
    ours: int
    ours_end: int
    theirs: int
    theirs_end: int
    apart: bool = True
    """Conflicts on both sides of it are never shown as one."""

    def until(self, last: "_Stretch") -> "_Stretch":
        return self._replace(base_end=last.base_end, ours_end=last.ours_end, theirs_end=last.theirs_end)


def _regions(base: Lines, ours: Lines, theirs: Lines) -> Regions:
    in_base = Counter(base)
    mine, other = line_changes(base, ours, in_base), line_changes(base, theirs, in_base)
    stretches: list[_Stretch] = []
    for stretch in _overlay(mine, other, ours, theirs):
        if stretch.kind is RegionKind.CONFLICT:
            stretches += _refine(stretch, base, ours, theirs)
        else:
            stretches.append(stretch)
    written = bytearray(len(ours))
    for change in mine:
        written[change.new : change.new_end] = b"\1" * (change.new_end - change.new)
    regions: list[Region] = []
    b = o = t = 0
    for kind, b_low, b_high, o_low, o_high, t_low, t_high, _ in _simplify(stretches, ours):
        if o < o_low:
            regions.append(_same(ours[o:o_low], MergePosition(b, o, t)))
        was, mine_now, theirs_now = base[b_low:b_high], ours[o_low:o_high], theirs[t_low:t_high]
        theirs_alone = kind is RegionKind.THEIRS
        new = () if theirs_alone else tuple(compress(range(o_high - o_low), written[o_low:o_high]))
        regions.append(Region(kind, was, mine_now, theirs_now, MergePosition(b_low, o_low, t_low), new))
        b, o, t = b_high, o_high, t_high
    if o < len(ours):
        regions.append(_same(ours[o:], MergePosition(b, o, t)))
    return tuple(regions)


def _same(lines: Lines, place: MergePosition) -> Region:
    return Region(RegionKind.SAME, lines, lines, lines, place, ())


def _overlay(
    mine: list[LineChange], other: list[LineChange], ours: Lines, theirs: Lines
) -> Iterator[_Stretch]:
    """Changes of the base by both sides; those that overlap or touch become one stretch."""
    at = there = our_shift = their_shift = 0
    mine, other = [*mine, _NEVER], [*other, _NEVER]
    while (first := mine[at]) is not _NEVER or other[there] is not _NEVER:
        second = other[there]
        if first.old_end < second.old:
            low, end, new, new_end = first
            yield _Stretch(RegionKind.OURS, low, end, new, new_end, low + their_shift, end + their_shift)
            at, our_shift = at + 1, new_end - end
            continue
        if second.old_end < first.old:
            low, end, new, new_end = second
            yield _Stretch(RegionKind.THEIRS, low, end, low + our_shift, end + our_shift, new, new_end)
            there, their_shift = there + 1, new_end - end
            continue
        low = end = min(first.old, second.old)
        our_low, their_low = low + our_shift, low + their_shift
        mine_from, other_from = at, there
        while (one := mine[at]).old <= end or other[there].old <= end:
            if one.old <= end:
                end, our_shift, at = max(end, one.old_end), one.new_end - one.old_end, at + 1
            else:
                one = other[there]
                end, their_shift, there = max(end, one.old_end), one.new_end - one.old_end, there + 1
        our_end, their_end = end + our_shift, end + their_shift
        span = (low, end, our_low, our_end, their_low, their_end)
        agreed = _is_one(mine[mine_from:at], other[other_from:there])
        if agreed and ours[our_low:our_end] == theirs[their_low:their_end]:
            yield _Stretch(RegionKind.BOTH, *span, apart=False)
        else:
            yield _Stretch(RegionKind.CONFLICT, *span)


def _is_one(mine: list[LineChange], other: list[LineChange]) -> bool:
    """Whether each side made one change, of the same lines of the base."""
    return len(mine) == len(other) == 1 and mine[0][:2] == other[0][:2]


def _refine(conflict: _Stretch, base: Lines, ours: Lines, theirs: Lines) -> list[_Stretch]:
    """A conflict without the lines that both sides agree on, and those lines."""
    _, b, b_end, o, o_end, t, t_end, _ = conflict
    if o == o_end or t == t_end:
        return [conflict]
    changes = line_changes(ours[o:o_end], theirs[t:t_end])
    if not changes:
        return [conflict._replace(kind=RegionKind.BOTH)]
    changes = [LineChange(c.old + o, c.old_end + o, c.new + t, c.new_end + t) for c in changes]
    start, end = LineChange(o, o, t, t), LineChange(o_end, o_end, t_end, t_end)
    agreed = [(one.old_end, two.old) for one, two in pairwise((start, *changes, end))]
    spans = _base_spans(base[b:b_end], [ours[low:high] for low, high in agreed])
    result: list[_Stretch] = []
    for index, ((low, high), (b_low, b_high)) in enumerate(zip(agreed, spans, strict=True)):
        if low < high and ours[low:high] != base[b + b_low : b + b_high]:
            their_low = t if index == 0 else changes[index - 1].new_end
            span = (b + b_low, b + b_high, low, high, their_low, their_low + high - low)
            result.append(_Stretch(RegionKind.BOTH, *span, apart=False))
        if index < len(changes):
            span = (b + b_high, b + spans[index + 1][0], *changes[index])
            result.append(_Stretch(RegionKind.CONFLICT, *span))
    return result


def _base_spans(base: Lines, agreed: list[Lines]) -> list[tuple[int, int]]:
    """Which lines of the base each of these stretches stands for; the lines between are in conflict.

    The first and the last stretch are at the ends and may be empty.
    """
    flat = [line for lines in agreed for line in lines]
    found: list[int | None] = [None] * len(flat)
    at = there = 0
    for change in (*line_changes(base, flat), LineChange(len(base), len(base), len(flat), len(flat))):
        found[there : change.new] = range(at, change.old)
        at, there = change.old_end, change.new_end
    spans: list[tuple[int, int]] = []
    upper = len(base)
    rest = len(flat)
    for lines in reversed(agreed):
        places = [place for place in found[rest - len(lines) : rest] if place is not None]
        rest -= len(lines)
        spans.append((places[0], places[-1] + 1) if places else (upper, upper))
        upper = spans[-1][0]
    spans.reverse()
    # No conflict precedes the first or follows the last, so nothing of the base may lie there.
    first = spans[0][1] if any(place is not None for place in found[: len(agreed[0])]) else 0
    spans[0] = (0, first)
    spans[-1] = (spans[-1][0], len(base))
    return spans


def _simplify(stretches: Iterable[_Stretch], ours: Lines) -> list[_Stretch]:
    """Conflicts close to each other as one, with the lines between them."""
    result: list[_Stretch] = []
    last = -1  # of the conflicts, if nothing keeps it apart from the next
    for stretch in stretches:
        if stretch.kind is not RegionKind.CONFLICT:
            last = -1 if stretch.apart else last
            result.append(stretch)
        elif last >= 0 and _is_close(ours[result[last].ours_end : stretch.ours]):
            result[last:] = [result[last].until(stretch)]
        else:
            last = len(result)
            result.append(stretch)
    return result


def _is_close(between: Lines) -> bool:
    return len(between) <= _CLOSE or not any(map(_HAS_WORD, between))


def _across_line_ends(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The merge as if line ends were equal, with those of ours; None if that would lose or guess anything."""
    ends = [_line_ends(text) for text in (base, ours, theirs)]
    if None in ends or ends[1] == b"" or len({end for end in ends if end}) == 1:
        return None
    plain = [text.replace(b"\r\n", b"\n") for text in (base, ours, theirs)]
    if any(b"\r\n" in text for text in plain):
        return None
    regions = _regions(*map(text_lines, plain))
    if any(region.kind is RegionKind.CONFLICT for region in regions):
        return None
    content = _join(regions)
    return content.replace(b"\n", b"\r\n") if ends[1] == b"\r\n" else content


def _line_ends(text: bytes) -> bytes | None:
    """The one that all lines have, empty if there are none, None if they differ."""
    if b"\n" not in text:
        return b""
    if b"\r" not in text:
        return b"\n"
    return {0: b"\n", text.count(b"\n"): b"\r\n"}.get(text.count(b"\r\n"))


# The text of a file, its mode, and whether it is there at all.

_REGULAR: Final = "100"
# Lines of a larger text would take too much memory; git's own limit is higher.
_LARGEST: Final = 64 << 20


class MergedFile(NamedTuple):
    side: FileSide | None
    """None if the file is gone."""
    text: MergedText | None = None
    """None if nothing had to be merged line by line."""


class ConflictedFile(NamedTuple):
    clashes: tuple[Clash, ...]
    data: bytes | None = None
    """None if it has to be decided, as the mode."""
    mode: str | None = None
    text: MergedText | Conflicted | None = None


def merge_file(
    base: FileSide | None, ours: FileSide | None, theirs: FileSide | None
) -> MergedFile | ConflictedFile:
    """None for a file that is not there."""
    if theirs in (ours, base):
        return MergedFile(ours)
    if ours == base:
        return MergedFile(theirs)
    if ours is None:
        return ConflictedFile((Clash.DELETED_BY_OURS,))
    if theirs is None:
        return ConflictedFile((Clash.DELETED_BY_THEIRS,))
    if _kind(ours) != _kind(theirs):
        return ConflictedFile((Clash.KIND,))
    if base is not None and _kind(base) != _kind(ours):
        base = None  # both replaced it, so they have nothing in common
    mode = _one_of(base and base.mode, ours.mode, theirs.mode)
    content = _content(base, ours, theirs)
    clashes = tuple(filter(None, (content.clash, None if mode else Clash.MODE)))
    if content.data is None or mode is None:
        return ConflictedFile(clashes, content.data, mode, content.text)
    return MergedFile(
        FileSide(content.data, mode), content.text if isinstance(content.text, MergedText) else None
    )


class _MergedContent(NamedTuple):
    data: bytes | None
    clash: Clash | None = None
    text: MergedText | Conflicted | None = None


def _content(base: FileSide | None, ours: FileSide, theirs: FileSide) -> _MergedContent:
    data = _one_of(base and base.data, ours.data, theirs.data)
    if data is not None:
        return _MergedContent(data)
    if clash := _opaque(base, ours, theirs):
        return _MergedContent(None, clash)
    text = merge(base.data if base else b"", ours.data, theirs.data)
    return (
        _MergedContent(text.content, None, text)
        if isinstance(text, MergedText)
        else _MergedContent(None, Clash.TEXT, text)
    )


def _one_of(base: T | None, ours: T, theirs: T) -> T | None:
    """What both have, or what one of them changed; None if each changed it in its own way."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _kind(side: FileSide) -> str:
    return side.mode[:3]


def _opaque(base: FileSide | None, ours: FileSide, theirs: FileSide) -> Clash | None:
    """Why the contents cannot be merged line by line."""
    if _kind(ours) != _REGULAR:
        return Clash.LINK
    texts = [side.data for side in (base, ours, theirs) if side is not None]
    if any(map(is_binary, texts)):
        return Clash.BINARY
    return Clash.TOO_LARGE if max(map(len, texts)) > _LARGEST else None
