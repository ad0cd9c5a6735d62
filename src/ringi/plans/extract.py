"""Action specs from the fenced blocks of a plan's text (PT-14): files with a path, and diffs.

The path is behind the opening fence, or alone on the line above it. A block that cannot be placed is listed
with its reason, never guessed. Prose proposes nothing.
"""

import os.path
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ringi.errors import BadPatch
from ringi.kernel.document import Document
from ringi.kernel.text import Text
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Patch, dump
from ringi.plans.effects import pack
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec

_SHOWN: Final = 200
_LONGEST: Final = 4096
"""Characters of a line that is read: no path is longer."""


class Unplaced(Document, frozen=True):
    """Text that looks like an action but did not become a spec."""

    line: int
    """Line of the text, from 1."""
    text: str
    """That line, cut if it is long."""
    why: str


class Extraction(Document, frozen=True):
    specs: tuple[ActionSpec, ...]
    """In the order of the text."""
    unplaced: tuple[Unplaced, ...]
    from_model: tuple[int, ...] = ()
    """Which of the specs a language model made from what the parser could not place, counted from 0."""


def extract(text: str) -> Extraction:
    """Linear in the text, whatever it contains."""
    try:
        text.encode()
    except UnicodeEncodeError as error:  # half a character, which no file can contain
        at = error.start
        line = text.count("\n", 0, at) + 1
        why = Text("it holds what is not text")
        return Extraction((), (_leave(line, text[at : at + _SHOWN], why),))
    specs: list[ActionSpec] = []
    unplaced: list[Unplaced] = []
    for fence in _fences(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}").split("\n")):
        found = fence.why or _specs_of(fence)
        if isinstance(found, Text):
            unplaced.append(_leave(fence.line, fence.opening, found))
        else:
            specs += found
    return Extraction(tuple(specs), tuple(unplaced))


def _leave(line: int, text: str, why: Text) -> Unplaced:
    shown = text.strip()[:_SHOWN].encode("utf-8", "backslashreplace").decode()
    return Unplaced(line, shown[:_SHOWN], str(why))


# ------------------------------------------------------------------ the fenced blocks


class _Fence(NamedTuple):
    line: int
    """Line of its opening fence, from 1."""
    opening: str
    info: str = ""
    lines: tuple[str, ...] = ()
    """Without the indentation that all of them share with the opening."""
    above: str = ""
    """The nearest line above that is not empty."""
    why: Text | None = None
    """Why it cannot be read."""


class _Mark(NamedTuple):
    """A line that could open or close a fence."""

    lead: str
    sign: str
    info: str


_FENCE: Final = re.compile(r"([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)", re.DOTALL).fullmatch
_QUOTE: Final = re.compile(r"[ \t]*>").match
# A closing fence may be indented a little more than its opening; context lines of a diff begin with a blank.
_SLACK: Final = 3
_MARKED_DIFF: Final = re.compile(r"\W*(?:diff|patch)\b", re.IGNORECASE).match
_NO_BLANK: Final = re.compile(r"[^ \t]").sub


def _fences(lines: Sequence[str]) -> Iterator[_Fence]:
    at, above = 0, ""
    while at < len(lines):
        line = lines[at]
        if mark := _mark(line):
            fence, at = _fence(lines, at, mark, above)
            yield fence
            above = ""
        elif _QUOTE(line):
            end = next((n for n in range(at, len(lines)) if not _QUOTE(lines[n])), len(lines))
            yield from _find_hidden_fence(lines, at, end, Text("it stands in a quotation"))
            at, above = end, ""
        elif line.lstrip().startswith("<!--"):
            end = next((n + 1 for n in range(at, len(lines)) if "-->" in lines[n]), len(lines))
            yield from _find_hidden_fence(lines, at, end, Text("it stands in a comment"))
            at, above = end, ""
        else:
            at, above = at + 1, line if line.strip() else above


def _mark(line: str) -> _Mark | None:
    if "```" not in line and "~~~" not in line:
        return None
    found = _FENCE(line)
    # With more backticks later in the line it is inline code.
    if not found or (found[2][0] == "`" and "`" in found[3]):
        return None
    return _Mark(found[1], found[2], found[3].strip())


