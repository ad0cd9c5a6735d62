"""The one place that knows tree-sitter, which comes with the extra `graph`. Only the child comes here."""

from functools import cache
from typing import Any, NamedTuple

from ringi.text import Text


class Parsed(NamedTuple):
    nodes: dict[str, list[Any]]
    """By the names that the query gives them."""
    why: str

    def texts(self, name: str) -> list[str]:
        return [node.text.decode("utf-8", "replace") for node in self.nodes.get(name, ())]


def parse(language: str, query: str, data: bytes) -> Parsed:
    """The nodes that the query asks for."""
    from tree_sitter import QueryCursor  # noqa: PLC0415  # an extra

    parser, asked = _tools(language, query)
    # Some grammars want the newline that the last line may lack.
    root = parser.parse(data + b"\n").root_node
    why = str(_partly(_error_line(root, data))) if root.has_error else ""
    return Parsed(QueryCursor(asked).captures(root), why)


@cache
def _tools(language: str, query: str) -> tuple[Any, Any]:
    from tree_sitter import Parser, Query  # noqa: PLC0415  # an extra
    from tree_sitter_language_pack import get_language  # noqa: PLC0415  # an extra

    grammar = get_language(language)  # type: ignore[arg-type,unused-ignore]
    return Parser(grammar), Query(grammar, query)


def _partly(line: int) -> Text:
    return Text("only in part: line {line} is not understood", line=line)


def _error_line(root: Any, data: bytes) -> int:
    node = root
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            break
        node = inner
    # Not node.start_point: tree-sitter 0.26.0 frees points that are still in use.
    return data.count(b"\n", 0, node.start_byte) + 1
