"""The fenced blocks of a Markdown text, with what the text around them says.

If the fences are ambiguous, the block is kept whole and marked as unreadable.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import Text
from ringi.plans.extract.named_paths import (
    LONGEST,
    SPAN,
    PlainLine,
    is_known,
    is_telling,
    is_title,
    path_of,
    read_line,
    several,
)

_FENCE: Final = re.compile(r"([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)", re.DOTALL).fullmatch
_QUOTE: Final = re.compile(r"[ \t]*>").match
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+•][ \t]|\d{1,9}[.)][ \t]|・)").match
_HEADING: Final = re.compile(r"[ \t]*#{1,6}[ \t]").match
_RULE: Final = re.compile(r"[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t\r]*").fullmatch
# A closing fence may be indented a little more than its opening; context lines of a diff begin with a blank.
_SLACK: Final = 3
_IS_DIFF: Final = re.compile(r"\W*(?:diff|patch)\b", re.IGNORECASE).match
_NO_BLANK: Final = re.compile(r"[^ \t]").sub
_BOM: Final = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Fence(NamedTuple):
    line: int
    """Line of its opening fence, from 1."""
    opening: str
    info: str
    lines: tuple[str, ...]
    """Without the indentation that all of them share with the opening."""
    above: str
    """The nearest non-empty line above, if it is plain text."""
    why: Text | None = None
    """Why it cannot be read."""


class Aside(NamedTuple):
    """Quoted or hidden text, which proposes nothing."""

    line: int
    lines: tuple[str, ...]
    why: Text


class _Mark(NamedTuple):
    """A line that could open or close a fence."""

    lead: str
    sign: str
    info: str

    def reach(self) -> int:
        """How far a closing line may be indented."""
        return len(self.lead) + (0 if _IS_DIFF(self.info) else _SLACK)


def blocks(text: str) -> Iterator[Fence | Aside]:
    return _BlockReader(text.removeprefix(_BOM).split("\n")).blocks()


def is_fence(line: str) -> bool:
    return _mark(line) is not None


class _BlockReader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0
        self._above = ""
        self._pairs: dict[int, int] | None = None

    def blocks(self) -> Iterator[Fence | Aside]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if mark := _mark(line):
                yield self._fence(mark)
                self._above = ""
            elif _QUOTE(line):
                yield self._aside(self._quote_end(), Text("it stands in a quotation"))
            elif line.lstrip().startswith("<!--"):
                yield self._aside(self._comment_end(), Text("it stands in a comment"))
            elif line.strip():
                self._pass_paragraph()
            else:
                self._at += 1

    def _fence(self, opening: _Mark) -> Fence:
        first, end = self._at, len(self._lines)
        confused, why = False, None
        for at, mark in self._marks_in(first, opening):
            if not mark.info:
                end = at
                break
            # It would open a block of its own if the fence around it were not there.
            confused = True
        else:
            why = Text("its fence is never closed")
        if confused and not why:
            end = max(end, self._nested_end(first, opening, end))
            why = Text("a fence in it is as long as its own; make the outer fence longer")
        self._at = end + 1
        lines = () if why else self._content(first, end, opening)
        return Fence(first + 1, self._lines[first], opening.info, lines, self._above, why)

    def _marks_in(self, first: int, opening: _Mark) -> Iterator[tuple[int, _Mark]]:
        reach = opening.reach()
        for at in range(first + 1, len(self._lines)):
            mark = _mark(self._lines[at])
            if mark and mark.sign.startswith(opening.sign) and len(mark.lead) <= reach:
                yield at, mark

    def _content(self, first: int, end: int, opening: _Mark) -> tuple[str, ...]:
        lines = self._lines[first + 1 : end]
        if self._lines[first].endswith("\r"):  # line ends of the text, not of the block
            lines = [line.removesuffix("\r") for line in lines]
        # A bullet counts as blanks of the same width.
        shared = _NO_BLANK(" ", opening.lead)
        for line in lines:
            if not line.startswith(shared) and line.strip(" \t"):
                shared = _common(shared, line)
        return tuple(
            line.removeprefix(shared) if line.startswith(shared) or line.strip(" \t") else ""
            for line in lines
        )

    def _nested_end(self, first: int, opening: _Mark, end: int) -> int:
        """Where the block ends if the fences in it are pairs; the end of the text if they are not."""
        if not opening.info:  # then the last one closes it
            return end
        if self._pairs is None:
            self._pairs = _pairs(self._lines)
        return self._pairs.get(first, len(self._lines))

    def _aside(self, end: int, why: Text) -> Aside:
        first, self._at, self._above = self._at, end, ""
        return Aside(first + 1, tuple(self._lines[first:end]), why)

    def _quote_end(self) -> int:
        at = self._at
        while at < len(self._lines) and _QUOTE(self._lines[at]):
            at += 1
        return at

    def _comment_end(self) -> int:
        for at in range(self._at, len(self._lines)):
            if "-->" in self._lines[at]:
                return at + 1
        return len(self._lines)

    def _pass_paragraph(self) -> None:
        """A bullet, a heading or an empty line begins a new one; its last line may name the block below."""
        heading = bool(_HEADING(self._lines[self._at]))
        self._at += 1
        while self._at < len(self._lines) and not heading and not _begins(self._lines[self._at]):
            self._at += 1
        self._above = self._lines[self._at - 1].removesuffix("\r")


def _common(one: str, other: str) -> str:
    differ = (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return one[: next(differ, min(len(one), len(other)))]


def _mark(line: str) -> _Mark | None:
    if "```" not in line and "~~~" not in line:
        return None
    found = _FENCE(line)
    # With more backticks later in the line it is inline code.
    if not found or (found[2][0] == "`" and "`" in found[3]):
        return None
    return _Mark(found[1], found[2], found[3].strip())


def _pairs(lines: Sequence[str]) -> dict[int, int]:
    """Opening fences with words and their closing fences, separately for each sign."""
    pairs: dict[int, int] = {}
    stacks: dict[str, list[int]] = {"`": [], "~": []}
    for at, line in enumerate(lines):
        if mark := _mark(line):
            stack = stacks[mark.sign[0]]
            if mark.info:
                stack.append(at)
            elif stack:
                pairs[stack.pop()] = at
    return pairs


def _begins(line: str) -> bool:
    """Whether this line starts a new paragraph."""
    return not line.strip() or any(
        begins(line) for begins in (_BULLET, _HEADING, _RULE, _QUOTE, is_fence, _is_comment)
    )


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("<!--")


_BRACES: Final = re.compile(r"\{([^}]*)\}?").search
_WORD: Final = re.compile(r"""([\w-]+)=("[^"]*"|'[^']*'|\S+)|\S+""").finditer
_NAMING: Final = frozenset(["filename", "file", "path"])
_TITLES: Final = frozenset(["title", "name"])
_PARTIAL: Final = frozenset(["lines", "line", "startline", "start_line"])
_EXCERPT: Final = re.compile(r"\d+:\d+:|.*[:#]L?\d+(?:-L?\d+)?$", re.IGNORECASE).match
_TAGGED: Final = re.compile(r"([\w+#.-]+):(.+)").fullmatch
_LANGUAGE: Final = re.compile(r"(?:text|application)/[\w+.-]+|(?:node|vue|next)\.js", re.IGNORECASE).fullmatch


