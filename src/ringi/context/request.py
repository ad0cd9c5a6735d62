"""What a request says: which words, with which weight, and what it names outright."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from ringi.context.words import counted

MOST: Final = 64 * 1024
"""Characters of a request that count: its beginning and its end, where an error is."""
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
# What a reporter pastes about the machine says nothing about the code.
_NOISE: Final = re.compile(
    r"^[ \t]*(?:[\w.-]+[ \t]+v?\d+(?:\.\d+)+\S*(?:[ \t]+\S+)?|[\w.-]+==\S+"
    r"|(?:plugins|platform|rootdir|cachedir|Python version)\b.*)[ \t]*$",
    re.MULTILINE,
)
_QUOTED: Final = re.compile(r"`([^`\n]{2,60})`")
_QUOTED_COUNTS: Final = 1


class Request(NamedTuple):
    text: str
    """Without what says nothing."""
    terms: Mapping[str, int]
    """How often each term occurs; one in backticks counts once more."""


def read_request(text: str) -> Request:
    if len(text) > MOST:
        text = f"{text[: MOST // 2]}\n{text[-MOST // 2 :]}"
    text = _NOISE.sub("", _COMMENT.sub("", text.replace("\0", " ")))
    terms = Counter(counted(text))
    for quoted in _QUOTED.findall(text):
        for term in set(counted(quoted)):
            terms[term] += _QUOTED_COUNTS
    return Request(text, terms)
