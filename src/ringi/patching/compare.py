"""Which lines two texts share: patience first, so that diffs follow what people moved and kept."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

# Above this, a stretch without a unique common line is taken as rewritten rather than compared for seconds.
_LARGEST_SQUARE: Final = 25_000_000
# How often, on average, a line may be looked at for unique ones: some texts would need one round per line.
_ROUNDS: Final = 40


class Block(NamedTuple):
    """`size` equal lines, from `a` in the old text and from `b` in the new one."""

    a: int
    b: int
    size: int


def matching_blocks(old: Sequence[bytes], new: Sequence[bytes]) -> list[Block]:
    """In order, not overlapping, ending with an empty block at both ends."""
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
    return [*_joined(sorted(found)), Block(len(old), len(new), 0)]


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
    """Lines that stand once in each text, the longest run of them that keeps its order."""
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
    """A bit that is not set says that the subsequence grew there."""
    a, b = len(rows), width
    while a and b:
        if rows[a - 1] >> b - 1 & 1:
            b -= 1
            continue
        a -= 1
        if not a or rows[a - 1] >> b - 1 & 1:
            b -= 1
            yield a, b


def _joined(blocks: list[Block]) -> list[Block]:
    result: list[Block] = []
    for block in blocks:
        if result and (result[-1].a + result[-1].size, result[-1].b + result[-1].size) == (block.a, block.b):
            last = result.pop()
            result.append(Block(last.a, last.b, last.size + block.size))
        else:
            result.append(block)
    return result
