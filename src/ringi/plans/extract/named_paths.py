"""Lines of a text without their formatting, and the paths they name."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import Text

LONGEST: Final = 4096
"""Longer lines are not read: no path is that long."""
SPAN: Final = "\0"
"""Placeholder for a piece in code marks."""

_KNOWN: Final = frozenset({
    "AUTHORS", "Brewfile", "CODEOWNERS", "COPYING", "Caddyfile", "Containerfile", "Dockerfile",
    "Fastfile", "GNUmakefile", "Gemfile", "Jenkinsfile", "Justfile", "LICENSE", "Makefile", "NOTICE",
    "Pipfile", "Podfile", "Procfile", "Rakefile", "Vagrantfile", "justfile", "makefile",
})  # fmt: skip
# First words of commands or statements in code marks, as opposed to file names with blanks.
_COMMANDS: Final = frozenset({
    "bash", "cargo", "cat", "cd", "class", "const", "cp", "curl", "def", "docker", "echo", "export",
    "from", "git", "go", "import", "let", "ls", "make", "mkdir", "mv", "node", "npm", "npx", "pip",
    "pnpm", "poetry", "pytest", "python", "python3", "return", "rm", "sh", "sudo", "touch", "uv", "var",
    "yarn",
})  # fmt: skip
_NEVER: Final = re.compile(r'[\x00-\x1f\x7f<>|"*?$\\{}`…;]|://|(?:^|/)\.{3,}(?:/|$)|\]\(|\(\)$| [=(]').search
_BARE_NEVER: Final = re.compile(r"[\s:=,'!&、。]").search
_CALL: Final = re.compile(r"[()\[\]]").search
_ELSEWHERE: Final = re.compile(r"[/~#@-]|[A-Za-z]:|www\.|[\w-]+\.(?:com|org|net|io)(?:/|$)").match
_BULLET: Final = re.compile(r"(?:[-*+•]|\d{1,9}[.)]|#{1,6})[ \t]+|・[ \t]*")
_ASCII: Final = str.maketrans(
    {
        "\N{FULLWIDTH COLON}": ":",
        "\N{FULLWIDTH SEMICOLON}": ";",
        "\N{FULLWIDTH LEFT PARENTHESIS}": "(",
        "\N{FULLWIDTH RIGHT PARENTHESIS}": ")",
    }
)
_BOX: Final = re.compile(r"\[([ xX])\][ \t]+")
_EMPHASIS: Final = re.compile(r"(?<![\w/.*])(\*\*?)([^*]+)\1").sub


class PlainLine(NamedTuple):
    """A line of text without formatting."""

    skeleton: str
    """Each piece in code marks is SPAN, blanks are single and full-width signs are narrow."""
    spans: tuple[str, ...]
    ticked: bool = False
    """Its checkbox is ticked."""

    @property
    def words(self) -> str:
        """As a person reads it."""
        spans = iter(self.spans)
        return "".join(next(spans) if char == SPAN else char for char in self.skeleton)


def read_line(line: str) -> PlainLine | None:
    """None if it is too long or too odd to be read."""
    if len(line) > LONGEST or SPAN in line:
        return None
    rest = line.strip()
    for _ in range(2):  # "### 1. path" has two of them
        rest = _BULLET.sub("", rest, count=1) if _BULLET.match(rest) else rest
    ticked = False
    if box := _BOX.match(rest):
        ticked = box[1] != " "
        rest = rest[box.end() :]
    pieces = rest.split("`")
    if len(pieces) % 2 == 0:  # code marks that do not end
        pieces = [rest]
    skeleton = _EMPHASIS(r"\2", SPAN.join(pieces[::2]).translate(_ASCII))
    spans = tuple(piece.strip() for piece in pieces[1::2])
    return PlainLine(" ".join(skeleton.split()), spans, ticked) if rest else None


def path_of(word: str, *, marked: bool) -> str | None:
    """The intended path; None if the word is not one. In code marks it may contain blanks."""
    path = word.strip("\"'`").removeprefix("./")
    if not path or path != path.strip() or _NEVER(path) or _ELSEWHERE(path):
        return None
    if path.endswith("/") or ("/" not in path and _CALL(path)):
        return None
    if marked:
        first, *others = path.split(" ")
        return None if others and (first in _COMMANDS or not is_telling(path)) else path
    return path if is_telling(path) and not _BARE_NEVER(path) else None


def is_telling(path: str) -> bool:
    """Its form alone says that it names a file: a folder, an extension or a well-known name."""
    name = path.rstrip("/").rpartition("/")[2]
    return "/" in path or is_known(name) or has_extension(name)


def has_extension(path: str) -> bool:
    _, dot, extension = path.rpartition("/")[2].rpartition(".")
    return bool(dot) and " " not in extension and any(char.isalpha() for char in extension)


def is_known(path: str) -> bool:
    return path.rpartition("/")[2] in _KNOWN


def is_title(path: str) -> bool:
    """Whether it is more likely words with a slash, as in Input/Output, than a path."""
    folder, _, name = path.rpartition("/")
    return bool(folder) and "/" not in folder and "." not in path and not is_known(name)


def several(paths: Sequence[str]) -> Text:
    return Text("more than one path is named: {paths}", paths=", ".join(dict.fromkeys(paths)))
