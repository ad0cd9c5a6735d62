"""Every document: encoded and decoded again, and what is refused."""

import json
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from ringi.app.schemas import SCHEMAS, json_schema
from ringi.approvals import document as approval
from ringi.engine import request, run_plan
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.run_parts import PartsInput
from ringi.errors import BadDocument, NewerVersion
from ringi.kernel import codec, words
from ringi.kernel.document import EXTRA, Document, OpenDocument, Versioned
from ringi.ledger import event as events
from ringi.plans import document as plan
from ringi.plans import execution
from ringi.policy import risk_level as risk
from ringi.project import state as project_state
from ringi.tree import action_spec
from tests.tables import each

BOUNDED: dict[type[Any], Document] = {
    run_plan.RunPlan: compile_run_plan(
        PartsInput("Add a login"), RunNames("RQ-20260102-001", "20260102-030405-0a0b0c", "2026-01-02", "main")
    ),
    request.Request: request.Request(title="Sort by date", test_instructions={"unit": ("make test",)}),
    words.KeptText: words.KeptText("{a}: {b}", {"a": 1, "b": words.KeptText("{c}", {"c": "x"})}),
    project_state.Unsaved: project_state.Unsaved("a.py", sha256="0a" * 32, text="x"),
}

# The names of the specification. Whatever else is in a document, its schema in `tests/records` shows.
FIELDS: dict[type[Document], str] = {
    plan.Plan: "id title content sources rationale tags created_at version",
    plan.MessageRef: "message_id timestamp",
    plan.PlanState: "status action_specs selection approvals previews",
    plan.ApprovalEntry: "approver timestamp selection",
    plan.DiffTotals: "files risk_score",
    action_spec.ActionSpec: "kind path content description optional",
    action_spec.ActionSpecExt: "id base risk validated preflight notes",
    action_spec.Preflight: "exists overwrite diff_summary",
    plan.SpecSelection: "all ids",
    plan.ValidationReport: "ok issues normalized",
    plan.PlanPreview: "files diffs risk_score",
    approval.ApprovedPlan: "approval",
    execution.FileOpOutcome: "spec_id path status",
    execution.ExecutionResult: "overall_success results started_at finished_at",
}
VALUES = {
    plan.PlanStatus: "proposed pending_review approved scheduled executing completed aborted discarded",
    plan.SpecKind: "create write patch delete move mkdir read analyze run",
    risk.Risk: "low medium high",
    events.Actor: "ai user system",
    events.EventKind: "plan_proposed specs_set approval_requested approved executed completed aborted",
}


def below(kind: type[Document]) -> list[type[Document]]:
    return [found for child in kind.__subclasses__() for found in (child, *below(child))]


# Not those of another specification, nor what models answer with: they have tests of their own.
MODULES = {
    "ringi.approvals.document",
    "ringi.approvals.forge",
    "ringi.approvals.grant_document",
    "ringi.approvals.statement",
    "ringi.engine.document",
    "ringi.engine.process",
    "ringi.engine.run_plan_rules",
    "ringi.forges.document",
    "ringi.kernel.problems",
    "ringi.kernel.words",
    "ringi.ledger.event",
    "ringi.ledger.subject",
    "ringi.metrics.document",
    "ringi.models.budget",
    "ringi.models.cache",
    "ringi.models.usage",
    "ringi.patch.conflict",
    "ringi.plans.document",
    "ringi.plans.change_plan",
    "ringi.plans.execution",
    "ringi.plans.extract",
    "ringi.approvals.feedback",
    "ringi.plans.review_data",
    "ringi.plans.verdict",
    "ringi.policy.risk_level",
    "ringi.project.context",
    "ringi.project.state",
    "ringi.provenance.verdict",
    "ringi.runs.document",
    "ringi.sessions.document",
    "ringi.engine.instruction",
    "ringi.tools.effects",
    "ringi.tools.schema",
    "ringi.tree.check_result",
    "ringi.tree.commit_order",
    "ringi.tree.file_state",
}
for name in MODULES:
    import_module(name)
KINDS = sorted(
    (kind for kind in below(Document) if kind.__module__ in MODULES), key=lambda kind: kind.__name__
)
OPEN = [kind for kind in KINDS if issubclass(kind, OpenDocument)]
CLOSED = [kind for kind in KINDS if kind not in OPEN]
VERSIONED = [kind for kind in KINDS if issubclass(kind, Versioned)]

