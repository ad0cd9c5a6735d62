"""Three versions of one file merged: its text, its mode, whether it is there at all."""

from typing import Final, NamedTuple, TypeVar

from ringi.patch.conflict import Clash
from ringi.patch.merge import Conflicted, Merged, merge
from ringi.patch.render import Side, is_binary

T = TypeVar("T")

_REGULAR: Final = "100"
# Lines of a larger text would take too much memory; git's own limit is higher.
_LARGEST: Final = 64 << 20


class MergedFile(NamedTuple):
    side: Side | None
    """None if the file is gone."""
    text: Merged | None = None
    """None if nothing had to be merged line by line."""


class ConflictedFile(NamedTuple):
    clashes: tuple[Clash, ...]
    data: bytes | None = None
    """None if it has to be decided, as the mode."""
    mode: str | None = None
    text: Merged | Conflicted | None = None


def merge_file(base: Side | None, ours: Side | None, theirs: Side | None) -> MergedFile | ConflictedFile:
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
    return MergedFile(Side(content.data, mode), content.text if isinstance(content.text, Merged) else None)


class _Content(NamedTuple):
    data: bytes | None
    clash: Clash | None = None
    text: Merged | Conflicted | None = None


def _content(base: Side | None, ours: Side, theirs: Side) -> _Content:
    data = _one_of(base and base.data, ours.data, theirs.data)
    if data is not None:
        return _Content(data)
    if clash := _opaque(base, ours, theirs):
        return _Content(None, clash)
    text = merge(base.data if base else b"", ours.data, theirs.data)
    return (
        _Content(text.content, None, text) if isinstance(text, Merged) else _Content(None, Clash.TEXT, text)
    )


def _one_of(base: T | None, ours: T, theirs: T) -> T | None:
    """What both have, or what one of them changed; None if each changed it in its own way."""
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _kind(side: Side) -> str:
    return side.mode[:3]


def _opaque(base: Side | None, ours: Side, theirs: Side) -> Clash | None:
    """Why the contents cannot be merged line by line."""
    if _kind(ours) != _REGULAR:
        return Clash.LINK
    texts = [side.data for side in (base, ours, theirs) if side is not None]
    if any(map(is_binary, texts)):
        return Clash.BINARY
    return Clash.TOO_LARGE if max(map(len, texts)) > _LARGEST else None
