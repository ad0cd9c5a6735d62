"""What models answer with: every string and every list has an end."""

from typing import Any

import msgspec
import pytest

from ringi.engine import answers as plan_answers
from ringi.kernel.document import Document
from ringi.models import prompt
from ringi.models.prompt import NewDecisions, NewQuestions, NewSummary
from tests.tables import each

KINDS = [
    kind
    for module in (prompt, plan_answers)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Document) and kind.__module__ == module.__name__
]


def unbounded(schema: Any) -> list[str]:
    """Where a model could go on for ever."""
    if isinstance(schema, list):
        return [place for one in schema for place in unbounded(one)]
    if not isinstance(schema, dict):
        return []
    found = [place for one in schema.values() for place in unbounded(one)]
    if schema.get("type") == "string" and not {"maxLength", "enum"} & set(schema):
        found.append(str(schema))
    if schema.get("type") == "array" and "maxItems" not in schema:
        found.append(str(schema))
    return found


@each("kind", KINDS)
def test_every_length_is_bounded(kind: type[Document]):
    schema = msgspec.json.schema(kind)
    assert unbounded(schema) == []
    assert "properties" in str(schema)


@each(
    ("kind", "raw"),
    [
        (NewQuestions, {"questions": [{"type": "scope", "question": "?"}] * 6}),
        (NewQuestions, {"questions": [{"type": "guess", "question": "?"}]}),
        (NewQuestions, {"questions": [{"type": "scope", "question": ""}]}),
        (NewDecisions, {"decisions": [{"topic": "t", "options": []}]}),
        (NewSummary, {"summary": " \n"}),
        (NewSummary, {"summary": "x" * 16_001}),
        (NewSummary, {"summary": "x", "approved": True}),
        (NewSummary, {"summary": "x", "steps": [{"title": "t", "target_paths": []}]}),
        (NewSummary, {"summary": "x", "steps": [{"title": "t", "target_paths": ["a"]}] * 11}),
        (NewSummary, {"summary": "x", "steps": [{"title": "t", "target_paths": ["a"], "criteria": [1]}]}),
    ],
)
def test_what_does_not_fit_is_refused(kind: type[Document], raw: Any):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(raw, kind)


def test_options_of_the_same_name_are_one():
    option = {"description": "d", "pros": ["p"], "cons": ["c"]}

    def read(*names: str) -> list[str]:
        raw = {"decisions": [{"topic": "t", "options": [{"name": name, **option} for name in names]}]}
        return [one.name for one in msgspec.convert(raw, NewDecisions).decisions[0].options]

    assert read("A", "b", "B ", "C") == ["A", "b", "C"]
    with pytest.raises(msgspec.ValidationError, match="names of their own"):
        read("A", "a")
