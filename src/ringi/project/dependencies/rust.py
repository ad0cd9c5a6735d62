"""Rust: `mod` declarations, `use`, and paths that begin with crate, super, self, a crate of this tree or a
module.

Modules are found by the location of their files, and by #[path]. A path means the file of the innermost
module that it names. Macros and re-exports under another name are not followed.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from ringi.project.dependencies.parser import parse
from ringi.project.dependencies.references import FoundReferences, ReferenceSnapshot, ancestors, join

SUFFIXES: Final = {".rs": "rust"}
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


def facts(language: str, data: bytes) -> FoundReferences:
    """`m` for a module below this one, `f` for one in a named file, `n` for a path."""
    parsed = parse(language, _QUERY, data)
    result = {fact for node in parsed.nodes.get("mod", ()) if (fact := _module(node))}
    for node in parsed.nodes.get("use", ()):
        inside = len(_around(node))
        result.update(f"n{_outside(path, inside)}" for path in _leaves(_text(node)))
    result.update(f"n{name}" for name in parsed.texts("crate"))
    result.update(_paths(data, nested=bool(parsed.nodes.get("inline"))))
    return FoundReferences(tuple(sorted(fact for fact in result if len(fact) <= _LONGEST)), parsed.why)


def _text(node: Any) -> str:
    return str(node.text.decode("utf-8", "replace"))


def _around(node: Any) -> list[str]:
    """The names of the inline modules around the node, outermost first."""
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
    """A path in an inline module, as seen from the file itself."""
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
        # With inline modules in the file, we do not know which one `super` and `self` start from.
        if path and not (nested and path.startswith(("super::", "self::"))):
            yield f"n{path.replace('r#', '')}"


_OWNERS: Final = ("mod.rs", "lib.rs", "main.rs")
_ROOTS: Final = ("lib.rs", "main.rs")
# Each file directly in these folders is a crate of its own.
_SINGLE: Final = ("src/bin", "tests", "examples", "benches")


class RustModules:
    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._paths = snapshot.paths
        self._crates: dict[str, str] = {}
        self._folders: set[str] = set()
        self._entries: set[str] = set()
        for folder, refs in snapshot.named("Cargo.toml"):
            self._folders.add(folder)
            self._entries.add(join(folder, "build.rs"))
            for ref in refs:
                kind, *rest = ref.split("\0")
                if kind == "crate":
                    self._crates.setdefault(rest[0], join(folder, rest[1]))
                self._entries.add(join(folder, rest[-1]))

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterator[str]:
        for ref in refs:
            kind, rest = ref[0], ref[1:]
            if kind == "m":
                yield from self._file(join(self._below(path), rest))
            elif kind == "f":
                around, _, name = rest.partition("\0")
                at = join(join(self._below(path), around) if around else path.rpartition("/")[0], name)
                if at in self._paths:
                    yield at
            elif found := self._named(path, rest.split("::")):
                yield found

    def _named(self, path: str, parts: list[str]) -> str | None:
        first = parts[0]
        if first == "crate":
            root = self._root(path)
            return self._walk(self._below(root), parts[1:], root) if root else None
        if first in {"self", "super"}:
            at, file = self._below(path), path
            while parts and parts[0] in {"self", "super"}:
                if parts.pop(0) == "super":
                    if not at:
                        return None
                    at = at.rpartition("/")[0]
                    file = self._owner(at) or ""
            return self._walk(at, parts, file) or None
        if (found := self._walk(self._below(path), parts, "")) or first not in self._crates:
            return found or None
        library = self._crates[first]
        return self._walk(self._below(library), parts[1:], library if library in self._paths else "") or None

    def _walk(self, folder: str, parts: list[str], file: str) -> str:
        """The file of the innermost module of the path; the one it starts from if it names none."""
        for part in parts:
            folder = join(folder, part)
            found = next(self._file(folder), None)
            if found is None:
                break
            file = found
        return file

    def _file(self, module: str) -> Iterator[str]:
        return (at for at in (f"{module}.rs", f"{module}/mod.rs") if at in self._paths)

    def _below(self, path: str) -> str:
        """The folder with the submodules of the file's module."""
        folder, _, name = path.rpartition("/")
        if name in _OWNERS or path in self._entries or self._is_single(folder):
            return folder
        return path.removesuffix(".rs")

    def _is_single(self, folder: str) -> bool:
        return any(
            folder == single
            or (folder.endswith(f"/{single}") and folder[: -len(single) - 1] in self._folders)
            for single in _SINGLE
        )

    def _owner(self, folder: str) -> str | None:
        """The file of the module whose submodules are in the folder."""
        beside = [join(folder, name) for name in _OWNERS] + ([f"{folder}.rs"] if folder else [])
        return next((at for at in beside if at in self._paths), None)

    def _root(self, path: str) -> str | None:
        folder = path.rpartition("/")[0]
        if path in self._entries or self._is_single(folder):
            return path
        for above in ancestors(folder):
            for name in _ROOTS:
                if (at := join(above, name)) in self._paths:
                    return at
            if above in self._folders:
                return next((root for root in self._crates.values() if root.startswith(f"{above}/")), None)
        return None
