"""Quotes untrusted text: in one line, cut between words, harmless as Markdown."""

import re
import unicodedata
from typing import Final

from ringi.kernel.text import deceiving

_SPACES: Final = re.compile(r"\s+")
# Escape only real markup: backslashes disturb readers of the plain text.
_MARKS: Final = re.compile(r"\*|\\(?=[^\w\s])|<(?=[A-Za-z/!?])|(?<=\])\(|(?<!\w)_|_(?!\w)")
_FENCES: Final = re.compile(r"`{2,}|~{3,}")
_BREAKS: Final = frozenset(" 、。，．・,.;")  # noqa: RUF001
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_ELLIPSIS: Final = "…"


def one_line(text: str, most: int) -> str:
    """At most `most` characters, without line breaks and invisible characters."""
    # Take more at first, because spaces and invisible characters are dropped.
    spaced = _SPACES.sub(" ", text[: 4 * most])
    hidden = {ord(c): None for c in set(spaced) if deceiving(c)}
    return cut(spaced.translate(hidden).strip() if hidden else spaced.strip(), most)


def cut(text: str, most: int) -> str:
    """Between words if possible, and never between a letter and its accents."""
    if len(text) <= most:
        return text
    end = most - len(_ELLIPSIS)
    while end > 0 and _belongs_to_the_previous(text[end]):
        end -= 1
    floor = end * 2 // 3
    between = next((at for at in range(end, floor, -1) if text[at] in _BREAKS), end)
    return text[:between].rstrip() + _ELLIPSIS


def _belongs_to_the_previous(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or ord(character) in _SKIN_TONES


def harmless(text: str) -> str:
    """Escaped so that Markdown shows exactly this text; single backticks still mark code."""
    plain = _FENCES.sub("'", text)
    if plain.count("`") % 2:
        plain = plain.replace("`", "'")
    parts = plain.split("`")
    # Every second part is code.
    return "`".join(_MARKS.sub(_escape, part) if at % 2 == 0 else part for at, part in enumerate(parts))


def _escape(mark: re.Match[str]) -> str:
    return f"\\{mark[0]}"
