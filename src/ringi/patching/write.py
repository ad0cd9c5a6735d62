"""Patches as bytes, in the words of git."""

from collections.abc import Iterator
from typing import Final

from ringi.patching.model import FilePatch, Kind, Patch
from ringi.patching.names import NOWHERE, quoted

PLAIN_MODE: Final = "100644"
NO_NEWLINE: Final = b"\\ No newline at end of file\n"


def dump(patch: Patch) -> bytes:
    """The patch as bytes; for one that git wrote the very same, without the prose around it."""
    return b"".join(piece for file in patch.files for piece in written(file))


def written(file: FilePatch) -> Iterator[bytes]:
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
    """In git's order, from what the patch knows."""
    old, new = file.old_path or file.path, file.path
    yield b"diff --git %s %s\n" % (quoted("a/", old), quoted("b/", new))
    if file.kind is Kind.NEW:
        yield b"new file mode %s\n" % (file.new_mode or PLAIN_MODE).encode()
    elif file.kind is Kind.DELETED:
        yield b"deleted file mode %s\n" % (file.old_mode or PLAIN_MODE).encode()
    elif file.old_mode and file.new_mode and file.old_mode != file.new_mode:
        yield b"old mode %s\nnew mode %s\n" % (file.old_mode.encode(), file.new_mode.encode())
    if file.likeness:
        yield file.likeness + b"\n"
    word = {Kind.RENAMED: b"rename", Kind.COPIED: b"copy"}.get(file.kind)
    if word:
        yield b"%s from %s\n%s to %s\n" % (word, quoted("", old), word, quoted("", new))
    if file.blobs:
        yield b"index %s\n" % file.blobs
    if file.hunks:
        yield b"--- %s\n+++ %s\n" % sides(file)


def sides(file: FilePatch) -> tuple[bytes, bytes]:
    """The names of the --- and +++ lines."""
    return (
        NOWHERE if file.kind is Kind.NEW else _side("a/", file.old_path or file.path),
        NOWHERE if file.kind is Kind.DELETED else _side("b/", file.path),
    )


def _side(prefix: str, path: str) -> bytes:
    # A name with a space ends with a tab, or git would cut it at the space.
    name = quoted(prefix, path)
    return name + b"\t" if " " in path and not name.startswith(b'"') else name
