"""What added lines should not hold: secrets, and characters that hide something (PT-7).

A finding says what was found and where. It never repeats a secret.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from ringi.domain.risk import RiskCode, RiskReason
from ringi.policy.hidden import hidden
from ringi.policy.leaks import secrets
from ringi.text import Text

Lines = Sequence[tuple[int, bytes]]
"""The number of each line in the new file, and what it holds, with or without its line end."""

_NAMED: Final = 5
"""So many lines are named for each kind of finding; a file may hold millions of them."""


def findings(added: Lines) -> tuple[RiskReason, ...]:
    """Each kind of finding once, with the first lines that have it."""
    if not added:
        return ()
    contents = [line.removesuffix(b"\n") for _, line in added]
    numbers = [number for number, _ in added]
    ends = list(accumulate(len(line) + 1 for line in contents))
    text = b"\n".join(contents)
    return tuple(
        RiskReason(code, str(_located(kind, sorted({numbers[index] for index in indices}))))
        for code, found in (
            (RiskCode.SECRET, secrets(text)),
            (RiskCode.HIDDEN_CHARACTERS, hidden(text, numbers[0])),
        )
        for kind, indices in _lines_of(found, ends).items()
    )


def _lines_of(found: Iterable[tuple[Text, int]], ends: Sequence[int]) -> dict[Text, set[int]]:
    """Of each kind, the lines that have it, counted from 0."""
    result: dict[Text, set[int]] = {}
    last: Text | None = None
    start = end = 0
    for kind, at in found:
        # A line can hold millions of them.
        if kind is last and start <= at < end:
            continue
        index = bisect_right(ends, at)
        result.setdefault(kind, set()).add(index)
        last, start, end = kind, ends[index - 1] if index else 0, ends[index]
    return result


def _located(what: Text, lines: Sequence[int]) -> Text:
    if len(lines) == 1:
        return Text("{what} in line {line}", what=what, line=lines[0])
    named = ", ".join(map(str, lines[:_NAMED]))
    return Text("{what} in lines {lines}", what=what, lines=f"{named}, …" if len(lines) > _NAMED else named)
