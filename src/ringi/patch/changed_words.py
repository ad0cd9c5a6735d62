"""Which words differ between a removed line and the added line that replaces it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from ringi.patch.render import matching_blocks

# A word of ASCII letters, one character of several bytes, or a single byte.
_WORD: Final = re.compile(rb"[A-Za-z0-9_]+|[\xc0-\xff][\x80-\xbf]*|.", re.DOTALL)
# By their signs: removed lines, perhaps the mark that they end without a newline, added lines.
_REPLACED: Final = re.compile(rb"(-+)\\?(\++)")
_LONGEST_LINE: Final = 2000
_FARTHEST: Final = 4
"""Added lines that are compared with one removed line, if there are more of one than of the other."""
_MOST_LINES: Final = 200
_LEAST_ALIKE: Final = 0.4

Ranges = tuple[tuple[int, int], ...]
"""From byte to byte, in order."""


def find_changed_words(old: bytes, new: bytes) -> tuple[Ranges, Ranges] | None:
    """The bytes that differ on each side; None if the lines have too little in common to be one line."""
    if max(len(old), len(new)) > _LONGEST_LINE:
        return None
    a, b = _WORD.findall(old), _WORD.findall(new)
    blocks = matching_blocks(a, b)
    kept = sum(len(a[at].strip()) for block in blocks for at in range(block.a, block.a + block.size))
    size = sum(len(word.strip()) for word in (*a, *b))
    if 2 * kept < _LEAST_ALIKE * size or old == new:
        return None
    return (
        _differing(old, a, [(block.a, block.size) for block in blocks]),
        _differing(new, b, [(block.b, block.size) for block in blocks]),
    )


def _differing(line: bytes, words: Sequence[bytes], kept: Sequence[tuple[int, int]]) -> Ranges:
    """What lies between the kept words; blanks between two changed words belong to them."""
    places = [0, *accumulate(map(len, words))]
    found: list[tuple[int, int]] = []
    at = 0
    for start, size in kept:
        begin, end = places[at], places[start]
        if begin < end:
            if found and not line[found[-1][1] : begin].strip():
                begin = found.pop()[0]
            found.append((begin, end))
        at = start + size
    return tuple(found)


def pairs(removed: Sequence[bytes], added: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Each removed line with the added line that replaces it, by their indexes."""
    if len(removed) == len(added):
        yield from enumerate(range(len(added)))
        return
    if len(removed) + len(added) > _MOST_LINES:
        return
    nearest = 0
    for index, old in enumerate(removed):
        for other in range(nearest, min(nearest + _FARTHEST, len(added))):
            if find_changed_words(old, added[other]) is not None:
                nearest = other + 1
                yield index, other
                break


class ChangedWords:
    """The changed words of a hunk's lines, each computed when it is asked for."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        """With their signs."""
        runs = _REPLACED.finditer(b"".join(line[:1] or b" " for line in lines))
        self._runs = [(run.start(), run.end(1), run.start(2), run.end()) for run in runs]
        self._partners: dict[int, dict[int, int]] = {}

    def at(self, index: int) -> Ranges:
        """Where a line, without its sign, differs from the one that it replaces or that replaces it."""
        run = bisect_right(self._runs, index, key=lambda one: one[0]) - 1
        partner = self._find_partners(run).get(index) if run >= 0 and index < self._runs[run][-1] else None
        if partner is None:
            return ()
        old, new = sorted((index, partner))
        found = find_changed_words(self._lines[old][1:], self._lines[new][1:])
        return found[index == new] if found else ()

    def _find_partners(self, run: int) -> dict[int, int]:
        if run not in self._partners:
            old, old_end, new, new_end = self._runs[run]
            removed = [line[1:] for line in self._lines[old:old_end]]
            added = [line[1:] for line in self._lines[new:new_end]]
            found = {old + one: new + other for one, other in pairs(removed, added)}
            self._partners[run] = found | {there: here for here, there in found.items()}
        return self._partners[run]
