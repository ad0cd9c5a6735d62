"""What added lines should not contain: secrets, characters that hide something, lookalikes (PT-7).

A finding says what was found and where. It never repeats a secret.
"""

import io
import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ringi.kernel.text import Text
from ringi.policy.leaks import secrets
from ringi.policy.risk_level import RiskCode, RiskReason
from ringi.policy.scripts import CODES, strange_words

Lines = Iterable[tuple[int, bytes]]
"""Each line's number in the new file and its content, with or without the line end."""

_NAMED: Final = 5
"""At most this many lines are named per kind of finding; a file may have millions."""


def findings(added: Lines) -> tuple[RiskReason, ...]:
    """Each kind of finding once, with the first lines it is in."""
    # Without an object for each: a file may have millions of lines.
    numbers, ends, joined = array("q"), array("q"), io.BytesIO()
    for number, line in added:
        numbers.append(number)
        joined.write(line.removesuffix(b"\n"))
        joined.write(b"\n")
        ends.append(joined.tell())
    if not numbers:
        return ()
    joined.truncate(ends[-1] - 1)
    text = joined.getvalue()
    return tuple(
        RiskReason(
            CODES.get(kind, code), str(_add_lines(kind, sorted({numbers[index] for index in indices})))
        )
        for code, found in (
            (RiskCode.SECRET, secrets(text)),
            (RiskCode.HIDDEN_CHARACTERS, find_hidden_characters(text, numbers[0])),
            (RiskCode.LOOKALIKES, strange_words(text)),
        )
        for kind, indices in _lines_of(found, ends).items()
    )


def _lines_of(found: Iterable[tuple[Text, int]], ends: Sequence[int]) -> dict[Text, set[int]]:
    """For each kind, the lines it is in, counted from 0."""
    result: dict[Text, set[int]] = {}
    last: Text | None = None
    start = end = 0
    for kind, at in found:
        # A line can contain millions of them.
        if kind is last and start <= at < end:
            continue
        index = bisect_right(ends, at)
        result.setdefault(kind, set()).add(index)
        last, start, end = kind, ends[index - 1] if index else 0, ends[index]
    return result


def _add_lines(what: Text, lines: Sequence[int]) -> Text:
    if len(lines) == 1:
        return Text("{what} in line {line}", what=what, line=lines[0])
    named = ", ".join(map(str, lines[:_NAMED]))
    return Text("{what} in lines {lines}", what=what, lines=f"{named}, …" if len(lines) > _NAMED else named)


_DIRECTION: Final = Text("a character that turns the direction of writing")
_INVISIBLE: Final = Text("an invisible character")
_TAG: Final = Text("an invisible tag character")
_VARIANT: Final = Text("an out of place variation selector")
_CONTROL: Final = Text("a control character")
_RETURN: Final = Text("a carriage return inside a line")

_CONTROLS: Final = bytes([*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F])
# To the end of the line: one finding per line is enough.
_CONTROL_IN_LINE: Final = re.compile(rb"[" + re.escape(_CONTROLS) + rb"][^\n]*")
_RETURN_IN_LINE: Final = re.compile(rb"\r(?!\n|\Z)[^\n]*")
# The only flags that are spelled with tags: England, Scotland, Wales.
_FLAGS: Final = b"|".join(
    b"".join(chr(0xE0000 + ord(letter)).encode() for letter in name) for name in ("gbeng", "gbsct", "gbwls")
)
_JOINED_EMOJI: Final = rb"\xf0\x9f[\x80-\xbf]{2}(?:\xef\xb8\x8f)?\xe2\x80\x8d(?=\xf0\x9f)"
# In UTF-8: C1 controls and soft hyphen, grapheme joiner, Arabic mark, fillers, zero widths, directions,
# invisible operators, braille blank, variation selectors, byte order mark, annotation, shorthand and musical
# controls, tags.
_BEYOND_ASCII: Final = re.compile(
    rb"(?P<fine>\xf0\x9f\x8f\xb4(?:" + _FLAGS + rb")\xf3\xa0\x81\xbf|(?:" + _JOINED_EMOJI + rb")+)"
    rb"|\xc2[\x80-\x9f\xad]|\xcd\x8f|\xd8\x9c|\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])"
    rb"|\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf]|\xa0\x80)|\xe3\x85\xa4"
    rb"|\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])"
    rb"|\xf0(?:\x9b\xb2[\xa0-\xa3]|\x9d\x85[\xb3-\xba])|\xf3\xa0[\x80-\x87][\x80-\xbf]"
)
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NEAR: Final = 100
"""How many bytes before and after, on the same line, are read to tell the script."""
_SHORT: Final = 2
"""Bytes. In encodings other than UTF-8 such a pair often means something else."""
_MOST_CUT: Final = 2 * 3
_LONGEST: Final = 4
"""Bytes of one character."""

