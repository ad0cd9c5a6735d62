"""JSON as editors keep it: read, and edited without touching any other byte."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.agents import jsonc
from ringi.errors import BadDocument
from tests.tables import each

VALUE = {"command": "ringi", "args": ["mcp"]}
STEPS = ("mcpServers", "ringi")

scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.text(max_size=5), values, max_size=4)
blanks = st.sampled_from(["", " ", "\n", "\n  ", "\t", " /* c, } */ ", ' // c ] "\n', "\r\n"])


@st.composite
def loose(draw: st.DrawFn, value: object) -> str:
    """The value as somebody could have written it by hand."""
    gap = draw(blanks)
    if isinstance(value, dict | list) and value:
        pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        parts = []
        for key, item in pairs:
            head = f"{json.dumps(key)}{draw(blanks)}:{draw(blanks)}" if key is not None else ""
            parts.append(f"{draw(blanks)}{head}{draw(loose(item))}{draw(blanks)}")
        inside = ",".join(parts) + ("," if draw(st.booleans()) else "") + draw(blanks)
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"
    return json.dumps(value, ensure_ascii=draw(st.booleans())) + gap


@given(st.data(), documents)
def test_reads_what_json_says_between_comments(data: st.DataObject, document: dict[str, object]):
    text = data.draw(loose(document))
    assert jsonc.read(text, "x").value == document


@given(values)
def test_plain_json_is_read_as_json_reads_it(value: object):
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, indent="\t")):
        assert jsonc.read(text, "x").value == json.loads(text)


def is_subsequence(small: str, large: str) -> bool:
    rest = iter(large)
    return all(character in rest for character in small)


@given(st.data(), documents)
def test_put_adds_and_takes_nothing_away(data: st.DataObject, document: dict[str, object]):
    document.pop("mcpServers", None)
    if data.draw(st.booleans()):
        document["mcpServers"] = data.draw(documents.map(lambda found: {**found, "x": 1}))
        document["mcpServers"].pop("ringi", None)  # type: ignore[attr-defined]
    text = data.draw(loose(document))
    made = jsonc.put(text, STEPS, VALUE, "x")
    assert is_subsequence("".join(text.split()), made)
    found = jsonc.read(made, "x").value
    assert found["mcpServers"].pop("ringi") == VALUE
    if "mcpServers" not in document:
        assert found.pop("mcpServers") == {}
    assert found == document


@each(
    "text",
    [
        '{\n  "mcpServers": {\n    "x": {"command": "y"} // note\n  },\n}\n',
        '{\n\t"mcpServers": {}\n}\n',
        '{"mcpServers": {"a": 1}}',
        '{\r\n    "mcpServers": {\r\n        "a": 1\r\n    }\r\n}\r\n',
        '{\n  "mcpServers": {\n    "x": 1, /* b */ // note\n  }\n}\n',
        '{\n  // first\n  "z": [1,],\n  "mcpServers": {\n    "a": {\n      "b": "}"\n    }\n    // c\n  }\n}',
    ],
)
def test_what_is_added_is_all_that_changes(text: str):
    made = jsonc.put(text, STEPS, VALUE, "x")
    assert jsonc.read(made, "x").value["mcpServers"]["ringi"] == VALUE
    assert is_subsequence(text, made)
    assert ("\r\n" in made) == ("\r\n" in text)
    assert made.count("\r") == (made.count("\n") if "\r" in text else 0)


def test_a_comment_behind_the_last_line_stays_with_it():
    made = jsonc.put('{\n  "a": 1 // of a\n}\n', ("b",), 2, "x")
    assert made == '{\n  "a": 1, // of a\n  "b": 2\n}\n'


def test_two_comments_on_a_line_are_not_one():
    made = jsonc.put('{"mcpServers": {\n  "a": 1 /* of a */ } /* of all */\n}\n', STEPS, VALUE, "x")
    assert jsonc.read(made, "x").value == {"mcpServers": {"a": 1, "ringi": VALUE}}


@each(
    "text",
    [
        "{", "}", "{]", '{"a" 1}', '{"a": }', "{'a': 1}", '{"a": 1} {}', "{,}", "/* never closed {}",
        '{"a": 1, "a": 2}', '{"a": "\n"}', '{"a": tru}', '{"a": 1.2.3}', '{"a": NaN}', "[" * 1000,
        '{"a": ' * 200, '{"a": \x00}', "nothing",
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_with_its_line(text: str):
    with pytest.raises(BadDocument) as refused:
        jsonc.read(text, "x")
    assert "line " in str(refused.value)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text: str):
    with contextlib.suppress(BadDocument):
        read = jsonc.read(text, "x")
        assert read.end <= len(text)
