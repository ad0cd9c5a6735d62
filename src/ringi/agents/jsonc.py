"""JSON with comments and trailing commas, as editors write it: read, and edited in place.

Setting a value leaves every other byte unchanged. The result is parsed again and compared
with what was intended; if it differs, the edit is refused.
"""

import copy
import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from ringi.errors import BadDocument
from ringi.kernel.text import Text

DEEPEST: Final = 64
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD: Final = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")

Step = str | int
Steps = Sequence[Step]


class JsonNode(NamedTuple):
    """A value and its place in the text."""

    value: Any
    start: int
    end: int
    items: tuple["JsonItem", ...] = ()
    """The items of an object or an array."""


class JsonItem(NamedTuple):
    step: Step
    """The key in an object, the index in an array."""
    start: int
    node: JsonNode
    comma: int | None
    """The offset of the comma after it."""


def read(text: str, what: str) -> JsonNode:
    """The whole text as one value; raises BadDocument, with the line, for anything else."""
    return _JsonReader(text, what).whole()


def at(node: JsonNode, steps: Steps) -> JsonNode | None:
    for step in steps:
        found = [item.node for item in node.items if item.step == step]
        if not found:
            return None
        node = found[0]
    return node


class _JsonReader:
    def __init__(self, text: str, what: str) -> None:
        self._text = text
        self._what = what

    def whole(self) -> JsonNode:
        node = self._value(self._blank(0), 0)
        end = self._blank(node.end)
        if end != len(self._text):
            raise self._wrong(end, Text("something follows after the end"))
        return node

    def _value(self, start: int, depth: int) -> JsonNode:
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
            return JsonNode(json.loads(found[0]), start, found.end())
        except ValueError:  # for example a number with thousands of digits
            raise self._wrong(start, Text("a value cannot be read")) from None

    def _object(self, start: int, depth: int) -> JsonNode:
        items: list[JsonItem] = []
        known: dict[str, Any] = {}
        place = self._blank(start + 1)
        while self._text[place : place + 1] != "}":
            name = _STRING.match(self._text, place)
            if name is None:
                raise self._wrong(place, Text("a key in quotes is missing"))
            key = self._value(place, depth).value
            if key in known:
                raise self._wrong(place, Text("the key {key} is in it twice", key=key))
            colon = self._blank(name.end())
            if self._text[colon : colon + 1] != ":":
                raise self._wrong(colon, Text("a colon is missing"))
            item, place = self._item(key, place, self._blank(colon + 1), depth, "}")
            known[key] = item.node.value
            items.append(item)
        return JsonNode(known, start, place + 1, tuple(items))

    def _array(self, start: int, depth: int) -> JsonNode:
        items: list[JsonItem] = []
        place = self._blank(start + 1)
        while self._text[place : place + 1] != "]":
            item, place = self._item(len(items), place, place, depth, "]")
            items.append(item)
        return JsonNode([item.node.value for item in items], start, place + 1, tuple(items))

    def _item(self, step: Step, start: int, value: int, depth: int, closing: str) -> tuple[JsonItem, int]:
        """The item, and the offset of the next one or of the closing bracket."""
        node = self._value(value, depth + 1)
        place = self._blank(node.end)
        found = self._text[place : place + 1]
        if found == ",":
            return JsonItem(step, start, node, place), self._blank(place + 1)
        if found != closing:
            raise self._wrong(place, Text("a comma or {closing} is missing", closing=closing))
        return JsonItem(step, start, node, None), place

    def _blank(self, place: int) -> int:
        found = _BLANK.match(self._text, place)
        return found.end() if found else place

    def _wrong(self, place: int, why: Text) -> BadDocument:
        line = self._text.count("\n", 0, place) + 1
        return BadDocument(what=self._what, why=Text("line {line}: {why}", line=line, why=why))


