"""Java: imports of classes, of their static members, and of whole packages, found by package and type name.

Types of the same package, and of a package imported with a star, count if their name is in the file.
A fully qualified class name without an import does not count.
"""

import re
from collections.abc import Iterator
from typing import Final

from ringi.project.dependencies.parser import parse, words
from ringi.project.dependencies.references import FoundReferences, ReferenceSnapshot

SUFFIXES: Final = {".java": "java"}
_TYPES: Final = ("class", "interface", "enum", "record", "annotation_type")
_QUERY: Final = "(package_declaration) @package (import_declaration) @import" + "".join(
    f"(program ({kind}_declaration name: (identifier) @declared))" for kind in _TYPES
)
_LONGEST: Final = 1000
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\s+", re.DOTALL)
_IMPORT: Final = re.compile(r"import (?:static )?([\w.]+)")


def facts(language: str, data: bytes) -> FoundReferences:
    parsed = parse(language, _QUERY, data)
    declared = set(parsed.texts("declared"))
    capital = {word for word in words(data.decode("utf-8", "replace")) if word[:1].isupper()}
    result = {f"p{_squeezed(text).rpartition('package ')[2]}" for text in parsed.texts("package")}
    short = (text for text in parsed.texts("import") if len(text) <= _LONGEST)
    result |= {fact for text in short if (fact := _import(text))}
    result |= {f"d{name}" for name in declared} | {f"u{name}" for name in capital - declared}
    return FoundReferences(tuple(sorted(result)), parsed.why)


def _import(text: str) -> str:
    squeezed = _squeezed(text)
    if not (found := _IMPORT.match(squeezed)):
        return ""
    name = found[1].rstrip(".")
    return f"w{name}" if squeezed.endswith("*") else f"i{name}"


def _squeezed(text: str) -> str:
    """On one line, no comments, no spaces around dots, no semicolon."""
    line = _COMMENT.sub(" ", text).rstrip("; ").strip()
    return re.sub(r" *([.*]) *", r"\1", line)


class JavaTypes:
    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._types: dict[str, list[str]] = {}
        self._package: dict[str, str] = {}
        self._packages: set[str] = set()
        for path in sorted(path for path in snapshot.found if path.endswith(tuple(SUFFIXES))):
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
