"""Which deleted file became which new one, by the rules of `git diff -M`: at least half of it is the same."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from ringi.patch.render import is_binary

_ALIKE: Final = 0.5
_ALIKE_BY_NAME: Final = 0.75
"""For a pair whose name, without its folder, no other file has: they are looked at first."""
_CANDIDATES: Final = 4
"""How many old files are remembered for a new one."""
_MOST_PAIRS: Final = 40_000
_MOST_WORK: Final = 20_000_000
"""Chunks to compare. With more than this, as in git, only equal files are paired."""
_CHUNK: Final = re.compile(rb"[^\n]{64}|[^\n]{0,63}\n|[^\n]{1,63}")


class _ChunkedContent(NamedTuple):
    size: int
    chunks: Mapping[bytes, int]
    """Lines, long ones in pieces, each with the number of its bytes in the file."""


def similarity(old: bytes, new: bytes) -> float:
    """From 0 to 1: how much of the larger file is in the other one, wherever it is."""
    return _similarity(_content(old), _content(new))


def _content(data: bytes) -> _ChunkedContent:
    text = data if is_binary(data) else data.replace(b"\r\n", b"\n")
    found: Counter[bytes] = Counter()
    for chunk in _CHUNK.findall(text):
        found[chunk] += len(chunk)
    return _ChunkedContent(len(data), found)


def _similarity(old: _ChunkedContent, new: _ChunkedContent) -> float:
    if not old.size or not new.size or not _may_be_alike(old.size, new.size):
        return 0.0
    fewer, more = sorted((old.chunks, new.chunks), key=len)
    kept = sum(min(size, more[chunk]) for chunk, size in fewer.items() if chunk in more)
    return kept / max(old.size, new.size)


def _may_be_alike(old: int, new: int) -> bool:
    return min(old, new) >= _ALIKE * max(old, new)


def renames(deleted: Mapping[str, bytes], created: Mapping[str, bytes]) -> dict[str, str]:
    """For each renamed file its old path, by its new one. No old file is used twice."""
    found = _Pairs(dict(sorted(deleted.items())), dict(sorted(created.items())))
    found.take_equal()
    if found.is_feasible():
        found.take_by_name()
        found.take_alike()
    return found.taken


class _Pairs:
    """What is left to pair, and what is paired already."""

    def __init__(self, deleted: dict[str, bytes], created: dict[str, bytes]) -> None:
        self._old = deleted
        self._new = created
        self._contents: dict[str, _ChunkedContent] = {}
        self.taken: dict[str, str] = {}

    def _take(self, old: str, new: str) -> None:
        del self._old[old], self._new[new]
        self.taken[new] = old

    def take_equal(self) -> None:
        same: dict[bytes, list[str]] = {}
        for path, data in self._old.items():
            same.setdefault(data, []).append(path)
        for new, data in list(self._new.items()):
            if olds := same.get(data):
                old = next((one for one in olds if _name(one) == _name(new)), olds[0])
                olds.remove(old)
                self._take(old, new)

    def is_feasible(self) -> bool:
        if len(self._old) * len(self._new) > _MOST_PAIRS:
            return False
        sizes = [(len(old), len(new)) for old in self._old.values() for new in self._new.values()]
        return sum(min(pair) for pair in sizes if _may_be_alike(*pair)) <= _MOST_WORK

    def take_by_name(self) -> None:
        olds, news = _only(self._old), _only(self._new)
        for name in sorted(olds.keys() & news.keys()):
            if self._alike(olds[name], news[name]) >= _ALIKE_BY_NAME:
                self._take(olds[name], news[name])

    def take_alike(self) -> None:
        """The most similar pairs first; among equal ones, those with the same name."""
        found = [pair for new in self._new for pair in self._best(new)]
        found.sort(key=lambda pair: pair[0], reverse=True)
        for _score, old, new in found:
            if old in self._old and new in self._new:
                self._take(old, new)

    def _best(self, new: str) -> list[tuple[tuple[float, bool], str, str]]:
        pairs = (((self._alike(old, new), _name(old) == _name(new)), old, new) for old in self._old)
        alike = [pair for pair in pairs if pair[0][0] >= _ALIKE]
        return sorted(alike, key=lambda pair: pair[0], reverse=True)[:_CANDIDATES]

    def _alike(self, old: str, new: str) -> float:
        if not _may_be_alike(len(self._old[old]), len(self._new[new])):
            return 0.0
        return _similarity(self._load("-" + old, self._old[old]), self._load("+" + new, self._new[new]))

    def _load(self, key: str, data: bytes) -> _ChunkedContent:
        if key not in self._contents:
            self._contents[key] = _content(data)
        return self._contents[key]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _only(paths: Mapping[str, bytes]) -> dict[str, str]:
    """The paths whose name no other one has, by that name."""
    count = Counter(map(_name, paths))
    return {_name(path): path for path in paths if count[_name(path)] == 1}
