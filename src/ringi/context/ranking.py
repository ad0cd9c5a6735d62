"""Which files a request is about, best first (BM25 over text, definitions and paths, and what it names)."""

import math
import re
from array import array
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, NamedTuple

from ringi.context.index import Blob, Chunk, Index, postings, starts
from ringi.context.kinds import kinds_of
from ringi.context.names import Names, Naming
from ringi.context.request import Request, read_request
from ringi.context.words import counted
from ringi.domain.context import Definition, FileKind
from ringi.text import Text


class Ranked(NamedTuple):
    path: str
    score: float
    """Relative to the best, which has 1."""
    kind: FileKind
    why: tuple[Text, ...]
    definitions: tuple[Definition, ...] = ()
    """Those that fit the request, best first."""
    lines: tuple[int, int] | None = None
    """First and last line of the part that fits best."""
    tests: tuple[str, ...] = ()
    """The test files that go with it by name."""


class Weights(NamedTuple):
    k1: float = 1.2
    b: float = 0.75
    name: float = 2.0
    """A definition has the word in its name."""
    path: float = 3.0
    chunk: float = 4.0
    """The best chunk beside the whole file."""
    often: float = 0.7
    """The power of how often the request has a word, of at most `most_often` times."""
    most_often: int = 6
    named: float = 1.6
    traced: float = 1.6
    first: float = 1.0
    """What a file named by its path has over the best of the others."""
    bridge: float = 0.15
    test: float = 0.3
    doc: float = 0.2
    other: float = 0.2


_NAMED: Final = {
    Naming.PATH: Text("the request names it"),
    Naming.PART: Text("the request names it in part"),
    Naming.TRACEBACK: Text("in the traceback"),
}
WEIGHTS: Final = Weights()
_MOST_TERMS: Final = 400
_MOST_DEFINITIONS: Final = 8
_MOST_BRIDGES: Final = 8
_MOST_WORDS: Final = 4
_TEST_AFFIX: Final = re.compile(r"^tests?[_-]|[_-]tests?$|\.(?:test|spec)$|^Test(?=[A-Z])|Tests?$|_spec$")


def path_terms(path: str) -> set[str]:
    return set(counted(path.rpartition(".")[0] or path))


class _Place(NamedTuple):
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
        self.places: list[_Place] = []
        numbers: dict[str, int] = {}
        wanted = set(files.values())
        self.docs: list[array[int]] = []
        """For each segment: the document of each chunk, -1 if its content is no longer used."""
        self.blobs: list[array[int]] = []
        self.lengths: list[int] = []
        for at, segment in enumerate(self.segments):
            chunks, blobs = array("i"), array("i")
            sizes = memoryview(segment.lengths).cast("I")
            for blob, start in zip(segment.blobs, starts(segment), strict=True):
                count = blob.count
                doc = -1
                if blob.key in wanted and blob.key not in numbers:
                    doc = numbers[blob.key] = len(self.places)
                    self.places.append(_Place(at, blob, start))
                    self.lengths.append(sum(sizes[start : start + count]))
                chunks.extend(array("i", (doc,)) * count)
                blobs.append(doc)
            self.docs.append(chunks)
            self.blobs.append(blobs)
        self.doc_of = {path: numbers[key] for path, key in files.items() if key in numbers}

    def hits(self, at: int, term: str, often: dict[int, int]) -> Iterator[tuple[int, int]]:
        """The chunks of one segment that have the term, and how often; counts it for each document too."""
        docs = self.docs[at]
        for chunk, number in postings(self.segments[at].text.get(term, b"")):
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


