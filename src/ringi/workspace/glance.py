"""What can be seen of a project at a glance: two levels of names, nothing opened."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

_LANGUAGES: Final = {
    ".py": "Python", ".js": "JavaScript", ".jsx": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript",
    ".go": "Go", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".rb": "Ruby", ".php": "PHP", ".c": "C",
    ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".swift": "Swift", ".sh": "shell",
    ".sql": "SQL", ".ex": "Elixir", ".scala": "Scala", ".dart": "Dart",
}  # fmt: skip
_MANIFESTS: Final = frozenset([
    "pyproject.toml", "setup.py", "requirements.txt", "package.json", "go.mod", "Cargo.toml", "pom.xml",
    "build.gradle", "build.gradle.kts", "Gemfile", "composer.json", "CMakeLists.txt", "Makefile", "mix.exs",
    "Dockerfile",
])  # fmt: skip
_TESTS: Final = frozenset(["test", "tests", "spec", "specs", "__tests__", "e2e"])
_TEST_FILE: Final = re.compile(r"(?:test_.+|.+_test|.+\.(?:test|spec))(\.\w+)")
_NOT_OURS: Final = frozenset(["__pycache__", "node_modules", "venv", "vendor", "target", "dist", "build"])
_CHECKED_BY: Final = frozenset([".github", ".gitlab-ci.yml", ".circleci", ".travis.yml"])
"""Hidden, but they show how a project is checked."""
_MOST_LOOKED_AT: Final = 2_000
_MOST_NAMED: Final = 12
_MOST_LANGUAGES: Final = 3
_MOST_TESTS: Final = 3


class Glance(NamedTuple):
    languages: tuple[str, ...]
    """The most frequent first."""
    manifests: tuple[str, ...]
    tests: tuple[str, ...]
    entries: tuple[str, ...]


def glance(root: Path) -> Glance:
    top = sorted(_entries(root), key=lambda entry: entry.name)
    below = (entry for folder in top if folder.is_dir(follow_symlinks=False) for entry in _entries(folder))
    seen = [*top, *islice(below, _MOST_LOOKED_AT)]
    found = Counter(language for entry in seen if (language := _LANGUAGES.get(Path(entry.name).suffix)))
    return Glance(
        languages=tuple(name for name, _ in found.most_common(_MOST_LANGUAGES)),
        manifests=tuple(entry.name for entry in top if entry.name in _MANIFESTS),
        tests=_tests({_text(entry) for entry in seen}),
        entries=tuple(_named(entry) for entry in top)[:_MOST_NAMED],
    )


def _tests(names: set[str]) -> tuple[str, ...]:
    """Folders of tests; some files if there are none."""
    files = [name for name in names if (match := _TEST_FILE.fullmatch(name)) and match[1] in _LANGUAGES]
    return tuple(sorted(names & _TESTS) or sorted(files)[:_MOST_TESTS])


def _entries(folder: "Path | os.DirEntry[str]") -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            yield from (entry for entry in found if _is_shown(entry.name))
    except OSError:  # skip a folder that cannot be listed
        return


def _is_shown(name: str) -> bool:
    return name in _CHECKED_BY or (not name.startswith(".") and name not in _NOT_OURS)


def _named(entry: "os.DirEntry[str]") -> str:
    return f"{_text(entry)}/" if entry.is_dir(follow_symlinks=False) else _text(entry)


def _text(entry: "os.DirEntry[str]") -> str:
    """A file name need not be valid text."""
    return entry.name.encode("utf-8", "backslashreplace").decode()