_TURNING: Final = frozenset([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_MARKS: Final = frozenset([0x061C, 0x200E, 0x200F])
_SEPARATORS: Final = frozenset([*range(0x80, 0xA0), 0x2028, 0x2029])
_BRAILLE_BLANK: Final = 0x2800
_BRAILLE: Final = range(0x2801, 0x2900)
_TAGS: Final = range(0xE0000, 0xE0100)
_SELECTORS: Final = range(0xFE00, 0xFE10)
_TEXT_OR_EMOJI: Final = frozenset([0xFE0E, 0xFE0F])
_IDEOGRAPHIC_SELECTORS: Final = range(0xE0100, 0xE01F0)
_IDEOGRAPHS: Final = (range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x40000))
_EMOJI: Final = range(0x1F000, 0x20000)
_KEYCAPS: Final = frozenset(map(ord, "0123456789#*"))
# Marks that belong to the letters before them.
_OF_SCRIPT: Final = {
    **dict.fromkeys([0x180B, 0x180C, 0x180D, 0x180E, 0x180F], (range(0x1800, 0x18B0),)),
    **dict.fromkeys([0x17B4, 0x17B5], (range(0x1780, 0x1800),)),
    # Scripts without spaces: a line may break here.
    0x200B: (range(0x0E00, 0x10A0), range(0x1780, 0x1800), range(0x1950, 0x19E0), range(0xA9E0, 0xAA80)),
    # Scripts with joining letters: here they are kept apart or joined.
    **dict.fromkeys(
        [0x200C, 0x200D],
        (
            range(0x0600, 0x1100), range(0x1700, 0x1D00), range(0xA800, 0xAC00), range(0x10A00, 0x12000),
            range(0x1E900, 0x1E960),
        ),
    ),
}  # fmt: skip
_JOINER: Final = 0x200D


def find_hidden_characters(text: bytes, first_line: int) -> Iterator[tuple[Text, int]]:
    """What each is, and where; `first_line` is the number of the text's first line in its file."""
    if len(text.translate(None, _CONTROLS)) != len(text):
        yield from ((_CONTROL, match.start()) for match in _CONTROL_IN_LINE.finditer(text))
    if b"\r" in text:
        yield from ((_RETURN, match.start()) for match in _RETURN_IN_LINE.finditer(text))
    if text.isascii():
        return
    for match in _BEYOND_ASCII.finditer(text):
        start, end = match.span()
        opens_file = start == 0 and first_line == 1 and match[0] == _BYTE_ORDER_MARK
        if match["fine"] or opens_file:
            continue
        if kind := _kind(text, start, end):
            yield kind, start


def _kind(text: bytes, start: int, end: int) -> Text | None:
    """None if the character is legitimate in the text around it."""
    code = ord(text[start:end].decode())
    if code in _TURNING:
        return _DIRECTION
    if code in _TAGS:
        return _TAG
    before, after = _near(text, start, end, _LONGEST)
    last = ord(before[-1:] or "\n")
    if code in _SELECTORS or code in _IDEOGRAPHIC_SELECTORS:
        return None if _takes_selector(last, code) else _VARIANT
    if any(last in script for script in _OF_SCRIPT.get(code, ())):
        return None
    if code == _JOINER and (last in _TEXT_OR_EMOJI or _symbol(last)) and _symbol(ord(after[:1] or "\n")):
        return None
    return _kind_in_line(code, text, start, end)


def _kind_in_line(code: int, text: bytes, start: int, end: int) -> Text | None:
    if end - start == _SHORT and _is_broken(text[max(0, start - _NEAR) : end + _NEAR]):
        return None
    near = "".join(_near(text, start, end, _NEAR))
    if code in _MARKS:
        return None if any(map(_right_to_left, near)) else _DIRECTION
    if code == _BRAILLE_BLANK:
        return None if any(ord(letter) in _BRAILLE for letter in near) else _INVISIBLE
    return _CONTROL if code in _SEPARATORS else _INVISIBLE


def _near(text: bytes, start: int, end: int, size: int) -> tuple[str, str]:
    """The text before and after on the same line, without characters cut at the edges."""
    before, after = text[max(0, start - size) : start], text[end : end + size]
    return (
        before.rpartition(b"\n")[2].decode("utf-8", "ignore"),
        after.partition(b"\n")[0].decode("utf-8", "ignore"),
    )


def _is_broken(near: bytes) -> bool:
    """Whether it is not UTF-8, apart from characters cut at its edges."""
    return len(near.decode("utf-8", "ignore").encode()) < len(near) - _MOST_CUT


def _right_to_left(letter: str) -> bool:
    return unicodedata.bidirectional(letter) in {"R", "AL"} and ord(letter) not in _MARKS


def _takes_selector(last: int, code: int) -> bool:
    """One selector after a character that has variants; a row of them can hide a whole text."""
    ideograph = any(last in block for block in _IDEOGRAPHS)
    if code in _IDEOGRAPHIC_SELECTORS:
        return ideograph
    if code in _TEXT_OR_EMOJI:
        return _symbol(last) or last in _KEYCAPS
    return ideograph or _symbol(last) or last == ord("0") or unicodedata.category(chr(last)) == "Lo"


def _symbol(code: int) -> bool:
    return code in _EMOJI or (code > 0x7F and unicodedata.category(chr(code))[0] in "SP")  # noqa: PLR2004
