"""Which files a request is about, best first (BM25 over text, definitions and paths, and what it names)."""

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from ringi.kernel.text import Text
from ringi.project.context import Definition, FileKind
from ringi.project.index import Chunk, Corpus, path_terms
from ringi.project.kinds import PairedTests
from ringi.project.request import ContextRequest, Names, Naming, read_request
from ringi.project.words import count_terms, terms_of, words_in


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
    has: tuple[str, ...] = ()
    """The words of the request's first line that are in it."""


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
    first: float = 1.1
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
_MOST_BRIDGES: Final = 16
_MOST_WORDS: Final = 4
_MOST_REASONS: Final = 4
_MOST_TESTS: Final = 3
_MOST_OF_A_LINE: Final = 20


class _Scores:
    """BM25 of every document, and of the best chunk in it."""

    def __init__(self, corpus: Corpus, request: ContextRequest, weights: Weights) -> None:
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
        """Those with the best chunks and the best names."""
        outline = self._corpus.outline(path)
        found = [
            (score + self._weights.name * self._of_name(outline[chunk.owner].name), outline[chunk.owner])
            for score, chunk in self._chunks_of(path)
            if chunk.owner >= 0
        ]
        found.sort(key=lambda item: (-item[0], item[1].line))
        return tuple(one for _, one in found[:_MOST_DEFINITIONS])

    def _of_name(self, name: str) -> float:
        return sum(self.weights.get(term, 0.0) for term in count_terms(name.rpartition(".")[2]))

    def lines(self, path: str) -> tuple[int, int] | None:
        best = next(iter(self._chunks_of(path)), None)
        return (best[1].line, best[1].end) if best else None

    def strongest(self, path: str) -> list[str]:
        """The terms of the request that the file has, in its path or in its text, rarest first."""
        doc, own = self._corpus.doc_of.get(path, -1), path_terms(path)
        having = [term for term, docs in self.found.items() if doc in docs or term in own]
        having += [term for term in own if term in self.weights and term not in self.found]
        return sorted(having, key=lambda term: (-self.weights[term], term))

    def having(self, path: str, words: Iterable[str]) -> tuple[str, ...]:
        """Those of the words that are in it as a whole."""
        doc = self._corpus.doc_of.get(path, -1)
        whole = {word: terms[0] for word in words if (terms := terms_of(word))}
        return tuple(word for word, term in whole.items() if doc in self.found.get(term, ()))

    def _chunks_of(self, path: str) -> list[tuple[float, Chunk]]:
        """Best first."""
        doc = self._corpus.doc_of.get(path)
        if doc is None:
            return []
        segment, blob, start = self._corpus.places[doc]
        scores = self._chunks[segment]
        numbers = (number for number in range(blob.count) if start + number in scores)
        some = [(scores[start + number], blob.chunk(number)) for number in numbers]
        return sorted(some, key=lambda item: (-item[0], item[1]))


def rank(request: str, corpus: Corpus, limit: int = 50, weights: Weights = WEIGHTS) -> list[Ranked]:
    """At most so many files that have something to do with the request, best first."""
    asked = read_request(request)
    scores = _Scores(corpus, asked, weights)
    named = Names(corpus.paths).find_named(asked.text)
    beside = PairedTests(corpus.kinds)
    found = {path: scores.of(path) * _emphasis(named.get(path), weights) for path in corpus.paths}
    speaking = _bridge_tests(corpus, beside, found, weights)
    factors = {FileKind.TEST: weights.test, FileKind.DOC: weights.doc, FileKind.OTHER: weights.other}
    if asked.is_about_docs:
        del factors[FileKind.DOC]
    for path in found:
        found[path] *= factors.get(corpus.kinds[path], 1.0)
    best = max(found.values(), default=0.0) or 1.0
    for path, naming in named.items():
        if naming is Naming.PATH:
            found[path] += weights.first * best
    first = words_in(asked.text.strip().partition("\n")[0])[:_MOST_OF_A_LINE]
    order = sorted((path for path in found if found[path] > 0), key=lambda path: (-found[path], path))
    return [
        Ranked(
            path,
            round(found[path] / found[order[0]], 4),
            corpus.kinds[path],
            tuple(islice(_reasons(path, scores, asked, named.get(path), speaking.get(path)), _MOST_REASONS)),
            scores.definitions(path),
            scores.lines(path),
            beside.tests(path)[:_MOST_TESTS],
            scores.having(path, first),
        )
        for path in order[:limit]
    ]


def _emphasis(naming: Naming | None, weights: Weights) -> float:
    if naming is None:
        return 1.0
    return weights.traced if naming is Naming.TRACEBACK else weights.named


def _bridge_tests(
    corpus: Corpus, beside: PairedTests, found: dict[str, float], weights: Weights
) -> dict[str, str]:
    """A test that fits speaks for what it tests; returns the best that does so for each source."""
    tests = [path for path in corpus.paths if corpus.kinds[path] is FileKind.TEST and found[path] > 0]
    tests = sorted(tests, key=lambda path: (-found[path], path))[:_MOST_BRIDGES]
    best = max((found[path] for path in corpus.paths if corpus.kinds[path] is FileKind.SOURCE), default=0.0)
    speaking: dict[str, str] = {}
    for test in tests:
        for path in beside.sources(test):
            speaking.setdefault(path, test)
    for path, test in speaking.items():
        found[path] += weights.bridge * best * found[test] / found[tests[0]]
    return speaking


def _reasons(
    path: str, scores: _Scores, asked: ContextRequest, naming: Naming | None, test: str | None
) -> Iterator[Text]:
    if naming is not None:
        yield _NAMED[naming]
    wanted = [one.name for one in scores.definitions(path) if one.name.rpartition(".")[2] in asked.words]
    if wanted:
        yield Text("it defines {names}", names=", ".join(wanted[:_MOST_WORDS]))
    inside = dict.fromkeys(asked.spelled.get(term, term) for term in scores.strongest(path))
    if inside:
        yield Text("it has: {words}", words=", ".join(islice(inside, _MOST_WORDS)))
    if test:
        yield Text("its test {path} fits", path=test)
