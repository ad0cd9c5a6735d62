"""JavaScript and TypeScript: import, export … from, require and import() with a literal name.

A relative name is a file, the same with an ending, or the index of a folder; `./a.js` also means the `a.ts`
it is made from. Other names are looked up in the `paths` and `baseUrl` of the nearest tsconfig.json or
jsconfig.json, in `imports` of the nearest package.json, and among the packages of the tree by their names.
Conditions of `exports` are not evaluated: every file that one of them names is used. A bundler's own
configuration is not read.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ringi.project.dependencies.parser import parse
from ringi.project.dependencies.references import FoundReferences, ReferenceSnapshot, ancestors, join

SUFFIXES: Final = {
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
}
_QUERY: Final = """
(import_statement source: (string) @name)
(export_statement source: (string) @name)
(call_expression function: (import) arguments: (arguments . [(string) (template_string)] @name))
((call_expression
  function: (identifier) @_called arguments: (arguments . [(string) (template_string)] @name))
 (#eq? @_called "require"))
"""
_TYPED: Final = "(import_require_clause source: (string) @name)"
_ENDINGS: Final = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".json")
_MADE_FROM: Final = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
_LONGEST: Final = 1000
_DEEPEST: Final = 8


def facts(language: str, data: bytes) -> FoundReferences:
    parsed = parse(language, _QUERY if language == "javascript" else _QUERY + _TYPED, data)
    names = {text[1:-1] for text in parsed.texts("name")}
    return FoundReferences(tuple(sorted(filter(_plain, names))), parsed.why)


def _plain(name: str) -> bool:
    return 0 < len(name) <= _LONGEST and not {"\\", "\0", "\n"} & set(name) and "${" not in name


class JavaScriptModules:
    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._paths = snapshot.paths
        self._found = snapshot.found
        self._packages: dict[str, str] = {}
        self._manifests: dict[str, tuple[str, ...]] = {}
        for folder, refs in snapshot.named("package.json"):
            self._manifests[folder] = refs
            for _, name in _told(refs, "name"):
                self._packages.setdefault(name, folder)
        self._configs: dict[str, str] = {}
        for path in sorted(snapshot.found, reverse=True):
            folder, _, name = path.rpartition("/")
            if name in {"tsconfig.json", "jsconfig.json"}:  # reversed: the first of the two wins
                self._configs.setdefault(folder, path)
        self._known: dict[tuple[str, str], tuple[str, ...]] = {}

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterator[str]:
        folder = path.rpartition("/")[0]
        for name in refs:
            key = (folder, name)
            if key not in self._known:
                self._known[key] = tuple(self._find(folder, name))
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
        for _, target in _told(self._manifests.get(folder, ()), "main"):
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
            own_base = next((join(here, url) for _, url in _told(refs, "base")), None)
            base = base or own_base
            for _, pattern, target in _told(refs, "path"):
                if (fits := _fitting(pattern, name)) is not None:
                    at = join(own_base if own_base is not None else here, target.replace("*", fits, 1))
                    if found := self._file(at):
                        return found
            config = next((self._extended(here, other) for _, other in _told(refs, "extends")), None)
        return self._file(join(base, name)) if base is not None else ()

    def _extended(self, folder: str, name: str) -> str | None:
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
        for _, pattern, target in _told(self._manifests.get(folder, ()), kind):
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


def _told(refs: tuple[str, ...], kind: str) -> Iterator[list[str]]:
    return (parts for ref in refs if (parts := ref.split("\0"))[0] == kind)
