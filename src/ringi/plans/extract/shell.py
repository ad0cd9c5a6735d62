"""Commands of a shell block that are plain words; every other line needs a shell and is reported as such.

Statements are read to their end, over several lines if necessary, so that no part is taken for a command.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ringi.kernel.text import Text

_PLAIN: Final = re.compile(r"[^\s\\'\"`$|&;<>()*?\[{~#]+").match
_IN_QUOTES: Final = re.compile(r"[^\"\\$`]+").match
# What gives a dollar sign a special meaning; at the end of a continued line it could be anything.
_EXPANDS: Final = re.compile(r"\$(?:[\w{(\[@*#?$!-]|\\$)").match
_EXPANDS_BARE: Final = re.compile(r"\$(?:[\w{(\[@*#?$!\"'-]|\\$)").match
_BRACES_AS_TEXT: Final = re.compile(r"\{\w*\}").match
_OPERATORS: Final = "|&;<>()`*?["


class Words:
    """One statement, fed line by line until it is complete."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.shell = False
        """It needs a shell."""
        self._word: list[str] | None = None
        self._quote = ""
        self._goes_on = False
        self._depth = 0

    @property
    def open(self) -> bool:
        return bool(self._quote) or self._goes_on or self._depth > 0

    def feed(self, line: str) -> None:
        self._goes_on = False
        at = 0
        while at < len(line):
            at = self._in_quotes(line, at) if self._quote else self._bare(line, at)
        if self._quote:
            if not self._goes_on:
                self._put("\n")
        elif not self._goes_on:
            self._end_word()
            # A list or a pipe that continues on the next line.
            self._goes_on = self.shell and line.rstrip().endswith(("&&", "|"))

    def _put(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _end_word(self) -> None:
        if self._word is not None:
            self.words.append("".join(self._word))
            self._word = None

    def _bare(self, line: str, at: int) -> int:
        if found := _PLAIN(line, at):
            self._put(found[0])
            return found.end()
        char = line[at]
        if char == "\\":
            return self._escaped(line, at)
        if char in "'\"":
            self._quote = char
            self._put("")
        elif char in " \t":
            self._end_word()
        elif char == "#" and self._word is None:
            return len(line)
        else:
            self._special(line, at, char)
        return at + 1

    def _special(self, line: str, at: int, char: str) -> None:
        self._depth = max(self._depth + (char == "(") - (char == ")"), 0)
        begins = self._word is None or not self._word[-1:] or self._word[-1].endswith(("=", ":"))
        self.shell = (
            self.shell
            or char in _OPERATORS
            or (char == "$" and _EXPANDS_BARE(line, at) is not None)
            or (char == "~" and begins)
            or (char == "{" and not _BRACES_AS_TEXT(line, at))
        )
        if char in "|&;<>()":
            self._end_word()
        else:
            self._put(char)

    def _escaped(self, line: str, at: int) -> int:
        if at + 1 == len(line):
            self._goes_on = True
        else:
            self._put(line[at + 1])
        return at + 2

    def _in_quotes(self, line: str, at: int) -> int:
        if self._quote == "'":
            end = line.find("'", at)
            self._put(line[at:] if end < 0 else line[at:end])
            self._quote = "'" if end < 0 else ""
            return len(line) if end < 0 else end + 1
        if found := _IN_QUOTES(line, at):
            self._put(found[0])
            return found.end()
        char = line[at]
        if char == '"':
            self._quote = ""
        elif char == "\\":
            return self._escaped_in_quotes(line, at)
        else:
            self.shell = self.shell or char == "`" or _EXPANDS(line, at) is not None
            self._put(char)
        return at + 1

    def _escaped_in_quotes(self, line: str, at: int) -> int:
        if at + 1 == len(line):
            self._goes_on = True
        elif line[at + 1] in '"\\$`':
            self._put(line[at + 1])
        else:
            self._put(line[at : at + 2])
        return at + 2


NEEDS_SHELL: Final = Text("it needs a shell; a run spec takes plain words")
_PROMPT: Final = re.compile(r"(?:[\w.-]+@[\w.-]+:[^\s$]*)?\$ +").match
_MORE_PROMPT: Final = re.compile(r"> ").match
_HEREDOC: Final = re.compile(r"(?<!<)<<-?[ \t]*(?:\\|([\"']))?(\w+)").findall
_FUNCTION: Final = re.compile(r"[ \t]*(?:function[ \t]|[\w-]+[ \t]*\(\))").match
_ENDS: Final = {
    **dict.fromkeys(("for", "while", "until", "select"), "done"),
    "if": "fi",
    "case": "esac",
    "{": "}",
    "function": "}",
}
# They change the shell that runs them, so what follows may mean something else without them.
_CHANGING: Final = frozenset({
    ".", "alias", "cd", "declare", "eval", "exec", "export", "local", "popd", "pushd", "read", "readonly",
    "source", "typeset", "umask", "unset",
})  # fmt: skip
_CHANGING_LATER: Final = frozenset(["cd", "export", "pushd", "source"])
_BUILTIN: Final = frozenset({
    "!", "[[", "]", "bg", "builtin", "command", "coproc", "do", "done", "elif", "else", "esac", "exit",
    "fg", "fi", "hash", "history", "jobs", "let", "return", "set", "shift", "shopt", "then", "time",
    "times", "trap", "type", "ulimit", "wait", "}",
})  # fmt: skip
_ASSIGNMENT: Final = re.compile(r"\w+(?:\[[^\]]*\])?\+?=").match


class Command(NamedTuple):
    line: int
    """Within the block, from 0."""
    argv: tuple[str, ...]
    why: Text | None = None


class _Statement(NamedTuple):
    line: int
    end: int
    words: Words

    @property
    def first(self) -> str:
        return self.words.words[0] if self.words.words else ""


class Shell:
    """Reads the blocks of one text in order and remembers shell state that would still apply."""

    def __init__(self) -> None:
        self._changed = False

    def commands(self, lines: Sequence[str], *, console: bool) -> Iterator[Command]:
        prompted = [at for at, line in enumerate(lines) if _PROMPT(line)]
        if not prompted and console:
            yield Command(-1, (), Text("none of its lines begins with a prompt"))
            return
        if not prompted:
            yield from self._plain(lines)
            return
        covered = 0
        for at in prompted:
            if at < covered:
                continue
            if not console:
                yield from _outside(lines, covered, at)
            statement = _prompted(lines, at)
            covered = statement.end
            yield from self._command(statement)
        if not console:
            yield from _outside(lines, covered, len(lines))

    def _plain(self, lines: Sequence[str]) -> Iterator[Command]:
        at = 0
        while at < len(lines):
            statement = _statement(lines, at)
            end = statement.end
            if statement.words.shell or statement.first in _ENDS:
                end = _compound_end(lines, statement)
                end = _heredoc_end(lines, statement.line, statement.end, end)
            at = end
            yield from self._command(statement)

    def _command(self, statement: _Statement) -> Iterator[Command]:
        words, first = statement.words, statement.first
        if not words.words and not words.shell:
            return
        assigns = bool(_ASSIGNMENT(first))
        if words.open:
            yield Command(statement.line, (), Text("it is never ended: a quote or the next line is missing"))
        elif words.shell or assigns or first in _CHANGING or first in _BUILTIN or first in _ENDS:
            yield Command(statement.line, (), NEEDS_SHELL)
        elif self._changed:
            yield Command(statement.line, (), Text("a line before it changes the shell that would run it"))
        else:
            yield Command(statement.line, tuple(words.words))
        self._changed = (
            self._changed
            or first in _CHANGING
            or (assigns and (len(words.words) == 1 or first.endswith("$") or "`" in first))
            or (words.shell and not _CHANGING_LATER.isdisjoint(words.words))
        )


def _statement(lines: Sequence[str], at: int) -> _Statement:
    words = Words()
    end = at
    while end < len(lines) and (end == at or words.open):
        words.feed(lines[end])
        end += 1
    return _Statement(at, end, words)


def _prompted(lines: Sequence[str], at: int) -> _Statement:
    """Continuation lines may have a prompt of their own."""
    words = Words()
    found = _PROMPT(lines[at])
    words.feed(lines[at][found.end() if found else 0 :])
    end = at + 1
    while end < len(lines) and words.open:
        more = _MORE_PROMPT(lines[end])
        words.feed(lines[end][more.end() if more else 0 :])
        end += 1
    return _Statement(at, end, words)


def _outside(lines: Sequence[str], first: int, end: int) -> Iterator[Command]:
    """A line without a prompt: it may be output or a command."""
    for at in range(first, end):
        if lines[at].strip() and not lines[at].lstrip().startswith("#"):
            yield Command(at, (), Text("it has no prompt and other lines of the block have one"))


def _compound_end(lines: Sequence[str], statement: _Statement) -> int:
    """Where a loop, a condition or a function ends; the end of the block if that is unclear."""
    opening = _opens(lines[statement.line], statement.first)
    quoted = statement.end > statement.line + 1 and statement.first not in _ENDS
    if not opening or quoted:
        return statement.end
    waiting = [opening]
    for at in range(statement.line, len(lines)):
        line = lines[at].strip()
        first = line.split(" ")[0]
        its_own = at == statement.line + 1 and line == "{"  # of the function named above it
        if at > statement.line and not its_own and (inner := _opens(line, first)):
            waiting.append(inner)
        last = line.rstrip(" ;&").split(" ")[-1].split(";")[-1]
        if waiting[-1] in {first.rstrip(";&|)"), last}:
            waiting.pop()
        if not waiting:
            return max(at + 1, statement.end)
    return len(lines)


def _opens(line: str, first: str) -> str:
    if _FUNCTION(line) or line.rstrip().endswith("{"):
        return "}"
    return _ENDS.get(first, "")


def _heredoc_end(lines: Sequence[str], first: int, end: int, at_least: int) -> int:
    """After the last here-document of the statement."""
    at = end
    for line in lines[first:end]:
        for _, delimiter in _HEREDOC(line):
            while at < len(lines) and lines[at].strip() != delimiter:
                at += 1
            at += 1
    return max(min(at, len(lines)), at_least)
