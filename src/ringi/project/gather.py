"""What a model is shown of a project, put together from its parts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import visible
from ringi.kernel.tokens import tokens
from ringi.project.about import about, changelog_of, layout, paragraphs_of, rules_of
from ringi.project.commands import test_commands
from ringi.project.compose import ContextSection, compose
from ringi.project.context import Context, ContextFile, FoundFile, ProjectFacts
from ringi.project.outline import number_lines, offers, put_named_first
from ringi.project.ranking import Ranked
from ringi.project.request import read_request
from ringi.project.source import ProjectSource

_MOST_TESTS: Final = 3
_MOST_FOLDERS: Final = 3
_SHARE_PROJECT: Final = 0.15
_SHARE_RULES: Final = 0.15
_SHARE_CHANGES: Final = 0.05
_SHARE_FILES: Final = 0.65
_MOST_RULE_LINES: Final = 120
_MOST_CHANGE_LINES: Final = 12
_BLOCK: Final = 10
_LONGEST_LINE: Final = 1000
"""Of a file that was asked for."""


def project_facts(source: ProjectSource) -> ProjectFacts:
    """What is known of it whatever the request."""
    rules = rules_of(source)
    return ProjectFacts(
        **layout(source)._asdict(),
        about=about(source),
        rules=rules,
        test_commands=test_commands(source, rules),
        changelog=changelog_of(source),
    )


def add_named(source: ProjectSource, ranked: Iterable[Ranked], request: str) -> list[Ranked]:
    text = read_request(request).text
    return [put_named_first(source.outline(one.path), one, text) for one in ranked]


def list_found(ranked: Iterable[Ranked]) -> tuple[FoundFile, ...]:
    return tuple(
        FoundFile(
            path=one.path,
            kind=one.kind,
            score=one.score,
            definitions=one.definitions,
            tests=one.tests[:_MOST_TESTS],
            has=one.has,
        )
        for one in ranked
    )


def context_of(
    source: ProjectSource, facts: ProjectFacts, request: str, ranked: Sequence[Ranked], budget: int
) -> Context:
    """At most `budget` tokens of text."""
    sections = [*_project(facts), *_files(source, request, ranked), *_quote_files(source, facts, ranked)]
    text = compose(sections, budget)
    files = (ContextFile(one.path, one.score, one.kind, tuple(map(str, one.why))) for one in ranked)
    return Context(tuple(files), tokens(text), text)


def _project(facts: ProjectFacts) -> Iterator[ContextSection]:
    said = {
        "about": facts.about,
        "tested with": " · ".join(facts.test_commands),
        "languages": ", ".join(facts.languages),
        "top level": _names(facts.entries),
        "tests in": _names(facts.tests[:_MOST_FOLDERS]),
        "rules in": _names(facts.rules),
        "change log": visible(facts.changelog),
    }
    lines = {number: f"{name}: {words}" for number, (name, words) in enumerate(said.items()) if words}
    if lines:
        yield ContextSection("# Project", lines, [(number,) for number in lines], _SHARE_PROJECT)


def _names(paths: Iterable[str]) -> str:
    return ", ".join(map(visible, paths))


def _files(source: ProjectSource, request: str, ranked: Sequence[Ranked]) -> Iterator[ContextSection]:
    if not ranked:
        return
    terms = read_request(request).terms.keys()
    weights = [1 / (at + 2) for at in range(len(ranked))]
    yield ContextSection("\n# Files that the request may be about, best first", {}, (), 0.0)
    for one, weight in zip(ranked, weights, strict=True):
        beside = f"; tests: {_names(one.tests[:_MOST_TESTS])}" if one.tests else ""
        lines = source.read(one.path)
        yield ContextSection(
            f"## {visible(one.path)} ({one.kind}{beside})",
            number_lines(lines),
            offers(lines, source.outline(one.path), one, terms),
            _SHARE_FILES * weight / sum(weights),
        )


def _quote_files(
    source: ProjectSource, facts: ProjectFacts, ranked: Sequence[Ranked]
) -> Iterator[ContextSection]:
    shown = {one.path for one in ranked}
    rules = ("Rules", facts.rules[0] if facts.rules else "", _MOST_RULE_LINES, _SHARE_RULES)
    changes = ("Change log", facts.changelog, _MOST_CHANGE_LINES, _SHARE_CHANGES)
    for name, path, most, share in (rules, changes):
        if path in source.kinds and path not in shown:
            lines = source.read(path)[:most]
            yield ContextSection(
                f"\n# {name}: {visible(path)}", number_lines(lines), paragraphs_of(lines), share, last=True
            )


class RequestedFile(NamedTuple):
    """A file that was asked for."""

    path: str
    first: int = 1
    last: int = 0
    """0: to its end."""


def compose_pages(
    source: ProjectSource, asked: Sequence[RequestedFile], missing: Iterable[tuple[str, str]], budget: int
) -> str:
    """The files, each with its share of the budget, after what there is not, and why.

    Of one that is too long, its outline comes before what is far from the beginning.
    """
    sections = [ContextSection(f"## {visible(path)}: {why}", {}, (), 0.0) for path, why in missing]
    for page in asked:
        lines = source.read(page.path)
        outline = [(one.line,) for one in source.outline(page.path) if one.line <= len(lines)]
        last = min(page.last or len(lines), len(lines))
        blocks = [tuple(range(at, min(at + _BLOCK, last + 1))) for at in range(page.first, last + 1, _BLOCK)]
        near = len(blocks) if page.last else 1
        sections.append(
            ContextSection(
                f"## {visible(page.path)} (lines: {len(lines)})",
                number_lines(lines, _LONGEST_LINE),
                [*blocks[:near], *(() if _fits(lines, budget // len(asked)) else outline), *blocks[near:]],
                1 / len(asked),
            )
        )
    return compose(sections, budget)


def _fits(lines: Sequence[str], budget: int) -> bool:
    return sum(len(line) for line in lines) < 2 * budget
