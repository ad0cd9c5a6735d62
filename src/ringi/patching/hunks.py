"""Hunks, read exactly: what the header counts must be there, no line more and no line less."""

import re
from typing import Final, NoReturn

from ringi.errors import BadPatch
from ringi.patching.model import Hunk
from ringi.text import Text

# More digits than any file has lines would only slow the reading of numbers.
_HEADER: Final = re.compile(
    rb"@@ -(\d{1,15})(?:,(\d{1,15}))? \+(\d{1,15})(?:,(\d{1,15}))? @@([^\n]*)\n"
).match
_BODY_ENDS: Final = re.compile(rb"\n[^ +\-\\]").search
_STRAY: Final = re.compile(rb"[ +\\]|-(?!- ?\r?(?:\n|\Z))|@@|\n+(?:[+]|-(?!-)|@@ )").match
_PLUS, _MINUS, _SPACE, _MARK, _NEWLINE = b"+- \\\n"


def line_of(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def read_hunks(data: bytes, at: int, limit: int, *, marks: bool) -> tuple[tuple[Hunk, ...], int]:
    """The hunks from here on, and where they end.

    `limit` is the end of the last whole line, `marks` whether any line is marked to have no newline.
    """
    hunks: list[Hunk] = []
    # Over the bytes where they stand, without a call more than needed: here the time goes.
    count = data.count
    old_end = shift = 0
    ended = False
    while found := _HEADER(data, at, limit):
        old, old_size, new, new_size, heading = found.groups()
        old_start, new_start = int(old), int(new)
        old_count = 1 if old_size is None else int(old_size)
        new_count = 1 if new_size is None else int(new_size)
        start = found.end()
        body_ends = _BODY_ENDS(data, start - 1, limit)
        end = body_ends.start() + 1 if body_ends else limit
        added = count(b"\n+", start - 1, end) if new_count else 0
        removed = count(b"\n-", start - 1, end) if old_count else 0
        total = count(b"\n", start, end)
        if (
            total - added == old_count
            and total - removed == new_count
            and added + removed
            and not (marks and data.find(b"\n\\", start - 1, end) >= 0)
        ):
            body = data[start:end]
        else:
            body, end = _careful(data, start, limit, old_count, new_count)
        old_at = old_start - 1 if old_count else old_start
        new_at = new_start - 1 if new_count else new_start
        hunk = Hunk(old_start, old_count, new_start, new_count, heading, body)
        if ended or old_at < old_end or new_at != old_at + shift or new_at < 0:
            _refuse(data, at, hunk, old_end, shift, ended=ended)
        old_end = old_at + old_count
        shift += new_count - old_count
        hunks.append(hunk)
        ended = marks and b"\n\\" in body
        at = end
    return tuple(hunks), at


def _refuse(data: bytes, at: int, hunk: Hunk, old_end: int, shift: int, *, ended: bool) -> NoReturn:
    if ended:
        _fail(data, at, Text("a hunk follows one that ends the file"))
    if hunk.old_at < 0 or hunk.new_at < 0:
        _fail(data, at, Text("a hunk begins at line 0; lines count from 1"))
    if hunk.old_at < old_end:
        _fail(data, at, Text("a hunk overlaps the one before it or stands before it"))
    why = Text(
        "a hunk claims to begin at new line {claimed}; after the hunks before it that is line {line}",
        claimed=hunk.new_start,
        line=hunk.moved(hunk.old_at + shift).new_start,
    )
    _fail(data, at, why)


def _careful(data: bytes, start: int, limit: int, old_left: int, new_left: int) -> tuple[bytes, int]:
    """Line by line, where what follows looks like a line of the hunk, or one is marked or was emptied."""
    lines: list[bytes] = []
    at, before = start, _NEWLINE
    while (old_left or new_left) or (at < limit and data[at] == _MARK and before != _MARK):
        if at >= limit:
            _fail(data, at, Text("the patch ends inside a hunk"))
        end = data.index(b"\n", at) + 1
        sign = data[at]
        if sign == _NEWLINE:  # git and diff can be told to leave out the space of an empty line
            lines.append(b" \n")
            sign = _SPACE
        elif sign == _MARK:
            _check_mark(data, at, before, old_left, new_left)
            lines.append(data[at:end])
        elif sign in b" +-":
            lines.append(data[at:end])
        else:
            _fail(data, at, Text("a hunk has fewer lines than its header says"))
        old_left -= sign in b" -"
        new_left -= sign in b" +"
        if old_left < 0 or new_left < 0:
            _fail(data, at, Text("the lines of a hunk are not those that its header counts"))
        at, before = end, sign
    if all(line.startswith((b" ", b"\\")) for line in lines):
        _fail(data, start - 1, Text("a hunk changes nothing"))
    return b"".join(lines), at


def _check_mark(data: bytes, at: int, before: int, old_left: int, new_left: int) -> None:
    ended = {_SPACE: not old_left and not new_left, _MINUS: not old_left, _PLUS: not new_left}
    if not ended.get(before, False):
        _fail(data, at, Text("a line in the middle is said to have no newline"))


def check_after(data: bytes, at: int) -> None:
    """What follows the last hunk must not look like more of it: git would silently leave it out."""
    if found := _STRAY(data, at):
        if data[found.end() - 1] == ord("@"):
            _fail(data, at, Text("the header of a hunk cannot be read"))
        _fail(data, at, Text("a hunk has more lines than its header says"))


def _fail(data: bytes, at: int, why: Text) -> NoReturn:
    raise BadPatch(why=why, line=line_of(data, at))
