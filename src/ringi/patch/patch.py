"""A patch as data, file by file, and as bytes in git's format."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple


class PatchKind(StrEnum):
    NEW = "new"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    CHANGED = "changed"


class Hunk(NamedTuple):
    """Replaced lines. A start counts from 1; for a side without lines it is the line before."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: bytes
    """What follows the second @@, with its space."""
    body: bytes
    """Every line with its sign and its newline; "\\ No newline at end of file" counts as a line here."""

    @property
    def lines(self) -> list[bytes]:
        return [line + b"\n" for line in self.body.split(b"\n")[:-1]]

    @property
    def old_at(self) -> int:
        """How many lines of the old file precede it."""
        return self.old_start - 1 if self.old_count else self.old_start

    @property
    def new_at(self) -> int:
        return self.new_start - 1 if self.new_count else self.new_start

    def move(self, new_at: int) -> "Hunk":
        """The same change, with that many lines before it in the new file."""
        return self._replace(new_start=new_at + 1 if self.new_count else new_at)


class FilePatch(NamedTuple):
    kind: PatchKind
    old_path: str | None
    """None for a new file; names that are not UTF-8 are as `os.fsdecode` gives them."""
    new_path: str | None
    """None for a deleted file."""
    old_mode: str | None = None
    """As git writes it, 100644 or 100755; None if the patch does not say."""
    new_mode: str | None = None
    hunks: tuple[Hunk, ...] = ()
    likeness: bytes = b""
    """As git writes it: "similarity index 90%"."""
    blobs: bytes = b""
    """The rest of git's index line."""
    header: bytes = b""
    """The lines before the hunks as read; empty if there were none or they are no longer true."""

    @property
    def path(self) -> str:
        """The path to show: after the change, or before it for a deleted file."""
        return self.new_path or self.old_path or ""


class Patch(NamedTuple):
    files: tuple[FilePatch, ...]


