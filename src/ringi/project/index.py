"""What the files of a project say, kept by content: only what changed is read again.

A content is cut into chunks: one for each function and method, the rest of each class, the rest of the file;
blocks of lines if nothing is known of its definitions. The index is a list of segments that never change. An
update adds one for the new contents; the small ones are joined when there are many.
"""

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ringi.kernel.document import prepare
from ringi.kernel.fs import read_checked, replace_checked
from ringi.project.context import Definition
from ringi.project.words import count_terms, terms_of, words_in

MOST_TEXT: Final = 512 * 1024
"""Characters of one file; what follows is not looked at."""
_BLOCK: Final = 60
"""Lines of a chunk in a file without definitions."""
VARIABLE: Final = "variable"
"""A definition that is a line of what it is in, not a chunk of its own."""
_ROW: Final = 12
_MOST_OFTEN: Final = 255
_COUNT_BITS: Final = 8
_MOST_SEGMENTS: Final = 8
_ALWAYS_KEPT: Final = 1000
_LARGEST: Final = 256 * 1024 * 1024
_MAGIC: Final = b"ringi text index 1\n"
_NAME: Final = "index"


class IndexedContent(NamedTuple):
    key: str
    """Names its bytes and the way its definitions were read."""
    text: str
    definitions: Sequence[Definition] = ()
    """Outer ones before those inside."""


class Chunk(NamedTuple):
    line: int
    end: int
    owner: int
    """The number of its definition; -1 if it is of none."""


class _Outline(msgspec.Struct, array_like=True, gc=False):
    rows: list[tuple[str, str, int, int]]


class Blob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One content in a segment. Its chunks follow those of the one before it."""

    key: str
    chunks: bytes
    """Line, end and owner of each, as 32-bit numbers."""
    definitions: msgspec.Raw

    @property
    def count(self) -> int:
        return len(self.chunks) // _ROW

    def outline(self) -> tuple[Definition, ...]:
        rows = msgspec.msgpack.decode(self.definitions, type=prepare(_Outline)).rows
        return tuple(Definition(*row) for row in rows)

    def chunk(self, number: int) -> Chunk:
        return Chunk(*memoryview(self.chunks).cast("i")[number * 3 : number * 3 + 3])


class Segment(msgspec.Struct, array_like=True):
    blobs: list[Blob]
    lengths: bytes
    """Terms in each chunk."""
    text: dict[str, bytes]
    """For each term its chunks, each with how often it occurs there."""
    names: dict[str, bytes]
    """For each term the blobs that have it in the name of a definition."""


class _KeptSegments(msgspec.Struct, array_like=True):
    segments: list[Segment]


def unpack_postings(data: bytes) -> Iterator[tuple[int, int]]:
    """Chunk, and how often."""
    return ((entry >> _COUNT_BITS, entry & _MOST_OFTEN) for entry in memoryview(data).cast("I"))


class Index:
    """One file in the folder. If it is damaged, foreign or missing, everything is read again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self.segments = _read(self._path)
        self._keys = {blob.key for segment in self.segments for blob in segment.blobs}
        self._changed = False

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def add(self, contents: Iterable[IndexedContent]) -> None:
        fresh = _build(content for content in contents if content.key not in self._keys)
        if fresh.blobs:
            self.segments.append(fresh)
            self._keys.update(blob.key for blob in fresh.blobs)
            self._changed = True

    def keep(self, used: Collection[str]) -> None:
        """Saves it: what is used, and of the rest at most as much again."""
        if not self._changed:
            return
        spare = len(self._keys) - len(used)
        if spare > max(len(used), _ALWAYS_KEPT):
            self._join(0, frozenset(used))
        elif len(self.segments) > _MOST_SEGMENTS:
            # The first is by far the largest and stays as it is.
            self._join(1, self._keys)
        payload = msgspec.msgpack.encode(_KeptSegments(self.segments))
        if len(payload) <= _LARGEST:
            replace_checked(self._path, _MAGIC, payload)
        self._changed = False

    def _join(self, first: int, used: Collection[str]) -> None:
        self.segments[first:] = [_join_segments(self.segments[first:], used)]
        self._keys = {blob.key for segment in self.segments for blob in segment.blobs}


