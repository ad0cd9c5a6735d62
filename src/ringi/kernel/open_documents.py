"""Documents whose specification is a set of free examples: fields that nobody described are kept.

msgspec either refuses unknown fields or drops them. So they are moved into the field `extra` before a
document is decoded, and back to where they were when it is encoded. `codec` does both.
"""

from functools import cache
from typing import Any

from msgspec import NODEFAULT, UNSET, inspect
from msgspec.structs import fields

from ringi.kernel.document import EXTRA, OpenDocument, prepare


def fold(raw: object, kind: type) -> object:
    """Plain JSON values with every unknown field of an open document moved into its `extra`."""
    return _fold(raw, _info(kind))


def unfold(value: object) -> object:
    """What is encoded: fields in their order, those of `extra` last. Other documents stay as they are."""
    if isinstance(value, OpenDocument):
        return _fields(value)
    if isinstance(value, tuple | list):
        return [unfold(one) for one in value]
    return value


def without_extra(schema: Any) -> Any:
    """A JSON Schema of such documents as people write them: with further fields, and no `extra`."""
    if isinstance(schema, list):
        return [without_extra(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: without_extra(one) for key, one in schema.items()}
    if EXTRA in found.get("properties", {}):
        del found["properties"][EXTRA]
        del found["additionalProperties"]
    return found


@cache
def _info(kind: type) -> inspect.Type:
    return inspect.type_info(prepare(kind))


def _fold(raw: object, info: inspect.Type) -> object:
    match info, raw:
        case inspect.StructType(), dict():
            return _fold_fields(raw, info)
        case inspect.UnionType(), dict():
            return _fold(raw, _member(raw, info))
        case inspect.UnionType(), list():
            lists = [one for one in info.types if isinstance(one, inspect.VarTupleType | inspect.ListType)]
            return _fold(raw, lists[0]) if lists else raw
        case ((inspect.VarTupleType() | inspect.ListType()), list()):
            return [_fold(one, info.item_type) for one in raw]
        case inspect.DictType(), dict():
            return {key: _fold(one, info.value_type) for key, one in raw.items()}
    return raw


def _fold_fields(raw: dict[str, Any], info: inspect.StructType) -> dict[str, Any]:
    kinds = {field.encode_name: field.type for field in info.fields if field.encode_name != EXTRA}
    known = {key: _fold(one, kinds[key]) for key, one in raw.items() if key in kinds}
    rest = {key: one for key, one in raw.items() if key not in kinds}
    if info.tag_field in rest:
        known[info.tag_field] = rest.pop(info.tag_field)
    return {**known, EXTRA: rest} if issubclass(info.cls, OpenDocument) else {**known, **rest}


def _member(raw: dict[str, Any], info: inspect.UnionType) -> inspect.Type:
    structs = [one for one in info.types if isinstance(one, inspect.StructType)]
    for one in structs:
        if one.tag_field is None or raw.get(one.tag_field) == one.tag:
            return one
    return next((one for one in info.types if isinstance(one, inspect.DictType)), inspect.AnyType())


def _fields(value: OpenDocument) -> dict[str, Any]:
    config = value.__struct_config__
    found: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field else {}
    for name, key in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True):
        one = getattr(value, name)
        if (
            one is not UNSET
            and key != EXTRA
            and not (config.omit_defaults and one == _usual(type(value))[name])
        ):
            found[key] = unfold(one)
    return {**found, **{key: one for key, one in value.extra.items() if key not in found}}


@cache
def _usual(kind: type[OpenDocument]) -> dict[str, Any]:
    """What a field has if nobody sets it."""
    return {
        one.name: one.default if one.default_factory is NODEFAULT else one.default_factory()
        for one in fields(kind)
    }
