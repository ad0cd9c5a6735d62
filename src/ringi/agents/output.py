"""What agents print when they are asked as models: the JSON among it, and what an answer comes to."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_MOST_FAILURES: Final = 200
"""Places in an output that look like JSON and are not; more are not tried."""


class Said(NamedTuple):
    """What an agent's output comes to."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    problem: str = ""
    """What went wrong, in its own words."""
    status: int = 0
    """The HTTP status that its service answered with, if it says so."""


def plain(output: str, _errors: str, _exit_code: int) -> Said:
    return Said(output.strip())


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among whatever else was printed, each from the beginning of a line."""
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
