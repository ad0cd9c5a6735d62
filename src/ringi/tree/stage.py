"""Writes a group of files so that it can always be finished or rolled back.

Every change is a swap: the approved bytes go in, the old bytes come out and are hashed. A file that is
neither as before nor as after was written by somebody else and is left alone.
"""

import contextlib
import errno
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from ringi.errors import PathRefused, StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.fs import EntryKind, FileSystem, open_for_block
from ringi.kernel.process.progress import count_items
from ringi.kernel.text import Text
from ringi.tree.file_state import FileChange, OpStatus
from ringi.tree.tree import Made, Tree

STAGING: Final = (".agent", "tmp")
_SYNC_ONE_BY_ONE: Final = 2
_NOT_EMPTY: Final = frozenset([errno.ENOTEMPTY, errno.EEXIST])

Contents = Callable[[str], bytes]
"""The bytes with this SHA-256."""


class WriteConflict(Exception):
    """Somebody else wrote this file."""

    def __init__(self, change: FileChange, detail: Text) -> None:
        super().__init__(str(detail))
        self.change = change
        self.detail = detail


class _Swap:
    """Swaps one file between the stage and the workspace; each side is an open folder and a name in it."""

    def __init__(
        self, tree: Tree, staged: tuple[int, str], place: tuple[int, str], change: FileChange
    ) -> None:
        self._tree = tree
        self._fs = tree.fs
        self._staged = staged
        self._place = place
        self._change = change

    def run_below(self, root: int) -> None:
        """Rolls back if the folder was moved meanwhile: then it is not the one that was approved."""
        self.run()
        if not self._tree.is_folder_of(self._change.path, root, self._place[0]):
            self.back()
            raise WriteConflict(self._change, Text("its folder was moved meanwhile"))

    def run(self) -> None:
        if self._change.folder:
            self.make_or_remove()
        elif self._change.before is None:
            self.create()
        elif self._change.after is None:
            self.delete()
        else:
            self.overwrite()

    def back(self) -> None:
        """Undoes the swap through the same open folder, wherever that is by now."""
        # Leave alone what somebody else wrote or deleted since.
        with contextlib.suppress(WriteConflict, FileNotFoundError):
            _Swap(self._tree, self._staged, self._place, reverse(self._change)).run()

    def make_or_remove(self) -> None:
        """A folder is made or removed in one step, so it needs no stage."""
        if self._change.after is not None:
            try:
                self._fs.make_folder(*self._place, int(self._change.after.mode, 8))
            except FileExistsError:
                raise WriteConflict(self._change, Text("somebody made it meanwhile")) from None
            return
        try:
            self._fs.remove_folder(*self._place)
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno not in _NOT_EMPTY:
                raise
            raise WriteConflict(self._change, Text("somebody put something into it")) from None

    def create(self) -> None:
        try:
            self._fs.link(*self._staged, *self._place)
        except FileExistsError:
            raise WriteConflict(self._change, Text("somebody made it meanwhile")) from None
        self._fs.remove(*self._staged)

    def overwrite(self) -> None:
        self._fs.exchange(*self._staged, *self._place)
        if not self._came_out_as_before():
            # If somebody writes again between the two exchanges, that version stays in the stage.
            self._fs.exchange(*self._staged, *self._place)
            raise WriteConflict(self._change, Text("somebody wrote to it meanwhile"))

    def delete(self) -> None:
        self._fs.move(*self._place, *self._staged)
        if not self._came_out_as_before():
            self._put_back()
            raise WriteConflict(self._change, Text("somebody wrote to it meanwhile"))

    def _put_back(self) -> None:
        """If somebody made something new at the old path, that stays there and ours stays in the stage."""
        entry = self._fs.entry(*self._staged)
        if entry is not None and entry.kind is EntryKind.FOLDER:
            # Folders cannot be linked; moving one replaces nothing but an empty folder.
            with contextlib.suppress(OSError):
                self._fs.move(*self._staged, *self._place)
            return
        with contextlib.suppress(FileExistsError):
            self._fs.link(*self._staged, *self._place)
            self._fs.remove(*self._staged)

    def _came_out_as_before(self) -> bool:
        try:
            found = self._tree.look_at(*self._staged, self._change.path)
        except (PathRefused, StorageFailed):
            return False
        return found is not None and found.state == self._change.before


