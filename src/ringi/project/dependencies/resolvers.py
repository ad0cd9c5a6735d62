"""Which files of a snapshot an import means, by the rules of its language. The facts come from `grammars`."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from ringi.project.dependencies.references import ReferenceSnapshot, ancestors, join

# In angle brackets these are the system's, even if the tree has a file of that name.
_STANDARD: Final = re.compile(
    r"(?:assert|complex|ctype|errno|fcntl|fenv|float|inttypes|iso646|limits|locale|math|memory|poll|pthread|sched"
    r"|semaphore|setjmp|signal|std\w+|strings?|syslog|termios|tgmath|threads|time|uchar|unistd|wchar|wctype)\.h"
)
_ENDINGS: Final = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json")
_MADE_FROM: Final = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_DEEPEST: Final = 8


class Includes:
    """C and C++. A quoted name is looked for beside the file, then every name by the end of its path.

    We do not know which folders the compiler searches, so a path counts only if it is the only match.
    """

    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._paths = snapshot.paths
        self._by_name: dict[str, list[str]] = {}
        for path in snapshot.paths:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        self._known: dict[str, tuple[str, ...]] = {}

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterator[str]:
        folder = path.rpartition("/")[0]
        for ref in refs:
            name = ref[1:]
            if ref[0] == "s" and _STANDARD.fullmatch(name):
                continue
            if ref[0] == "i" and (beside := join(folder, name)) in self._paths:
                yield beside
            else:
                if name not in self._known:
                    self._known[name] = self._by_end(name)
                yield from self._known[name]

    def _by_end(self, name: str) -> tuple[str, ...]:
        end = join("", name)
        same = self._by_name.get(end.rpartition("/")[2], ())
        hits = [path for path in same if path == end or path.endswith(f"/{end}")]
        return tuple(hits) if len(hits) == 1 else ()


class GoPackages:
    """An import of a package in this tree uses each of its files, except tests.

    Packages are found by the module paths of every go.mod in the tree, so go.work says nothing more; then in
    `vendor` folders above. Files of one package see each other without an import: a file uses those that
    declare a top-level name it mentions.
    """

    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._modules: dict[str, str] = {}
        for folder, refs in snapshot.find("go.mod"):
            for ref in refs:
                self._modules.setdefault(ref.partition("\0")[2], folder)
        self._files: dict[str, list[str]] = {}
        self._declared: dict[tuple[str, str], list[str]] = {}
        for path in sorted(path for path in snapshot.found if path.endswith(".go")):
            folder = path.rpartition("/")[0]
            if not _is_go_test(path):
                self._files.setdefault(folder, []).append(path)
            for ref in snapshot.found[path].refs:
                if ref[0] == "d":
                    self._declared.setdefault((folder, ref[1:]), []).append(path)

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterator[str]:
        folder = path.rpartition("/")[0]
        for ref in refs:
            if ref[0] == "i":
                yield from self._package(folder, ref[1:])
            elif ref[0] == "u":
                near = self._declared.get((folder, ref[1:]), ())
                yield from (other for other in near if _is_go_test(path) or not _is_go_test(other))

    def _package(self, folder: str, name: str) -> Iterable[str]:
        if name.startswith(("./", "../")):
            return self._files.get(join(folder, name), ())
        for module in ancestors(name):
            if module in self._modules:
                return self._files.get(join(self._modules[module], name[len(module) :].lstrip("/")), ())
        vendored = (self._files.get(join(above, f"vendor/{name}")) for above in ancestors(folder))
        return next(filter(None, vendored), ())


def _is_go_test(path: str) -> bool:
    return path.endswith("_test.go")


class JavaTypes:
    """Imports of classes, of their static members, and of whole packages, found by package and type name.

    Types of the same package, and of a package imported with a star, count if their name is in the file.
    A fully qualified class name without an import does not count.
    """

    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._types: dict[str, list[str]] = {}
        self._package: dict[str, str] = {}
        self._packages: set[str] = set()
        for path in sorted(path for path in snapshot.found if path.endswith(".java")):
            refs = snapshot.found[path].refs
            package = next((ref[1:] for ref in refs if ref[0] == "p"), "")
            self._package[path] = package
            self._packages.add(package)
            for ref in refs:
                if ref[0] == "d":
                    self._types.setdefault(f"{package}.{ref[1:]}", []).append(path)

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterator[str]:
        stars = {ref[1:] for ref in refs if ref[0] == "w"}
        open_packages = [self._package[path], *(stars & self._packages)]
        for ref in refs:
            if ref[0] in "iw":
                yield from self._type(ref[1:])
            elif ref[0] == "u":
                for package in open_packages:
                    yield from self._types.get(f"{package}.{ref[1:]}", ())

    def _type(self, name: str) -> list[str]:
        """The type, or the one that holds it."""
        while name:
            if name in self._types:
                return self._types[name]
            name = name.rpartition(".")[0]
        return []


class JavaScriptModules:
    """A relative name is a file, the same with an ending, or the index of a folder.

    `./a.js` also means the `a.ts` it is made from. Other names are looked up in the `paths` and `baseUrl` of
    the nearest tsconfig.json or jsconfig.json, in `imports` of the nearest package.json, and among the
    packages of the tree by their names. Conditions of `exports` are not evaluated: every file that one of
    them names is used. A bundler's own configuration is not read.
    """

    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._paths = snapshot.paths
        self._found = snapshot.found
        self._packages: dict[str, str] = {}
        self._manifests: dict[str, tuple[str, ...]] = {}
        for folder, refs in snapshot.find("package.json"):
            self._manifests[folder] = refs
            for _, name in _facts(refs, "name"):
                self._packages.setdefault(name, folder)
        self._configs: dict[str, str] = {}
        for path in sorted(snapshot.found, reverse=True):
            folder, _, name = path.rpartition("/")
            if name in {"tsconfig.json", "jsconfig.json"}:  # reversed: the first of the two wins
                self._configs.setdefault(folder, path)
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterator[str]:
        folder = path.rpartition("/")[0]
        for ref in refs:
            key = (folder, ref[1:])
            if key not in self._known:
                self._known[key] = tuple(self._find(*key))
            yield from self._known[key]

    def _find(self, folder: str, name: str) -> Iterable[str]:
        if name.startswith(("./", "../")) or name in {".", ".."}:
            return self._file(join(folder, name))
        if name.startswith(("/", "node:", "http:", "https:", "data:")):
            return ()
        return self._by_config(folder, name) or self._by_imports(folder, name) or self._by_package(name)

    def _file(self, at: str) -> tuple[str, ...]:
        if at in self._paths:
            return (at,)
        stem, dot, ending = at.rpartition(".")
        made_from = [stem + other for other in _MADE_FROM.get(dot + ending, ())]
        for candidate in (*made_from, *(at + ending for ending in _ENDINGS)):
            if candidate in self._paths:
                return (candidate,)
        return self._index(at)

    def _index(self, folder: str) -> tuple[str, ...]:
        for _, target in _facts(self._manifests.get(folder, ()), "main"):
            # A main that is the folder itself would never end.
            if (at := join(folder, target)) != folder and (found := self._file(at)):
                return found
        for ending in _ENDINGS:
            if (candidate := join(folder, f"index{ending}")) in self._paths:
                return (candidate,)
        return ()

    def _by_config(self, folder: str, name: str) -> tuple[str, ...]:
        config = next((self._configs[above] for above in ancestors(folder) if above in self._configs), None)
        base: str | None = None
        for _ in range(_DEEPEST):
            if config is None or config not in self._found:
                break
            here, refs = config.rpartition("/")[0], self._found[config].refs
            own_base = next((join(here, url) for _, url in _facts(refs, "base")), None)
            base = base or own_base
            for _, pattern, target in _facts(refs, "path"):
                if (fits := _fitting(pattern, name)) is not None:
                    at = join(own_base if own_base is not None else here, target.replace("*", fits, 1))
                    if found := self._file(at):
                        return found
            config = next((self._find_extended(here, other) for _, other in _facts(refs, "extends")), None)
        return self._file(join(base, name)) if base is not None else ()

    def _find_extended(self, folder: str, name: str) -> str | None:
        at = join(folder, name)
        return next((path for path in (at, f"{at}.json", f"{at}/tsconfig.json") if path in self._found), None)

    def _by_imports(self, folder: str, name: str) -> tuple[str, ...]:
        if not name.startswith("#"):
            return ()
        here = next((above for above in ancestors(folder) if above in self._manifests), None)
        return self._targets(here, "import", name) if here is not None else ()

    def _by_package(self, name: str) -> tuple[str, ...]:
        parts = name.split("/")
        length = 2 if name.startswith("@") else 1
        package, rest = "/".join(parts[:length]), "/".join(parts[length:])
        if (folder := self._packages.get(package)) is None:
            return ()
        exported = self._targets(folder, "export", f"./{rest}" if rest else ".")
        return exported or (self._file(join(folder, rest)) if rest else self._index(folder))

    def _targets(self, folder: str, kind: str, name: str) -> tuple[str, ...]:
        result: list[str] = []
        for _, pattern, target in _facts(self._manifests.get(folder, ()), kind):
            if (fits := _fitting(pattern, name)) is not None:
                result.extend(self._file(join(folder, target.replace("*", fits))))
        return tuple(dict.fromkeys(result))


def _fitting(pattern: str, name: str) -> str | None:
    """What the star matches; empty if the pattern has none and equals the name."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if pattern == name else None
    fits = len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
    return name[len(before) : len(name) - len(after)] if fits else None


def _facts(refs: tuple[str, ...], kind: str) -> Iterator[list[str]]:
    return (parts for ref in refs if (parts := ref.split("\0"))[0] == kind)
