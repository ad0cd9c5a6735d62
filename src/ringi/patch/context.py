"""More unchanged lines around a hunk, for people: neither the change nor the number of hunks differs."""

from collections.abc import Mapping, Sequence

from ringi.patch.patch import Hunk
from ringi.patch.render import context_line, lines_of, span


def with_context(hunks: Sequence[Hunk], old: bytes, more: Mapping[int, int]) -> tuple[Hunk, ...]:
    """Up to so many more lines around each hunk, counted from 1. What lies between two is shown once."""
    lines = lines_of(old)
    found = []
    shown = 0
    """Lines of the old file up to here are shown already."""
    for number, hunk in enumerate(hunks, 1):
        after = hunk.old_at + hunk.old_count
        limit = hunks[number].old_at if number < len(hunks) else len(lines)
        low = max(hunk.old_at - more.get(number, 0), shown)
        shown = min(after + more.get(number, 0), limit)
        found.append(_wider(hunk, lines, low, max(shown, after)))
    return tuple(found)


def _wider(hunk: Hunk, lines: Sequence[bytes], low: int, high: int) -> Hunk:
    before, after = lines[low : hunk.old_at], lines[hunk.old_at + hunk.old_count : high]
    more = len(before) + len(after)
    new_at = hunk.new_at - len(before)
    return Hunk(
        *span(low, low + hunk.old_count + more),
        *span(new_at, new_at + hunk.new_count + more),
        hunk.heading,
        b"".join([*map(context_line, before), hunk.body, *map(context_line, after)]),
    )
