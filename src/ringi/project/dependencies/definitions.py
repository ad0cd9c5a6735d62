"""What a file defines: classes, functions, methods and the like, but nothing inside functions.

Python is read with its own parser, the other languages with the grammars of the extra `graph`.
"""

import ast
import contextlib
import gc
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import accumulate
from typing import Any, Final

from ringi.kernel.text import Text
from ringi.project.context import Definition
from ringi.project.dependencies import grammars, parser, python
from ringi.project.dependencies.references import LARGEST, FoundReferences, SourceContent

_PYTHON: Final = "python"
_MOST: Final = 5000
"""Definitions of one file; one with more is generated."""
_LONGEST: Final = 200
_FUNCTION: Final = "function"
_METHOD: Final = "method"
_CLASS: Final = "class"
_TYPE: Final = "type"
_MODULE: Final = "module"
VARIABLE: Final = "variable"
"""A line of what it is in, not a part of its own."""

_CLASSES: Final = {
    "class_declaration": _CLASS,
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "method_declaration": _METHOD,
}
_C: Final = {"function_definition": _FUNCTION, "struct_specifier": "struct", "enum_specifier": "enum"}
_MADE: Final = "[(arrow_function) (function_expression)]"
_SCRIPT: Final = {
    "class_declaration": _CLASS,
    "method_definition": _METHOD,
    "function_declaration": _FUNCTION,
    "generator_function_declaration": _FUNCTION,
    f"variable_declarator value: {_MADE}": _FUNCTION,
    f"assignment_expression left: (member_expression) right: {_MADE}": _FUNCTION,
}
_TYPED: Final = {
    **_SCRIPT,
    "abstract_class_declaration": _CLASS,
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "type_alias_declaration": _TYPE,
    "internal_module": _MODULE,
}
# By language: which nodes define something, and what. A function in a class is a method.
_NODES: Final[Mapping[str, Mapping[str, str]]] = {
    "c": {**_C, "preproc_function_def": "macro"},
    "cpp": {
        **_C,
        "class_specifier": _CLASS,
        "namespace_definition": _MODULE,
        "preproc_function_def": "macro",
    },
    "csharp": {**_CLASSES, "struct_declaration": "struct", "constructor_declaration": _METHOD},
    "go": {
        "function_declaration": _FUNCTION,
        "method_declaration": _METHOD,
        "type_spec": _TYPE,
        "type_alias": _TYPE,
    },
    "java": {**_CLASSES, "record_declaration": "record", "constructor_declaration": _METHOD},
    "javascript": _SCRIPT,
    "php": {**_CLASSES, "trait_declaration": "trait", "function_definition": _FUNCTION},
    "ruby": {"module": _MODULE, "class": _CLASS, "method": _FUNCTION, "singleton_method": _FUNCTION},
    "rust": {
        "function_item": _FUNCTION,
        "function_signature_item": _FUNCTION,
        "struct_item": "struct",
        "enum_item": "enum",
        "trait_item": "trait",
        "impl_item": "impl",
        "mod_item body: (_)": _MODULE,
        "macro_definition": "macro",
        "type_item": _TYPE,
    },
    "tsx": _TYPED,
    "typescript": _TYPED,
}
_SUFFIXES: Final[Mapping[str, str]] = {
    **dict.fromkeys(python.SUFFIXES, _PYTHON),
    **grammars.SUFFIXES,
    ".cs": "csharp",
    ".php": "php",
    ".rb": "ruby",
    ".rs": "rust",
}
_ASKED: Final = "{}:definitions"


def readers() -> Callable[[str], str]:
    """Says of a path how its definitions are read now; empty if only its words count."""
    installed = parser.is_installed()

    def reader(path: str) -> str:
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        language = _SUFFIXES.get(dot + suffix, "") if stem else ""
        return language if installed or language == _PYTHON else ""

    return reader


