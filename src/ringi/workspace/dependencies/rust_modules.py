"""Where the modules of Rust crates lie."""

from collections.abc import Iterator
from typing import Final

from ringi.workspace.dependencies.found import Snapshot, ancestors, join

_OWNERS: Final = ("mod.rs", "lib.rs", "main.rs")
_ROOTS: Final = ("lib.rs", "main.rs")
# Each file directly in these folders is a crate of its own.
_SINGLE: Final = ("src/bin", "tests", "examples", "benches")


class RustModules:
    def __init__(self, snapshot: Snapshot) -> None:
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
        """The file of the innermost module of the path; the one it starts from where it names none."""
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
        """The folder in which the modules below that of the file lie."""
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
        """The file of the module whose parts lie in the folder."""
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
