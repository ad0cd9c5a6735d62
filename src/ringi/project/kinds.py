"""What the path of a file says: source, test, document or something else, and what a test is about."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ringi.kernel.text import lazy_pattern
from ringi.project.context import FileKind

_CODE_SUFFIXES: Final = """
    py pyi pyx pxd ipynb js jsx mjs cjs ts tsx mts cts vue svelte astro coffee java kt kts scala groovy clj
    cljs c h cc cpp cxx c++ hh hpp hxx ipp inl tpp m mm cu go rs rb rake erb php cs cshtml razor swift dart ex
    exs erl hrl hs lua pl pm r jl ml mli fs fsi zig nim cr nix sh bash zsh fish ps1 psm1 css scss sass less
    html htm sql proto graphql sol tf vb d f f90 f95 asm s el lisp scm rkt tcl awk v vhd sv
"""
_PROSE_SUFFIXES: Final = "md markdown rst txt adoc asciidoc org tex rdoc pod mdx 1 2 3 4 5 6 7 8"
_TESTS: Final = frozenset({"tests", "__tests__", "spec", "specs", "e2e", "testdata", "test-data", "fixtures"})
_MAYBE_TESTS: Final = frozenset({"test", "testing"})
_DOC_FOLDERS: Final = (
    "doc docs documentation example examples sample samples tutorial tutorials gallery galleries demo demos"
)
_OTHER_FOLDERS: Final = (
    "bench benches benchmark benchmarks asv_bench script scripts tool tools ci dist build release extra"
)
_VENDOR_FOLDERS: Final = "vendor vendored _vendor third_party extern externals node_modules site-packages"
_CODE: Final = frozenset(_CODE_SUFFIXES.split())
_PROSE: Final = frozenset(_PROSE_SUFFIXES.split())
_DOCS: Final = frozenset(_DOC_FOLDERS.split())
_OTHER: Final = frozenset(_OTHER_FOLDERS.split())
_VENDORED: Final = frozenset(_VENDOR_FOLDERS.split())
_PACKAGES: Final = "packages"
_PROSE_NAMES: Final = lazy_pattern(
    r"(?:readme|changelog|changes|history|news|authors|contributing|contributors|license|copying|notice|security"
    r"|todo|install|upgrading)\b.*",
    re.IGNORECASE,
)
_TEST_NAME: Final = lazy_pattern(
    r"(?:test|tests|conftest)\.\w+|test_.+|.+_tests?\.\w+|.+_spec\.rb|.+\.(?:test|spec|cy|e2e)\.\w+"
    r"|(?:Test[A-Z]\w*|\w+(?:Tests?|Spec|IT))\.(?:java|kt|scala|groovy|cs|swift|php)"
)
_OTHER_NAMES: Final = lazy_pattern(
    r"setup\.py|noxfile\.py|tasks\.py|fabfile\.py|.+\.min\.(?:js|css)|.+-\d+(?:\.\d+)+\.(?:js|css)|.+\.lock|.+-lock\.\w+"
)


def kinds_of(paths: Iterable[str]) -> dict[str, FileKind]:
    """A folder `test` or `testing` inside a package may be part of what it offers (django/test): it is one of
    tests if it is at the top or has files with the names of tests.
    """
    known = set(paths)
    tests = {folder for path in known if _TEST_NAME.fullmatch(_name(path)) for folder in _maybe_tests(path)}
    return {path: _kind(path, tests, known) for path in known}


def is_code(path: str) -> bool:
    return _name(path).rpartition(".")[2].lower() in _CODE


def is_test_name(path: str) -> bool:
    return is_code(path) and _TEST_NAME.fullmatch(_name(path)) is not None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _maybe_tests(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: at + 1]) for at, part in enumerate(parts) if part in _MAYBE_TESTS]


def _kind(path: str, tests: set[str], known: set[str]) -> FileKind:
    *folders, name = path.split("/")
    suffix = name.rpartition(".")[2].lower() if "." in name[1:] else ""
    is_code = suffix in _CODE
    above = {folder.lower() for folder in folders}
    top = folders[0].lower() if folders else ""
    if (is_code and _TEST_NAME.fullmatch(name)) or above & _TESTS:
        return FileKind.TEST
    if not suffix and name in _TESTS | _MAYBE_TESTS:
        return FileKind.TEST  # the folder itself
    if any("/" not in folder or folder in tests for folder in _maybe_tests(path)):
        return FileKind.TEST
    if suffix in _PROSE or top in _DOCS or (not is_code and (_PROSE_NAMES.fullmatch(name) or above & _DOCS)):
        return FileKind.DOC
    if not is_code or top in _OTHER or above & _VENDORED or _OTHER_NAMES.fullmatch(name):
        return FileKind.OTHER
    if _PACKAGES in above and f"{path.partition('/packages/')[0]}/packages/__init__.py" in known:
        return FileKind.OTHER  # a Python package of packages: copies of others
    return FileKind.SOURCE


_AFFIX: Final = re.compile(
    r"^(?:unit)?tests?[_-]|[_-]tests?$|\.(?:test|spec)$|^Test(?=[A-Z])|(?<=[a-z])Tests?$|_spec$"
)
_OF_FOLDER: Final = frozenset({"__init__", "index", "mod"})
_MOST_ALIKE: Final = 2
_CASES: Final = (".yml", ".yaml")
"""Tests written as data."""


class PairedTests:
    def __init__(self, kinds: Mapping[str, FileKind]) -> None:
        self._tests: dict[str, list[str]] = {}
        self._sources: dict[str, list[str]] = {}
        for path in sorted(kinds):
            if kinds[path] is FileKind.TEST and not path.rpartition("/")[2].startswith("__"):
                self._tests.setdefault(_strip_affixes(path), []).append(path)
            elif kinds[path] is FileKind.SOURCE:
                for name in _names(path):
                    self._sources.setdefault(name, []).append(path)

    def sources(self, test: str) -> tuple[str, ...]:
        """Those that the test is named after; of several the nearest ones, unless there are many."""
        return _nearest(test, self._sources.get(_strip_affixes(test), ()))

    def tests(self, source: str) -> tuple[str, ...]:
        found = [test for name in _names(source) for test in self._tests.get(name, ())]
        named = [test for test in dict.fromkeys(found) if source in self.sources(test) and _is_written(test)]
        return tuple(sorted(named, key=lambda test: (not is_test_name(test), -_count_shared(source, test))))


def _is_written(test: str) -> bool:
    """Not a picture or an output that it is compared with."""
    return is_code(test) or test.endswith(_CASES)


def _count_shared(one: str, other: str) -> int:
    return len(set(one.split("/")[:-1]).intersection(other.split("/")[:-1]))


def _strip_affixes(test: str) -> str:
    name = test.rpartition("/")[2]
    return _AFFIX.sub("", name.rpartition(".")[0] or name).strip("_").lower()


def _names(source: str) -> Iterator[str]:
    """What a test of the file may be named after: it, or its folder and it (`test_util_inspect.py`)."""
    *folders, name = source.lower().split("/")
    parts = [*folders, name.rpartition(".")[0] or name]
    if parts[-1] in _OF_FOLDER and folders:
        parts.pop()
    stems = [part.strip("_") for part in parts[-2:]]
    yield stems[-1]
    if len(stems) > 1:
        yield "_".join(stems)


def _nearest(path: str, others: Iterable[str]) -> tuple[str, ...]:
    shared = {other: _count_shared(path, other) for other in others}
    most = max(shared.values(), default=0)
    nearest = tuple(other for other, count in shared.items() if count == most)
    return nearest if len(nearest) <= _MOST_ALIKE else ()
