"""Which files Python would load for a name, as far as the tree alone says.

A file that stands in no package looks into its own folder first. Then come the source folders around it,
innermost first: those that hold a top-level package, the root, and `src`. Last come the source folders
elsewhere, which never answer for a name of the standard library. As in grimp, a name means the module
itself or the one that contains it; the packages above are not meant. A test and a conftest.py use every
conftest.py above them, because pytest loads those.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from ringi.workspace.dependencies.found import ancestors

SUFFIXES: Final = (".py", ".pyi")
_PACKAGE: Final = "__init__"
_CONFTEST: Final = "conftest.py"


class PythonModules:
    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(path for path in paths if path.endswith(SUFFIXES))
        self._modules: dict[str, tuple[str, ...]] = {}
        for path in sorted(self._paths):
            self._add(path)
        self._packages = _packages(self._paths)
        self._roots = _roots(self._packages)
        self._everywhere = sorted(self._roots, key=lambda root: (root.count("/"), root != "src", root))
        self._tops = self._top_names()
        self._near: dict[str, tuple[str, ...]] = {}
        self._far: dict[str, tuple[str, ...]] = {}
        self._known: dict[str, dict[str, tuple[str, ...]]] = {}

    def _add(self, path: str) -> None:
        name = path.rpartition(".")[0]
        if name.rpartition("/")[2] == _PACKAGE:
            name = name.rpartition("/")[0]
        here = self._modules.get(name, ())
        # A package hides a module of the same name; a stub stands beside what it describes.
        same = [other for other in here if _is_package(other) == _is_package(path)]
        self._modules[name] = (*same, path) if same or not here or _is_package(path) else here

    def _top_names(self) -> dict[str, list[str]]:
        """The source folders in which a first name is to be found, in the order they are asked."""
        inside: dict[str, set[str]] = {}
        for name in self._modules:
            parts = name.split("/")
            for depth, part in enumerate(parts):
                root = "/".join(parts[:depth])
                if root in self._roots:
                    inside.setdefault(part, set()).add(root)
        order = {root: number for number, root in enumerate(self._everywhere)}
        return {part: sorted(roots, key=order.__getitem__) for part, roots in inside.items()}

    def uses(self, path: str, refs: tuple[str, ...]) -> set[str]:
        folder, _, name = path.rpartition("/")
        known = self._known.setdefault(folder, {})
        result: set[str] = set()
        for ref in refs:
            found = known.get(ref)
            if found is None:
                found = known[ref] = self._relative(folder, ref) if ref[0] == "." else self._find(folder, ref)
            result.update(found)
        if name == _CONFTEST or _is_test(name):
            result.update(self._conftests(folder))
        return result

    def _relative(self, folder: str, ref: str) -> tuple[str, ...]:
        name = ref.lstrip(".")
        parts = folder.split("/") if folder else []
        up = len(ref) - len(name) - 1
        if up > len(parts):
            return ()
        return self._look("/".join(parts[: len(parts) - up]), name, above=True)

    def _find(self, folder: str, ref: str) -> tuple[str, ...]:
        top, dot, _ = ref.partition(".")
        for root in self._around(folder):
            if found := self._look(root, ref, above=bool(dot)):
                return found
        if top in sys.stdlib_module_names:
            return ()
        if ref not in self._far:
            looks = (self._look(root, ref, above=bool(dot)) for root in self._tops.get(top, ()))
            self._far[ref] = next(filter(None, looks), ())
        return self._far[ref]

    def _around(self, folder: str) -> tuple[str, ...]:
        if folder not in self._near:
            near = [] if folder in self._packages else [folder]
            for above in ancestors(folder):
                near.extend(root for root in (above, f"{above}/src".lstrip("/")) if root in self._roots)
            self._near[folder] = tuple(dict.fromkeys(near))
        return self._near[folder]

    def _look(self, root: str, name: str, *, above: bool) -> tuple[str, ...]:
        """The module of that name below the root, or the one that contains it."""
        at = (f"{root}/" if root else "") + name.replace(".", "/")
        return self._modules.get(at) or (self._modules.get(at.rpartition("/")[0], ()) if above else ())

    def _conftests(self, folder: str) -> Iterator[str]:
        for above in ancestors(folder):
            path = f"{above}/{_CONFTEST}".lstrip("/")
            if path in self._paths:
                yield path


def _is_package(path: str) -> bool:
    return path.rpartition("/")[2].partition(".")[0] == _PACKAGE


def _is_test(name: str) -> bool:
    return name.startswith("test_") or name.rpartition(".")[0].endswith("_test")


def _packages(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.rpartition("/")[0] for path in paths if _is_package(path))


def _roots(packages: frozenset[str]) -> frozenset[str]:
    tops = (package for package in packages if package.rpartition("/")[0] not in packages)
    return frozenset(["", "src", *(top.rpartition("/")[0] for top in tops)])
