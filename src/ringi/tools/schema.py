"""JSON Schemas that a tool's server wrote: checked in one pass over them, whatever they say.

No pattern is matched and no reference followed, because either can take forever.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from ringi.errors import BadDocument
from ringi.kernel import codec
from ringi.kernel.text import Text

MOST_BYTES: Final = 65_536
_DEEPEST: Final = 32
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_SCHEMAS_BY_NAME: Final = ("properties", "$defs", "definitions")
_SCHEMA_LISTS: Final = ("anyOf", "oneOf", "allOf")
_ONE_SCHEMA: Final = ("items", "additionalProperties", "not")


def fault(schema: object) -> Text | None:
    """What is wrong with a schema of an object; None if it can be used."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return Text("its schema does not describe an object")
    try:
        too_large = len(codec.canonical(schema)) > MOST_BYTES
    except (BadDocument, msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        too_large = True
    if too_large:
        return Text("its schema has more than {most} bytes", most=MOST_BYTES)
    where = next(_faults(schema, "", 0), None)
    return None if where is None else Text("its schema is not valid at {where}", where=where or "/")


def _faults(schema: object, where: str, depth: int) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict) or depth > _DEEPEST:
        yield where
        return
    if "type" in schema and not _is_known_type(schema["type"]):
        yield f"{where}/type"
    if not _texts(schema.get("required", [])):
        yield f"{where}/required"
    if not isinstance(schema.get("enum", []), list):
        yield f"{where}/enum"
    for key, one in _inner(schema):
        yield from _faults(one, f"{where}/{key}", depth + 1)


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Schemas in it, by their place. What should be one and is something else is its own fault."""
    for key in _SCHEMAS_BY_NAME:
        below = schema.get(key, {})
        named = below.items() if isinstance(below, dict) else [("", None)]
        yield from ((f"{key}/{name}", one) for name, one in named)
    for key in _SCHEMA_LISTS:
        listed = schema.get(key, [])
        yield from (
            (f"{key}/{n}", one) for n, one in enumerate(listed if isinstance(listed, list) else [None])
        )
    yield from ((key, schema[key]) for key in _ONE_SCHEMA if key in schema)


def _is_known_type(found: object) -> bool:
    names = found if isinstance(found, list) else [found]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def mismatch(value: object, schema: Mapping[str, Any] | bool, where: str = "") -> Text | None:
    """How a value differs from a schema without faults, as far as types, names and choices go."""
    at = where or "/"
    if isinstance(schema, bool):
        return None if schema else Text("{where} must not be there", where=at)
    if "type" in schema and not _is_of(value, schema["type"]):
        return Text("{where} must be {type}", where=at, type=_name_types(schema["type"]))
    if "enum" in schema and value not in schema["enum"]:
        return Text("{where} must be one of those listed", where=at)
    if isinstance(value, dict):
        return _object_mismatch(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        found = (mismatch(one, schema["items"], f"{where}/{n}") for n, one in enumerate(value))
        return next((one for one in found if one), None)
    return None


def _object_mismatch(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Text | None:
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            return Text("{where} is missing", where=f"{where}/{name}")
    others = True if "patternProperties" in schema else schema.get("additionalProperties", True)
    for name, one in value.items():
        if found := mismatch(one, known.get(name, others), f"{where}/{name}"):
            return found
    return None


def _is_of(value: object, types: str | list[str]) -> bool:
    names = types if isinstance(types, list) else [types]
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, _TYPES[name]) for name in names)


def _name_types(types: str | list[str]) -> str:
    return types if isinstance(types, str) else " / ".join(types)