def _fence(lines: Sequence[str], first: int, opening: _Mark, above: str) -> tuple[_Fence, int]:
    """The block that begins here, and where the text goes on."""
    reach = len(opening.lead) + (0 if _MARKED_DIFF(opening.info) else _SLACK)
    at, depth, nested = first, 1, False
    while depth and at + 1 < len(lines):
        at += 1
        mark = _mark(lines[at])
        if mark and mark.sign.startswith(opening.sign) and len(mark.lead) <= reach:
            # With words behind it, it would open a block of its own if this fence were not there.
            depth += 1 if mark.info else -1
            nested |= bool(mark.info)
    why = None
    if depth:
        why = Text("its fence is never closed")
    elif nested:
        why = Text("a fence in it is as long as its own; make the outer fence longer")
    content = () if why else _content(lines[first : at + 1], opening)
    fence = _Fence(first + 1, lines[first], opening.info, content, above.removesuffix("\r"), why)
    return fence, at + 1


def _content(block: Sequence[str], opening: _Mark) -> tuple[str, ...]:
    lines = block[1:-1]
    if block[0].endswith("\r"):  # line ends of the text, not of the block
        lines = [line.removesuffix("\r") for line in lines]
    # A bullet counts as blanks of the same width.
    wide = _NO_BLANK(" ", opening.lead)
    shared = os.path.commonprefix(  # noqa: RUF071  # blanks, not folders
        [wide, *(line for line in lines if line.strip(" \t"))]
    )
    return tuple(line.removeprefix(shared) if line.startswith(shared) else "" for line in lines)


def _find_hidden_fence(lines: Sequence[str], first: int, end: int, why: Text) -> Iterator[_Fence]:
    """Quoted or hidden text proposes nothing; its first block is listed."""
    for at in range(first, end):
        if _mark(lines[at].lstrip(" \t>").removeprefix("<!--").strip()):
            yield _Fence(at + 1, lines[at], why=why)
            return


# ------------------------------------------------------------------ what a block is

_CONSOLES: Final = frozenset(["console", "shell-session", "shellsession"])
_SHELLS: Final = frozenset(["sh", "bash", "shell", "zsh", *_CONSOLES])
_DIFFS: Final = frozenset(["diff", "patch"])
_DIFF_FILES: Final = (".diff", ".patch")
_SCRIPTS: Final = (".sh", ".bash", ".zsh", ".envrc", ".profile", ".bashrc", ".zshrc")


def _specs_of(fence: _Fence) -> list[ActionSpec] | Text:
    """Or why there are none."""
    info = _read_info(fence.info)
    if isinstance(info, Text):
        return info
    language, path = info
    above = _read_above(fence.above)
    named = path or above.path
    if not (named or "").endswith(_DIFF_FILES):
        is_diff = _is_diff(fence.lines)
        if language in _DIFFS or (is_diff and not language and not path):
            return _patches(fence, path)
        if is_diff:
            return Text("it holds a diff and is not marked as one")
    if named is None:
        return above.why or Text("no path is named for it")
    if path is None and language in _SHELLS and not _is_script(named, language):
        return Text("it may be commands or the file {path}", path=named)
    if any(map(_leaves_out, fence.lines)):
        return Text("it leaves out parts of {path}", path=named)
    creates = above.creates and above.path == named
    content = "".join(f"{line}\n" for line in fence.lines)
    return [ActionSpec(SpecKind.CREATE if creates else SpecKind.WRITE, named, content)]


def _patches(fence: _Fence, path: str | None) -> list[ActionSpec] | Text:
    try:
        files = parse_patch("".join(f"{line}\n" for line in fence.lines).encode()).files
        paths = [file.path for file in files if file.path.encode()]
    except BadPatch as error:
        return Text("its diff cannot be read: {why}", why=error.details.get("why") or str(error))
    except UnicodeEncodeError:
        return Text("its diff names a file that is not UTF-8")
    if path and path not in paths:
        return Text("its fence names {path} and its diff does not", path=path)
    group = f"diff{fence.line}" if len(files) > 1 else None
    pieces = ((file.path, *pack(dump(Patch((file,))))) for file in files)
    return [
        ActionSpec(SpecKind.PATCH, path, content, encoding=encoding, group=group)
        for path, content, encoding in pieces
    ]


