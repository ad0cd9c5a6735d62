"""What is shown of a file: an outline, and excerpts where it fits the request. Every line has its number."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final, NamedTuple

from ringi.project.compose import Numbers
from ringi.project.context import Definition, FileKind, FoundFile
from ringi.project.dependencies.definitions import VARIABLE
from ringi.project.ranking import Ranked
from ringi.project.words import count_terms

_LONGEST_LINE: Final = 160
_LONGEST_EXCERPT: Final = 30
_HEAD: Final = 12
"""Lines at the beginning of an excerpt that is too long, and of a file without any outline."""
_AROUND: Final = 2
_DOCUMENTED: Final = 2
"""Lines shown of a documentation string."""
_MOST_EXCERPTS: Final = 4
_MOST_FITTING: Final = 8
_MOST_PLACES: Final = 5
_WHOLE: Final = 150
"""Lines of a file that is shown whole if there is room."""
_OUTLINED_AT_ONCE: Final = 12
_HEADING: Final = re.compile(r"#{1,4} \S|={1,4} \S")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_IDENTIFIER: Final = re.compile(r"\w_\w|[a-z][A-Z]|[A-Z]\w*\.|\.[a-z]\w*_|\.[A-Z]")
_PATH: Final = re.compile(r"[\w-]+(?:[./][\w-]+)+")
_MARKED: Final = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\(|`([A-Za-z_][\w.]*)`")
_UNDERLINE: Final = re.compile(r"([=\-~^*+#])\1{2,}\s*")


class _Part(NamedTuple):
    line: int
    end: int


def number_lines(lines: Sequence[str], longest: int = _LONGEST_LINE) -> Mapping[int, str]:
    """Indented, so that no line of a file looks like one of ours; long ones are cut."""
    return _Numbered(lines, longest)


class _Numbered(Mapping[int, str]):
    def __init__(self, lines: Sequence[str], longest: int) -> None:
        self._lines = lines
        self._longest = longest

    def __getitem__(self, number: int) -> str:
        line = self._lines[number - 1].rstrip()
        cut = line if len(line) <= self._longest else line[: self._longest - 1] + "…"
        return f"  {number}  {cut}".rstrip()

    def __iter__(self) -> Iterator[int]:
        return iter(range(1, len(self._lines) + 1))

    def __len__(self) -> int:
        return len(self._lines)


def put_named_first(outline: Sequence[Definition], fits: Ranked, request: str) -> Ranked:
    """Before the definitions that fit, those that the request names outright, as `Flask.url_for`."""
    names = {name for name in _NAME.findall(request) if _IDENTIFIER.search(name)}
    ends = {name.rpartition(".")[2] for name in names}
    whole = [one for one in outline if one.name in names]
    parts = [one for one in outline if one.name.rpartition(".")[2] in ends]
    return fits._replace(
        definitions=tuple(dict.fromkeys((*whole, *parts, *fits.definitions)))[:_MOST_FITTING]
    )


def find_mentioned(text: str) -> frozenset[str]:
    """The paths and identifiers that a text names outright, as `wrap_text`, run() and app/io.py."""
    names = {name for name in _NAME.findall(text) if _IDENTIFIER.search(name)}
    names |= {name for pair in _MARKED.findall(text) for name in pair if name}
    return frozenset([*names, *(name.rpartition(".")[2] for name in names), *_PATH.findall(text)])


def pages_of(found: Iterable[FoundFile], names: AbstractSet[str]) -> Iterator[str]:
    """Files that are named whole, of others the lines of the definitions that are: app.py:10-40."""
    for file in found:
        if file.path in names:
            yield file.path
            continue
        for one in file.definitions:
            if names & {one.name, one.name.rpartition(".")[2]}:
                yield f"{file.path}:{one.line}-{one.end}"


def offers(
    lines: Sequence[str], outline: Sequence[Definition], fits: Ranked, terms: AbstractSet[str]
) -> list[Numbers]:
    """The numbers of lines that belong together, the most useful first; none of them is blank."""
    found = _offers(lines, outline, fits, terms)
    cut = (tuple(number for number in offer if lines[number - 1].strip()) for offer in found)
    return [offer for offer in cut if offer]


def _offers(
    lines: Sequence[str], outline: Sequence[Definition], fits: Ranked, terms: AbstractSet[str]
) -> Iterator[Numbers]:
    last = len(lines)
    known = [one for one in outline if one.line <= last]
    best = [_Part(_name_line(lines, one), min(one.end, last)) for one in fits.definitions if one.line <= last]
    if not best and fits.lines and fits.lines[0] <= last:
        best = [_Part(fits.lines[0], min(fits.lines[1], last))]
    headings = [_name_line(lines, one) for one in known]
    if not known and fits.kind is FileKind.DOC:
        headings = list(_find_headings(lines))
    top = [
        _name_line(lines, one) for one in known if "." not in one.name and one.kind != VARIABLE
    ] or headings
    best = best[:_MOST_EXCERPTS]
    yield from ((part.line,) for part in best)
    yield from (_excerpt(lines, part, terms) for part in best[:1])
    yield from _group(top)
    yield from (_excerpt(lines, part, terms) for part in best[1:])
    if not best:
        yield from islice(_find_places(lines, terms), _MOST_PLACES)
    if not headings:
        yield from _group(range(1, min(_HEAD, last) + 1))
    yield from _group(headings)
    if last <= _WHOLE:
        yield from _group(range(1, last + 1))


def _name_line(lines: Sequence[str], one: Definition) -> int:
    """The line with its name: decorators come before it."""
    name = one.name.rpartition(".")[2]
    near = range(one.line, min(one.end, one.line + _HEAD, len(lines)) + 1)
    decorated = (
        number for number in near if name in lines[number - 1] and lines[number - 1].lstrip()[0] != "@"
    )
    return next(decorated, one.line) if lines[one.line - 1].lstrip().startswith("@") else one.line


def _group(numbers: Sequence[int]) -> Iterator[Numbers]:
    return (tuple(numbers[at : at + _OUTLINED_AT_ONCE]) for at in range(0, len(numbers), _OUTLINED_AT_ONCE))


def _excerpt(lines: Sequence[str], part: _Part, terms: AbstractSet[str]) -> Numbers:
    """All of it; of a long one its beginning, and the lines that say what the request says."""
    inside = _drop_prose(lines, part)
    if len(inside) <= _LONGEST_EXCERPT:
        return inside
    found = set(inside[:_HEAD])
    for place in _find_places(lines[part.line - 1 : part.end], terms):
        more = {number + part.line - 1 for number in place}.intersection(inside)
        if len(found | more) <= _LONGEST_EXCERPT:
            found |= more
    return tuple(sorted(found))


def _drop_prose(lines: Sequence[str], part: _Part) -> Numbers:
    """Of a long documentation string, only the beginning: the code says more."""
    kept: list[int] = []
    opened = 0
    for number in range(part.line, part.end + 1):
        line = lines[number - 1]
        marks = line.count('"""') + line.count("'''")
        if not opened or number - opened < _DOCUMENTED:
            kept.append(number)
        if marks % 2:
            opened = 0 if opened else number
    return tuple(kept)


def _find_places(lines: Sequence[str], terms: AbstractSet[str]) -> Iterator[Numbers]:
    """The lines with most words of the request, best first, with those around them."""
    hits: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        if count := len(count_terms(line).keys() & terms):
            hits[number] = count
    seen: set[int] = set()
    for number in sorted(hits, key=lambda number: (-hits[number], number)):
        if number not in seen:
            around = range(max(1, number - _AROUND), min(len(lines), number + _AROUND) + 1)
            seen.update(around)
            yield tuple(around)


def _find_headings(lines: Sequence[str]) -> Iterator[int]:
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        below = lines[number] if number < len(lines) else ""
        underlined = line.strip() and not line[0].isspace() and _UNDERLINE.fullmatch(below)
        if not fenced and not _UNDERLINE.fullmatch(line) and (_HEADING.match(line) or underlined):
            yield number