_MOST_WORDS: Final = 2
"""The language and the path."""


class Info(NamedTuple):
    """The words after an opening fence."""

    language: str
    path: str | None = None
    why: Text | None = None


def read_info(info: str) -> Info:
    if len(info) > LONGEST:
        return Info("", why=Text("the words behind its fence are too long"))
    braces = _BRACES(info)
    inner = list(_WORD(braces[1])) if braces else []
    outer = list(_WORD(info[: braces.start()] + " " + info[braces.end() :] if braces else info))
    words = [found[0] for found in outer if not found[1]]
    language, path = _first_word(words[0]) if words else ("", None)
    if not words and inner and not inner[0][1]:
        language = inner[0][0].lstrip(".").lower()
    paths = [path, *(path_of(word, marked=False) for word in words[1:])]
    attributes = [(found[1].lower(), found[2].strip("\"'")) for found in (*outer, *inner) if found[1]]
    paths += [path_of(value, marked=True) for key, value in attributes if key in _NAMING]
    paths += [path_of(value, marked=False) for key, value in attributes if key in _TITLES]
    if any(map(_EXCERPT, words)) or any(key in _PARTIAL for key, _ in attributes):
        return Info(language, why=Text("it is a part of a file"))
    named = list(dict.fromkeys(path for path in paths if path))
    if len(named) > 1:
        return Info(language, why=several(named))
    # Comment marks are not words.
    if named and sum(any(map(str.isalnum, word)) for word in words) > _MOST_WORDS:
        return Info(language, why=Text("the words behind its fence say more than a language and a path"))
    return Info(language, named[0] if named else None)


