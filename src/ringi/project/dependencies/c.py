"""C and C++: #include. A quoted name is looked for beside the file, then every name by the end of its path.

We do not know which folders the compiler searches, so a path counts only if it is the only match.
"""

import re
from collections.abc import Iterator
from typing import Final

from ringi.project.dependencies.parser import parse
from ringi.project.dependencies.references import FoundReferences, ReferenceSnapshot, join

SUFFIXES: Final = {".c": "c"} | dict.fromkeys(
    (".h", ".hh", ".hpp", ".hxx", ".h++", ".cc", ".cpp", ".cxx", ".c++", ".ipp", ".inl", ".tpp"), "cpp"
)
_QUERY: Final = "(preproc_include path: [(string_literal) (system_lib_string)] @name)"
_LONGEST: Final = 1000
# In angle brackets these are the system's, even if the tree has a file of that name.
_STANDARD: Final = re.compile(
    r"(?:assert|complex|ctype|errno|fcntl|fenv|float|inttypes|iso646|limits|locale|math|memory|poll|pthread|sched"
    r"|semaphore|setjmp|signal|std\w+|strings?|syslog|termios|tgmath|threads|time|uchar|unistd|wchar|wctype)\.h"
)


def facts(language: str, data: bytes) -> FoundReferences:
    """Because of macros many files are not grammatical C; the preprocessor lines are found all the same."""
    names = {text[:-1] for text in parse(language, _QUERY, data).texts("name") if len(text) <= _LONGEST}
    return FoundReferences(tuple(sorted(name for name in names if name[1:].strip())))


class Includes:
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
            if ref[0] == "<" and _STANDARD.fullmatch(name):
                continue
            if ref[0] == '"' and (beside := join(folder, name)) in self._paths:
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