def _is_diff(lines: Sequence[str]) -> bool:
    first, second = (*lines[:2], "", "")[:2]
    return first.startswith("diff --git ") or (first.startswith("--- ") and second.startswith("+++ "))


def _is_script(path: str, language: str) -> bool:
    """Whether a shell block may be the file that the line above it names."""
    script = path.endswith(_SCRIPTS) or not (_has_extension(path) or _is_well_known(path))
    return script and language not in _CONSOLES


# How models abbreviate what they do not want to repeat.
_SIGNS: Final = "#/*-<!{;%( \t\N{FULLWIDTH LEFT PARENTHESIS}"
_DOTS: Final = ("...", "…")
_SAME: Final = re.compile(
    r"\b(?:existing|rest|remaining|previous|other|unchanged|same|omitted)\b|既存|残り|省略|変更なし|同様",
    re.IGNORECASE,
).search
_AS_BEFORE: Final = re.compile(
    r"(?:the )?(?:rest|remaining)\b.*\b(?:unchanged|same)\b|(?:以下|以降)?(?:省略|中略)\W*$", re.IGNORECASE
).match


def _leaves_out(line: str) -> bool:
    """Whether a comment, or dots alone, replaces omitted code."""
    words = line.lstrip(_SIGNS)
    if len(words) > _SHOWN or (len(words) == len(line.lstrip()) and not words.startswith(_DOTS)):
        return False
    if words.startswith(_DOTS):
        return _SAME(words) is not None
    begins = _SAME(words)
    ends = words.rstrip("*/->} )").endswith(_DOTS)
    return bool(begins and begins.start() == 0 and ends) or _AS_BEFORE(words) is not None


# ------------------------------------------------------------------ the path of a block

_ATTRIBUTES: Final = re.compile(r"\{([^}]*)\}?").sub
_WORD: Final = re.compile(r"""(?:([\w-]+)=)?("[^"]*"|'[^']*'|\S+)""").finditer
_NAMING: Final = frozenset(["filename", "file", "path", "title", "name"])
_PARTIAL: Final = frozenset(["lines", "line", "startline", "start_line"])
_EXCERPT: Final = re.compile(r"\d+:\d+:|.*[:#]L?\d+(?:-L?\d+)?$", re.IGNORECASE).match
_TAGGED: Final = re.compile(r"([\w+#.-]+):(.+)").fullmatch
_LANGUAGE: Final = re.compile(r"(?:node|vue|next)\.js", re.IGNORECASE).fullmatch
_MOST_WORDS: Final = 2
"""The language and the path."""


def _read_info(info: str) -> tuple[str, str | None] | Text:
    """The language and the path behind an opening fence, or why it cannot be told."""
    if len(info) > _LONGEST:
        return Text("the words behind its fence are too long")
    language, words, paths = "", 0, list[str | None]()
    first = True
    # Between braces only attributes matter; numbers there are lines to highlight.
    for found in _WORD(_ATTRIBUTES(_keep_attributes, info)):
        key, value = (found[1] or "").lower(), found[2].strip("\"'")
        if key in _PARTIAL or (not key and _EXCERPT(value)):
            return Text("it is a part of a file")
        if key:
            paths.append(_path(value) if key in _NAMING else None)
            continue
        words += any(map(str.isalnum, value))
        if first:
            language, path = _first_word(value)
            paths.append(path)
        else:
            paths.append(_path(value))
        first = False
    named = list(dict.fromkeys(filter(None, paths)))
    if len(named) > 1:
        return Text("more than one path is named: {paths}", paths=", ".join(named))
    if named and words > _MOST_WORDS:
        return Text("the words behind its fence say more than a language and a path")
    return language, named[0] if named else None


def _keep_attributes(braces: re.Match[str]) -> str:
    return " ".join(found[0] for found in _WORD(braces[1]) if found[1])


