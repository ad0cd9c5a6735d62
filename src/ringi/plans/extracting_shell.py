"""Words as a shell would cut them, as long as cutting them is all it would do."""

import re
from typing import Final

_PLAIN: Final = re.compile(r"[^\s\\'\"`$|&;<>()*?\[{~#]+").match
_IN_QUOTES: Final = re.compile(r"[^\"\\$`]+").match
# What makes more of a dollar sign than a dollar sign; at the end of a line that goes on it could be anything.
_EXPANDS: Final = re.compile(r"\$(?:[\w{(\[@*#?$!-]|\\$)").match
_EXPANDS_BARE: Final = re.compile(r"\$(?:[\w{(\[@*#?$!\"'-]|\\$)").match
_BRACES_AS_TEXT: Final = re.compile(r"\{\w*\}").match
_OPERATORS: Final = "|&;<>()`*?["


class Words:
    """One statement, fed line by line until it is whole."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.shell = False
        """Something in it only a shell can do."""
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
            # A list or a pipe whose next command stands on the next line.
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
