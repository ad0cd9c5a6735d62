"""Whether two requests ask for the same, said differently.

Two requests are alike only if they have the same words that mean something, in the same order: names,
numbers, negations and directions are such words. Only politeness, articles, endings, a few words that mean
the same, and where a file is named may differ. Whatever is not known counts as meaning something: a word
more, a word less or another word makes another request. How alike they are is told by all of their words.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import normalize

from ringi.kernel.text import lazy_pattern
from ringi.project.words import stem

_TOKEN: Final = lazy_pattern(
    r"`[^`\n]+`|\"[^\"\n]+\"|「[^」\n]+」"
    r"|[\u3400-\u9fff\uf900-\ufaff々]+|[\u30a1-\u30ff]+|[\u3041-\u309f]+"
    r"|[^\s\u3041-\u309f\u30a1-\u30ff\u3400-\u9fff\uf900-\ufaff々「」、。]+"
)
_POLITE_BEGINNING: Final = lazy_pattern(
    r"\A\s*(?:(?:please|kindly|(?:can|could|will|would) you|(?:i|we) (?:want|need|would like)(?: you)? to"
    r"|(?:i|we)'d like(?: you)? to|let's|let us)\b[\s,:]*)+",
    re.IGNORECASE,
)
_POLITE_END: Final = lazy_pattern(
    r"(?:(?:\s*[,.;!?]\s*(?:please|thanks|thank you)|\s+please|を?お願い(?:(?:いた)?します)?)[\s.!?。]*)+$",
    re.IGNORECASE,
)
_BEGINS: Final = "([{"
_ENDS: Final = ".,;:!?)]}"
_MARKS: Final = frozenset("-\u2013\u2014…·•,.;:!?()[]{}\"'`")
_FILLING: Final = frozenset(["a", "an", "the", "my", "our", "your"])
_OF: Final = frozenset(["about", "of", "for"])
_INSIDE: Final = frozenset(["in", "to", "into", "on"])
# Particles say who does what to whom, so they stay. Endings of a verb that affirms do not; any other does.
_HIRAGANA: Final = re.compile(
    "(を|に|が|は|へ|で|と|から|まで|より|も)?の?"
    "(?:する|します|して|し|した|く|いて|ける|けて|す|る|て|える|えて|う|って|む|んで|ぐ|いで|める|めて|げる|げて)?"
    "(?:ください|ほしい|ほしいです|もらえますか|くれますか)?ね?"
)
_SAME: Final = (
    "fix repair correct resolve mend",
    "remove delete erase",
    "change modify alter edit",
    "show display",
    "config configuration",
    "doc docs documentation",
    "folder directory dir",
    "repo repository",
    "param parameter",
    "追加 追記 加",
    "修正 直 改修",
    "削除 消 消去 除去",
    "変更 変",
)
_NOT_QUITE: Final = 0.99
_FIRST_SAME: Final = "add create write insert put introduce"
"""Of the verb that a request begins with; elsewhere they mean different things."""


def _canonical(*lines: str) -> dict[str, str]:
    return {stem(word): line.split()[0] for line in lines for word in line.split()}


_WORDS: Final = _canonical(*_SAME)
_FIRST: Final = _canonical(_FIRST_SAME)


def compare(one: str, other: str) -> float:
    """From 0, for two different requests, to 1."""
    means = meaning(one)
    if not means or means != meaning(other):
        return 0.0
    first, second = ([word.casefold() for word in _TOKEN.findall(_normal(text))] for text in (one, other))
    if first == second:
        return 1.0
    filling = (Counter(word for word in words if word in _FILLING) for words in (first, second))
    shared = len(means) + (next(filling) & next(filling)).total()
    return min(2 * shared / (len(first) + len(second)), _NOT_QUITE)


def meaning(request: str) -> tuple[str, ...]:
    """The words that mean something; names as they are, others in small letters and without their endings."""
    text = _POLITE_END.sub("", _POLITE_BEGINNING.sub("", _normal(request)))
    tokens = _TOKEN.findall(text)
    where: list[str] = []
    if len(tokens) > 2 and tokens[0].casefold() == "in" and tokens[1][-1] in ",:":  # noqa: PLR2004  # in a.py, …
        where, tokens = ["in", *_find_meaning(tokens[1], begins=False)], tokens[2:]
    found: list[str] = []
    begins = True
    for token in tokens:
        found += _find_meaning(token, begins=begins)
        begins = token[-1] in ".!?:;"
    found += where
    if found and found[0] in _FIRST:
        found[0] = _FIRST[found[0]]
        if found[-2:-1] and found[-2] in _INSIDE:
            found[-2] = "in"
    return tuple(_reorder(found))


def _normal(request: str) -> str:
    text = normalize("NFKC", request).replace("\u2019", "'")
    return text.replace("下さい", "ください").replace("欲しい", "ほしい")


def _find_meaning(token: str, *, begins: bool) -> Iterator[str]:
    if _MARKS.issuperset(token):
        return
    if (hiragana := _HIRAGANA.fullmatch(token)) is not None:
        yield from filter(None, hiragana.groups())
        return
    word = token if token[0] in '`"「' else token.lstrip(_BEGINS).rstrip(_ENDS)
    if not word:
        yield token
        return
    if word.isalpha() and (word.islower() or (begins and word == word.capitalize()) or not word.isascii()):
        lower = word.lower()
        if lower not in _FILLING:
            yield _WORDS.get(stem(lower), stem(lower))
    else:
        yield word


def _reorder(found: Sequence[str]) -> Sequence[str]:
    """A section about installing is an install section."""
    at = [number for number, word in enumerate(found) if word in _OF]
    if len(at) != 1 or not 0 < at[0] < len(found) - 1:
        return found
    middle = at[0]
    return [*found[: middle - 1], found[middle + 1], found[middle - 1], *found[middle + 2 :]]
