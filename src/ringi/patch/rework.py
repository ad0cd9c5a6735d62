"""Patches reversed, with hunks left out, and with more unchanged lines around a hunk."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from ringi.errors import NotFound, PatchMismatch
from ringi.kernel.text import Text
from ringi.patch.patch import NO_NEWLINE, PLAIN_MODE, FilePatch, Hunk, Patch, PatchKind
from ringi.patch.render import context_line, lines_of, span

# Neighbouring lines of one sign, with the mark that the last of them has no newline.
_STRETCHES: Final = re.compile(
    rb"(?:(?: [^\n]*+\n)++|(?:-[^\n]*+\n)++|(?:\+[^\n]*+\n)++)(?:\\[^\n]*+\n)?"
).findall


def reverse(patch: Patch, read: Callable[[str], bytes | None] | None = None) -> Patch:
    """The patch that undoes everything.

    Undoing a copy deletes it, and a deletion contains the whole content: `read` gives the files as the
    patch left them. Without `read`, a patch with a copy cannot be reversed.
    """
    return Patch(tuple(_reverse(file, read) for file in patch.files))


def _reverse(file: FilePatch, read: Callable[[str], bytes | None] | None) -> FilePatch:
    if file.kind is PatchKind.COPIED:
        return _without_copy(file, read)
    kinds = {PatchKind.NEW: PatchKind.DELETED, PatchKind.DELETED: PatchKind.NEW}
    old, dots, rest = file.blobs.partition(b"..")
    new, space, mode = rest.partition(b" ")
    return FilePatch(
        kinds.get(file.kind, file.kind),
        file.new_path,
        file.old_path,
        file.new_mode,
        file.old_mode,
        tuple(map(_turn, file.hunks)),
        file.likeness,
        new + dots + old + space + mode,
    )


def _without_copy(file: FilePatch, read: Callable[[str], bytes | None] | None) -> FilePatch:
    content = read(file.path) if read else None
    if content is None:
        why = Text("it is a copy, and to delete it again its whole content is needed")
        raise PatchMismatch(path=file.path, why=why)
    hunks = (_removal(content),) if content else ()
    return FilePatch(PatchKind.DELETED, file.path, None, file.new_mode or PLAIN_MODE, None, hunks)


def _removal(content: bytes) -> Hunk:
    whole = content.removesuffix(b"\n")
    body = b"-" + whole.replace(b"\n", b"\n-") + b"\n"
    mark = b"" if content.endswith(b"\n") else NO_NEWLINE
    return Hunk(1, whole.count(b"\n") + 1, 0, 0, b"", body + mark)


def _turn(hunk: Hunk) -> Hunk:
    pieces: list[bytes] = []
    added: list[bytes] = []
    for stretch in _STRETCHES(hunk.body):
        if stretch.startswith(b"-"):
            added.append(b"+" + stretch[1:].replace(b"\n-", b"\n+"))
        elif stretch.startswith(b"+"):
            pieces.append(b"-" + stretch[1:].replace(b"\n+", b"\n-"))
        else:
            pieces += [*added, stretch]
            added = []
    body = b"".join([*pieces, *added])
    return Hunk(hunk.new_start, hunk.new_count, hunk.old_start, hunk.old_count, hunk.heading, body)


def drop_hunks(patch: Patch, path: str, numbers: Collection[int]) -> Patch:
    """The patch without these hunks of one file, counted from 1; the others stay where they were.

    A file that is left without hunks is left out, unless its name or mode changes. A new or a deleted file
    can only be dropped whole.
    """
    if not any(file.path == path for file in patch.files):
        raise NotFound(what=Text("file in the patch"), name=path, see="git apply --stat")
    files = (_without(file, frozenset(numbers)) if file.path == path else file for file in patch.files)
    return Patch(tuple(file for file in files if file is not None))


def _without(file: FilePatch, numbers: frozenset[int]) -> FilePatch | None:
    unknown = numbers.difference(range(1, len(file.hunks) + 1))
    if unknown:
        names = ", ".join(map(str, sorted(unknown)))
        raise NotFound(what=Text("hunk"), name=f"{file.path}: {names}", see="git apply --stat")
    kept = [hunk for number, hunk in enumerate(file.hunks, 1) if number not in numbers]
    if len(kept) == len(file.hunks):
        return file
    if file.kind in {PatchKind.NEW, PatchKind.DELETED}:
        if kept:
            raise PatchMismatch(path=file.path, why=Text("a new or a deleted file goes whole or not at all"))
        return None
    if not kept and file.kind is PatchKind.CHANGED and file.old_mode == file.new_mode:
        return None
    likeness = file.likeness if kept or file.kind is PatchKind.CHANGED else b"similarity index 100%"
    header = file.header if kept else b""
    # The index line names the result of the whole patch, so it is no longer true.
    return file._replace(
        hunks=tuple(_shift(kept)), likeness=likeness, blobs=b"", header=_without_index(header)
    )


def _without_index(header: bytes) -> bytes:
    lines = header.split(b"\n")
    return b"\n".join(line for line in lines if not line.startswith(b"index "))


def _shift(hunks: list[Hunk]) -> Iterator[Hunk]:
    shift = 0
    for hunk in hunks:
        yield hunk.move(hunk.old_at + shift)
        shift += hunk.new_count - hunk.old_count


def with_context(hunks: Sequence[Hunk], old: bytes, more: Mapping[int, int]) -> tuple[Hunk, ...]:
    """Up to so many more lines around each hunk, counted from 1. What lies between two is shown once.

    For people: neither the change nor the number of hunks differs.
    """
    lines = lines_of(old)
    found = []
    shown = 0
    """Lines of the old file up to here are shown already."""
    for number, hunk in enumerate(hunks, 1):
        after = hunk.old_at + hunk.old_count
        limit = hunks[number].old_at if number < len(hunks) else len(lines)
        low = max(hunk.old_at - more.get(number, 0), shown)
        shown = min(after + more.get(number, 0), limit)
        found.append(_wider(hunk, lines, low, max(shown, after)))
    return tuple(found)


def _wider(hunk: Hunk, lines: Sequence[bytes], low: int, high: int) -> Hunk:
    before, after = lines[low : hunk.old_at], lines[hunk.old_at + hunk.old_count : high]
    more = len(before) + len(after)
    new_at = hunk.new_at - len(before)
    return Hunk(
        *span(low, low + hunk.old_count + more),
        *span(new_at, new_at + hunk.new_count + more),
        hunk.heading,
        b"".join([*map(context_line, before), hunk.body, *map(context_line, after)]),
    )
