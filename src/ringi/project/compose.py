"""A text of sections within a budget of tokens.

Every section first gets its share; what one does not need goes to the others, piece by piece, so that a long
readme cannot push out the code and one long file not the next. Only whole lines are taken.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from ringi.kernel.tokens import tokens

Numbers = tuple[int, ...]


class ContextSection(NamedTuple):
    head: str
    """Shown if there is room for it, alone if there is none for the lines."""
    lines: Mapping[int, str]
    """By number."""
    offers: Sequence[Numbers]
    """The numbers of lines that belong together, the most useful first."""
    share: float
    """Of the budget."""
    last: bool = False
    """Gets nothing of what others leave, unless all of them have what they want."""


class _Taken:
    def __init__(self, section: ContextSection, room: int) -> None:
        self.section = section
        self.room = room
        """How many of the tokens are its own."""
        self.numbers: set[int] = set()
        self.spent = 0
        self.opened = False
        self.left = list(section.offers)

    def cost(self, offer: Numbers) -> int:
        lines = self.section.lines
        more = sum(tokens(lines[number]) + 1 for number in offer if number not in self.numbers)
        return more + (0 if self.opened else tokens(self.section.head) + 1)

    def take(self, offer: Numbers, cost: int) -> None:
        self.opened = True
        self.numbers.update(offer)
        self.spent += cost

    def text(self) -> Iterator[str]:
        if self.opened:
            yield self.section.head
            yield from (self.section.lines[number] for number in sorted(self.numbers))


def compose(sections: Sequence[ContextSection], budget: int) -> str:
    """At most `budget` tokens; every line ends with a newline."""
    taken = [_Taken(section, int(section.share * budget)) for section in sections]
    left = budget
    for one in taken:  # the heads first: a name costs little and says most
        if (cost := one.cost(())) <= left:
            one.take((), cost)
            left -= cost
    for one in taken:
        left -= _own(one, left)
    for one, offer in (*_in_turn(taken, last=False), *_in_turn(taken, last=True)):
        if (cost := one.cost(offer)) <= left:
            one.take(offer, cost)
            left -= cost
    return "".join(f"{line}\n" for one in taken for line in one.text())


def _own(one: _Taken, left: int) -> int:
    """What it takes of its own share."""
    before, waiting = one.spent, []
    for offer in one.left if one.opened else ():
        cost = one.cost(offer)
        if one.spent + cost <= one.room and one.spent - before + cost <= left:
            one.take(offer, cost)
        else:
            waiting.append(offer)
    one.left = waiting
    return one.spent - before


def _in_turn(taken: Iterable[_Taken], *, last: bool) -> Iterator[tuple[_Taken, Numbers]]:
    """What is left of each, the best of all first."""
    queues = [
        [(one, offer) for offer in one.left] for one in taken if one.opened and one.section.last is last
    ]
    for row in zip_longest(*queues):
        yield from (pair for pair in row if pair is not None)
