"""File names as patches write them: quoted like C strings, with a prefix to take off."""

import re
from collections.abc import Iterator
from typing import Final

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
# Twice the longest path of any system, every byte escaped: a longer line names no files.
_LONGEST: Final = 2 * 4 * 4096
_STAMP: Final = re.compile(
    rb"(?P<day>1970-01-01|1969-12-31) (?P<hour>\d\d):(?P<minute>\d\d):00(?:\.0+)? (?P<zone>[-+]\d{4})\s*$"
)


def quoted(prefix: str, path: str) -> bytes:
    raw = prefix.encode() + path.encode("utf-8", "surrogateescape")
    if not _NEEDS_QUOTES.intersection(raw):
        return raw
    escaped = b"".join(
        _ESCAPES.get(byte) or (b"\\%03o" % byte if byte in _NEEDS_QUOTES else b"%c" % byte) for byte in raw
    )
    return b'"' + escaped + b'"'


def decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def unquoted(raw: bytes) -> bytes | None:
    """The whole of it as a name; None if a quoted one does not end with its quote."""
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
    """`diff -N` gives a file that is not there the time 0."""
    found = _STAMP.match(stamp)
    if not found:
        return False
    sign = -1 if found["zone"].startswith(b"-") else 1
    offset = sign * (int(found["zone"][1:3]) * 60 + int(found["zone"][3:]))
    day = 0 if found["day"] == b"1970-01-01" else -24 * 60
    return day + int(found["hour"]) * 60 + int(found["minute"]) == offset


def without_prefix(name: bytes) -> bytes | None:
    """As `git apply -p1` does; None if there is nothing to take off or nothing would be left."""
    _, slash, rest = name.partition(b"/")
    return rest if slash and rest else None


def name_pairs(line: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every way in which `diff --git` may name two files, without their prefixes."""
    for left, right in whole_pairs(line):
        old, new = without_prefix(left), without_prefix(right)
        if old is not None and new is not None:
            yield old, new


def whole_pairs(line: bytes) -> Iterator[tuple[bytes, bytes]]:
    """With what stands before them. There are several, because a plain name may hold spaces."""
    if len(line) > _LONGEST:
        return
    if line.startswith(b'"'):
        found = _QUOTED.match(line)
        spaces = [found.end()] if found and line[found.end() : found.end() + 1] == b" " else []
    else:
        spaces = [at for at, byte in enumerate(line) if byte == _SPACE]
    for space in spaces:
        left, right = unquoted(line[:space]), unquoted(line[space + 1 :])
        if left is not None and right is not None:
            yield left, right


def _plain(escaped: bytes) -> bytes:
    return _ESCAPE.sub(_unescaped, escaped) if b"\\" in escaped else escaped


def _unescaped(found: re.Match[bytes]) -> bytes:
    return _LETTERS.get(found[1]) or bytes([int(found[1], 8)])