class _Scores:
    """BM25 of every document, and of the best chunk in it."""

    def __init__(self, corpus: Corpus, request: Request, weights: Weights) -> None:
        self._corpus, self._weights = corpus, weights
        source = {
            corpus.doc_of[path]
            for path in corpus.paths
            if corpus.kinds[path] is FileKind.SOURCE and path in corpus.doc_of
        }
        self._counted = source or set(range(len(corpus.places)))
        self._average = max(sum(corpus.lengths[doc] for doc in self._counted) / max(len(self._counted), 1), 1)
        chunks = sum(corpus.places[doc].blob.count for doc in self._counted)
        self._chunk_average = max(self._average * len(self._counted) / max(chunks, 1), 1)
        self.text = [0.0] * len(corpus.places)
        self.names = [0.0] * len(corpus.places)
        self._chunks: list[dict[int, float]] = [{} for _ in corpus.segments]
        self.weights: dict[str, float] = {}
        self.found: dict[str, dict[int, int]] = {}
        for term, count in sorted(request.terms.items(), key=lambda item: (-item[1], item[0]))[:_MOST_TERMS]:
            self._add(term, count)
        self.best: dict[int, tuple[float, int]] = {}
        for at, scores in enumerate(self._chunks):
            docs = corpus.docs[at]
            for chunk, score in scores.items():
                doc = docs[chunk]
                if score > self.best.get(doc, (0.0, 0))[0]:
                    self.best[doc] = (score, chunk)

    def _add(self, term: str, count: int) -> None:
        corpus, weights = self._corpus, self._weights
        often: dict[int, int] = {}
        hits = [list(corpus.hits(at, term, often)) for at in range(len(corpus.segments))]
        total, having = len(self._counted), len(often.keys() & self._counted)
        rarity = math.log(1 + (total - having + 0.5) / (having + 0.5))
        weight = self.weights[term] = min(count, weights.most_often) ** weights.often * rarity
        if not often:
            return
        self.found[term] = often
        top = weight * (weights.k1 + 1)
        base, slope = weights.k1 * (1 - weights.b), weights.k1 * weights.b
        each = slope / self._average
        for doc, number in often.items():
            self.text[doc] += top * number / (number + base + each * corpus.lengths[doc])
        each = slope / self._chunk_average
        for at, some in enumerate(hits):
            scores, sizes = self._chunks[at], memoryview(corpus.segments[at].lengths).cast("I")
            for chunk, number in some:
                scores[chunk] = scores.get(chunk, 0.0) + top * number / (number + base + each * sizes[chunk])
        for doc in corpus.naming(term):
            self.names[doc] += weight

    def of(self, path: str) -> float:
        corpus, weights = self._corpus, self._weights
        score = weights.path * sum(self.weights.get(term, 0.0) for term in path_terms(path))
        doc = corpus.doc_of.get(path)
        if doc is None:
            return score
        best = self.best.get(doc, (0.0, 0))[0]
        return score + self.text[doc] + weights.name * self.names[doc] + weights.chunk * best

    def definitions(self, path: str) -> tuple[Definition, ...]:
        outline = self._corpus.outline(path)
        owners = (chunk.owner for _, chunk in self._chunks_of(path) if chunk.owner >= 0)
        return tuple(outline[owner] for owner in islice(owners, _MOST_DEFINITIONS))

    def lines(self, path: str) -> tuple[int, int] | None:
        best = next(iter(self._chunks_of(path)), None)
        return (best[1].line, best[1].end) if best else None

    def reasons(self, path: str) -> Iterator[Text]:
        doc = self._corpus.doc_of.get(path)
        terms = set(path_terms(path))
        heavy = sorted(self.weights, key=lambda term: (-self.weights[term], term))
        named = [term for term in heavy if term in terms and self.weights[term] > 0]
        if named:
            yield Text("its path has: {words}", words=", ".join(named[:_MOST_WORDS]))
        inside = [term for term in heavy if doc is not None and doc in self.found.get(term, ())]
        if inside:
            yield Text("it has: {words}", words=", ".join(inside[:_MOST_WORDS]))

    def _chunks_of(self, path: str) -> list[tuple[float, Chunk]]:
        doc = self._corpus.doc_of.get(path)
        return [] if doc is None else self.chunks(doc)

    def chunks(self, doc: int) -> list[tuple[float, Chunk]]:
        """Best first."""
        segment, blob, start = self._corpus.places[doc]
        scores = self._chunks[segment]
        some = [
            (scores[start + number], blob.chunk(number))
            for number in range(blob.count)
            if start + number in scores
        ]
        return sorted(some, key=lambda item: (-item[0], item[1]))


def rank(request: str, corpus: Corpus, limit: int = 50, weights: Weights = WEIGHTS) -> list[Ranked]:
    """At most so many files that have something to do with the request, best first."""
    asked = read_request(request)
    scores = _Scores(corpus, asked, weights)
    found: dict[str, float] = {}
    why: dict[str, list[Text]] = {}
    named = Names(corpus.paths).named(asked.text)
    for path in corpus.paths:
        found[path] = scores.of(path)
        if naming := named.get(path):
            found[path] *= weights.traced if naming is Naming.TRACEBACK else weights.named
            why.setdefault(path, []).append(_NAMED[naming])
    tests = _bridge(corpus, found, why, weights)
    for path in found:
        found[path] *= _factor(corpus.kinds[path], weights)
    best = max(found.values(), default=0.0) or 1.0
    for path, naming in named.items():
        if naming is Naming.PATH:
            found[path] += weights.first * best
    order = sorted((path for path in found if found[path] > 0), key=lambda path: (-found[path], path))[:limit]
    best = found[order[0]] if order else 1.0
    return [
        Ranked(
            path,
            round(found[path] / best, 4),
            corpus.kinds[path],
            (*why.get(path, ()), *scores.reasons(path)),
            scores.definitions(path),
            scores.lines(path),
            tuple(tests.get(stem_of(path), ())) if corpus.kinds[path] is FileKind.SOURCE else (),
        )
        for path in order
    ]


def _factor(kind: FileKind, weights: Weights) -> float:
    factors = {FileKind.TEST: weights.test, FileKind.DOC: weights.doc, FileKind.OTHER: weights.other}
    return factors.get(kind, 1.0)


def stem_of(path: str) -> str:
    """What a test and what it tests have in common: test_x.py and x.py."""
    name = path.rpartition("/")[2]
    return _TEST_AFFIX.sub("", name.rpartition(".")[0] or name).strip("_").lower()


def _bridge(
    corpus: Corpus, found: dict[str, float], why: dict[str, list[Text]], weights: Weights
) -> dict[str, list[str]]:
    """A test that fits speaks for what it tests. Returns all tests by what they test, best first."""
    tests = [path for path in corpus.paths if corpus.kinds[path] is FileKind.TEST]
    tests.sort(key=lambda path: (-found[path], path))
    sources: dict[str, list[str]] = {}
    for path in corpus.paths:
        if corpus.kinds[path] is FileKind.SOURCE:
            sources.setdefault(stem_of(path), []).append(path)
    best = max((found[path] for same in sources.values() for path in same), default=0.0)
    reached: dict[str, tuple[float, str]] = {}
    for test in tests[:_MOST_BRIDGES]:
        for path in sources.get(stem_of(test), ()):
            if found[test] > 0:
                reached.setdefault(path, (found[test] / found[tests[0]], test))
    for path, (share, test) in reached.items():
        found[path] += weights.bridge * best * share
        why.setdefault(path, []).append(Text("its test {path} fits", path=test))
    by_stem: dict[str, list[str]] = {}
    for test in tests:
        by_stem.setdefault(stem_of(test), []).append(test)
    return by_stem
