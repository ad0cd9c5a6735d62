"""What a request says: which words, with which weight, and what it names outright."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ringi.project.words import count_terms, terms_of, words_in

MOST: Final = 64 * 1024
"""Characters of a request that count: its beginning and its end, where an error is."""
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# What a reporter pastes about the machine says nothing about the code: versions, plugins, the platform.
_NOISE: Final = re.compile(
    r"[ \t]*(?:[\w.-]+[ \t]+v?\d+(?:\.\d+)+\S*(?:[ \t]+\S+)?|[\w.-]+==\S+"
    r"|(?:plugins|platform|rootdir|cachedir|Python version)\b.*)[ \t]*"
)
_FACT: Final = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?:\*\*)?[\w.() /-]{1,30}(?:\*\*)?[ \t]*(?::|==?|\t|  )[ \t]*"
    r"\S{0,60}(?:[ \t]\S{1,20})?(?<![:(,])[ \t]*"
)
_FACTS: Final = 4
"""So many short lines `name: value` in a row describe a machine."""
_HEADING: Final = re.compile(r"\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$|<summary>)")
_MACHINE: Final = frozenset(["environment", "system", "version", "versions", "platform", "os", "installed"])
_MACHINE_TOO: Final = frozenset([
    "your", "my", "and", "the", "of", "info", "information", "details", "python", "package", "packages",
    "software", "operating", "output", "pip", "list", "additional", "dependencies", "relevant", "summary",
    "strong", "configuration",
])  # fmt: skip
_MOST_OF_A_HEADING: Final = 60
_DOCS: Final = re.compile(
    r"\b(?:docs?|documentation|read ?me|change ?log|tutorial|guide|typos?)\b|ドキュメント|文書|説明書",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"`([^`\n]{2,60})`")
_QUOTED_COUNTS: Final = 2


class ContextRequest(NamedTuple):
    text: str
    """Without what says nothing."""
    terms: Mapping[str, int]
    """How often each term occurs; what is in backticks counts more."""
    words: frozenset[str]
    """As they are written."""
    spelled: Mapping[str, str]
    """For each term the shortest word with it."""
    is_about_docs: bool


def read_request(text: str) -> ContextRequest:
    if len(text) > MOST:
        text = f"{text[: MOST // 2]}\n{text[-MOST // 2 :]}"
    text = _COMMENT.sub("", text.replace("\0", " ").replace("\r", "\n"))
    text = "\n".join(_about_the_code(without_machine(text.split("\n"))))
    terms = Counter(count_terms(text))
    for quoted in _QUOTED.findall(text):
        for term in set(count_terms(quoted)):
            terms[term] += _QUOTED_COUNTS
    words = frozenset(words_in(text))
    by_length = sorted(words, key=lambda word: (-len(word), word))
    spelled = {term: word for word in by_length for term in terms_of(word)}
    about_docs = bool(_DOCS.search(text.strip().partition("\n")[0]))
    return ContextRequest(text, terms, words, spelled, about_docs)


def without_machine(lines: Iterable[str]) -> Iterator[str]:
    """Without the sections about the reporter's machine."""
    skipping = False
    for line in lines:
        if _HEADING.match(line):
            skipping = _is_machine(line)
        if not skipping:
            yield line


def _is_machine(heading: str) -> bool:
    """As in “System information”; the name of a program may come before: “Pylint version”."""
    words = re.findall(r"[a-z]+", heading.lower()) if len(heading) <= _MOST_OF_A_HEADING else []
    if len(words) > 1 and words[-1] in {"version", "versions"}:
        words = words[1:]
    return bool(_MACHINE.intersection(words)) and not set(words) - _MACHINE - _MACHINE_TOO


def _about_the_code(lines: Iterable[str]) -> Iterator[str]:
    """Without lists of facts about the reporter's machine."""
    facts: list[str] = []
    for line in lines:
        if _NOISE.fullmatch(line) or not line.strip():
            continue
        if _FACT.fullmatch(line):
            facts.append(line)
            continue
        if len(facts) < _FACTS:
            yield from facts
        facts.clear()
        yield line
    if len(facts) < _FACTS:
        yield from facts
