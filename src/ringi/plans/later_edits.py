"""What was written to a plan's files since it was carried out, and what an undo makes of it.

Base is what the plan wrote, ours the file as it is now, theirs the file before the plan. A clean merge takes
back what the plan did and keeps every line written since; otherwise the file is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ringi.errors import PathRefused, StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.text import Text, why_failed
from ringi.patch.conflict import Clash
from ringi.patch.merge import ConflictedFile, MergedText, RegionKind, merge_file
from ringi.patch.render import FileSide
from ringi.plans.effects import difference
from ringi.tree.file_state import FileChange, FileState
from ringi.tree.tree import CurrentFile

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_WHY: Final[Mapping[Clash, Text]] = {
    Clash.TEXT: Text("the same lines were changed since"),
    Clash.BINARY: Text("it is not text and was changed since"),
    Clash.TOO_LARGE: Text("it is too large to merge and was changed since"),
    Clash.MODE: Text("its permissions were changed since"),
    Clash.DELETED_BY_OURS: Text("it was deleted since"),
    Clash.DELETED_BY_THEIRS: Text("the plan made it, and it was changed since"),
}
_NOT_A_FILE: Final = Text("it is something else now")
_LOST: Final = Text("the replaced bytes are no longer kept")


class Back(NamedTuple):
    """Changes that take back what the plan did to these files; empty if nothing of it is left."""

    changes: tuple[FileChange, ...]
    contents: Mapping[str, bytes]
    """Merged bytes, by hash."""


class LeftAlone(NamedTuple):
    path: str
    why: Text


class MergeInput(NamedTuple):
    base: FileSide | None
    ours: FileSide | None
    theirs: FileSide | None


def merge_back(workspace: Workspace, changes: Sequence[FileChange]) -> Back | LeftAlone:
    """Of one file, or of a file and the name it was moved from; each from what the plan wrote to before."""
    try:
        return _merge_back(workspace, tuple(changes))
    except _Left as error:
        return error.left


class _Left(Exception):
    def __init__(self, path: str, why: Text) -> None:
        super().__init__(path)
        self.left = LeftAlone(path, why)


def _merge_back(workspace: Workspace, changes: tuple[FileChange, ...]) -> Back:
    now = {change.path: _now(workspace, change) for change in changes}
    if move := _move_of(changes):
        source, target = move
        if now[source.path] is None and (there := now[target.path]) is not None:
            return _move_back(workspace, source, target, there)
    found = [_one_back(workspace, change, now[change.path]) for change in changes]
    return Back(
        tuple(change for back in found for change in back.changes),
        {sha256: data for back in found for sha256, data in back.contents.items()},
    )


def _now(workspace: Workspace, change: FileChange) -> CurrentFile | None:
    if change.folder:
        raise _Left(change.path, _NOT_A_FILE)
    try:
        return workspace.tree.look(change.path)
    except PathRefused as error:
        why = error.details["why"]
        raise _Left(change.path, why if isinstance(why, Text) else _NOT_A_FILE) from None
    except (StorageFailed, OSError) as error:
        said = why_failed(error) if isinstance(error, OSError) else str(error.details["why"])
        raise _Left(change.path, Text("{why}", why=said)) from None


def _move_of(changes: tuple[FileChange, ...]) -> tuple[FileChange, FileChange] | None:
    """The name that comes back, and the one that goes."""
    source = [change for change in changes if change.before is None and change.after]
    target = [change for change in changes if change.after is None and change.before]
    if (len(changes), len(source), len(target)) != (2, 1, 1) or changes[0].folder or changes[1].folder:
        return None
    return source[0], target[0]


def since(workspace: Workspace, change: FileChange) -> str:
    """The difference from what the plan wrote to the file as it is now; empty if that is not a file."""
    try:
        now, then = _now(workspace, change), _read_kept(workspace, change.path, change.before)
    except _Left:
        return ""
    data = difference(change.path, then and then.data, change.before, now and now.data, now and now.state)
    return data.diff.decode("utf-8", "backslashreplace")


def _one_back(workspace: Workspace, change: FileChange, now: CurrentFile | None) -> Back:
    state = now.state if now else None
    if state == change.after:
        return Back((), {})
    if state == change.before:
        return Back((change,), {})
    sides = MergeInput(
        _read_kept(workspace, change.path, change.before),
        _side(now),
        _read_kept(workspace, change.path, change.after),
    )
    after, data, lines = _merge(change.path, sides)
    if after == state:
        return Back((), {})
    back = msgspec.structs.replace(change, before=state, after=after, later_lines=lines)
    return Back((back,), {after.sha256: data} if after else {})


def _move_back(workspace: Workspace, source: FileChange, target: FileChange, now: CurrentFile) -> Back:
    """As git does with a renamed file: what was written under the new name goes along to the old one."""
    base, theirs = (
        _read_kept(workspace, target.path, target.before),
        _read_kept(workspace, source.path, source.after),
    )
    after, data, lines = _merge(target.path, MergeInput(base, _side(now), theirs))
    if after is None:  # never, since both are there
        raise _Left(target.path, _WHY[Clash.TEXT])
    back = msgspec.structs.replace(source, after=after, later_lines=lines)
    gone = msgspec.structs.replace(target, before=now.state, later_lines=0)
    return Back((back, gone), {after.sha256: data})


def _merge(path: str, sides: MergeInput) -> tuple[FileState | None, bytes, int]:
    """The file, and how many lines written since it keeps."""
    result = merge_file(*sides)
    if isinstance(result, ConflictedFile):
        raise _Left(path, _WHY.get(result.clashes[0], _NOT_A_FILE))
    if result.side is None:
        return None, b"", 0
    data = result.side.data
    return FileState(digest(data), result.side.mode[2:]), data, _later_lines(result.text)


def _later_lines(text: MergedText | None) -> int:
    regions = text.regions if text else ()
    return sum(len(region.written) for region in regions if region.kind is RegionKind.OURS)


def _read_kept(workspace: Workspace, path: str, state: FileState | None) -> FileSide | None:
    if state is None:
        return None
    data = workspace.store.get_bytes(state.sha256)
    if data is None:
        raise _Left(path, _LOST)
    return FileSide(data, _mode(state))


def _side(found: CurrentFile | None) -> FileSide | None:
    return FileSide(found.data, _mode(found.state)) if found else None


def _mode(state: FileState) -> str:
    """All permission bits, in the form of git's mode of a regular file."""
    return f"10{state.mode}"


def together(changes: Sequence[FileChange]) -> list[tuple[FileChange, ...]]:
    """Files that go back or stay as one: both names of a file that was moved; every other by itself.

    A move is one spec, or what an agent made of it: one file deleted, and one made of the same bytes.
    """
    moved: dict[str, tuple[FileChange, ...]] = {}
    for key in (_by_spec, _by_content):
        some: dict[object, list[FileChange]] = {}
        for change in changes:
            if change.path not in moved and (change.before is None or change.after is None):
                some.setdefault(key(change), []).append(change)
        for pair in map(tuple, some.values()):
            if _move_of(pair):
                moved |= {change.path: pair for change in pair}
    return list(dict.fromkeys(moved.get(change.path, (change,)) for change in changes))


def _by_spec(change: FileChange) -> object:
    return change.unit, change.spec_id


def _by_content(change: FileChange) -> object:
    return change.unit, change.before or change.after