NOWHERE: Final = b"/dev/null"
_SPACE: Final = 0x20
_NEEDS_QUOTES: Final = frozenset(b'"\\' + bytes(range(0x20)) + b"\x7f")
_ESCAPES: Final = {0x22: b'\\"', 0x5C: b"\\\\", 0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}
_LETTERS: Final = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v",
    b'"': b'"', b"\\": b"\\",
}  # fmt: skip
_QUOTED: Final = re.compile(rb'"((?:[^"\\\n]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE: Final = re.compile(rb'\\([abfnrtv"\\]|[0-3][0-7]{2})')
# Two of the longest paths of any system with every byte escaped: a longer line is not a file name.
_LONGEST: Final = 2 * 4 * 4096
_STAMP: Final = re.compile(
    rb"(?P<day>1970-01-01|1969-12-31) (?P<hour>\d\d):(?P<minute>\d\d):00(?:\.0+)? (?P<zone>[-+]\d{4})\s*$"
)


def quote(prefix: str, path: str) -> bytes:
    raw = prefix.encode() + path.encode("utf-8", "surrogateescape")
    if not _NEEDS_QUOTES.intersection(raw):
        return raw
    escaped = b"".join(
        _ESCAPES.get(byte) or (b"\\%03o" % byte if byte in _NEEDS_QUOTES else b"%c" % byte) for byte in raw
    )
    return b'"' + escaped + b'"'


def decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def unquote(raw: bytes) -> bytes | None:
    """All of it as one name; None if a quoted name does not end with its quote."""
    if not raw.startswith(b'"'):
        return raw
    found = _QUOTED.fullmatch(raw)
    return _plain(found[1]) if found else None


def side_name(raw: bytes) -> tuple[bytes | None, bytes]:
    """Of a --- or +++ line: the name and what follows it after a tab."""
    if raw.startswith(b'"'):
        found = _QUOTED.match(raw)
        return (_plain(found[1]), raw[found.end() :]) if found else (None, b"")
    name, _, stamp = raw.partition(b"\t")
    return name, stamp


def is_epoch(stamp: bytes) -> bool:
    """`diff -N` gives a missing file the time 0."""
    found = _STAMP.match(stamp)
    if not found:
        return False
    sign = -1 if found["zone"].startswith(b"-") else 1
    offset = sign * (int(found["zone"][1:3]) * 60 + int(found["zone"][3:]))
    day = 0 if found["day"] == b"1970-01-01" else -24 * 60
    return day + int(found["hour"]) * 60 + int(found["minute"]) == offset


def without_prefix(name: bytes) -> bytes | None:
    """As `git apply -p1` does; None if there is no prefix or nothing would be left."""
    _, slash, rest = name.partition(b"/")
    return rest if slash and rest else None


def name_pairs(line: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every way to split a `diff --git` line into two names, without their prefixes."""
    for left, right in whole_pairs(line):
        old, new = without_prefix(left), without_prefix(right)
        if old is not None and new is not None:
            yield old, new


def whole_pairs(line: bytes) -> Iterator[tuple[bytes, bytes]]:
    """With their prefixes. There may be several, because a plain name may contain spaces."""
    if len(line) > _LONGEST:
        return
    if line.startswith(b'"'):
        found = _QUOTED.match(line)
        spaces = [found.end()] if found and line[found.end() : found.end() + 1] == b" " else []
    else:
        spaces = [at for at, byte in enumerate(line) if byte == _SPACE]
    for space in spaces:
        left, right = unquote(line[:space]), unquote(line[space + 1 :])
        if left is not None and right is not None:
            yield left, right


def _plain(escaped: bytes) -> bytes:
    return _ESCAPE.sub(_unescape, escaped) if b"\\" in escaped else escaped


def _unescape(found: re.Match[bytes]) -> bytes:
    return _LETTERS.get(found[1]) or bytes([int(found[1], 8)])


PLAIN_MODE: Final = "100644"
NO_NEWLINE: Final = b"\\ No newline at end of file\n"


def dump(patch: Patch) -> bytes:
    """The patch as bytes; for one that git wrote, exactly the same, without the text around it."""
    return b"".join(piece for file in patch.files for piece in dump_file(file))


def dump_file(file: FilePatch) -> Iterator[bytes]:
    yield file.header or b"".join(header(file))
    for hunk in file.hunks:
        yield b"@@ -%s +%s @@%s\n" % (
            span(hunk.old_start, hunk.old_count),
            span(hunk.new_start, hunk.new_count),
            hunk.heading,
        )
        yield hunk.body


def span(start: int, count: int) -> bytes:
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)


def header(file: FilePatch) -> Iterator[bytes]:
    """In git's order, from the fields of the patch."""
    old, new = file.old_path or file.path, file.path
    yield b"diff --git %s %s\n" % (quote("a/", old), quote("b/", new))
    if file.kind is PatchKind.NEW:
        yield b"new file mode %s\n" % (file.new_mode or PLAIN_MODE).encode()
    elif file.kind is PatchKind.DELETED:
        yield b"deleted file mode %s\n" % (file.old_mode or PLAIN_MODE).encode()
    elif file.old_mode and file.new_mode and file.old_mode != file.new_mode:
        yield b"old mode %s\nnew mode %s\n" % (file.old_mode.encode(), file.new_mode.encode())
    if file.likeness:
        yield file.likeness + b"\n"
    word = {PatchKind.RENAMED: b"rename", PatchKind.COPIED: b"copy"}.get(file.kind)
    if word:
        yield b"%s from %s\n%s to %s\n" % (word, quote("", old), word, quote("", new))
    if file.blobs:
        yield b"index %s\n" % file.blobs
    if file.hunks:
        yield b"--- %s\n+++ %s\n" % sides(file)


def sides(file: FilePatch) -> tuple[bytes, bytes]:
    """The names of the --- and +++ lines."""
    return (
        NOWHERE if file.kind is PatchKind.NEW else _side("a/", file.old_path or file.path),
        NOWHERE if file.kind is PatchKind.DELETED else _side("b/", file.path),
    )


def _side(prefix: str, path: str) -> bytes:
    # A tab after a name with a space, or git would cut it there.
    name = quote(prefix, path)
    return name + b"\t" if " " in path and not name.startswith(b'"') else name