class Stage:
    """One execution's folder in `.agent/tmp`: on the workspace's file system, so that swaps are atomic."""

    def __init__(self, fs: FileSystem, root: Path, name: str) -> None:
        self.fs = fs
        self.tree = Tree(fs, root)
        self.name = name
        self.kept: list[str] = []
        self._names: dict[str, str] = {}
        """The name in the stage, by path."""
        self._swapped: set[str] = set()
        self._held: tuple[int, int, int] | None = None
        """The workspace's root, the folder of all stages and the stage, while they are open."""

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Keeps the stage open during the block."""
        with self._open():
            yield

    @contextlib.contextmanager
    def _open(self) -> Iterator[tuple[int, int]]:
        """The workspace's root and the stage, both open; made if missing."""
        if self._held is not None:
            yield self._held[0], self._held[2]
            return
        with contextlib.ExitStack() as stack:
            found = [stack.enter_context(self.tree.open_root())]
            for part in (*STAGING, self.name):
                step = self.tree.step(found[-1], part, part, make=True)
                found.append(stack.enter_context(open_for_block(self.fs, step)))
            self._held = found[0], found[-2], found[-1]
            try:
                yield found[0], found[-1]
            finally:
                self._held = None

    def prepare(self, changes: Sequence[FileChange], contents: Contents) -> None:
        """Writes the new files into the stage and syncs them."""
        with self._open() as (root, stage):
            names = []
            for index, change in enumerate(count_items(Text("Preparing files"), changes)):
                name = self._names[change.path] = str(index)
                if change.after is not None and not change.folder:
                    data = contents(change.after.sha256)
                    self.fs.create(stage, name, data, int(change.after.mode, 8))
                    _keep_owner(self.tree, root, (stage, name), change)
                    names.append(name)
            if len(names) > _SYNC_ONE_BY_ONE:
                self.fs.sync_everything(stage)
                return
            # The stage itself is not synced: after a crash it is rebuilt from the ledger.
            for name in names:
                self.fs.sync_file(stage, name)

    def swap_in(self, changes: Sequence[FileChange], *, go_on: bool = False) -> list[WriteConflict]:
        """Brings every file from before to after. At one that is neither, stops, or with `go_on` skips it."""
        conflicts = []
        with self._open() as (root, stage):
            for change in count_items(Text("Writing files"), changes):
                try:
                    self._swap(root, stage, change)
                except WriteConflict as conflict:
                    conflicts.append(conflict)
                    if not go_on:
                        break
        return conflicts

    def take_back(self, changes: Sequence[FileChange]) -> dict[str, OpStatus]:
        """Rolls back what this stage swapped in; returns what became of each file."""
        statuses = {}
        with self._open() as (root, stage):
            for change in reversed(changes):
                if change.path not in self._swapped:
                    continue
                self._swapped.remove(change.path)
                try:
                    self._swap(root, stage, reverse(change))
                    statuses[change.path] = OpStatus.UNDONE
                except WriteConflict:
                    statuses[change.path] = OpStatus.CONFLICT
        return statuses

    def _swap(self, root: int, stage: int, change: FileChange) -> None:
        new: Made = []
        name = self._names[change.path]
        try:
            with self.tree.folder_of(change.path, root, make=change.before is None, made=new) as place:
                try:
                    _Swap(self.tree, (stage, name), place, change).run_below(root)
                except WriteConflict:
                    _unmake(self.fs, new)
                    raise
        except FileNotFoundError:
            if self._was_lost(stage, name, change):
                raise
            raise WriteConflict(change, Text("somebody deleted it meanwhile")) from None
        except PathRefused as error:
            raise WriteConflict(change, Text("{why}", why=error.details["why"])) from None
        self._swapped.add(change.path)

    def _was_lost(self, stage: int, name: str, change: FileChange) -> bool:
        """Whether the stage was deleted, not the file: somebody ran `git clean`."""
        if change.folder:
            return False
        return not self.exists() or (change.after is not None and self.fs.entry(stage, name) is None)

    @property
    def path(self) -> str:
        return "/".join((*STAGING, self.name))

    def settle(
        self,
        changes: Sequence[FileChange],
        new_folders: Sequence[str],
        emptied: Collection[str],
        *,
        forward: bool,
    ) -> None:
        """Removes the folders that are empty now, and syncs all touched folders.

        `emptied` are removed after the changes, `new_folders` after a rollback.
        """
        with self._open() as (root, _):
            folders = emptied if forward else new_folders
            removed = set(_remove_folders(self.tree, root, sorted(folders, key=len, reverse=True)))
            # During a rollback, an emptied folder may have been removed and made again.
            touched = {change.path for change in changes} | set(new_folders)
            touched |= removed if forward else removed | set(emptied)
            self._sync(root, {path.rpartition("/")[0] for path in touched})

    def _sync(self, root: int, folders: set[str]) -> None:
        if len(folders) > _SYNC_ONE_BY_ONE:
            self.fs.sync_everything(root)
            return
        for folder in sorted(folders):
            if not folder:
                self.fs.sync_folder(root)
                continue
            with (
                contextlib.suppress(FileNotFoundError, PathRefused),
                self.tree.folder_of(f"{folder}/x", root) as (at, _),
            ):
                self.fs.sync_folder(at)

    def drop(self, ours: Callable[[bytes], bool]) -> None:
        """Removes the stage, except files that somebody else wrote and those swapped out for them."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.suppress(FileNotFoundError))
            if self._held is not None:
                _, at, stage = self._held
            else:
                at = stack.enter_context(self._staging())
                step = self.tree.step(at, self.name, self.name, make=False)
                stage = stack.enter_context(open_for_block(self.fs, step))
            for name in self.fs.names(stage):
                if _is_foreign(self.fs, stage, name, ours):
                    self.kept.append(f"{self.path}/{name}")
                else:
                    # What cannot be removed now is ours; the next sweep removes it.
                    with contextlib.suppress(OSError):
                        self.fs.remove(stage, name)
            if not self.kept:
                with contextlib.suppress(OSError):
                    self.fs.remove_folder(at, self.name)

    def exists(self) -> bool:
        with contextlib.suppress(FileNotFoundError), self._staging() as at:
            return self.fs.entry(at, self.name) is not None
        return False

    @contextlib.contextmanager
    def _staging(self) -> Iterator[int]:
        with contextlib.ExitStack() as stack:
            at = stack.enter_context(self.tree.open_root())
            for part in STAGING:
                at = stack.enter_context(open_for_block(self.fs, self.fs.open_folder(at, part)))
            yield at


def list_stages(fs: FileSystem, root: Path) -> list[str]:
    """The names of all stages that are left."""
    stage = Stage(fs, root, "")
    with contextlib.suppress(FileNotFoundError), stage._staging() as at:  # noqa: SLF001  # same module
        return sorted(fs.names(at))
    return []


def _keep_owner(tree: Tree, root: int, staged: tuple[int, str], change: FileChange) -> None:
    # If something was put in the way meanwhile, the swap notices.
    theirs = tree.entry_of(change.path, root) if change.before else None
    mine = tree.fs.entry(*staged)
    if theirs and mine and (theirs.owner, theirs.group) != (mine.owner, mine.group):
        # Only a privileged user can; for others the file becomes their own.
        with contextlib.suppress(PermissionError):
            tree.fs.give(*staged, theirs.owner, theirs.group)


def _remove_folders(tree: Tree, root: int, folders: Iterable[str]) -> list[str]:
    removed = []
    for folder in folders:
        # Not empty, already gone, or replaced by somebody: all are fine.
        with contextlib.suppress(OSError, PathRefused), tree.folder_of(folder, root) as (at, name):
            tree.fs.remove_folder(at, name)
            removed.append(folder)
    return removed


def _is_foreign(fs: FileSystem, stage: int, name: str, ours: Callable[[bytes], bool]) -> bool:
    try:
        return not ours(fs.read(stage, name)[0])
    except FileNotFoundError:
        return False
    except OSError:  # not a file, being written, or unreadable: not ours to remove
        return True


def _unmake(fs: FileSystem, folders: Made) -> None:
    """Through descriptors, because they may have been moved. What somebody put there stays."""
    for at, name in reversed(folders):
        with contextlib.suppress(OSError):
            fs.remove_folder(at, name)


def reverse(change: FileChange) -> FileChange:
    return msgspec.structs.replace(change, before=change.after, after=change.before)


def find_known(changes: Sequence[FileChange]) -> Callable[[bytes], bool]:
    """Whether bytes belong to these changes."""
    hashes = {state.sha256 for change in changes for state in (change.before, change.after) if state}
    return lambda data: digest(data) in hashes


def list_emptied(changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Folders that may be empty once the files are gone."""
    gone = [change.path for change in changes if change.after is None]
    return tuple(sorted({folder for path in gone for folder in _folders_above(path)}))


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:depth]) for depth in range(len(parts), 0, -1)]
