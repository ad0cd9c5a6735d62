"""JSON Schemas of what tools take and give, each with an object at its root as the protocol wants it."""

from typing import Any

import msgspec

from ringi.domain.base import Document
from ringi.mcp.arguments import SPEC_EXAMPLES, SPEC_FIELDS


def object_schema(kind: type[Document]) -> dict[str, Any]:
    whole = msgspec.json.schema(kind)
    definitions: dict[str, Any] = whole["$defs"]
    own = definitions.pop(kind.__name__)
    return {**own, "$defs": definitions} if definitions else own


def input_schema(kind: type[Document]) -> dict[str, Any]:
    """With words about the fields of a spec, and an example of each kind."""
    schema = object_schema(kind)
    spec = schema.get("$defs", {}).get("ActionSpec")
    if spec is not None:
        for name, words in SPEC_FIELDS.items():
            spec["properties"][name]["description"] = words
        spec["examples"] = SPEC_EXAMPLES
    return schema
