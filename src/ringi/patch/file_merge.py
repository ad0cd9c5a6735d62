"""Three versions of one file merged: its text, its mode, whether it is there at all."""

from typing import Final, NamedTuple, TypeVar

from ringi.patch.conflict import Clash
from ringi.patch.merge import Conflicted, MergedText, merge
from ringi.patch.render import FileSide, is_binary

T = TypeVar("T")

_REGULAR: Final = "100"
# Lines of a larger text would take too much memory; git's own limit is higher.
_LARGEST: Final = 64 << 20


class MergedFile(NamedTuple):
    side: FileSide | None
    """None if the file is gone."""
    text: MergedText | None = None
    """None if nothing had to be merged line by line."""


class ConflictedFile(NamedTuple):
    clashes: tuple[Clash, ...]
    data: bytes | None = None
    """None if it has to be decided, as the mode."""
    mode: str | None = None
    text: MergedText | Conflicted | None = None


def merge_file(
    base: FileSide | None, ours: FileSide | None, theirs: FileSide | None
) -> MergedFile | ConflictedFile:
    """None for a file that is not there."""
    if theirs in (ours, base):
        return MergedFile(ours)
    if ours == base:
        return MergedFile(theirs)
    if ours is None:
        return ConflictedFile((Clash.DELETED_BY_OURS,))
    if theirs is None:
        return ConflictedFile((Clash.DELETED_BY_THEIRS,))
    if _kind(ours) != _kind(theirs):
        return ConflictedFile((Clash.KIND,))
    if base is not None and _kind(base) != _kind(ours):
        base = None  # both replaced it, so they have nothing in common
    mode = _one_of(base and base.mode, ours.mode, theirs.mode)
    content = _content(base, ours, theirs)
    clashes = tuple(filter(None, (content.clash, None if mode else Clash.MODE)))
    if content.data is None or mode is None:
        return ConflictedFile(clashes, content.data, mode, content.text)
    return MergedFile(
        FileSide(content.data, mode), content.text if isinstance(content.text, MergedText) else None
    )


class _MergedContent(NamedTuple):
    data: bytes | None
    clash: Clash | None = None
    text: MergedText | Conflicted | None = None


def _content(base: FileSide | None, ours: FileSide, theirs: FileSide) -> _MergedContent:
    data = _one_of(base and base.data, ours.data, theirs.data)
    if data is not None:
        return _MergedContent(data)
    if clash := _opaque(base, ours, theirs):
        return _MergedContent(None, clash)
    text = merge(base.data if base else b"", ours.data, theirs.data)
    return (
        _MergedContent(text.content, None, text)
        if isinstance(text, MergedText)
        else _MergedContent(None, Clash.TEXT, text)
    )


def _one_of(base: T | None, ours: T, theirs: T) -> T | None:
    """What both have, or what one of them changed; None if each changed it in its own way."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _kind(side: FileSide) -> str:
    return side.mode[:3]


def _opaque(base: FileSide | None, ours: FileSide, theirs: FileSide) -> Clash | None:
    """Why the contents cannot be merged line by line."""
    if _kind(ours) != _REGULAR:
        return Clash.LINK
    texts = [side.data for side in (base, ours, theirs) if side is not None]
    if any(map(is_binary, texts)):
        return Clash.BINARY
    return Clash.TOO_LARGE if max(map(len, texts)) > _LARGEST else None
