"""Go: an import of a package in this tree uses each of its files, except tests.

Packages are found by the module paths of every go.mod in the tree, so go.work says nothing more; then in
`vendor` folders above. Files of one package see each other without an import: a file uses those
that declare a top-level name it mentions.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from ringi.project.dependencies.parser import parse, words
from ringi.project.dependencies.references import FoundReferences, ReferenceSnapshot, ancestors, join

SUFFIXES: Final = {".go": "go"}
_QUERY: Final = """
(import_spec path: [(interpreted_string_literal) (raw_string_literal)] @import)
(source_file (function_declaration name: (identifier) @declared))
(source_file (type_declaration [(type_spec name: (_) @declared) (type_alias name: (_) @declared)]))
(source_file (const_declaration (const_spec name: (identifier) @declared)))
(source_file (var_declaration (var_spec name: (identifier) @declared)))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @declared))))
"""
_LONGEST: Final = 1000
_NO_NAMES: Final = frozenset({"init", "main", "_"})


def facts(language: str, data: bytes) -> FoundReferences:
    parsed = parse(language, _QUERY, data)
    imported = {f"i{text[1:-1]}" for text in parsed.texts("import") if len(text) <= _LONGEST}
    declared = set(parsed.texts("declared")) - _NO_NAMES
    used = words(data.decode("utf-8", "replace")) - declared
    named = {f"d{name}" for name in declared} | {f"u{name}" for name in used}
    return FoundReferences(tuple(sorted(imported | named)), parsed.why)


class GoPackages:
    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._modules: dict[str, str] = {}
        for folder, refs in snapshot.named("go.mod"):
            for ref in refs:
                self._modules.setdefault(ref.partition("\0")[2], folder)
        self._files: dict[str, list[str]] = {}
        self._declared: dict[tuple[str, str], list[str]] = {}
        for path in sorted(path for path in snapshot.found if path.endswith(tuple(SUFFIXES))):
            folder = path.rpartition("/")[0]
            if not _is_test(path):
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
                yield from (other for other in near if _is_test(path) or not _is_test(other))

    def _package(self, folder: str, name: str) -> Iterable[str]:
        if name.startswith(("./", "../")):
            return self._files.get(join(folder, name), ())
        for module in ancestors(name):
            if module in self._modules:
                return self._files.get(join(self._modules[module], name[len(module) :].lstrip("/")), ())
        vendored = (self._files.get(join(above, f"vendor/{name}")) for above in ancestors(folder))
        return next(filter(None, vendored), ())


def _is_test(path: str) -> bool:
    return path.endswith("_test.go")
