"""Unified diffs as `git apply` reads them, on bytes."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ringi.patching.compare import Block, matching_blocks

_CONTEXT: Final = 3
_BINARY_PROBE: Final = 8000
_NEEDS_QUOTES: Final = frozenset(b'"\\' + bytes(range(0x20)) + b"\x7f")
_ESCAPES: Final = {0x22: b'\\"', 0x5C: b"\\\\", 0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}


class Side(NamedTuple):
    data: bytes
    mode: str
    """As git says it: 100644 or 100755."""


class Rendered(NamedTuple):
    diff: bytes
    added: int
    removed: int
    binary: bool


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:_BINARY_PROBE]


def render(path: str, old: Side | None, new: Side | None) -> Rendered:
    """The difference of one file; None stands for a file that is not there."""
    if any(side and is_binary(side.data) for side in (old, new)):
        header = b"".join(_header(path, old, new))
        changed = (old and old.data) != (new and new.data)
        note = b"Binary files %s and %s differ\n" % _names(path, old, new) if changed else b""
        return Rendered(header + note, 0, 0, binary=True)
    a, b = _lines(old), _lines(new)
    body = list(_hunks(a, b)) if a != b else []
    added = sum(line.startswith(b"+") for hunk in body for line in hunk[1:])
    removed = sum(line.startswith(b"-") for hunk in body for line in hunk[1:])
    pieces = list(_header(path, old, new))
    if body:
        pieces.append(b"--- %s\n+++ %s\n" % _names(path, old, new))
        pieces += [piece for hunk in body for piece in hunk]
    return Rendered(b"".join(pieces), added, removed, binary=False)


def _header(path: str, old: Side | None, new: Side | None) -> Iterator[bytes]:
    yield b"diff --git %s %s\n" % (_quoted("a/", path), _quoted("b/", path))
    if old is None and new is not None:
        yield b"new file mode %s\n" % new.mode.encode()
    elif new is None and old is not None:
        yield b"deleted file mode %s\n" % old.mode.encode()
    elif old is not None and new is not None and old.mode != new.mode:
        yield b"old mode %s\nnew mode %s\n" % (old.mode.encode(), new.mode.encode())


def _names(path: str, old: Side | None, new: Side | None) -> tuple[bytes, bytes]:
    # A name with a space ends with a tab, or git would cut it at the space.
    end = b"\t" if " " in path and not _quoted("a/", path).startswith(b'"') else b""
    return (
        _quoted("a/", path) + end if old is not None else b"/dev/null",
        _quoted("b/", path) + end if new is not None else b"/dev/null",
    )


def _quoted(prefix: str, path: str) -> bytes:
    raw = prefix.encode() + path.encode("utf-8", "surrogateescape")
    if not _NEEDS_QUOTES.intersection(raw):
        return raw
    escaped = b"".join(
        _ESCAPES.get(byte) or (b"\\%03o" % byte if byte in _NEEDS_QUOTES else b"%c" % byte) for byte in raw
    )
    return b'"' + escaped + b'"'


def _lines(side: Side | None) -> list[bytes]:
    if side is None or not side.data:
        return []
    lines = [line + b"\n" for line in side.data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(a: list[bytes], b: list[bytes]) -> Iterator[list[bytes]]:
    for group in _groups(matching_blocks(a, b)):
        first, last = group[0], group[-1]
        a_low, a_high = max(0, first[0] - _CONTEXT), min(len(a), last[1] + _CONTEXT)
        b_low, b_high = max(0, first[2] - _CONTEXT), min(len(b), last[3] + _CONTEXT)
        lines = [b"@@ -%s +%s @@\n" % (_span(a_low, a_high), _span(b_low, b_high))]
        at = a_low
        for a_from, a_to, b_from, b_to in group:
            lines += [_line(b" ", line) for line in a[at:a_from]]
            lines += [_line(b"-", line) for line in a[a_from:a_to]]
            lines += [_line(b"+", line) for line in b[b_from:b_to]]
            at = a_to
        lines += [_line(b" ", line) for line in a[at:a_high]]
        yield lines


def _groups(blocks: list[Block]) -> Iterator[list[tuple[int, int, int, int]]]:
    """Changes that are near enough to share their context."""
    group: list[tuple[int, int, int, int]] = []
    a = b = 0
    for block in blocks:
        if a < block.a or b < block.b:
            if group and a - group[-1][1] > 2 * _CONTEXT:
                yield group
                group = []
            group.append((a, block.a, b, block.b))
        a, b = block.a + block.size, block.b + block.size
    if group:
        yield group


def _span(low: int, high: int) -> bytes:
    size = high - low
    start = low + 1 if size else low
    return b"%d" % start if size == 1 else b"%d,%d" % (start, size)


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n\\ No newline at end of file\n"
