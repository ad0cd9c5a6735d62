"""Put a table with plain values into a TOML text, or take it out, and leave every other byte as it is.

What comes out is read again and compared with what was meant; a text that would say anything else is refused.
"""

import contextlib
import copy
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ringi.errors import BadDocument
from ringi.text import Text

_HEADER: Final = re.compile(r"[ \t]*\[")
_KEY: Final = re.compile(r"""[ \t]*(?:([A-Za-z0-9_-]+)|"([^"\\]*)"|'([^']*)')[ \t]*=""")

Values = Mapping[str, str | list[str]]


def read(text: str, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadDocument(what=what, why=Text("{problem}", problem=error)) from None
    except RecursionError:
        raise BadDocument(what=what, why=Text("it is nested too deeply")) from None


def put(text: str, table: Sequence[str], values: Values, what: str) -> str:
    """With these values in the table; other values in it stay."""
    document = read(text, what)
    meant = copy.deepcopy(document)
    holder: Any = meant
    for name in table:
        holder = holder.setdefault(name, {}) if isinstance(holder, dict) else None
    if not isinstance(holder, dict):
        raise BadDocument(what=what, why=Text("{step} cannot stand there", step=".".join(table)))
    holder.update(values)
    newline = "\r\n" if "\r\n" in text else "\n"
    here = _at(document, table)
    if here is not None:
        differing = {key: value for key, value in values.items() if here.get(key) != value}
        tries: Iterable[str] = _changed(text, table, differing, newline)
    else:
        gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
        lines = [f"[{'.'.join(table)}]", *(_line(key, value) for key, value in values.items())]
        tries = [text + gap + "".join(line + newline for line in lines)]
    return _right_one(tries, meant, what)


def take(text: str, table: Sequence[str], what: str) -> str:
    """Without the table and the tables below it, and without the empty line before it."""
    meant = read(text, what)
    if _at(meant, table) is None:
        return text
    holders = [_at(meant, table[:depth]) for depth in range(len(table))]
    del holders[-1][table[-1]]
    for depth in range(len(table) - 1, 0, -1):
        if not holders[depth] and not _is_written(text, table[:depth]):
            del holders[depth - 1][table[depth - 1]]  # it was there only because of ours
    return _right_one(_cut(text, table), meant, what)


def _cut(text: str, table: Sequence[str]) -> Iterator[str]:
    lines = _lines(text)
    for start, end in _sections(lines, table):
        first, last = start, end
        while last < len(lines) and _names(lines[last])[: len(table)] == list(table):
            last = _section_end(lines, last)
        if first and not lines[first - 1].strip() and (last == len(lines) or not lines[last - 1].strip()):
            first -= 1
        yield "".join(lines[:first] + lines[last:])


def _is_written(text: str, table: Sequence[str]) -> bool:
    return any(_sections(_lines(text), table))


def _at(document: Any, table: Sequence[str]) -> Any:
    for name in table:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _changed(text: str, table: Sequence[str], values: Values, newline: str) -> Iterator[str]:
    for start, end in _sections(_lines(text), table):
        lines = _lines(text)
        for key, value in values.items():
            places = [place for place in range(start + 1, end) if _key(lines[place]) == key]
            if places:
                ending = newline if lines[places[0]].endswith("\n") else ""
                lines[places[0]] = _line(key, value) + ending
            else:
                lines[start] = lines[start].rstrip("\r\n") + newline + _line(key, value) + newline
        yield "".join(lines)


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _sections(lines: list[str], table: Sequence[str]) -> Iterator[tuple[int, int]]:
    """From each such header to the next one: also from what only looks like it, inside a text."""
    for place, line in enumerate(lines):
        if _names(line) == list(table):
            yield place, _section_end(lines, place)


def _section_end(lines: list[str], start: int) -> int:
    following = (place for place in range(start + 1, len(lines)) if _HEADER.match(lines[place]))
    return next(following, len(lines))


def _names(line: str) -> list[str]:
    """Of a header; nothing for other lines."""
    if not _HEADER.match(line):
        return []
    try:
        found: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return []
    names = []
    while isinstance(found, dict) and found:
        [(name, found)] = found.items()
        names.append(name)
    return names


def _key(line: str) -> str | None:
    found = _KEY.match(line)
    return next(name for name in found.groups() if name is not None) if found else None


def _line(key: str, value: str | list[str]) -> str:
    # A JSON text is a TOML text, as long as it is one of these two kinds; DEL has to be written out there.
    return f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")


def _right_one(tries: Iterable[str], meant: Any, what: str) -> str:
    for text in tries:
        with contextlib.suppress(BadDocument):
            if _same(read(text, what), meant):
                return text
    raise BadDocument(what=what, why=Text("its form is too unusual to be changed safely"))


def _same(one: Any, other: Any) -> bool:
    """Equal in kind too, whatever the order: 1, 1.0 and true are equal in Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)