_UNIT: Final = "  "
# A comment that follows a value on its line belongs to it.
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:/\*(?:(?!\*/)[^\r\n])*\*/[ \t]*)*(?://[^\r\n]*)?(?=\r?\n)")
_INDENT: Final = re.compile(r"[ \t]*")
_LAST_BREAK: Final = re.compile(r"\r?\n[^\r\n]*\Z")


class _Style(NamedTuple):
    unit: str
    newline: str
    one_line: bool


def put(text: str, steps: Steps, value: Any, what: str) -> str:
    """Sets the value at that path, creating missing objects."""
    root = read(text, what)
    there = 0
    while there < len(steps) and at(root, steps[: there + 1]) is not None:
        there += 1
    meant = value
    for step in reversed(steps[there + 1 :]):
        meant = [meant] if isinstance(step, int) else {step: meant}
    style = _style(text, root)
    if there == len(steps):
        node = _node_at(root, steps)
        new = _format_value(value, style, _indent(text, node.start))
        made = text[: node.start] + new + text[node.end :]
    else:
        made = _add_member(text, _node_at(root, steps[:there]), steps[there], meant, style, what)
    _compare(made, _set_value(root.value, steps[: there + 1], value if there == len(steps) else meant), what)
    return made


def fresh(value: Any, newline: str = "\n") -> str:
    return _format_value(value, _Style(_UNIT, newline, one_line=False), "") + newline


def _node_at(root: JsonNode, steps: Steps) -> JsonNode:
    node = at(root, steps)
    assert node is not None  # noqa: S101  # the caller has checked
    return node


def _style(text: str, root: JsonNode) -> _Style:
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _indent(text, root.items[0].start) if root.items else ""
    return _Style(
        unit or _UNIT, newline, one_line="\n" not in text[root.start : root.end] and bool(root.items)
    )


def _indent(text: str, place: int) -> str:
    """The indent of the line that contains the offset."""
    found = _INDENT.match(text, text.rfind("\n", 0, place) + 1)
    return found[0].lstrip("\ufeff") if found else ""


def _format_value(value: Any, style: _Style, indent: str) -> str:
    if style.one_line:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict) and value:
        inner = indent + style.unit
        lines = [f"{inner}{_key(key)}{_format_value(value[key], style, inner)}" for key in value]
        return "{" + style.newline + f",{style.newline}".join(lines) + style.newline + indent + "}"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        inner = indent + style.unit
        lines = [inner + _format_value(item, style, inner) for item in value]
        return "[" + style.newline + f",{style.newline}".join(lines) + style.newline + indent + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(step: str | int) -> str:
    return f"{json.dumps(step, ensure_ascii=False)}: " if isinstance(step, str) else ""


def _add_member(text: str, holder: JsonNode, step: str | int, value: Any, style: _Style, what: str) -> str:
    if not isinstance(holder.value, list if isinstance(step, int) else dict):
        why = Text("there is no place for {step} in it", step=step)
        raise BadDocument(what=what, why=why)
    if holder.items:
        return _add_after(text, holder.items[-1], _key(step), value, style)
    return _add_to_empty(text, holder, _key(step), value, style)


def _add_after(text: str, last: JsonItem, key: str, value: Any, style: _Style) -> str:
    own_line = not text[text.rfind("\n", 0, last.start) + 1 : last.start].strip(" \t\ufeff")
    if style.one_line or not own_line:
        compact = key + _format_value(value, style._replace(one_line=True), "")
        if last.comma is None:
            return f"{text[: last.node.end]}, {compact}{text[last.node.end :]}"
        return f"{text[: last.comma + 1]} {compact},{text[last.comma + 1 :]}"
    indent = _indent(text, last.start)
    new = style.newline + indent + key + _format_value(value, style, indent)
    if last.comma is None:
        end = _line_end(text, last.node.end)
        return f"{text[: last.node.end]},{text[last.node.end : end]}{new}{text[end:]}"
    end = _line_end(text, last.comma + 1)
    return f"{text[:end]}{new},{text[end:]}"


def _line_end(text: str, place: int) -> int:
    """After a comment on the same line, which belongs to the value before it."""
    found = _REST_OF_LINE.match(text, place)
    return found.end() if found else place


def _add_to_empty(text: str, holder: JsonNode, key: str, value: Any, style: _Style) -> str:
    inside = text[holder.start + 1 : holder.end - 1]
    if style.one_line:
        compact = key + _format_value(value, style, "")
        return text[: holder.start + 1] + inside.rstrip() + compact + text[holder.end - 1 :]
    outer = _indent(text, holder.start)
    new = style.newline + outer + style.unit + key + _format_value(value, style, outer + style.unit)
    broken = _LAST_BREAK.search(inside)
    if broken is None:
        kept = inside.rstrip()
        return text[: holder.start + 1] + kept + new + style.newline + outer + text[holder.end - 1 :]
    cut = holder.start + 1 + broken.start()
    return text[:cut] + new + text[cut:]


def _set_value(value: Any, steps: Steps, new: Any) -> Any:
    made = copy.deepcopy(value)
    holder = made
    for step in steps[:-1]:
        holder = holder[step]
    if isinstance(holder, list) and steps[-1] == len(holder):
        holder.append(new)
    else:
        holder[steps[-1]] = new
    return made


def _compare(text: str, meant: Any, what: str) -> None:
    try:
        # As text: 1, 1.0 and true are equal in Python.
        same = json.dumps(read(text, what).value) == json.dumps(meant)
    except BadDocument:
        same = False
    if not same:
        raise BadDocument(what=what, why=Text("its form is too unusual to be changed safely"))
