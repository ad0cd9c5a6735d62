"""Which tests go with which sources, by their names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ringi.project.context import FileKind
from ringi.project.kinds import is_code, is_test_name

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
