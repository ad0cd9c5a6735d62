"""Which regular expressions could take for ever: a project's file may name some, and may be anybody's.

Python tries every way to share a text between two repetitions. Refused is what leaves it many: a repetition
within another, or several that can take the same characters with nothing between that parts them.
"""

import importlib
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod
from typing import Any, Final, NamedTuple

LONGEST: Final = 500
_FEW: Final = 16
"""What has more ways to match than this takes time with the length of the text."""
_MOST_WAYS: Final = 500
"""To share a place in the text between those that have few."""
_MOST_BESIDE_LONG: Final = 4
"""The same where one of them has many: it is tried so often at every place."""
_parser: Final[Any] = importlib.import_module("re._parser")
_REPEATS: Final = frozenset(["MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"])
_ONE: Final = frozenset(["LITERAL", "NOT_LITERAL", "ANY", "IN"])
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
Characters = frozenset[str]


class _Slow(Exception):
    """It leaves more than one way."""


class _Element(NamedTuple):
    characters: Characters
    needed: bool
    """It takes at least one character."""
    ways: int = 1
    """To match at one place."""


_NOTHING: Final = _Element(frozenset(), needed=False)


def could_take_for_ever(expression: str) -> bool:
    """Of an expression that Python can read."""
    if len(expression) > LONGEST:
        return True
    # The characters that sets are compared by: common ones, and those that the expression names.
    reader = _Reader(frozenset(map(chr, range(0x180))) | frozenset(expression))
    try:
        reader.check(_parser.parse(expression))
    except (_Slow, RecursionError):
        return True
    return False


class _Reader:
    def __init__(self, known: Characters) -> None:
        self._known = known

    def check(self, tree: Any) -> None:
        elements = list(self._elements(tree))
        varying = [at for at, element in enumerate(elements) if element.ways > 1]
        ways, most = 1, _MOST_WAYS
        for one, other in combinations(varying, 2):
            # One that ends the expression never has to give back what it took.
            if other < len(elements) - 1 and _share(elements[one : other + 1]):
                fewer, more = sorted([elements[one].ways, elements[other].ways])
                ways *= fewer
                most = _MOST_BESIDE_LONG if more > _FEW else most
        if ways > most:
            raise _Slow

    def _elements(self, tree: Any) -> Iterator[_Element]:
        for code, value in tree:
            name = str(code)
            if name in _ONE:
                yield _Element(self._characters(name, value), needed=True)
            elif name in _REPEATS:
                yield from self._repeated(*value)
            elif name == "SUBPATTERN":
                yield from self._elements(value[-1])
            elif name == "ATOMIC_GROUP":
                yield from self._elements(value)
            elif name == "BRANCH":
                yield self._either(value[1])
            elif name in {"ASSERT", "ASSERT_NOT"}:
                # Looked at anew for every way to come there; and what stands before it may have to give back.
                yield from (element._replace(needed=False) for element in self._elements(value[1]))
                yield _NOTHING
            elif name == "AT":
                yield _NOTHING
            else:  # it refers back to what was found
                raise _Slow

    def _repeated(self, least: int, most: Any, tree: Any) -> Iterator[_Element]:
        inside = list(self._elements(tree))
        if int(most) <= 1:
            varies = least < int(most)
            yield from (
                element._replace(needed=element.needed and not varies, ways=element.ways + varies)
                for element in inside
            )
            return
        if not _plain(tree):
            raise _Slow
        taken = frozenset[str]().union(*(element.characters for element in inside))
        needed = least > 0 and any(element.needed for element in inside)
        yield _Element(taken, needed, ways=int(most) - least + 1)

    def _either(self, ways: Sequence[Any]) -> _Element:
        found = [list(self._elements(way)) for way in ways]
        for way in ways:
            self.check(way)
        every = [element for elements in found for element in elements]
        return _Element(
            frozenset[str]().union(*(element.characters for element in every)),
            needed=all(any(element.needed for element in elements) for elements in found),
            ways=sum(prod(element.ways for element in elements) for elements in found),
        )

    def _characters(self, name: str, value: Any) -> Characters:
        if name == "ANY":
            return self._known
        if name == "IN":
            taken = frozenset[str]().union(*(self._item(str(code), given) for code, given in value))
            return self._known - taken if str(value[0][0]) == "NEGATE" else taken
        one = self._item("LITERAL", value)
        return self._known - one if name == "NOT_LITERAL" else one

    def _item(self, name: str, value: Any) -> Characters:
        if name == "LITERAL":
            return frozenset([chr(value), chr(value).swapcase()])
        if name == "RANGE":
            first, last = value
            return frozenset(
                c for c in self._known if first <= ord(c) <= last or first <= ord(c.swapcase()[0]) <= last
            )
        if name == "CATEGORY":
            kind = re.compile(_CATEGORIES[str(value)])
            return frozenset(filter(kind.match, self._known))
        return frozenset()


def _share(elements: Sequence[_Element]) -> bool:
    """The first and the last could take the same characters, and nothing between them parts them."""
    first, *between, last = elements
    if not first.characters & last.characters:
        return False
    return not any(element.needed and not element.characters & first.characters for element in between)


def _plain(tree: Any) -> bool:
    """Always of one length, and with one way to match."""
    for code, value in tree:
        name = str(code)
        if name in _REPEATS:
            if value[0] != value[1] or not _plain(value[2]):
                return False
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"}:
            if not _plain(value[-1] if name == "SUBPATTERN" else value):
                return False
        elif name not in _ONE:
            return False
    return True
