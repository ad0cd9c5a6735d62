"""The list of journeys that do not end as they should, read strictly: what it says excuses a failure."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("known_failures.txt")
SHORTEST_QUOTE = 12
"""In characters. A shorter one is on many a screen, and would excuse any failure."""
_QUOTE = re.compile(r'"([^"]*)"')


class BadList(Exception):
    """It says everything that is wrong with the list."""


class Known(NamedTuple):
    id: str
    sentence: str

    @property
    def quotes(self) -> list[str]:
        return _QUOTE.findall(self.sentence)

    def missing(self, seen: str) -> list[str]:
        """Quotes that were on no screen: then the journey fails for another reason."""
        return [words for words in self.quotes if words not in seen]


def read_known(text: str, journeys: Collection[str]) -> dict[str, Known]:
    """By the id of the journey. Raises BadList."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    parts = [line.partition(": ") for line in lines]
    found = [Known(id_.strip(), sentence.strip()) for id_, _, sentence in parts]
    problems = [problem for at, one in enumerate(found) for problem in _problems(one, found[:at], journeys)]
    if problems:
        raise BadList("\n".join(problems))
    return {one.id: one for one in found}


def _problems(one: Known, before: Sequence[Known], journeys: Collection[str]) -> list[str]:
    problems = []
    if one.id not in journeys:
        problems.append(f"{one.id}: there is no such journey")
    if one.id in {other.id for other in before}:
        problems.append(f"{one.id}: it is on the list twice")
    if one.sentence.count('"') % 2 or not one.quotes:
        problems.append(f"{one.id}: it quotes nothing that is seen")
    problems += [
        f'{one.id}: "{words}" is too short to tell a reason'
        for words in one.quotes
        if len(words.strip()) < SHORTEST_QUOTE
    ]
    return problems
