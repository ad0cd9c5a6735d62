"""Add a table with plain values to a TOML text, or remove it; every other byte stays unchanged.

The result is parsed again and compared with what was intended; if it differs, the edit is refused.
"""

import copy
import re
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Final, TypeGuard

from ringi.errors import BadDocument
from ringi.kernel.text import Text

_LONE_BREAK: Final = re.compile(r"(?<!\r)\n")

Values = Mapping[str, str | bool | list[str]]


def read(text: str, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadDocument(what=what, why=Text("{problem}", problem=error)) from None
    except RecursionError:
        raise BadDocument(what=what, why=Text("it is nested too deeply")) from None


def put(text: str, table: Sequence[str], values: Values, what: str) -> str:
    """Sets these values in the table; others in it stay."""
    import tomlkit  # noqa: PLC0415  # 30 ms that only the configuration of one agent needs
    from tomlkit.items import InlineTable  # noqa: PLC0415  # as above

    meant = copy.deepcopy(read(text, what))
    holder: Any = meant
    for name in table:
        holder = holder.setdefault(name, {}) if isinstance(holder, dict) else None
    if not isinstance(holder, dict):
        raise BadDocument(what=what, why=Text("there is no place for {step} in it", step=".".join(table)))
    holder.update(values)

    document = tomlkit.parse(text)
    around, found = _at(document, table[:-1]), _at(document, table)
    if _is_table(found):
        for key, value in values.items():
            if found.get(key) != value:
                found[key] = value
        made = document.as_string()
    elif isinstance(around, InlineTable):
        around[table[-1]] = dict(values)
        made = document.as_string()
    else:
        # Append it as text, so that nothing before it can change.
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        made = text + gap + f"[{'.'.join(table)}]\n" + tomlkit.dumps(values)
    return _require_same(_match_newlines(text, made), meant, what)


def take(text: str, table: Sequence[str], what: str) -> str:
    """Removes the table, the tables below it, and the empty line before it."""
    import tomlkit  # noqa: PLC0415  # see above

    meant = read(text, what)
    if _at(meant, table) is None:
        return text
    document = tomlkit.parse(text)
    del _at(document, table[:-1])[table[-1]]
    made = document.as_string()
    del _at(meant, table[:-1])[table[-1]]
    for depth in range(len(table) - 1, 0, -1):
        if not _at(meant, table[:depth]) and _at(read(made, what), table[:depth]) is None:
            del _at(meant, table[: depth - 1])[table[depth - 1]]  # it existed only for ours
    if text.startswith(made):
        made = made.removesuffix("\n").removesuffix("\r") if made.endswith(("\n\n", "\r\n\r\n")) else made
    return _require_same(made, meant, what)


def _at(document: Any, table: Sequence[str]) -> Any:
    for name in table:
        document = document.get(name) if _is_table(document) else None
    return document


def _is_table(found: object) -> TypeGuard[MutableMapping[str, Any]]:
    return isinstance(found, MutableMapping)


def _match_newlines(text: str, made: str) -> str:
    """With the newline style of the text."""
    return _LONE_BREAK.sub("\r\n", made) if "\r\n" in text and not _LONE_BREAK.search(text) else made


def _require_same(text: str, meant: object, what: str) -> str:
    try:
        if _same(read(text, what), meant):
            return text
    except BadDocument:
        pass
    raise BadDocument(what=what, why=Text("its form is too unusual to be changed safely"))


def _same(one: Any, other: Any) -> bool:
    """Equal in type too, in any order: 1, 1.0 and true are equal in Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)
