"""What a Python file imports, and which files Python would load for that.

Grimp's scanner, which reads Python 6 times faster than `ast`, checks the syntax and says where import
statements are; their text is read here. Python's own parser is asked if the two disagree, as for
`try: import a`, and for large files. Grimp's own `build_graph` would import the parents of a dotted
name, want the workspace on `sys.path`, and give up a whole package for one file it cannot read.

A file that is in no package looks into its own folder first. Then come the source folders around it,
innermost first: those that hold a top-level package, the root, and `src`. Last come the source folders
elsewhere, which never answer for a name of the standard library. As in grimp, a name means the module
itself or the one that contains it; the packages above are not meant. A test and a conftest.py use every
conftest.py above them, because pytest loads those.
"""

import ast
import codecs
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ringi.kernel.text import Text
from ringi.project.dependencies.references import (
    FoundReferences,
    ReferenceSnapshot,
    SourceContent,
    ancestors,
    why,
)

RELATIVE: Final = "+"
"""Placeholder for the package a relative import starts from. No real module can have this name."""

LARGEST: Final = 128 * 1024
"""Characters. A longer one may be `a.b.b.b…`, whose tree is so deep that freeing it overflows the stack."""

_FEWER: Final = 16
_DEPTH: Final = 64
_OUTER: Final = ".".join("-" * _DEPTH)
_FOLDER: Final = ".".join(RELATIVE * _DEPTH)
# More dots than the made-up package is deep would make the scanner panic.
_TOO_MANY_DOTS: Final = re.compile(r"from[.\s\\]{60}")


class Lines(NamedTuple):
    """Where import statements begin: (line, first part of the name, or RELATIVE)."""

    statements: frozenset[tuple[int, str]]


class Broken(NamedTuple):
    line: int


def fits(source: str) -> bool:
    return len(source) <= LARGEST and not _TOO_MANY_DOTS.search(source)


def scan(sources: Sequence[str]) -> list[Lines | Broken]:
    """Each source must be within the limit. One error fails a whole call; then it tries fewer at a time."""
    from grimp.exceptions import SourceSyntaxError  # noqa: PLC0415  # 50 ms that only a changed file needs

    try:
        return list(_scan(sources))
    except SourceSyntaxError as error:
        if len(sources) == 1:
            return [Broken(error.lineno or 1)]
    fewer = _FEWER if len(sources) > _FEWER else 1
    return [result for at in range(0, len(sources), fewer) for result in scan(sources[at : at + fewer])]


def _scan(sources: Sequence[str]) -> list[Lines | Broken]:
    from grimp import _rustgrimp  # type: ignore[attr-defined]  # noqa: PLC0415
    from grimp.application.ports.modulefinder import FoundPackage, ModuleFile  # noqa: PLC0415
    from grimp.domain.valueobjects import Module  # noqa: PLC0415

    file_system: Any = _rustgrimp.FakeBasicFileSystem()
    for number, source in enumerate(sources):
        file_system.write(f"/{number}.py", source)
    modules = [ModuleFile(Module(f"{_FOLDER}.{number}"), 0.0) for number in range(len(sources))]
    # To grimp every import is external and is named by its first part.
    found: dict[Any, Any] = _rustgrimp.scan_for_imports(
        module_files=tuple(modules),
        found_packages={FoundPackage(_OUTER, "/", frozenset(modules))},
        include_external_packages=True,
        exclude_type_checking_imports=False,
        file_system=file_system,
    )
    return [
        Lines(frozenset((item.line_number, item.imported.name) for item in found[module.module]))
        for module in modules
    ]


_TOO_DEEP: Final = Text("it is nested too deeply")
_CODING: Final = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK: Final = re.compile(rb"[ \t\f]*(?:#.*)?")
# Decoding them takes quadratic time, and no program is written in them.
_SLOW_CODECS: Final = frozenset({"punycode", "idna"})
_NEWLINE: Final = re.compile(r"\r\n?")

_IMPORT: Final = re.compile(r"[ \t\f]*import[ \t\f]+([^#;\\]+)(?:#.*)?")
_FROM: Final = re.compile(
    r"[ \t\f]*from[ \t\f]*(\.*)[ \t\f]*([\w.]*)[ \t\f]*\bimport\b[ \t\f]*([^#;\\]*)(?:#.*)?"
)
_NAME: Final = re.compile(r"[ \t\f]*(\*|[\w.]+)(?:[ \t\f]+as[ \t\f]+\w+)?[ \t\f]*")
_STATEMENTS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


def extract(sources: Iterable[SourceContent]) -> Iterator[tuple[str, FoundReferences]]:
    asked: list[tuple[str, str]] = []
    for key, data in sources:
        source = decode(data)
        if isinstance(source, Text):
            yield key, why(source)
        elif fits(source):
            asked.append((key, source))
        else:
            yield key, _parse(source)
    for (key, source), result in zip(
        asked, scan([source for _, source in asked]) if asked else (), strict=True
    ):
        yield key, _from_scan(source, result)


