"""Lines that delete, move or make a file, in English and Japanese, and the paths they name."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import Text
from ringi.plans.document import ActionSpec, SpecKind

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


class Line(NamedTuple):
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


def read_line(line: str) -> Line | None:
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
    return Line(" ".join(skeleton.split()), spans, ticked) if rest else None


def path_of(word: str, *, marked: bool, folder: bool = False) -> str | None:
    """The intended path; None if the word is not one. In code marks it may contain blanks."""
    path = word.strip("\"'`").removeprefix("./")
    if not path or path != path.strip() or _NEVER(path) or _ELSEWHERE(path):
        return None
    if path.endswith("/") and not folder:
        return None
    if "/" not in path and _CALL(path):
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


class Read(NamedTuple):
    """A line that asks for something; without specs it says why not."""

    specs: tuple[ActionSpec, ...] = ()
    why: Text | None = None


class _Ask(NamedTuple):
    """What a line asks for, before it is clear whether it names files."""

    kind: SpecKind
    parts: Sequence[str]
    """The names, as written."""
    says_file: bool = False
    terse: bool = False
    """In the words of a shell."""


_POLITE: Final = r"(?:please )?"
_OBJECT: Final = r"(?: the| a| an| this| these| following| new| empty)*"
_FILE: Final = r"(?P<file> files?)?"
_REST: Final = r" ?:? (?P<rest>.+)"
_ENGLISH: Final = {
    SpecKind.DELETE: re.compile(
        rf"{_POLITE}(?:delete|remove){_OBJECT}{_FILE}{_REST}", re.IGNORECASE
    ).fullmatch,
    SpecKind.MOVE: re.compile(rf"{_POLITE}(?:move|rename){_OBJECT}{_FILE}{_REST}", re.IGNORECASE).fullmatch,
    SpecKind.MKDIR: re.compile(
        rf"{_POLITE}(?:create|make|add){_OBJECT}(?P<file> (?:folder|director(?:y|ie)|dir)s?){_REST}",
        re.IGNORECASE,
    ).fullmatch,
}
_DO: Final = r"(?:する|します|してください|すること)?$"
# The verb comes last; particles separate what is before it.
_JAPANESE: Final = {
    SpecKind.DELETE: re.compile(rf" ?(?P<file>ファイル)? ?を ?削除{_DO}").search,
    SpecKind.MOVE: re.compile(rf" ?(?:に|へ) ?(?P<file>)(?:移動|リネーム|改名|名前を?変更){_DO}").search,
    SpecKind.MKDIR: re.compile(rf" ?(?P<file>フォルダー?|ディレクトリ) ?を ?作成{_DO}").search,
}
_LABELS: Final = {
    "削除": SpecKind.DELETE,
    "移動": SpecKind.MOVE,
    "リネーム": SpecKind.MOVE,
    "改名": SpecKind.MOVE,
}
_LABELLED: Final = re.compile(r"(削除|移動|リネーム|改名) ?: ?(?P<rest>.+)").fullmatch
_SHELL: Final = re.compile(r"(rm|mv|mkdir)(?P<options>(?: -\S+)*) (?P<rest>[^- ].*)").fullmatch
_SHELL_KINDS: Final = {"rm": SpecKind.DELETE, "mv": SpecKind.MOVE, "mkdir": SpecKind.MKDIR}
_HARMLESS: Final = {"rm": {"-f"}, "mv": set[str](), "mkdir": {"-p", "--parents"}}
_RUN: Final = re.compile(rf"{_POLITE}(?:run|execute) ?:? \0|\0 ?を ?実行{_DO}|\$ \S", re.IGNORECASE).match
_FILE_ALONE: Final = re.compile(
    rf"{_POLITE}(?:create|write){_OBJECT}(?: file)? ?:? \0|\0 ?を ?(?:新規)?作成{_DO}", re.IGNORECASE
).fullmatch
_AND: Final = re.compile(r" ?(?:,|、|および|及び) ?(?:and )?| and | & |(?<=\0) ?と ?(?=\0)").split
_TO: Final = re.compile(r" (?:to|into|as) | ?(?:->|=>|→|⇒) ?").split
_FROM_TO: Final = re.compile(r" ?(?:ファイル)? ?(?:を|から) ?").split
_TWO: Final = 2
_MORE: Final = Text("it says more than a path")


def read_action(text: str, *, before_fence: bool) -> Read | None:
    """None for prose. A file to be created that a block follows is read with the block."""
    line = read_line(text)
    if line is None:
        return None
    if line.skeleton == SPAN and _SHELL(line.spans[0]):  # a command in code marks
        line = line._replace(skeleton=line.spans[0], spans=())
    line = line._replace(skeleton=line.skeleton.rstrip(" .。:;"))
    read = _read(line, before_fence=before_fence)
    return Read(why=Text("its box is ticked as done")) if read and line.ticked else read


def _read(line: Line, *, before_fence: bool) -> Read | None:
    if _RUN(line.skeleton):
        return Read(why=Text("commands are taken from shell fences only"))
    if not before_fence and _FILE_ALONE(line.skeleton) and path_of(line.spans[0], marked=True):
        return Read(why=Text("no block gives its content"))
    asks = list(_asks(line.skeleton))
    for ask in asks:
        if paths := _paths(ask, line.spans):
            return _specs(ask, paths)
    surely = any((ask.says_file and line.spans) or (ask.terse and not ask.parts) for ask in asks)
    return Read(why=_MORE) if surely or (asks and _names_something(line)) else None


def _asks(words: str) -> Iterator[_Ask]:
    if found := _SHELL(words):
        known = set(found["options"].split()) <= _HARMLESS[found[1]]
        yield _Ask(_SHELL_KINDS[found[1]], found["rest"].split(" ") if known else (), terse=True)
    if found := _LABELLED(words):
        kind = _LABELS[found[1]]
        yield _Ask(kind, _cut(kind, found["rest"]))
    for kind, english in _ENGLISH.items():
        if found := english(words):
            yield _Ask(kind, _cut(kind, found["rest"]), says_file=bool(found["file"]))
    for kind, japanese in _JAPANESE.items():
        if found := japanese(words):
            rest = words[: found.start()]
            parts = _FROM_TO(rest) if kind is SpecKind.MOVE else _AND(rest)
            yield _Ask(kind, parts, says_file=bool(found["file"]))


def _cut(kind: SpecKind, rest: str) -> Sequence[str]:
    return (_TO if kind is SpecKind.MOVE else _AND)(rest)


def _paths(ask: _Ask, spans: tuple[str, ...]) -> list[str]:
    """Empty if a part is not exactly a name."""
    left = iter(spans)
    paths = []
    for part in ask.parts:
        marked = part == SPAN
        word = next(left, "") if marked else part
        alone = ask.terse and len(ask.parts) == 1
        path = path_of(word, marked=marked or alone, folder=ask.kind is SpecKind.MKDIR)
        if path is None:
            return []
        paths.append(path)
    return [] if next(left, None) is not None else paths


def _specs(ask: _Ask, paths: Sequence[str]) -> Read:
    if ask.kind is SpecKind.MKDIR:
        return Read(tuple(ActionSpec(ask.kind, path.rstrip("/")) for path in paths))
    if ask.kind is SpecKind.MOVE and len(paths) != _TWO:
        return Read(why=Text("a move names one file and its new path"))
    # A name alone in code marks is as often a function as a file.
    sources = paths[:1] if ask.kind is SpecKind.MOVE else paths
    if not ask.says_file and not all(map(is_telling, sources)):
        return Read(why=Text("it does not say that this is a file"))
    if ask.kind is SpecKind.MOVE:
        return Read((ActionSpec(ask.kind, paths[0], target=paths[1]),))
    return Read(tuple(ActionSpec(ask.kind, path) for path in paths))


def _names_something(line: Line) -> bool:
    spans = (path_of(span, marked=True, folder=True) for span in line.spans)
    words = (path_of(word.strip(",.:;()"), marked=False, folder=True) for word in line.skeleton.split(" "))
    return any(path and is_telling(path) for path in (*spans, *words))
