"""What feedback on a rejected design says about its options."""

from collections.abc import Mapping, Sequence
from typing import Final

from ringi.llm.playbook.book import OptionEntry
from ringi.llm.playbook.vocabulary import Searched, searched, term, vocabulary

FOR: Final = 1
AGAINST: Final = -1
SILENT: Final = 0
SMALLER: Final = "smaller"

_MOST_OF_IT: Final = 1_500
_WORDS_BEFORE: Final = 3
_WORDS_AFTER: Final = 5
_CHARACTERS_AFTER: Final = 14


def heard(texts: Sequence[str]) -> tuple[Searched, ...]:
    return tuple(searched(text[:_MOST_OF_IT]) for text in texts)


def wish(text: str, options: Sequence[OptionEntry]) -> str:
    """The option it asks for; the first one if none fits."""
    (said,) = heard([text])
    by_key = {option.key: option for option in options}
    found = (key for key in ("anew", SMALLER, "more") if said.has_any(by_key[key].hints))
    return next(found, options[0].key)


def stance(texts: Sequence[Searched], hints: Sequence[str], name: str) -> int:
    """For or against an option; the last statement counts."""
    # First the displayed name, then words that refer to it.
    words = (name.lower(), *hints)
    found = (stand for text in reversed(texts) if (stand := _stance(text, words)))
    return next(found, SILENT)


def _stance(text: Searched, words: Sequence[str]) -> int:
    for word in words:
        if text.has(word):
            return AGAINST if _denied(text, word) else FOR
    return SILENT


def _denied(text: Searched, word: str) -> bool:
    pattern, latin = term(word)
    # A Latin word may be part of a Japanese sentence.
    return (latin and _denied_in_english(text.latin, pattern)) or _denied_in_japanese(
        text.raw, pattern.strip() if latin else pattern
    )


def _denied_in_english(latin: str, pattern: str) -> bool:
    before, _, after = latin.partition(pattern)
    behind = Searched(f" {' '.join(after.split()[:_WORDS_AFTER])} ", "")
    words = vocabulary()
    return not words.denied_before.isdisjoint(before.split()[-_WORDS_BEFORE:]) or behind.has_any(
        words.denied_after
    )


def _denied_in_japanese(raw: str, word: str) -> bool:
    _, _, after = raw.partition(word)
    return any(no in after[:_CHARACTERS_AFTER] for no in vocabulary().denied_in_japanese)


def contradicted(stances: Mapping[str, int], chosen: str) -> bool:
    """True if the choice goes against it."""
    asked_for = any(stand == FOR for stand in stances.values())
    return stances.get(chosen) == AGAINST or (asked_for and stances.get(chosen) != FOR)


def resolved(stances: Mapping[str, int], earlier: str) -> bool:
    """True if it favours another option than the chosen one."""
    return any(stand == FOR and key != earlier for key, stand in stances.items()) or (
        stances.get(earlier) == AGAINST
    )
