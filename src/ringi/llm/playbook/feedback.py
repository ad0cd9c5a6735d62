"""What somebody who rejected a design said about its options."""

# ruff: noqa: E501  # lists of words, Japanese ones count double

from collections.abc import Mapping, Sequence
from typing import Final

from ringi.llm.playbook.kinds import Choice
from ringi.llm.playbook.reading import Searched, searched
from ringi.llm.playbook.vocabulary import term, terms

FOR: Final = 1
AGAINST: Final = -1
SILENT: Final = 0

_MOST_OF_IT: Final = 1_500
_WORDS_BEFORE: Final = 3
_WORDS_AFTER: Final = 5
_CHARACTERS_AFTER: Final = 14
_NO_BEFORE: Final = frozenset(
    ["not", "no", "dont", "without", "never", "avoid", "instead", "than", "against", "drop", "isnt", "less"]
)
_NO_AFTER: Final = terms(
    "is not needed|not needed|is unnecessary|unnecessary|is overkill|overkill|is too much|is wrong|is not what"
)
_NO_IN_JAPANESE: Final = (
    "ではなく", "じゃなく", "でなく", "不要", "いらない", "要らない", "いりません", "なし", "無し", "使わない", "使わず",
    "使いたくない", "やめ", "避け", "必要ない", "必要はない", "必要ありません", "過剰", "大げさ", "より", "反対", "ずに",
)  # fmt: skip

# What the feedback itself asks for, by the option that answers it; the first is meant where nothing fits.
POINT: Final = "point"
KINDS: Final = {
    POINT: (),
    "smaller": terms(
        "too big|too large|too much|too many|smaller|shorter|too complex|overkill|simpler|"
        "大きすぎ|多すぎ|小さく|減らし|複雑すぎ|もっと簡単|シンプル|やりすぎ|短く"
    ),
    "more": terms(
        "also|missing|forgot*|add|as well|additionally|lacks|足りない|不足|抜けて|追加|忘れ|ほしい|欲しい|含めて|加えて"
    ),
    "anew": terms(
        "wrong approach|start over|from scratch|completely|rethink|different approach|not what i|"
        "やり直|最初から|根本|考え直|違います|見直し|別の方法|別のやり方|そうではなく"
    ),
}


def heard(texts: Sequence[str]) -> tuple[Searched, ...]:
    return tuple(searched(text[:_MOST_OF_IT]) for text in texts)


def stance(texts: Sequence[Searched], choice: Choice, name: str) -> int:
    """For or against the option; what was said last counts."""
    found = (stand for text in reversed(texts) if (stand := _stance(text, choice, name)))
    return next(found, SILENT)


def kind_of(text: str) -> str:
    said = searched(text[:_MOST_OF_IT])
    return next((kind for kind in ("anew", "smaller", "more") if said.has_any(KINDS[kind])), POINT)


def _stance(text: Searched, choice: Choice, name: str) -> int:
    # The name as it was shown, then words that speak of it.
    for hint in (name.lower(), *choice.hints):
        word = term(hint)
        if text.has(word):
            return _side(text, word.pattern, latin=word.latin)
    return SILENT


def _side(text: Searched, pattern: str, *, latin: bool) -> int:
    if latin:
        before, _, after = text.latin.partition(pattern)
        near = before.split()[-_WORDS_BEFORE:]
        behind = Searched(f" {' '.join(after.split()[:_WORDS_AFTER])} ", "")
        against = bool(_NO_BEFORE.intersection(near)) or behind.has_any(_NO_AFTER)
        # A Latin word may stand in a Japanese sentence.
        return AGAINST if against or _denied(text.raw, pattern.strip()) else FOR
    return AGAINST if _denied(text.raw, pattern) else FOR


def _denied(raw: str, word: str) -> bool:
    _, _, after = raw.partition(word)
    return any(no in after[:_CHARACTERS_AFTER] for no in _NO_IN_JAPANESE)


def contradicted(stances: Mapping[str, int], chosen: str) -> bool:
    """Whether what was chosen goes against it."""
    asked_for = any(stand == FOR for stand in stances.values())
    return stances.get(chosen) == AGAINST or (asked_for and stances.get(chosen) != FOR)


def resolved(stances: Mapping[str, int], earlier: str) -> bool:
    """Whether it speaks for another option than the one that was chosen."""
    return any(stand == FOR and key != earlier for key, stand in stances.items()) or (
        stances.get(earlier) == AGAINST
    )
