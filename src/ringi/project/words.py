"""The words that requests and files are compared by.

An identifier counts as a whole and by its parts; endings are cut, so that `parsing` finds `parsed`. Chinese
and Japanese are written without spaces: there, every two characters that stand together are a word.
"""

from collections import Counter
from functools import lru_cache
from typing import Final

from ringi.kernel.text import lazy_pattern

_WORD: Final = lazy_pattern(r"[^\W\d]\w*")
_PART: Final = lazy_pattern(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_UNSPACED: Final = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_LONGEST: Final = 60
_SHORTEST_PART: Final = 3
_SHORTEST_STEMMED: Final = 5
_SHORTEST_STEM: Final = 4
_ENDINGS: Final = (
    "ations", "ation", "ities", "ings", "ing", "ized", "izes", "ize", "edly", "ed", "ies", "es", "s", "ly",
)  # fmt: skip
_SAYING_NOTHING: Final = """
    the a an to of in is it and for with on this that i be as not when from if are or by we you can have but
    at self def return none true false import class
"""
_STOP: Final = frozenset(_SAYING_NOTHING.split())


def stem(word: str) -> str:
    if len(word) < _SHORTEST_STEMMED:
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word[:-1] if word.endswith("e") and len(word) > _SHORTEST_STEMMED else word


@lru_cache(maxsize=1 << 17)
def terms_of(word: str) -> tuple[str, ...]:
    """What a word is found by; nothing for words that say nothing."""
    if len(word) > _LONGEST:
        return ()
    if not word.isascii() and (runs := _UNSPACED.findall(word)):
        pairs = (run[at : at + 2] for run in runs for at in range(max(len(run) - 1, 1)))
        rest = _UNSPACED.sub(" ", word).split()
        return (*pairs, *(term for part in rest for term in terms_of(part)))
    lower = word.lower()
    parts = (part.lower() for part in _PART.findall(word) if len(part) >= _SHORTEST_PART)
    found = (lower, *(part for part in parts if part != lower))
    return tuple(stem(term) for term in found if len(term) > 1 and term not in _STOP)


def words_in(text: str) -> list[str]:
    return _WORD.findall(text)


def count_terms(text: str) -> Counter[str]:
    """How often each term occurs."""
    result: Counter[str] = Counter()
    for word, count in Counter(_WORD.findall(text)).items():
        for term in terms_of(word):
            result[term] += count
    return result
