"""Patches as models write them: their lines are read, their line counts are not trusted."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, NoReturn

from ringi.errors import BadPatch, BinaryPatch, PatchMismatch
from ringi.kernel.text import Text
from ringi.patch.patch import decode, side_name, unquote

_GIT: Final = b"diff --git "
_EXTENDED: Final = re.compile(
    rb"(old mode|new mode|new file mode|deleted file mode|(?:dis)?similarity index|rename from|rename to"
    rb"|copy from|copy to|index) (.*?)\s*"
).fullmatch
_BINARY: Final = (b"GIT binary patch", b"Binary files ")
_FENCE: Final = re.compile(rb"\s{0,3}(?:```|~~~)").match
_STATED: Final = re.compile(rb"@@+\s*-(\d{1,15})(?:,(\d{1,15}))?\s+\+(\d{1,15})(?:,(\d{1,15}))?").match
_VERSION: Final = re.compile(rb"\d+\.\d+[\w.() -]*|").fullmatch


class LooseHunk(NamedTuple):
    line: int
    """Line of the patch, for error messages."""
    stated: int | None
    """How many lines precede it in the old file, as claimed."""
    lines: tuple[tuple[bytes, bytes], ...]
    """Sign and text, without the newline."""
    old_bare: bool
    """The patch says that the last old line has no newline."""
    new_bare: bool


class LooseFile(NamedTuple):
    line: int
    names: tuple[bytes, bytes] | None
    """Of the --- and +++ lines, or of the rename or copy lines."""
    git_line: bytes
    said: dict[bytes, bytes]
    hunks: tuple[LooseHunk, ...]


def read_loosely(data: bytes) -> list[LooseFile]:
    lines = data.removesuffix(b"\n").split(b"\n")
    if all(line.endswith(b"\r") for line in lines if line):
        lines = [line.removesuffix(b"\r") for line in lines]
    return [file for first, block in _blocks(lines) for file in _PatchReader(block, first).files()]


def _blocks(lines: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """The text between code fences, if the patch begins in one; otherwise all of it."""
    opened = next((at for at, line in enumerate(lines) if _FENCE(line) or _begins(lines, at)), len(lines))
    if opened == len(lines) or not _FENCE(lines[opened]):
        yield 0, lines
        return
    while opened < len(lines):
        after = range(opened + 1, len(lines))
        closed = next((at for at in after if _FENCE(lines[at])), len(lines))
        yield opened + 1, lines[opened + 1 : closed]
        opened = next((at for at in range(closed + 1, len(lines)) if _FENCE(lines[at])), len(lines))


def _begins(lines: Sequence[bytes], at: int) -> bool:
    """Whether a file begins here."""
    return lines[at].startswith(_GIT) or _sides_at(lines, at)


def _sides_at(lines: Sequence[bytes], at: int) -> bool:
    return lines[at].startswith(b"--- ") and at + 1 < len(lines) and lines[at + 1].startswith(b"+++ ")


class _PatchReader:
    """One block of lines, read from its beginning."""

    def __init__(self, lines: list[bytes], first: int) -> None:
        self._lines = lines
        self._first = first
        self._at = 0

    def files(self) -> Iterator[LooseFile]:
        begun = False
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if _begins(self._lines, self._at):
                yield self._file()
                begun = True
            elif line.startswith(b"@@"):
                self._fail(Text("a hunk without a file"))
            elif begun and line.startswith((b"+", b"-")) and not self._is_signature():
                self._fail(Text("a line stands outside of every hunk"))
            else:
                begun = begun and not self._is_signature()
                self._at += 1

    def _file(self) -> LooseFile:
        begin = self._at
        git_line = b""
        said: dict[bytes, bytes] = {}
        if self._here().startswith(_GIT):
            git_line = self._here()[len(_GIT) :].rstrip()
            self._at += 1
            while found := _EXTENDED(self._here()):
                said[found[1]] = found[2]
                self._at += 1
        if self._here().startswith(_BINARY):
            raise BinaryPatch(path=decode(git_line), line=self._first + self._at + 1)
        names = None
        if self._at < len(self._lines) and _sides_at(self._lines, self._at):
            names = self._name(b"--- "), self._name(b"+++ ")
        hunks = []
        while self._here().startswith(b"@@"):
            hunks.append(self._hunk())
        return LooseFile(self._first + begin + 1, _read_move(said) or names, git_line, said, tuple(hunks))

    def _name(self, word: bytes) -> bytes:
        name, _ = side_name(self._here()[len(word) :].strip())
        if not name:
            self._fail(Text("the name of a file cannot be read"))
        self._at += 1
        return name.rstrip()

    def _hunk(self) -> LooseHunk:
        at = self._at
        found = _STATED(self._here())
        stated = end = None
        size = 0
        self._at += 1
        if found:
            old, size = int(found[1]), 1 if found[2] is None else int(found[2])
            stated = old - 1 if size else old
            end = self._end_by_count(size, 1 if found[4] is None else int(found[4]))
        if end is None:
            end = self._end_by_look()
        body = self._lines[self._at : end]
        self._at = end
        if found and size and all(line.startswith(b"+") for line in body):
            # It claims old lines but shows none, so its line number cannot be trusted either.
            stated = None
        return _hunk(self._first + at + 1, stated, body)

    def _end_by_count(self, old_left: int, new_left: int) -> int | None:
        """Where the hunk ends if the counts in its header are right; otherwise None."""
        at = self._at
        while old_left > 0 or new_left > 0:
            if self._ends(at):
                return None
            sign = self._lines[at][:1]
            old_left -= sign in b" -"  # `in` is also true for an empty line
            new_left -= sign in b" +"
            at += 1
        if old_left or new_left:
            return None
        while at < len(self._lines) and self._lines[at].startswith(b"\\"):
            at += 1
        return at if self._ends(at) or not self._lines[at] else None

    def _end_by_look(self) -> int:
        at = self._at
        while not self._ends(at):
            at += 1
        # Empty lines at the end may belong to the text around it; dropping them changes nothing.
        while at > self._at and not self._lines[at - 1]:
            at -= 1
        return at

    def _ends(self, at: int) -> bool:
        lines = self._lines
        if at >= len(lines):
            return True
        if lines[at] and lines[at][:1] not in {b" ", b"+", b"-", b"\\"}:
            return lines[at] != b"\r"
        if _sides_at(lines, at):
            return at + 2 >= len(lines) or lines[at + 2].startswith(b"@@")
        return self._is_signature(at)

    def _is_signature(self, at: int | None = None) -> bool:
        """Whether this is the end of a mail, as git writes it."""
        at = self._at if at is None else at
        rest = self._lines[at + 1 : at + 3]
        return self._lines[at].rstrip() == b"--" and all(map(_VERSION, rest))

    def _here(self) -> bytes:
        return self._lines[self._at] if self._at < len(self._lines) else b""

    def _fail(self, why: Text) -> NoReturn:
        raise BadPatch(why=why, line=self._first + self._at + 1)


def _read_move(said: dict[bytes, bytes]) -> tuple[bytes, bytes] | None:
    for word in (b"rename", b"copy"):
        old, new = (unquote(said.get(word + end, b"")) for end in (b" from", b" to"))
        if old and new:
            return old, new
    return None


def _hunk(line: int, stated: int | None, body: list[bytes]) -> LooseHunk:
    lines: list[tuple[bytes, bytes]] = []
    bare = b""
    for text in body:
        if text.startswith(b"\\"):
            bare += lines[-1][0] if lines else b""
        elif text[:1] in {b"+", b"-", b" "}:
            lines.append((text[:1], text[1:]))
        else:
            lines.append((b" ", text))  # an empty line, or a lone CR, that lost its space
    return LooseHunk(line, stated, tuple(lines), b"-" in bare or b" " in bare, b"+" in bare or b" " in bare)


def find_intended_lines(error: PatchMismatch, patch: bytes, lines: Sequence[str]) -> range | None:
    """Where a hunk that does not fit was meant to be, so that whoever wrote it sees what is there.

    Counted from 0; None if the error is not about a hunk. The file's lines are without their ends.
    """
    number = _hunk_of(error)
    hunks = _changing(patch, str(error.details["path"]).encode("utf-8", "surrogateescape"))
    if not lines or not 1 <= number <= len(hunks):
        return None
    begin, count = _place(hunks[number - 1], lines)
    return range(begin, min(begin + count, len(lines)))


def _hunk_of(error: PatchMismatch) -> int:
    why = error.details.get("why")
    found = error.details.get("hunk") or (why.details.get("hunk") if isinstance(why, Text) else 0)
    return found if isinstance(found, int) else 0


def _changing(patch: bytes, path: bytes) -> list[LooseHunk]:
    """The hunks of a file that are counted: those that change something."""
    read = read_loosely(patch)
    files = [file for file in read if any(name.endswith(path) for name in file.names or ())]
    files = files or [file for file in read if path in file.git_line]
    return [hunk for file in files for hunk in file.hunks if any(sign != b" " for sign, _ in hunk.lines)]


def _place(hunk: LooseHunk, lines: Sequence[str]) -> tuple[int, int]:
    """At the longest line that the file has exactly once, or else where it says."""
    old = [text.decode("utf-8", "replace") for sign, text in hunk.lines if sign != b"+"]
    once = [(at, text) for at, text in enumerate(old) if text.strip() and lines.count(text) == 1]
    if once:
        at, text = max(once, key=lambda pair: len(pair[1]))
        return max(0, lines.index(text) - at), len(old)
    return max(0, min(hunk.stated or 0, len(lines) - 1)), len(old)
