"""All faults of a document at once, and exactly where msgspec sees at least one."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Meta

from ringi.app.schemas import SCHEMAS
from ringi.errors import BadDocument
from ringi.kernel import codec
from ringi.kernel.document import Document
from ringi.kernel.problems import MOST_FAULTS, WORDS, below, faults
from ringi.kernel.text import Text


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Dog(Document, frozen=True, tag="dog", tag_field="is"):
    barks: bool


class Cat(Document, frozen=True, tag="cat", tag_field="is"):
    lives: Annotated[int, Meta(ge=1, le=9)]


class Open(msgspec.Struct):
    a: int = 0


class Box(Document, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=5, pattern="^b", extra={WORDS: Text("a b-word")})]
    size: Size
    weight: Annotated[float, Meta(gt=0, lt=10)]
    count: int = 0
    fixed: Literal["1.0"] = "1.0"
    really: Literal[True] = True
    words: Annotated[tuple[str, ...], Meta(min_length=1, max_length=2)] | msgspec.UnsetType = msgspec.UNSET
    either: str | Annotated[tuple[Annotated[int, Meta(le=3)], ...], Meta(max_length=2)] | None = None
    pets: tuple[Dog | Cat, ...] = ()
    inner: "Box | None" = None
    more: Mapping[Annotated[str, Meta(max_length=3)], int] = {}
    free: Any = None
    open: Open | None = None


def found(raw: object, kind: Any = Box) -> dict[str, str]:
    return {fault.path: str(fault.message) for fault in faults(raw, kind)}


GOOD = {"name": "box", "size": "small", "weight": 1}


def test_nothing_is_wrong():
    assert found(GOOD) == {}
    assert found(GOOD | {"words": ["a"], "either": [1, 2], "pets": [{"is": "dog", "barks": True}]}) == {}
    assert found(GOOD | {"inner": GOOD, "more": {"a": 1}, "free": [{}], "open": {"whatever": 1}}) == {}


@pytest.mark.req("RN-2")
def test_everything_that_is_wrong_is_named_with_its_path():
    raw = {
        "name": "crate",
        "size": "middle",
        "weight": 10,
        "count": "1",
        "fixed": 1,
        "really": 1,
        "words": [],
        "either": [1, 4, 2],
        "pets": [{"is": "dog"}, {"is": "cow"}, {"is": "cat", "lives": 0, "barks": True}, 1],
        "inner": {"nmae": "b"},
        "more": {"long": "x", "a b": 1.5},
        "wieght": 1,
        "x y": 1,
    }
    assert found(raw) == {
        "$.name": "it must be a b-word",
        "$.size": 'it must be one of "small", "large", not "middle"',
        "$.weight": "it must be less than 10, not 10",
        "$.count": 'it must be a whole number, not "1"',
        "$.fixed": 'it must be "1.0", not 1',
        "$.really": "it must be true, not 1",
        "$.words": "it is empty",
        "$.either": "it has 3 items, 2 are allowed",
        "$.either[1]": "it must be at most 3, not 4",
        "$.pets[0].barks": "it is missing",
        "$.pets[1].is": "it must be one of dog, cat",
        "$.pets[2].lives": "it must be at least 1, not 0",
        "$.pets[2].barks": "there is no such field",
        "$.pets[3]": "it must be an object, not 1",
        "$.inner.name": "it is missing",
        "$.inner.size": "it is missing",
        "$.inner.weight": "it is missing",
        "$.inner.nmae": "there is no such field; did you mean name?",
        "$.more.long": 'it must be a whole number, not "x"',
        '$.more["a b"]': "it must be a whole number, not 1.5",
        "$.wieght": "there is no such field; did you mean weight?",
        '$["x y"]': "there is no such field",
    }


def test_long_lists_and_deep_documents_have_an_end():
    many = faults(GOOD | {"pets": [1] * 10_000}, Box)
    assert len(many) == MOST_FAULTS + 1
    assert str(many[-1].message) == "there are more problems than these"
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"inner": deep}
    assert found(deep) == {"$": "it is nested too deeply"}


def test_a_key_in_a_path_stays_short():
    assert below("$", "k" * 1000) == '$["' + "k" * 40 + '"]'
    assert below("$.a", 3) == "$.a[3]"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 11)
    | st.floats(-1, 11)
    | st.sampled_from(["", "b", "small", "1.0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "is", "barks", "lives", "a", "other"]), inner, max_size=3)
    ),
    max_leaves=6,
)
boxes = st.fixed_dictionaries(
    {"name": st.just("box") | anything, "size": st.just("small") | anything, "weight": st.just(1) | anything},
    optional=dict.fromkeys((*Box.__struct_encode_fields__[3:], "other"), anything)
    | {
        "pets": st.lists(
            st.fixed_dictionaries(
                {"is": st.sampled_from(["dog", "cat"])}, optional={"barks": anything, "lives": anything}
            ),
            max_size=2,
        )
    },
)


def taken(raw: object, kind: Any) -> bool:
    try:
        codec.decode_foreign(json.dumps(raw).encode(), kind, "it")
    except BadDocument:
        return False
    return True


@given(raw=boxes | anything)
@example(raw=GOOD | {"pets": [{"is": "dog", "barks": True, "lives": 1}]})
def test_it_agrees_with_msgspec(raw: object):
    assert (faults(raw, Box) == ()) == taken(raw, Box)


@given(raw=anything, name=st.sampled_from(list(SCHEMAS)))
def test_every_document_can_be_looked_at(raw: object, name: str):
    assert (faults(raw, SCHEMAS[name]) == ()) == taken(raw, SCHEMAS[name])
