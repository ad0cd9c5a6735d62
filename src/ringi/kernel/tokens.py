"""How many tokens a text has, estimated without any model's vocabulary.

Measured against two public vocabularies: code is overestimated by a fifth, English prose by a twentieth,
Japanese by up to a fifth. The estimate of some lines is the sum of the estimates of each.
"""

from typing import Final

from ringi.kernel.text import lazy_pattern

_PIECES: Final = lazy_pattern(
    r"[A-Za-z]+|[0-9]+|\n|[ \t\r\f\v]+|[!-/:-@\[-`{-~]+|[^\x00-\x7f]+|[\x00-\x1f\x7f]"
)
_WIDE: Final = lazy_pattern("[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U00010000-\U0010ffff]")
"""Japanese, Chinese and Korean; also emoji."""
_LONG_WORD: Final = 8


def tokens(text: str) -> int:
    return sum(map(_cost, _PIECES.findall(text)))


def _cost(piece: str) -> int:
    first, size = piece[0], len(piece)
    if not first.isascii():
        wide = len(_WIDE.findall(piece))
        return wide + (size - wide + 1) // 2
    if first.isalpha():
        return 1 + (size - 1) // _LONG_WORD
    if first.isdigit():
        return (size + 2) // 3
    if first in " \t\r\f\v":
        return int(size > 1)  # a single blank belongs to the next word
    return (size + 1) // 2