# Everything UTF-8 can carry; half characters have a test of their own.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
whole_numbers = st.integers(-(2**63) + 1, 2**63 - 1)
anything = st.recursive(
    st.none() | st.booleans() | whole_numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@cache
def built(kind: type[Document]) -> st.SearchStrategy[Any]:
    return _of(inspect.type_info(kind))


def _of(info: inspect.Type) -> st.SearchStrategy[Any]:
    match info:
        case inspect.StructType(cls=cls) if cls in BOUNDED:
            return st.just(BOUNDED[cls])  # in every field; their own tests make others
        case inspect.StructType():
            fields = {field.name: _of(field.type) for field in info.fields}
            if "schema_version" in fields:
                fields["schema_version"] = st.just(1)
            return st.builds(info.cls, **fields)
        case inspect.EnumType():
            return st.sampled_from(list(info.cls))
        case inspect.LiteralType():
            return st.sampled_from(info.values)
        case inspect.IntType(ge=int(least)):
            return st.integers(least, 2**63 - 1)
        case inspect.UnionType():
            return st.one_of([_of(one) for one in info.types])
        case inspect.VarTupleType():
            return st.lists(_of(info.item_type), max_size=2).map(tuple)
        case inspect.DictType():
            return st.dictionaries(texts, _of(info.value_type), max_size=3)
    plain = {
        inspect.StrType: texts,
        inspect.IntType: whole_numbers,
        inspect.FloatType: st.floats(allow_nan=False, allow_infinity=False),
        inspect.BoolType: st.booleans(),
        inspect.NoneType: st.none(),
        inspect.AnyType: anything,
    }
    return plain[type(info)]


documents = st.sampled_from(KINDS).flatmap(built)


@pytest.mark.req("PT-1", "PT-2", "PT-3", "PT-5")
@each(("kind", "names"), FIELDS.items())
def test_fields_have_the_names_of_the_specification(kind: type[Document], names: str):
    assert set(names.split()) <= {field.encode_name for field in msgspec.structs.fields(kind)}


@pytest.mark.req("PT-2", "PT-3", "PT-11")
@each(("kind", "values"), VALUES.items())
def test_closed_sets_have_the_values_of_the_specification(kind: type, values: str):
    assert set(values.split()) <= set(kind)


@pytest.mark.req("PT-1", "PT-2", "PT-3", "PT-5")
@given(document=documents)
def test_there_and_back(document: Document):
    kind = type(document)
    for data in (codec.canonical(document), codec.pretty(document)):
        assert codec.decode_foreign(data, kind, "it") == document
        assert codec.decode_own(data, kind, "it") == document


@given(document=documents)
def test_one_spelling_for_one_document(document: Document):
    data = codec.canonical(document)
    assert codec.canonical(codec.decode_foreign(codec.pretty(document), type(document), "it")) == data
    assert codec.canonical(msgspec.json.decode(data)) == data


def first(kind: type[Document]) -> dict[str, Any]:
    """A small document of this kind, as plain JSON values."""
    plain = {
        inspect.StrType: "x",
        inspect.IntType: 1,
        inspect.FloatType: 0.5,
        inspect.BoolType: False,
        inspect.NoneType: None,
    }

    def of(info: inspect.Type) -> Any:
        match info:
            case inspect.StructType(cls=cls) if cls in BOUNDED:
                return json.loads(codec.canonical(BOUNDED[cls]))
            case inspect.StructType():
                found = {field.encode_name: of(field.type) for field in info.fields if field.required}
                return found | ({info.tag_field: info.tag} if info.tag_field else {})
            case inspect.EnumType():
                return next(iter(info.cls))
            case inspect.LiteralType():
                return info.values[0]
            case inspect.DictType():
                return {}
            case inspect.UnionType():
                kinds = [type(one) for one in info.types]
                return None if inspect.NoneType in kinds else of(info.types[0])
            case inspect.VarTupleType():
                return []
        return plain[type(info)]

    return of(inspect.type_info(kind))


@each("kind", CLOSED)
def test_unknown_fields_are_refused(kind: type[Document]):
    data = json.dumps(first(kind) | {"surprise": 1}).encode()
    for decode in (codec.decode_foreign, codec.decode_own):
        with pytest.raises(BadDocument, match="surprise"):
            decode(data, kind, "it")


@pytest.mark.req("PP-29")
@each("kind", OPEN)
def test_unknown_fields_of_open_documents_are_kept(kind: type[OpenDocument]):
    """Also one that has the name under which they are kept."""
    more = {"surprise": {"of": ["later", {EXTRA: 1}]}, EXTRA: "hostile", "extra": None}
    raw = first(kind) | more
    for decode in (codec.decode_foreign, codec.decode_own):
        document = decode(json.dumps(raw).encode(), kind, "it")
        assert document.extra == more
        for encode in (codec.canonical, codec.pretty):
            assert json.loads(encode(document)) == raw


@each("kind", VERSIONED)
def test_an_absent_version_is_the_first(kind: type[Versioned]):
    raw = first(kind)
    assert "schema_version" not in raw
    assert codec.decode_foreign(json.dumps(raw).encode(), kind, "it").schema_version == 1
    assert (
        codec.decode_foreign(json.dumps(raw | {"schema_version": 1}).encode(), kind, "it").schema_version == 1
    )


@each("decode", [codec.decode_foreign, codec.decode_own])
@each("more", [{}, {"surprise": {"of": "later"}}, {"plan_id": None}])
@each("kind", VERSIONED)
def test_newer_documents_are_refused_as_newer(kind: type[Versioned], more: dict[str, Any], decode):
    """Also where they would fit, and where they would not for another reason."""
    data = json.dumps(first(kind) | more | {"schema_version": 2}).encode()
    with pytest.raises(NewerVersion, match="format 2, this one knows 1"):
        decode(data, kind, "it")


def test_a_newer_document_inside_another_is_refused():
    inner = first(events.Event) | {"schema_version": 7}
    data = json.dumps({"event": inner, "hash": "x"}).encode()
    for decode in (codec.decode_foreign, codec.decode_own):
        with pytest.raises(NewerVersion):
            decode(data, events.LoggedEvent, "it")


@each("version", [0, -1, "1", 1.5, None, [], True])
def test_a_version_is_a_number_from_one(version: object):
    data = json.dumps(first(plan.PlanPage) | {"schema_version": version}).encode()
    with pytest.raises(BadDocument):
        codec.decode_foreign(data, plan.PlanPage, "it")


@pytest.mark.parametrize("name", sorted(SCHEMAS.keys() - {"run-plan"}))  # its texts have patterns
@settings(max_examples=10)
@given(data=st.data())
def test_what_we_write_fits_its_schema(name: str, data: st.DataObject):
    kind = SCHEMAS[name]
    document = data.draw(_of(inspect.type_info(kind)))
    schema = json_schema(name)
    assert misfits(json.loads(codec.canonical(document)), schema, schema["$defs"]) == []


def misfits(  # noqa: C901  # one branch for each word of the language
    value: Any, schema: dict[str, Any], known: dict[str, Any], at: str = "$"
) -> list[str]:
    """As much of JSON Schema as our schemas use; an unknown word in one is an error here."""
    extra = schema.keys() - _WORDS
    if extra:
        return [f"{at}: unknown words {extra}"]
    if "$ref" in schema:
        return misfits(value, known[schema["$ref"].rsplit("/", 1)[1]], known, at)
    if "anyOf" in schema:
        found = [misfits(value, one, known, at) for one in schema["anyOf"]]
        return [] if [] in found else found[0]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is none of {schema['enum']}"]
    if "type" in schema and not _TYPES[schema["type"]](value):
        return [f"{at}: {value!r} is no {schema['type']}"]
    if "minimum" in schema and value < schema["minimum"]:
        return [f"{at}: {value} is too small"]
    wrong = [f"{at}: {value} does not fit {word}" for word, fits in _BOUNDS.items()
             if word in schema and not fits(value, schema[word])]  # fmt: skip
    if isinstance(value, list):
        wrong += [
            w for i, item in enumerate(value) for w in misfits(item, schema["items"], known, f"{at}[{i}]")
        ]
    if isinstance(value, dict) and "properties" in schema:
        wrong += [f"{at}: {name} is missing" for name in schema["required"] if name not in value]
        open_ = "additionalProperties" not in schema
        unknown = [] if open_ else [name for name in value if name not in schema["properties"]]
        wrong += [f"{at}: {name} is not allowed" for name in unknown]
        for name, inner in schema["properties"].items():
            if name in value:
                wrong += misfits(value[name], inner, known, f"{at}.{name}")
    return wrong


_BOUNDS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": lambda value, most: value <= most,
    "exclusiveMinimum": lambda value, least: value > least,
    "minLength": lambda value, least: len(value) >= least,
    "maxLength": lambda value, most: len(value) <= most,
    "pattern": lambda value, pattern: re.search(pattern, value),
    "minItems": lambda value, least: len(value) >= least,
    "maxItems": lambda value, most: len(value) <= most,
    "maxProperties": lambda value, most: len(value) <= most,
}
_WORDS = {
    "$ref", "$defs", "anyOf", "enum", "type", "minimum", "items", "properties", "required", "title",
    "description", "default", "additionalProperties", "discriminator", "propertyNames", *_BOUNDS,
}  # fmt: skip
_TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}


def test_schemas_are_closed_unless_the_document_is_open():
    found = {
        kind: found.get("additionalProperties", True)
        for name in SCHEMAS
        for kind, found in json_schema(name)["$defs"].items()
        if found.get("properties")
    }
    assert {kind for kind, more in found.items() if more} <= {kind.__name__ for kind in OPEN}
    assert not {kind for kind, more in found.items() if not more} & {kind.__name__ for kind in OPEN}
    assert EXTRA not in json.dumps([json_schema(name) for name in SCHEMAS])


@each(
    ("content", "title"),
    [
        ("Add a button", "Add a button"),
        ("\n\n  # Add a button \nand more", "Add a button"),
        ("###\n---", "---"),
        (" \n\t\n#", ""),
        ("x" * 300, "x" * 200),
        ("# \u3000題\n", "題"),
    ],
)
def test_title_is_the_first_line_that_says_something(content: str, title: str):
    assert plan.title_of(content) == title
