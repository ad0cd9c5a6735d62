"""What a project says of itself: what it is, its rules and changes, and what the names of its files tell."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import lazy_pattern
from ringi.project.source import ProjectSource

_README: Final = tuple(
    f"{folder}readme{suffix}"
    for folder in ("", "docs/", ".github/")
    for suffix in (".md", ".rst", ".txt", "", ".markdown", ".adoc", ".org", ".rdoc", ".ja.md")
)
_RULES: Final = (
    "agents.md", "claude.md", ".claude/claude.md", "gemini.md", ".github/copilot-instructions.md",
    ".cursorrules", ".windsurfrules", ".clinerules", "conventions.md",
    *(
        f"{folder}{name}{suffix}"
        for name in ("contributing", "development", "hacking")
        for folder in ("", ".github/", "docs/")
        for suffix in (".md", ".rst", ".txt", "", ".adoc", ".ja.md")
    ),
)  # fmt: skip
_CURSOR: Final = ".cursor/rules/"
_CHANGES: Final = tuple(
    f"{folder}{name}{suffix}"
    for folder in ("", "docs/", "doc/")
    for name in (
        "changelog",
        "changes",
        "history",
        "news",
        "releases",
        "release_notes",
        "release-notes",
        "whats-new",
        "whatsnew",
    )
    for suffix in (".md", ".rst", ".txt", "", ".adoc")
)
# A folder to which every change adds a file of its own.
_FRAGMENTS: Final = lazy_pattern(
    r"((?:[^/]+/){0,3}(?:newsfragments|fragments|upcoming_changes|(?:changelog|changes|news)\.d)/)"
    r"(?:[^/]+/)?(?:\+?\d{1,7}[.-][^/]*|_?template[^/]*|readme[^/]*)"
    r"|((?:[^/]+/){0,3}(?:changelog|changes|news)/)(?:[^/]+/)?(?:\+?\d{1,7}[.-]\D[^/]*|_?template[^/]*)",
    re.IGNORECASE,
)
_ELSEWHERE: Final = lazy_pattern(r"https?://|\.\. include::|:(?:ref|doc):")
_SHORT: Final = 10
"""Lines of a file that only says where the change log is."""
_MOST_RULES: Final = 4
_LONGEST: Final = 500
"""Characters of the first paragraph."""
_FEWEST_WORDS: Final = 4
_DESCRIBED: Final = {
    "pyproject.toml": lazy_pattern(r'^description\s*=\s*"([^"\n]+)"', re.MULTILINE),
    "cargo.toml": lazy_pattern(r'^description\s*=\s*"([^"\n]+)"', re.MULTILINE),
    "package.json": lazy_pattern(r'^\s*"description"\s*:\s*"([^"\n]+)"', re.MULTILINE),
    "composer.json": lazy_pattern(r'^\s*"description"\s*:\s*"([^"\n]+)"', re.MULTILINE),
    "setup.cfg": lazy_pattern(r"^description\s*=\s*(\S.*)$", re.MULTILINE),
}

_IMAGE: Final = lazy_pattern(r"!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])")
_LINK: Final = lazy_pattern(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_TAG: Final = lazy_pattern(r"</?[A-Za-z][^<>]*/?>")
_COMMENT: Final = lazy_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ROLE: Final = lazy_pattern(r":[a-z]+:`([^`<]*?)(?: ?<[^`>]*>)?`|`([^`<\n]+?) ?<[^`>\n]*>`__?|\|[^|\n]+\|")
_EMPHASIS: Final = lazy_pattern(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_UNDERLINE: Final = lazy_pattern(r"([=\-~^\"'#*+.`:_])\1{2,}\s*")
_NO_PROSE: Final = lazy_pattern(
    r"\s*(?:#|\.\. |:[\w-]+:|=\s|==|\[[^\]]+\]:|[-*+|>]\s|\d+[.)]\s|```|~~~|//|image::)"
)
_SENTENCE: Final = lazy_pattern(r"(?<=[.!?])\s+|(?<=[。！？])")  # noqa: RUF001


def readme_of(source: ProjectSource) -> str:
    return next(source.find(*_README), "")


def about(source: ProjectSource) -> str:
    """The first paragraph of its readme, without markup; else how its manifest describes it."""
    path = readme_of(source)
    paragraphs = _paragraphs("\n".join(source.read(path))) if path else iter(())
    for words in paragraphs:
        if len(words.split()) >= _FEWEST_WORDS or (not words.isascii() and len(words) >= 2 * _FEWEST_WORDS):
            return _cut(words)
    for name, expression in _DESCRIBED.items():
        if found := expression.search(source.text(name)):
            return _cut(found[1])
    return ""


def _paragraphs(text: str) -> Iterator[str]:
    if text.startswith("---\n"):  # front matter
        text = text[4:].partition("\n---")[2]
    lines: list[str] = []
    inside = skipping = False
    for line in [*_COMMENT.sub("", text).split("\n"), ""]:
        if line.lstrip().startswith(("```", "~~~")):
            inside = not inside
        if line.strip() and not inside and not (skipping and line.startswith((" ", "\t"))):
            skipping = line.startswith(".. ")
            lines.append(line)
            continue
        if words := _prose(lines):
            yield words
        lines = []


def _prose(lines: Sequence[str]) -> str:
    """The paragraph in plain words; empty if it is a heading, a list, badges or the like."""
    kept: list[str] = []
    for line in lines:
        if _UNDERLINE.fullmatch(line):
            kept = kept[:-1]
        elif not _NO_PROSE.match(line) and not line.startswith(("    ", "\t")):
            plain = _ROLE.sub(lambda match: match[1] or match[2] or "", _IMAGE.sub("", line))
            plain = _EMPHASIS.sub(r"\2", _TAG.sub("", _LINK.sub(r"\1", plain)))
            kept.append(plain.strip())
    return " ".join(filter(None, kept))


def _cut(words: str) -> str:
    """Whole sentences, up to a length."""
    words = " ".join(words.split())
    if len(words) <= _LONGEST:
        return words
    end = 0
    for found in _SENTENCE.finditer(words, 0, _LONGEST):
        end = found.start()
    return words[:end] if end else words[: _LONGEST - 1].rstrip() + "…"


def rules_of(source: ProjectSource) -> tuple[str, ...]:
    """Files with rules for contributors and agents, the most specific first."""
    named = source.find(*_RULES)
    cursor = (path for path in source.paths if path.startswith(_CURSOR))
    return tuple(dict.fromkeys((*named, *cursor)))[:_MOST_RULES]


def changelog_of(source: ProjectSource) -> str:
    """Its path; with a slash at the end, a folder to which every change adds a file."""
    folders = (found[1] or found[2] for path in source.paths if (found := _FRAGMENTS.fullmatch(path)))
    logs = (path for path in source.find(*_CHANGES) if not _is_elsewhere(source.read(path)))
    return next(folders, "") or next(logs, "")


def _is_elsewhere(lines: Sequence[str]) -> bool:
    return len(lines) < _SHORT and _ELSEWHERE.search("\n".join(lines)) is not None


def paragraphs_of(lines: Sequence[str]) -> list[tuple[int, ...]]:
    """The numbers, from 1, of the lines of each paragraph; a heading belongs to what follows it."""
    found: list[list[int]] = [[]]
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if found[-1] and not _is_heading(lines, found[-1]):
                found.append([])
            continue
        found[-1].append(number)
    return [tuple(some) for some in found if some]


def _is_heading(lines: Sequence[str], numbers: Sequence[int]) -> bool:
    last = lines[numbers[-1] - 1]
    return last.startswith(("#", "=")) or bool(_UNDERLINE.fullmatch(last))


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