def _first_word(word: str) -> tuple[str, str | None]:
    """Language and path, which may be one word."""
    tagged = _TAGGED(word)
    if tagged and (path := _path(tagged[2])):
        return tagged[1].lower(), path
    path = _path(word)
    # Here a well-known name without a folder is more likely the language.
    return ("", path) if path and not (word in _WELL_KNOWN or _LANGUAGE(word)) else (word.lower(), None)


class _Above(NamedTuple):
    """What the line above a block says."""

    path: str | None = None
    creates: bool = False
    why: Text | None = None


_LABELS: Final = re.compile(r"(?:(?:[-*+•]|\d{1,9}[.)]|#{1,6})[ \t]+|・[ \t]*|\[[ xX]\][ \t]+)*").match
_ASCII: Final = str.maketrans({"\N{FULLWIDTH COLON}": ":"})
_NAMES_PATH: Final = re.compile(
    r"(?:(?P<verb>create|new|add|update|write|modify|edit)(?: the| a| new)*(?: file| script)?:? "
    r"|(?:file ?name|file|path|ファイル名?|パス): ?)?"
    r"(?:`(?P<code>[^`]+)`|(?P<bare>\S+?))"
    r"(?: \((?P<remark>new(?: file)?|created?|updated?|modified|changed|新規(?:作成)?|作成|更新|変更)\))?"
    r"(?: ?を ?(?P<japanese>(?:新規)?(?:作成|追加|更新|変更|編集))(?:する|します|してください)?)?[ :.。]*",
    re.IGNORECASE,
).fullmatch
_CREATES: Final = re.compile(r"create|new|add|新規|作成|追加", re.IGNORECASE).match
_CODE: Final = re.compile(r"`([^`]+)`").findall


def _read_above(line: str) -> _Above:
    """Words that introduce a path are understood, such as "Create `path`:"; a sentence about it is not."""
    if len(line) > _LONGEST or line.lstrip().startswith("|"):  # a row of a table names many things
        return _Above()
    words = line.strip()
    words = words[labels.end() :] if (labels := _LABELS(words)) else words
    words = " ".join(words.replace("**", "").translate(_ASCII).split())
    if (found := _NAMES_PATH(words)) and (path := _path(found["code"] or found["bare"], code=found["code"])):
        verbs = (found["verb"], found["remark"], found["japanese"])
        return _Above(path, creates=any(map(_CREATES, filter(None, verbs))))
    tells_more = any(_path(code, code=code) for code in _CODE(words))
    return _Above(why=Text("the line above it says more than its path") if tells_more else None)


_WELL_KNOWN: Final = frozenset({
    "AUTHORS", "Brewfile", "CODEOWNERS", "COPYING", "Caddyfile", "Containerfile", "Dockerfile",
    "Fastfile", "GNUmakefile", "Gemfile", "Jenkinsfile", "Justfile", "LICENSE", "Makefile", "NOTICE",
    "Pipfile", "Podfile", "Procfile", "Rakefile", "Vagrantfile", "justfile", "makefile",
})  # fmt: skip
_NO_PATH: Final = re.compile(
    r"[\x00-\x20\x7f<>|\"*?$\\{}`…;:=,'!&、。\s]|(?:^|/)\.{3,}(?:/|$)|\(\)$"
    r"|^(?:[/~#@-]|www\.|[\w-]+\.(?:com|org|net|io)(?:/|$))|/$"
).search


def _path(word: str, *, code: str | None = None) -> str | None:
    """The path that a word means; None if its form alone does not say that it names a file.

    `code`: it stands in code marks, where a folder says enough.
    """
    path = word.strip("\"'").removeprefix("./")
    if not path or _NO_PATH(path) or ("/" not in path and re.search(r"[()\[\]]", path)):
        return None
    telling = _is_well_known(path) or _has_extension(path) or (code and "/" in path)
    return path if telling else None


def _has_extension(path: str) -> bool:
    _, dot, extension = path.rpartition("/")[2].rpartition(".")
    return bool(dot) and any(map(str.isalpha, extension))


def _is_well_known(path: str) -> bool:
    return path.rpartition("/")[2] in _WELL_KNOWN