def _read(path: Path) -> list[Segment]:
    payload = read_checked(path, _MAGIC, _LARGEST)
    if payload is None:
        return []
    try:
        return msgspec.msgpack.decode(payload, type=prepare(_KeptSegments)).segments
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _build(contents: Iterable[IndexedContent]) -> Segment:
    blobs: list[Blob] = []
    lengths = array("I")
    text: dict[str, array[int]] = {}
    names: dict[str, array[int]] = {}
    for content in contents:
        rows = array("i")
        for chunk, words in _chunks(content):
            number = len(lengths) << _COUNT_BITS
            length = 0
            for term, count in count_terms(words).items():
                length += count
                entry = number | min(count, _MOST_OFTEN)
                if (found := text.get(term)) is None:
                    text[term] = array("I", (entry,))
                else:
                    found.append(entry)
            lengths.append(length)
            rows.extend(chunk)
        for term in {
            term for one in content.definitions for word in words_in(one.name) for term in terms_of(word)
        }:
            names.setdefault(term, array("I")).append(len(blobs))
        outline = _Outline([(one.name, one.kind, one.line, one.end) for one in content.definitions])
        blobs.append(Blob(content.key, rows.tobytes(), msgspec.Raw(msgspec.msgpack.encode(outline))))
    return Segment(blobs, lengths.tobytes(), _pack(text), _pack(names))


def _pack(found: "Mapping[str, array[int]]") -> dict[str, bytes]:
    return {term: entries.tobytes() for term, entries in found.items()}


def _chunks(content: IndexedContent) -> Iterator[tuple[Chunk, str]]:
    lines = content.text[:MOST_TEXT].split("\n")
    if not content.definitions:
        for start in range(0, len(lines), _BLOCK):
            some = lines[start : start + _BLOCK]
            yield Chunk(start + 1, start + len(some), -1), "\n".join(some)
        return
    owners = [-1] * len(lines)
    for number, one in enumerate(content.definitions):
        if one.kind != VARIABLE:
            inside = slice(one.line - 1, min(one.end, len(lines)))
            owners[inside] = [number] * len(owners[inside])
    parts: dict[int, list[str]] = {}
    for owner, line in zip(owners, lines, strict=True):
        parts.setdefault(owner, []).append(line)
    for owner, some in sorted(parts.items()):
        if owner < 0:
            span = (1, len(lines))
        else:
            span = (content.definitions[owner].line, content.definitions[owner].end)
        yield Chunk(*span, owner), "\n".join(some)


def _join_segments(segments: Sequence[Segment], used: Collection[str]) -> Segment:
    """The contents that are used, each once, in one segment."""
    blobs: list[Blob] = []
    lengths = array("I")
    text: dict[str, array[int]] = {}
    names: dict[str, array[int]] = {}
    seen: set[str] = set()
    for segment in segments:
        old = memoryview(segment.lengths).cast("I")
        chunks, numbers = array("i"), array("i")
        for blob, start in zip(segment.blobs, first_chunks(segment), strict=True):
            count = blob.count
            if blob.key in used and blob.key not in seen:
                seen.add(blob.key)
                numbers.append(len(blobs))
                chunks.extend(range(len(lengths), len(lengths) + count))
                blobs.append(blob)
                lengths.extend(old[start : start + count])
            else:
                numbers.append(-1)
                chunks.extend([-1] * count)
        for term, data in segment.text.items():
            moved = [
                chunks[at] << _COUNT_BITS | count for at, count in unpack_postings(data) if chunks[at] >= 0
            ]
            if moved:
                text.setdefault(term, array("I")).extend(moved)
        for term, data in segment.names.items():
            if kept := [numbers[at] for at in memoryview(data).cast("I") if numbers[at] >= 0]:
                names.setdefault(term, array("I")).extend(kept)
    return Segment(blobs, lengths.tobytes(), _pack(text), _pack(names))


def first_chunks(segment: Segment) -> list[int]:
    """The first chunk of each blob."""
    return list(accumulate((blob.count for blob in segment.blobs), initial=0))[:-1]