def definitions(
    language: str, sources: Iterable[SourceContent]
) -> Iterator[tuple[str, tuple[Definition, ...]]]:
    """Of each source, in this order, as they come; outer ones before those inside.

    None if it cannot be parsed: then it is known by its words.
    """
    if language == _PYTHON:
        with _without_collection():
            yield from ((key, _python(data)) for key, data in sources)
    elif language:
        for key, found in parser.extractor(_ASKED.format(language))(sources):
            yield key, tuple(Definition(*row) for row in found.definitions)
    else:
        yield from ((key, ()) for key, _ in sources)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """A syntax tree has no cycles, but looking for them takes four times as long as parsing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _python(data: bytes) -> tuple[Definition, ...]:
    source = python.decode(data) if len(data) <= LARGEST else ""
    if isinstance(source, Text):
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        return tuple(_in_body(tree.body, ""))[:_MOST]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _in_body(body: Iterable[ast.stmt], before: str) -> Iterator[Definition]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                kind = _CLASS if isinstance(node, ast.ClassDef) else _METHOD if before else _FUNCTION
                yield Definition(before + node.name, kind, first, node.end_lineno or node.lineno)
                if kind == _CLASS:
                    yield from _in_body(node.body, f"{before}{node.name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if not before:
                    yield Definition(name, VARIABLE, node.lineno, node.end_lineno or node.lineno)
            case ast.If() | ast.Try() | ast.TryStar():
                handlers = node.handlers if not isinstance(node, ast.If) else ()
                parts = (node.body, *(one.body for one in handlers), node.orelse)
                yield from _in_body((inner for part in parts for inner in part), before)


def _parse(language: str, data: bytes) -> FoundReferences:
    """Runs in the child that parses."""
    nodes = parser.parse(language, _query(language), data).nodes.get("defined", [])
    breaks = list(accumulate((len(line) + 1 for line in data.split(b"\n")), initial=0))
    rows: list[tuple[str, str, int, int]] = []
    around: list[tuple[int, str, str]] = []
    for node in sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte))[:_MOST]:
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        if around and around[-1][2] in {_FUNCTION, _METHOD}:
            continue
        name, kind = _name(node), _kinds(language)[node.type]
        if kind == _FUNCTION and around and around[-1][2] != _MODULE:
            kind = _METHOD
        full = f"{around[-1][1]}.{name}" if around else name
        if name and len(full) <= _LONGEST:
            last = bisect_right(breaks, max(node.end_byte - 1, node.start_byte))
            rows.append((full, kind, bisect_right(breaks, node.start_byte), last))
            around.append((node.end_byte, full, kind))
    return FoundReferences(definitions=tuple(rows))


PARSED: Final = {_ASKED.format(language): partial(_parse, language) for language in _NODES}


@cache
def _query(language: str) -> str:
    return "[" + " ".join(f"({node})" for node in _NODES[language]) + "] @defined"


@cache
def _kinds(language: str) -> dict[str, str]:
    return {node.partition(" ")[0]: kind for node, kind in _NODES[language].items()}


def _name(node: Any) -> str:
    """What the node defines: of a method in Go with the type it belongs to, in C behind its declarators."""
    named = node.child_by_field_name("name") or node.child_by_field_name("left")
    if named is None and node.type == "impl_item":
        named = node.child_by_field_name("type")
    inner = node.child_by_field_name("declarator")
    while named is None and inner is not None:
        deeper = inner.child_by_field_name("declarator")
        if deeper is None and inner.type == "reference_declarator":
            deeper = inner.named_child(0)
        if deeper is None:
            named = inner
        inner = deeper
    name = _text(named) if named is not None else ""
    receiver = node.child_by_field_name("receiver")
    owner = _text(receiver).strip("()").split()[-1:] if receiver is not None else []
    return ".".join([*(one.strip("*").partition("[")[0] for one in owner), name.replace("::", ".")])


def _text(node: Any) -> str:
    return str(node.text.decode("utf-8", "replace"))
