"""Rust: `mod` declarations, `use`, and paths that begin with crate, super, self, a crate of this tree or a
module.

Modules are found by where files lie, and by #[path]. A path means the file of the innermost module that it
names. What macros make, and what is re-exported under another name, is not followed.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from ringi.workspace.dependencies.found import Found
from ringi.workspace.dependencies.grammars import parse

SUFFIX: Final = ".rs"
_QUERY: Final = """
(mod_item !body) @mod
(mod_item body: (_)) @inline
(use_declaration argument: (_) @use)
(extern_crate_declaration name: (identifier) @crate)
"""
_CODE: Final = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)|((?:r\#)?[a-z_]\w*(?:::(?:r\#)?\w+)+)""", re.DOTALL
)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_RENAMED: Final = re.compile(r"\sas\s+\w+")
_SIGN: Final = re.compile(r"[{},*]|(?:r#)?\w+")
_PATH: Final = re.compile(rb'#\[\s*path\s*=\s*"([^"\\]{1,500})"\s*\]')
_DEEPEST: Final = 32
_LONGEST: Final = 500


def facts(data: bytes) -> Found:
    """`m` for a module below this one, `f` for one in a named file, `n` for a path."""
    parsed = parse("rust", _QUERY, data)
    result = {fact for node in parsed.nodes.get("mod", ()) if (fact := _module(node))}
    for node in parsed.nodes.get("use", ()):
        inside = len(_around(node))
        result.update(f"n{_outside(path, inside)}" for path in _leaves(_text(node)))
    result.update(f"n{name}" for name in parsed.texts("crate"))
    result.update(_paths(data, nested=bool(parsed.nodes.get("inline"))))
    return Found(tuple(sorted(fact for fact in result if len(fact) <= _LONGEST)), parsed.why)


def _text(node: Any) -> str:
    return str(node.text.decode("utf-8", "replace"))


def _around(node: Any) -> list[str]:
    """The names of the modules that are written around the node in the same file, outermost first."""
    names: list[str] = []
    while (node := node.parent) is not None and len(names) < _DEEPEST:
        if node.type == "mod_item":
            names.insert(0, _text(node.child_by_field_name("name")))
    return names


def _module(node: Any) -> str:
    name, before = node.child_by_field_name("name"), node.prev_named_sibling
    if name is None:
        return ""
    around = "/".join(_around(node))
    while before is not None and before.type in {"attribute_item", "line_comment", "block_comment"}:
        if found := _PATH.fullmatch(before.text):
            return f"f{around}\0{found[1].decode('utf-8', 'replace')}"
        before = before.prev_named_sibling
    return "m" + "/".join(filter(None, [around, _text(name).removeprefix("r#")]))


def _leaves(text: str) -> Iterator[str]:
    """Every path of a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`."""
    plain = _RENAMED.sub("", _COMMENT.sub(" ", text))
    outer: list[tuple[str, ...]] = []
    path: tuple[str, ...] = ()
    base: tuple[str, ...] = ()
    for sign in (*_SIGN.findall(plain), ","):
        if sign == "{":
            outer.append(base)
            base = path
        elif sign in {",", "}", "*"}:
            if len(path) > len(base) or sign == "*":
                yield "::".join(path)
            if sign == "}":
                base = outer.pop() if outer else ()
            path = base
        elif len(path) < _DEEPEST:
            path = (*path, sign.removeprefix("r#"))


def _outside(path: str, inside: int) -> str:
    """A path in a module that is written inside the file, as seen from the file itself."""
    if not inside:
        return path
    parts = path.split("::")
    while inside and parts and parts[0] == "super":
        parts.pop(0)
        inside -= 1
    if len(parts) < path.count("::") + 1 and (not parts or parts[0] != "super"):
        parts.insert(0, "self")
    return "::".join(parts)


def _paths(data: bytes, *, nested: bool) -> Iterator[str]:
    for found in _CODE.finditer(data.decode("utf-8", "replace")):
        path = found[1]
        # Where modules are written inside the file, it is not known which one `super` and `self` start from.
        if path and not (nested and path.startswith(("super::", "self::"))):
            yield f"n{path.replace('r#', '')}"
