"""The words of `content/words.toml`, and how to find them in a text."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, NamedTuple

import msgspec

from ringi.domain.base import Document
from ringi.llm.playbook.book import CONTENT, Lean, Said

_WORD: Final = re.compile(r"[a-z0-9](?:[a-z0-9_.+#-]*[a-z0-9_+#])?")

Words = tuple[str, ...]


class Vocabulary(Document, frozen=True, kw_only=True):
    """The file says what each list is for."""

    silent: Words
    data: Words
    which_data: Words
    in_transit: Words
    sign_in: Words
    stored_names: Words
    migrated: Words
    raising: Words
    taking: Words
    adding: Words
    setting_up: Words
    verbs: frozenset[str]
    polite: Words
    object_ends: Words
    polite_endings: Words
    fault_endings: Words
    vague: frozenset[str]
    denied_before: frozenset[str]
    denied_after: Words
    denied_in_japanese: Words
    said: dict[Said, Words]
    leans: dict[Lean, Words]


@cache
def vocabulary() -> Vocabulary:
    return msgspec.toml.decode((CONTENT / "words.toml").read_bytes(), type=Vocabulary)


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

    def has(self, word: str) -> bool:
        pattern, latin = term(word)
        return pattern in (self.latin if latin else self.raw)

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


def searched(text: str) -> Searched:
    """Without filler phrases."""
    return searched_whole(text).without(vocabulary().silent)


def searched_whole(text: str) -> Searched:
    low = text.lower()
    words = _WORD.findall(low.replace("'", "").replace("\u2019", ""))
    return Searched(f" {' '.join(words)} ", low)