def _first_word(word: str) -> tuple[str, str | None]:
    """Language and path, which may be one word."""
    tagged = _TAGGED(word)
    if tagged and (path := path_of(tagged[2], marked=False)):
        return tagged[1].lower(), path
    path = path_of(word, marked=False)
    # Here a well-known name without a folder is more likely the language.
    if path and not (is_known(word) or _LANGUAGE(word)):
        return "", path
    return word.lower(), None


class Above(NamedTuple):
    """The line above a block, if it says nothing but the block's path."""

    path: str | None = None
    creates: bool = False
    description: str = ""
    why: Text | None = None


_END: Final = " :.。"
_LABEL: Final = re.compile(
    r"(?:(?:new |updated )?(?:file ?name|file|path)|ファイル名?|パス) ?: ?", re.IGNORECASE
).match
_VERB: Final = re.compile(
    r"(?:create|new|add|update|write|modify|edit|save as)(?: the| a| new)*(?: file| script)? ?:? (?=[^ ]+$)",
    re.IGNORECASE,
).match
_REMARK: Final = re.compile(
    r" ?\((?:new(?: file)?|created?|updated?|modified|changed|新規(?:作成)?|作成|更新|変更)\)$",
    re.IGNORECASE,
).search
_JAPANESE_VERB: Final = re.compile(
    r" ?を ?(?:新規)?(?:作成|追加|更新|変更|編集)(?:する|します|してください)?$"
).search
_CREATES: Final = re.compile(r"\b(?:create|created|new|add)\b|作成|新規|追加", re.IGNORECASE).search
_FILE: Final = re.compile(r"\b(?:file|script)\b|ファイル", re.IGNORECASE).search


def read_above(text: str) -> Above:
    """Words that introduce a path are understood, such as "Create `path`:"; a sentence about it is not."""
    line = read_line(text)
    if line is None or line.ticked or text.lstrip().startswith("|"):  # a row of a table names many things
        return Above()
    core, said = _core(line.skeleton)
    path = _path_in(core, line)
    if path is None:
        named = any(is_telling(span) for span in line.spans if path_of(span, marked=True))
        return Above(why=Text("the line above it says more than its path") if named else None)
    creates = bool(_CREATES(line.skeleton.replace(core, "", 1)))
    return Above(path, creates, line.words.rstrip(" :") if said else "")


def _path_in(core: str, line: PlainLine) -> str | None:
    if core != SPAN:
        path = path_of(core, marked=False)
        return None if path is None or is_title(path) else path
    path = path_of(line.spans[0], marked=True)
    # A name alone in code marks is more often a function than a file.
    return path if path and (is_telling(path) or _FILE(line.skeleton)) else None


def _core(words: str) -> tuple[str, bool]:
    """The text without words that only introduce a path, and whether those mean something."""
    core = words.rstrip(_END)
    if label := _LABEL(core):
        core = core[label.end() :]
    said = False
    for find in (_VERB, _REMARK, _JAPANESE_VERB):
        if phrase := find(core):
            core = core[: phrase.start()] + core[phrase.end() :]
            said = True
    return core.strip().rstrip(_END), said