def decode(data: bytes) -> str | Text:
    if b"\0" in data:
        return Text("it contains a null byte")
    encoding = _encoding(data)
    unknown = Text("its encoding is not known: {encoding}", encoding=encoding)
    try:
        if codecs.lookup(encoding).name in _SLOW_CODECS:
            return unknown
        source = data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
        if encoding != "utf-8":
            source.encode()  # some encodings can produce half a character
    except LookupError:
        return unknown
    except UnicodeError:
        return Text("it is not {encoding}", encoding=encoding)
    return _NEWLINE.sub("\n", source) if "\r" in source else source


def _encoding(data: bytes) -> str:
    """As in PEP 263: a comment in one of the first two lines."""
    if b"coding" in data[:2000]:
        for line in data[:2000].splitlines()[:2]:
            if found := _CODING.match(line):
                return found[1].decode("ascii", "replace").lower().replace("_", "-")
            if not _BLANK.fullmatch(line):
                break
    return "utf-8"


def _from_scan(source: str, result: Lines | Broken) -> FoundReferences:
    if isinstance(result, Broken):
        return _describe_broken(result.line)
    if not result.statements:
        return FoundReferences()
    refs: set[str] = set()
    seen: set[tuple[int, str]] = set()
    lines = source.split("\n")
    for line in {line for line, _ in result.statements}:
        for name in _statement(lines, line - 1):
            refs.add(name)
            seen.add((line, RELATIVE if name[0] == "." else name.partition(".")[0]))
    return FoundReferences(tuple(sorted(refs))) if seen == result.statements else _parse(source)


def _statement(lines: list[str], at: int) -> Iterator[str]:
    """The names of the import statement that begins on the line; incomplete if it is not a plain one."""
    text = lines[at]
    if found := _FROM.fullmatch(text):
        dots, module, names = found.groups()
        before = f"{dots}{module}." if module else dots
        if names.startswith("("):
            names = _in_brackets(lines, at, names[1:])
    elif found := _IMPORT.fullmatch(text):
        before, names = "", found[1]
    else:
        return
    if not names.isascii():
        names = unicodedata.normalize("NFKC", names)
    if not before.isascii():
        before = unicodedata.normalize("NFKC", before)
    for name in names.split(","):
        if found := _NAME.fullmatch(name):
            yield before + found[1]
        elif name.strip():
            return


def _in_brackets(lines: list[str], at: int, first: str) -> str:
    """All names on one line, without comments. Empty if something follows the bracket."""
    parts = [first]
    while ")" not in parts[-1]:
        at += 1
        if at == len(lines):
            return ""
        parts.append(lines[at].partition("#")[0])
    parts[-1], _, after = parts[-1].partition(")")
    return "" if after.strip() else " ".join(parts)


def _describe_broken(line: int) -> FoundReferences:
    return why(Text("line {line} is no Python that can be read", line=line))


def _parse(source: str) -> FoundReferences:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        return _describe_broken(error.lineno or 1)
    except (RecursionError, MemoryError):
        return why(_TOO_DEEP)
    return FoundReferences(tuple(sorted(set(_find_imports(tree)))))


def _find_imports(tree: ast.Module) -> Iterator[str]:
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            before = "." * node.level + (f"{node.module}." if node.module else "")
            yield from (before + alias.name for alias in node.names)
        else:
            for field in _STATEMENTS:
                left.extend(getattr(node, field, ()))


SUFFIXES: Final = (".py", ".pyi")
_PACKAGE_FILE: Final = "__init__"
_CONFTEST: Final = "conftest.py"


class PythonModules:
    def __init__(self, snapshot: ReferenceSnapshot) -> None:
        self._paths = frozenset(path for path in snapshot.paths if path.endswith(SUFFIXES))
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
        if name.rpartition("/")[2] == _PACKAGE_FILE:
            name = name.rpartition("/")[0]
        here = self._modules.get(name, ())
        # A package hides a module of the same name; a stub is beside what it describes.
        same = [other for other in here if _is_package(other) == _is_package(path)]
        self._modules[name] = (*same, path) if same or not here or _is_package(path) else here

    def _top_names(self) -> dict[str, list[str]]:
        """The source folders that contain each top-level name, in search order."""
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
    return path.rpartition("/")[2].partition(".")[0] == _PACKAGE_FILE


def _is_test(name: str) -> bool:
    return name.startswith("test_") or name.rpartition(".")[0].endswith("_test")


def _packages(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.rpartition("/")[0] for path in paths if _is_package(path))


def _roots(packages: frozenset[str]) -> frozenset[str]:
    tops = (package for package in packages if package.rpartition("/")[0] not in packages)
    return frozenset(["", "src", *(top.rpartition("/")[0] for top in tops)])
