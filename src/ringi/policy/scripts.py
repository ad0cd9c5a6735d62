"""Words that look like others: letters of several alphabets in one, and lookalikes (PT-7).

The rule is the "highly restrictive" level of Unicode's security mechanisms (UTS 39): one script in a word, or
Latin together with Japanese, Korean or Chinese. A letter's script is the first word of its Unicode name.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from ringi.kernel.text import Text
from ringi.policy.risk_level import RiskCode

_LATIN: Final = "LATIN"
_COMMON: Final = ""
_ALIASES: Final = {
    "IDEOGRAPHIC": "CJK",
    "KATAKANA-HIRAGANA": "KATAKANA",
    "HALFWIDTH": "KATAKANA",
    "FULLWIDTH": _LATIN,
    "KELVIN": _LATIN,
    "ANGSTROM": _LATIN,
    "FEMININE": _LATIN,
    "MASCULINE": _LATIN,
    "OHM": "GREEK",
    **dict.fromkeys(
        ["MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER", "INFORMATION", "MODIFIER", "MICRO",
         "TURNED", "ALEF", "BET", "GIMEL", "DALET", "PLANCK", "EULER"],
        _COMMON,
    ),
}  # fmt: skip
_TOGETHER: Final = (
    frozenset([_LATIN, "CJK", "HIRAGANA", "KATAKANA"]),
    frozenset([_LATIN, "CJK", "HANGUL"]),
    frozenset([_LATIN, "CJK", "BOPOMOFO"]),
)
_EAST_ASIAN: Final = frozenset().union(*_TOGETHER) - {_LATIN}

# Letters that many fonts draw like the Latin letter below them.
_ALIKE: Final = (
    # Cyrillic
    ("асԁеһіјӏорԛѕухүԝѵАВСЕНІЈКМОРԚЅТХҮУԜѴԌ",
     "acdehijlopqsyxywvABCEHIJKMOPQSTXYYWVG"),
    # Greek
    ("αγικνορυχϲϳηΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ",
     "ayikvopuxcjnABEZHIKMNOPTYXCJ"),
    # Armenian, Cherokee
    ("օոսհցզյՕՏՍᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏔᏙᏚᏞᏟᏢᏦᏴ",
     "onuhgqjOSUDRTiAJEWMHYGZWVSLCPKB"),
    # Lisu
    (("\ua4d0\ua4d1\ua4d3\ua4d4\ua4d6\ua4d7\ua4d9\ua4da\ua4dc\ua4dd\ua4df\ua4e0\ua4e1"
     "\ua4e2\ua4e3\ua4e6\ua4e7\ua4ea\ua4eb\ua4ec\ua4ee\ua4f0\ua4f2\ua4f3\ua4f4"),
     "BPDTGKJCZFMNLSRVHWXYAEIOU"),
    # Latin, but not of any language's spelling
    ("\u0251\u0261\u1d04\u1d0f\u1d1c\u1d20\u1d21\u1d22\ua731",
     "agcouvwzs"),
)  # fmt: skip
_LIKE: Final = {ord(other): latin for row in _ALIKE for other, latin in zip(*row, strict=True)}
# Letters that Python and others read as the plain ones: ligatures, long s, Kelvin.
_SAME: Final = frozenset("\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06\u017f\u212a")
_WORD: Final = re.compile(r"[\w\u0300-\u036f]+")
_RUN: Final = re.compile(r"[^\W\d_]+")
_BEYOND_ASCII: Final = bytes(range(0x80, 0x100))
_FEW_WRONG: Final = 6
_FEWEST: Final = 2
"""A single Greek letter is a variable of a formula."""

LOOKALIKE: Final = Text("a word with letters that look like those of another alphabet")
MIXED: Final = Text("a word with letters of several alphabets")
PLAIN: Final = Text("letters that programs read as plain ones")
CODES: Final = {
    LOOKALIKE: RiskCode.LOOKALIKES,
    PLAIN: RiskCode.LOOKALIKES,
    MIXED: RiskCode.MIXED_SCRIPTS,
}


class _Line(NamedTuple):
    text: str
    east_asian: bool
    own: frozenset[str]
    """Scripts with a letter that looks like no Latin one: the line is written in them."""


def strange_words(text: bytes) -> Iterator[tuple[Text, int]]:
    """What each is, and where its line begins."""
    if text.isascii() or _other_encoding(text):
        return
    plain: set[str] | None = None
    fine: set[str] = set()
    at = 0
    for raw in text.split(b"\n"):
        if not raw.isascii():
            # A wrong byte must not keep the rest of its line from being read.
            line = _line(raw.decode("utf-8", "replace"))
            for word in _WORD.findall(line.text):
                if word.isascii() or word in fine:
                    continue
                kind = _kind(word, line)
                if kind is None and (like := _skeleton(word)):
                    plain = plain if plain is not None else _plain_words(text)
                    kind = LOOKALIKE if like in plain else None
                elif kind is None:
                    fine.add(word)
                if kind is not None:
                    yield kind, at
        at += len(raw) + 1


def _other_encoding(text: bytes) -> bool:
    """Whether it is no UTF-8; a few wrong bytes do not keep the rest from being read."""
    beyond = len(text) - len(text.translate(None, _BEYOND_ASCII))
    wrong = len(text) - len(text.decode("utf-8", "ignore").encode())
    return wrong > _FEW_WRONG and wrong * 4 > beyond


def _line(text: str) -> _Line:
    letters = {letter for letter in text if not letter.isascii() and letter.isalpha()}
    scripts = {script_of(letter) for letter in letters}
    own = frozenset(script_of(letter) for letter in letters if ord(letter) not in _LIKE)
    return _Line(text, bool(scripts & _EAST_ASIAN), own)


def _kind(word: str, line: _Line) -> Text | None:
    letters = [letter for letter in word if letter.isalpha()]
    if _reads_as_plain(word, letters, line):
        return PLAIN
    scripts = {script_of(letter) for letter in letters} - {_COMMON}
    runs = ["".join(run) for part in _RUN.findall(word) for _, run in groupby(part, script_of)]
    alike = any(all(ord(letter) in _LIKE for letter in run) for run in runs)
    if _LATIN in scripts and any(ord(one) in _LIKE and script_of(one) == _LATIN for one in letters):
        return LOOKALIKE
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        return LOOKALIKE if alike and _LATIN in scripts else MIXED
    if _skeleton(word) and not scripts & line.own:
        return LOOKALIKE
    return None


def _reads_as_plain(word: str, letters: list[str], line: _Line) -> bool:
    ascii_too = any(letter.isascii() for letter in letters)
    if any(letter in _SAME for letter in letters):
        return True
    if any("\uff21" <= letter <= "\uff5a" for letter in letters):
        return ascii_too or not line.east_asian
    styled = [one for one in letters if unicodedata.decomposition(one).startswith("<font>")]
    return bool(styled) and (ascii_too or len(letters) >= _FEWEST) and _ascii(word)


def _ascii(word: str) -> bool:
    return unicodedata.normalize("NFKC", word).isascii()


def _skeleton(word: str) -> str:
    """The Latin word that a word in another script looks like; empty if it looks like none."""
    letters = [letter for letter in word if letter.isalpha()]
    other = [letter for letter in letters if not letter.isascii()]
    if len(letters) < _FEWEST or len(other) != len(letters) or not all(ord(one) in _LIKE for one in other):
        return ""
    return word.translate(_LIKE)


def latin(text: str) -> str:
    """The same in the Latin letters that it looks like."""
    return unicodedata.normalize("NFKC", text).translate(_LIKE)


def _plain_words(text: bytes) -> set[str]:
    return {word.decode() for word in re.findall(rb"\w+", text) if word.isascii()}


@lru_cache(maxsize=65_536)
def script_of(letter: str) -> str:
    """Empty for what all scripts use."""
    if letter.isascii():
        return _LATIN if letter.isalpha() else _COMMON
    if not letter.isalpha():
        return _COMMON
    first = unicodedata.name(letter, "").partition(" ")[0]
    return _ALIASES.get(first, first)
