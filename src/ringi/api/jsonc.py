"""JSON as editors keep it, with comments and trailing commas, read with the place of every value."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ringi.errors import BadDocument
from ringi.text import Text

DEEPEST: Final = 64
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD: Final = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")

Step = str | int
Steps = Sequence[Step]


class Node(NamedTuple):
    """A value and where it stands."""

    value: Any
    start: int
    end: int
    items: tuple["Item", ...] = ()
    """Of an object or an array."""


class Item(NamedTuple):
    step: Step
    """The key in an object, the number in an array."""
    start: int
    node: Node
    comma: int | None
    """Where the comma behind it stands."""


def read(text: str, what: str) -> Node:
    """The whole text as one value; raises BadDocument, with the line, for anything else."""
    return _Reader(text, what).whole()


def at(node: Node, steps: Steps) -> Node | None:
    for step in steps:
        found = [item.node for item in node.items if item.step == step]
        if not found:
            return None
        node = found[0]
    return node


class _Reader:
    def __init__(self, text: str, what: str) -> None:
        self._text = text
        self._what = what

    def whole(self) -> Node:
        node = self._value(self._blank(0), 0)
        end = self._blank(node.end)
        if end != len(self._text):
            raise self._wrong(end, Text("something follows after the end"))
        return node

    def _value(self, start: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._wrong(start, Text("it is nested too deeply"))
        opening = self._text[start : start + 1]
        if opening == "{":
            return self._object(start, depth)
        if opening == "[":
            return self._array(start, depth)
        found = _STRING.match(self._text, start) or _WORD.match(self._text, start)
        if found is None:
            raise self._wrong(start, Text("a value is missing"))
        try:
            return Node(json.loads(found[0]), start, found.end())
        except ValueError:  # also a number of thousands of digits
            raise self._wrong(start, Text("a value cannot be read")) from None

    def _object(self, start: int, depth: int) -> Node:
        items: list[Item] = []
        known: dict[str, Any] = {}
        place = self._blank(start + 1)
        while self._text[place : place + 1] != "}":
            name = _STRING.match(self._text, place)
            if name is None:
                raise self._wrong(place, Text("a key in quotes is missing"))
            key = self._value(place, depth).value
            if key in known:
                raise self._wrong(place, Text("the key {key} stands in it twice", key=key))
            colon = self._blank(name.end())
            if self._text[colon : colon + 1] != ":":
                raise self._wrong(colon, Text("a colon is missing"))
            item, place = self._item(key, place, self._blank(colon + 1), depth, "}")
            known[key] = item.node.value
            items.append(item)
        return Node(known, start, place + 1, tuple(items))

    def _array(self, start: int, depth: int) -> Node:
        items: list[Item] = []
        place = self._blank(start + 1)
        while self._text[place : place + 1] != "]":
            item, place = self._item(len(items), place, place, depth, "]")
            items.append(item)
        return Node([item.node.value for item in items], start, place + 1, tuple(items))

    def _item(self, step: Step, start: int, value: int, depth: int, closing: str) -> tuple[Item, int]:
        """The item, and where the next one or the closing bracket stands."""
        node = self._value(value, depth + 1)
        place = self._blank(node.end)
        found = self._text[place : place + 1]
        if found == ",":
            return Item(step, start, node, place), self._blank(place + 1)
        if found != closing:
            raise self._wrong(place, Text("a comma or {closing} is missing", closing=closing))
        return Item(step, start, node, None), place

    def _blank(self, place: int) -> int:
        found = _BLANK.match(self._text, place)
        return found.end() if found else place

    def _wrong(self, place: int, why: Text) -> BadDocument:
        line = self._text.count("\n", 0, place) + 1
        return BadDocument(what=self._what, why=Text("line {line}: {why}", line=line, why=why))
