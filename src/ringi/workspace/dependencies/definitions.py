"""What a file defines: classes, functions, methods, and the variables of a Python module."""

import ast
import contextlib
import gc
import warnings
from collections.abc import Iterator

from ringi.domain.context import Definition

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """A tree has no cycles. Looking for them takes four times as long as parsing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def python(source: str) -> tuple[Definition, ...]:
    """Outer ones before those inside; nothing inside functions. Empty if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_inside(tree.body, ""))


def _inside(body: list[ast.stmt], before: str) -> Iterator[Definition]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield Definition(
                    before + node.name,
                    "method" if before else "function",
                    _first(node),
                    node.end_lineno or node.lineno,
                )
            case ast.ClassDef():
                yield Definition(before + node.name, "class", _first(node), node.end_lineno or node.lineno)
                yield from _inside(node.body, f"{before}{node.name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                not before
            ):
                yield Definition(name, "variable", node.lineno, node.end_lineno or node.lineno)
            case ast.If() | ast.Try() | ast.With():
                yield from _inside([*node.body, *getattr(node, "orelse", ())], before)


def _first(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def reader(path: str) -> str:
    """How the definitions of such a file are read; empty if only its words count."""
    return "python" if path.endswith((".py", ".pyi", ".pyw")) else ""


def definitions(path: str, text: str) -> tuple[Definition, ...]:
    return python(text) if reader(path) else ()
