"""What the files of a project say, kept by content: only what changed is read again.

A content is cut into chunks: one for each function and method, the rest of each class, the rest of the file;
blocks of lines if nothing is known of its definitions. The index is a list of segments that never change. An
update adds one for the new contents; the small ones are joined when there are many. A corpus is the files of
one snapshot, as the index knows them.
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ringi.kernel.document import prepare
from ringi.kernel.fs import read_checked, replace_checked
from ringi.policy.globs import inside
from ringi.project.context import Definition
from ringi.project.dependencies.definitions import VARIABLE, definitions, readers
from ringi.project.dependencies.references import LARGEST, SourceContent, key
from ringi.project.kinds import kinds_of
from ringi.project.words import count_terms, terms_of, words_in
from ringi.tree.file_state import LINK_MODE, StateFile

MOST_TEXT: Final = 512 * 1024
"""Characters of one file; what follows is not looked at."""
_BLOCK: Final = 60
"""Lines of a chunk in a file without definitions."""
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


def path_terms(path: str) -> set[str]:
    return set(count_terms(path.rpartition(".")[0] or path))


class BlobPlace(NamedTuple):
    """Where the content of a file is in the index."""

    segment: int
    blob: Blob
    start: int


class Corpus:
    """The files of one snapshot, by path, as the index knows them. Files it does not know count by path."""

    def __init__(self, index: Index, files: Mapping[str, str]) -> None:
        """`files`: the key of each path's content."""
        self.paths = sorted(files)
        self.kinds = kinds_of(self.paths)
        self.segments = index.segments
        self.places: list[BlobPlace] = []
        numbers: dict[str, int] = {}
        wanted = set(files.values())
        self.docs: list[array[int]] = []
        """For each segment: the document of each chunk, -1 if its content is no longer used."""
        self.blobs: list[array[int]] = []
        self.lengths: list[int] = []
        for at, segment in enumerate(self.segments):
            chunks, blobs = array("i"), array("i")
            sizes = memoryview(segment.lengths).cast("I")
            for blob, start in zip(segment.blobs, first_chunks(segment), strict=True):
                count = blob.count
                doc = -1
                if blob.key in wanted and blob.key not in numbers:
                    doc = numbers[blob.key] = len(self.places)
                    self.places.append(BlobPlace(at, blob, start))
                    self.lengths.append(sum(sizes[start : start + count]))
                chunks.extend(array("i", (doc,)) * count)
                blobs.append(doc)
            self.docs.append(chunks)
            self.blobs.append(blobs)
        self.doc_of = {path: numbers[key] for path, key in files.items() if key in numbers}

    def hits(self, at: int, term: str, often: dict[int, int]) -> Iterator[tuple[int, int]]:
        """The chunks of one segment that have the term, and how often; counts it for each document too."""
        docs = self.docs[at]
        for chunk, number in unpack_postings(self.segments[at].text.get(term, b"")):
            if (doc := docs[chunk]) >= 0:
                often[doc] = often.get(doc, 0) + number
                yield chunk, number

    def naming(self, term: str) -> Iterator[int]:
        """The documents that have the term in the name of a definition."""
        for segment, docs in zip(self.segments, self.blobs, strict=True):
            for blob in memoryview(segment.names.get(term, b"")).cast("I"):
                if docs[blob] >= 0:
                    yield docs[blob]

    def outline(self, path: str) -> tuple[Definition, ...]:
        doc = self.doc_of.get(path)
        return () if doc is None else self.places[doc].blob.outline()


Contents = Callable[[Sequence[StateFile]], Iterable[tuple[StateFile, bytes]]]

_SAMPLE: Final = 8000
_MOST_AT_ONCE: Final = 64 * 1024 * 1024
"""Bytes that are read anew for one request; what is left counts by its path until the next."""
_MOST_ABOUT: Final = 1024 * 1024
"""As above, if only some paths matter: whoever asks does not want to wait for all of them."""


def corpus_of(
    files: Iterable[StateFile], contents: Contents, folder: Path, about: Sequence[str] = ()
) -> Corpus:
    """Reads what the index in the folder does not know yet; with `about`, only what is inside of these paths.

    Links count by their path alone.
    """
    known = {file.path: file for file in files}
    reader = readers()
    keys = {path: key(reader(path), file.oid) for path, file in known.items() if file.mode != LINK_MODE}
    index = Index(folder)
    wanted: dict[str, dict[str, str]] = {}
    """The keys of the files to be read, by how their definitions are."""
    seen = set()
    for path in sorted(keys):
        if (at := keys[path]) not in index and at not in seen and (not about or inside(path, about)):
            seen.add(at)
            wanted.setdefault(reader(path), {})[path] = at
    room = _Room(_MOST_ABOUT if about else _MOST_AT_ONCE)
    index.add(_read_contents(wanted, lambda paths: contents([known[path] for path in paths]), room))
    index.keep(frozenset(keys.values()))
    return Corpus(index, {path: keys.get(path, "") for path in known})


def _read_contents(
    wanted: dict[str, dict[str, str]],
    contents: Callable[[Iterable[str]], Iterable[tuple[StateFile, bytes]]],
    room: "_Room",
) -> Iterator[IndexedContent]:
    # Languages before plain text: if there is too much to read at once, that waits.
    for language, keys in sorted(wanted.items(), reverse=True):
        texts: dict[str, bytes] = {}
        sources = room.sources(((keys[file.path], data) for file, data in contents(keys)), texts)
        for at, found in definitions(language, sources):
            yield IndexedContent(at, texts.pop(at).decode("utf-8", "replace"), found)


class _Room:
    def __init__(self, left: int) -> None:
        self._left = left

    def sources(
        self, contents: Iterable[tuple[str, bytes]], texts: dict[str, bytes]
    ) -> Iterator[SourceContent]:
        """What a parser is given, as long as there is room; puts what is to be indexed into `texts`."""
        for at, data in contents if self._left > 0 else ():
            is_text = b"\0" not in data[:_SAMPLE]
            texts[at] = data[:MOST_TEXT] if is_text else b""
            yield SourceContent(at, data if is_text and len(data) <= LARGEST else b"")
            self._left -= len(data)
            if self._left <= 0:
                return
