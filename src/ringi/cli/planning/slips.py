"""Words that were hardly meant as an answer: a mistyped command, or one without its stroke."""

import re
from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

from ringi.text import Text

_STROKED: Final = re.compile(r"/[a-z]+", re.IGNORECASE | re.ASCII)


def plain(text: str) -> str:
    """As an input method for Japanese may have written it; a space before it stays."""
    return normalize("NFKC", text.rstrip()).lower()


def slip(text: str, commands: Iterable[str], options: Iterable[str] = ()) -> Text | None:
    """Why it is not taken; None where it can be an answer, as the words of an option are, or a path."""
    word = plain(text)
    known = [command for command in commands if command.startswith("/")]
    if word in known or word in {option.strip().lower() for option in options}:
        return None
    if f"/{word}" in known:
        return _meant(f"/{word}", word)
    if not _STROKED.fullmatch(word):
        return None
    from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped command

    if near := get_close_matches(word, known, n=1, cutoff=0.7):
        return _meant(near[0], word)
    return Text("There is no command {word}; with a space before it, it is an answer.", word=word)


def _meant(command: str, word: str) -> Text:
    return Text(
        "Did you mean {command}? With a space before it, {word} is an answer.", command=command, word=word
    )
