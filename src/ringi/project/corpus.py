"""The files of one snapshot, as the index knows them."""

from array import array
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ringi.project.context import Definition
from ringi.project.index import Blob, Index, first_chunks, unpack_postings
from ringi.project.kinds import kinds_of
from ringi.project.words import count_terms


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
