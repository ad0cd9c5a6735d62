"""Finds the book's words in a text, and whether the text is for or against what they refer to."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ringi.sessions.playbook.book import vocabulary

_WORD: Final = re.compile(r"[a-z0-9](?:[a-z0-9_.+#-]*[a-z0-9_+#])?")


class Term(NamedTuple):
    pattern: str
    """The search pattern."""
    latin: bool


@lru_cache(maxsize=4096)
def term(word: str) -> Term:
    if not word.isascii():
        return Term(word, latin=False)
    return Term(f" {word[:-1]}" if word.endswith("*") else f" {word} ", latin=True)


class Searched(NamedTuple):
    """A text prepared for searching."""

    latin: str
    """Its Latin words in lower case, separated and surrounded by spaces."""
    raw: str

    def find(self, word: str) -> int:
        """-1 if it is not there."""
        pattern, latin = term(word)
        return (self.latin if latin else self.raw).find(pattern)

    def has(self, word: str) -> bool:
        return self.find(word) >= 0

    def has_any(self, words: Iterable[str]) -> bool:
        return any(self.has(word) for word in words)

    def without(self, words: Iterable[str]) -> "Searched":
        latin, raw = self
        for word in words:
            pattern, is_latin = term(word)
            if is_latin:
                latin = latin.replace(pattern, "  ")
            else:
                raw = raw.replace(pattern, " ")
        return Searched(latin, raw)


def split_words(text: str) -> Searched:
    low = text.lower()
    words = _WORD.findall(low.replace("'", "").replace("\u2019", ""))
    return Searched(f" {' '.join(words)} ", low)


# --- for or against something ------------------------------------------------------------------------------

FOR: Final = 1
AGAINST: Final = -1
SILENT: Final = 0

_WORDS_BEFORE: Final = 3
_WORDS_AFTER: Final = 5
_CHARACTERS_AFTER: Final = 14


def stance(texts: Sequence[Searched], words: Sequence[str]) -> int:
    """Of what the words refer to; the last statement counts."""
    found = (stand for text in reversed(texts) if (stand := _stance(text, words)))
    return next(found, SILENT)


def _stance(text: Searched, words: Sequence[str]) -> int:
    for word in words:
        if text.has(word):
            return AGAINST if _is_denied(text, word) else FOR
    return SILENT


def _is_denied(text: Searched, word: str) -> bool:
    pattern, latin = term(word)
    # A Latin word may be part of a Japanese sentence.
    return (latin and _is_denied_in_english(text.latin, pattern)) or _is_denied_in_japanese(
        text.raw, pattern.strip() if latin else pattern
    )


def _is_denied_in_english(latin: str, pattern: str) -> bool:
    before, _, after = latin.partition(pattern)
    behind = Searched(f" {' '.join(after.split()[:_WORDS_AFTER])} ", "")
    words = vocabulary()
    return not words.denied_before.isdisjoint(before.split()[-_WORDS_BEFORE:]) or behind.has_any(
        words.denied_after
    )


def _is_denied_in_japanese(raw: str, word: str) -> bool:
    _, _, after = raw.partition(word)
    return any(no in after[:_CHARACTERS_AFTER] for no in vocabulary().denied_in_japanese)
