"""Schemas that a stranger wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.text import Text
from ringi.tools.schema import fault, mismatch
from tests.tables import each

pytestmark = pytest.mark.req("PP-15")

GOOD = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "count": {"type": ["integer", "null"]},
        "kind": {"enum": ["a", "b"]},
        "many": {"type": "array", "items": {"type": "object", "required": ["x"]}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def deep(levels: int) -> dict[str, object]:
    schema: dict[str, object] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@each(
    ("schema", "says"),
    [
        (None, "object"),
        ([], "object"),
        ({}, "object"),
        ({"type": "array"}, "object"),
        ({"type": ["object"]}, "object"),
        ({"type": "object", "properties": []}, "properties"),
        ({"type": "object", "properties": {"a": 3}}, "properties/a"),
        ({"type": "object", "properties": {"a": {"type": "thing"}}}, "properties/a/type"),
        ({"type": "object", "required": "a"}, "required"),
        ({"type": "object", "required": [1]}, "required"),
        ({"type": "object", "enum": {}}, "enum"),
        ({"type": "object", "items": None}, "items"),
        ({"type": "object", "anyOf": {}}, "anyOf"),
        ({"type": "object", "anyOf": [{"type": 3}]}, "anyOf/0/type"),
        ({"type": "object", "description": "x" * 70_000}, "65536 bytes"),
        ({"type": "object", "description": "\ud800"}, "bytes"),
        (deep(100), "valid"),
        (deep(100_000), "bytes"),
    ],
)
def test_what_is_no_schema_is_named(schema: object, says: str):
    assert says in str(fault(schema))


@each("schema", [GOOD, {"type": "object", "$ref": "#/x", "pattern": "(a+)+$", "not": True}, deep(10)])
def test_a_schema_may_say_more_than_we_look_at(schema: object):
    assert fault(schema) is None


@each(
    ("value", "says"),
    [
        ({}, "/path is missing"),
        ({"path": 3}, "/path must be string"),
        ({"path": "x", "count": True}, "/count must be integer / null"),
        ({"path": "x", "count": 1.5}, "/count"),
        ({"path": "x", "kind": "c"}, "/kind must be one of"),
        ({"path": "x", "many": [{"x": 1}, {}]}, "/many/1/x is missing"),
        ({"path": "x", "other": 1}, "/other must not be there"),
        ([], "/ must be object"),
    ],
)
def test_what_does_not_fit_is_named(value: object, says: str):
    assert says in str(mismatch(value, GOOD))


@each("value", [{"path": "x"}, {"path": "", "count": 2.0, "kind": "a", "many": []}])
def test_what_fits(value: object):
    assert mismatch(value, GOOD) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "properties", "items", "required", "enum", "anyOf", "a"]), inner, max_size=4
    ),
    max_leaves=20,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["properties", "items", "required", "allOf", "$ref"]), JSON), JSON)
def test_no_schema_and_no_value_raises(schema: dict[str, object], value: object):
    schema = {**schema, "type": "object"}
    if fault(schema) is None:
        assert isinstance(mismatch(value, schema), Text | None)
