"""Parse what an agent prints when it is used as a model."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_MOST_FAILURES: Final = 200
"""Give up after this many places that look like JSON but are not."""


class Said(NamedTuple):
    """An agent's parsed output."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    problem: str = ""
    """The agent's own error message."""
    status: int = 0
    """The HTTP status of its service, if it reports one."""


def plain(output: str, _errors: str, _exit_code: int) -> Said:
    return Said(output.strip())


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in the output, each starting at the beginning of a line."""
    decoder = json.JSONDecoder()
    at, failures = 0, 0
    while at < len(text) and failures < _MOST_FAILURES:
        if text[at] in "{[":
            try:
                found, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                failures += 1
            else:
                yield from (
                    one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)
                )
        at = text.find("\n", at) + 1 or len(text)
        while at < len(text) and text[at] in " \t\r\n":
            at += 1


def dict_at(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def count_at(document: Mapping[str, Any], name: str) -> int:
    found = document.get(name)
    return found if type(found) is int and found > 0 else 0


def cost(found: object) -> float | None:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        return None
    return float(found)
