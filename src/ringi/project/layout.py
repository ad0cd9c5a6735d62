"""What the names of a project's files say: languages, manifests, tests, the top level."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from ringi.project.source import ProjectSource

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
_TESTS: Final = frozenset(["test", "tests", "spec", "specs", "__tests__", "e2e", "testing"])
_SHOWN: Final = frozenset([".github", ".gitlab-ci.yml", ".circleci", ".travis.yml"])
"""Hidden, but they show how a project is checked."""
_MOST_NAMED: Final = 12
_MOST_LANGUAGES: Final = 3
_MOST_TESTS: Final = 3
_MOST_FOLDERS: Final = 60


class Layout(NamedTuple):
    languages: tuple[str, ...]
    """The most frequent first."""
    manifests: tuple[str, ...]
    tests: tuple[str, ...]
    entries: tuple[str, ...]


def layout(source: ProjectSource) -> Layout:
    suffixes = Counter(path[path.rfind(".") :] for path in source.paths)
    found: Counter[str] = Counter()
    for suffix, count in suffixes.items():
        if language := _LANGUAGES.get(suffix):
            found[language] += count
    top = dict.fromkeys(path.partition("/")[0] + "/" * ("/" in path) for path in source.paths)
    return Layout(
        languages=tuple(name for name, _ in found.most_common(_MOST_LANGUAGES)),
        manifests=tuple(name for name in top if name in _MANIFESTS),
        tests=_tests(source),
        entries=tuple(filter(_is_shown, top))[:_MOST_NAMED],
    )


def _tests(source: ProjectSource) -> tuple[str, ...]:
    """Folders of tests; some files if there are none."""
    folders = Counter(_folders(source.tests))
    found = [folder for folder, _ in folders.most_common(_MOST_FOLDERS)]
    return tuple(found or source.tests[:_MOST_TESTS])


def _folders(paths: Iterable[str]) -> Iterable[str]:
    for path in paths:
        parts = path.split("/")[:-1]
        if at := next((at for at, part in enumerate(parts, 1) if part.lower() in _TESTS), 0):
            yield "/".join(parts[:at])


def _is_shown(name: str) -> bool:
    return not name.startswith(".") or name.rstrip("/") in _SHOWN
