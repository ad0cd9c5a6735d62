"""The user's files, opened part by part from an open folder, never through a link."""

import contextlib
import errno
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from ringi.errors import PathRefused, StorageFailed, TooLarge, Unreadable
from ringi.kernel.codec import digest
from ringi.kernel.fs import Entry, EntryKind, FileChanged, FileSystem, NotRegular, open_for_block
from ringi.kernel.text import Text
from ringi.tree.file_state import FileState, Touched
from ringi.tree.paths import normalise

if TYPE_CHECKING:  # `ringi` alone does without
    from ringi.tree.file_state import FileChange

_READ_TRIES = 3
_REFUSALS: Final = {
    EntryKind.LINK: Text("it is a symbolic link"),
    EntryKind.FOLDER: Text("it is a folder"),
    EntryKind.FIFO: Text("it is a named pipe"),
    EntryKind.SOCKET: Text("it is a socket"),
    EntryKind.CHARACTER_DEVICE: Text("it is a character device"),
    EntryKind.BLOCK_DEVICE: Text("it is a block device"),
}
LARGEST: Final = 1 << 30
"""Bytes of a file that is read whole: more would fill the memory."""
_NOT_REGULAR: Final = Text("it is not a regular file")

Made = list[tuple[int, str]]
"""New folders, each as its open parent and its name."""


class CurrentFile(NamedTuple):
    """A regular file as it is now."""

    state: FileState
    data: bytes
    entry: Entry


class Tree:
    def __init__(self, fs: FileSystem, root: Path) -> None:
        self.fs = fs
        self.root = root

    @contextlib.contextmanager
    def open_root(self) -> Iterator[int]:
        with open_for_block(self.fs, self.fs.open_root(self.root)) as folder:
            yield folder

    @contextlib.contextmanager
    def folder_of(
        self, path: str, root: int, *, make: bool = False, made: Made | None = None
    ) -> Iterator[tuple[int, str]]:
        """The open folder that contains the path, and its name there. FileNotFoundError if there is none.

        With `make`, creates missing folders and adds them to `made`.
        """
        *folders, name = normalise(path)
        with contextlib.ExitStack() as stack:
            at = root
            for part in folders:
                at = stack.enter_context(
                    open_for_block(self.fs, self.step(at, part, path, make=make, made=made))
                )
            yield at, name

    def step(self, at: int, part: str, path: str, *, make: bool, made: Made | None = None) -> int:
        try:
            return self.fs.open_folder(at, part)
        except FileNotFoundError:
            if not make:
                raise
        except OSError as error:
            self._refuse(at, part, path, error)
        with contextlib.suppress(FileExistsError):
            self.fs.make_folder(at, part, 0o777)
            if made is not None:
                made.append((at, part))
        try:
            return self.fs.open_folder(at, part)
        except OSError as error:
            self._refuse(at, part, path, error)

    def _refuse(self, at: int, part: str, path: str, error: OSError) -> NoReturn:
        """Says in words what blocks a folder; any other error passes unchanged."""
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise error
        entry = self.fs.entry(at, part)
        if entry is not None and entry.kind is EntryKind.LINK:
            raise PathRefused(path=path, why=Text("{part} is a symbolic link", part=part)) from None
        if entry is not None and entry.kind is not EntryKind.FILE:
            raise PathRefused(path=path, why=Text("{part} is not a folder", part=part)) from None
        raise PathRefused(path=path, why=Text("{part} is a file, not a folder", part=part)) from None

    def is_folder_of(self, path: str, root: int, folder: int) -> bool:
        """Whether the open folder is still the one that contains the path."""
        here = self.fs.folder_entry(folder)
        try:
            with self.folder_of(path, root) as (again, _):
                there = self.fs.folder_entry(again)
        except (FileNotFoundError, PathRefused):
            return False
        return (here.device, here.inode) == (there.device, there.inode)

    def entry_of(self, path: str, root: int) -> Entry | None:
        """What is at the path, whatever it is; None if nothing can be reached."""
        with (
            contextlib.suppress(FileNotFoundError, PathRefused),
            self.folder_of(path, root) as (at, name),
        ):
            return self.fs.entry(at, name)
        return None

    def look(self, path: str) -> CurrentFile | None:
        """The file at the path; None if nothing is. Anything else there is refused."""
        with self.open_root() as root:
            return self.look_from(root, path)

    def look_from(self, root: int, path: str) -> CurrentFile | None:
        try:
            with self.folder_of(path, root) as (folder, name):
                return self.look_at(folder, name, path)
        except FileNotFoundError:
            return None

    def look_folder(self, path: str) -> CurrentFile | None:
        """As `look`, but also accepts a folder, which has no bytes."""
        with self.open_root() as root:
            return self.look_folder_from(root, path)

    def look_folder_from(self, root: int, path: str) -> CurrentFile | None:
        try:
            with self.folder_of(path, root) as (folder, name):
                entry = self.fs.entry(folder, name)
                if entry is not None and entry.kind is EntryKind.FOLDER:
                    return CurrentFile(FileState("", f"{entry.mode:04o}", folder=True), b"", entry)
                return self.look_at(folder, name, path)
        except FileNotFoundError:
            return None

    def look_at(self, folder: int, name: str, path: str) -> CurrentFile | None:
        entry = self.fs.entry(folder, name)
        if entry is None:
            return None
        if entry.kind is not EntryKind.FILE:
            raise PathRefused(path=path, why=_REFUSALS.get(entry.kind, _NOT_REGULAR))
        if entry.size > LARGEST:
            why = Text("it has {size} bytes, {limit} are allowed", size=entry.size, limit=LARGEST)
            raise TooLarge(what=path, why=why)
        try:
            return self._read(folder, name, path)
        except FileNotFoundError:
            return None
        except NotRegular:
            raise PathRefused(path=path, why=_NOT_REGULAR) from None
        except PermissionError as error:
            raise Unreadable(what=path, why=error.strerror) from None

    def _read(self, folder: int, name: str, path: str) -> CurrentFile:
        for _ in range(_READ_TRIES):
            with contextlib.suppress(FileChanged):
                data, entry = self.fs.read(folder, name)
                return CurrentFile(FileState(digest(data), f"{entry.mode:04o}"), data, entry)
        raise Unreadable(what=path, why=Text("somebody keeps writing to it"))

    def missing_folders(self, paths: list[str]) -> list[str]:
        """Folders that writing the paths would make, outermost first."""
        missing: dict[str, None] = {}
        if not any("/" in path for path in paths):
            return []
        with self.open_root() as root:
            for path in paths:
                parts = normalise(path)[:-1]
                for depth in range(1, len(parts) + 1):
                    folder = "/".join(parts[:depth])
                    if folder not in missing and not self._is_there(root, folder):
                        missing[folder] = None
        return list(missing)

    def _is_there(self, root: int, path: str) -> bool:
        try:
            with self.folder_of(path, root) as (folder, name):
                return self.fs.entry(folder, name) is not None
        except FileNotFoundError:
            return False
        except PathRefused:  # a link or a file is in the way; whoever writes there will find it
            return True


class TreeAsSeen(Tree):
    """The files as somebody saw them: those named here have these bytes, or are not there."""

    def __init__(self, tree: Tree, seen: Mapping[str, tuple[FileState, bytes] | None]) -> None:
        super().__init__(tree.fs, tree.root)
        self._seen = seen

    def look(self, path: str) -> CurrentFile | None:
        return self._show_as_seen(path) if path in self._seen else super().look(path)

    def look_folder(self, path: str) -> CurrentFile | None:
        return self._show_as_seen(path) if path in self._seen else super().look_folder(path)

    def _show_as_seen(self, path: str) -> CurrentFile | None:
        if (known := self._seen[path]) is None:
            return None
        state, data = known
        return CurrentFile(state, data, Entry(EntryKind.FILE, int(state.mode, 8), len(data), 0, 0, 0, 0))


def look_change(
    tree: Tree, root: int, change: "FileChange | Touched"
) -> tuple[FileState | None, CurrentFile | None]:
    """For a folder, the permission bits do not count: they depend on the umask."""
    if (folder := change.folder) is None:
        found = tree.look_from(root, change.path)
        return (found.state if found else None), found
    found = tree.look_folder_from(root, change.path)
    return (folder if found and found.state.folder else found.state if found else None), found


def find_differing(tree: Tree, changes: "Sequence[FileChange | Touched]") -> list[str]:
    """Paths that differ from before."""
    wrong = []
    with tree.open_root() as root:
        for change in changes:
            try:
                state, _ = look_change(tree, root, change)
            except (PathRefused, StorageFailed, OSError):
                wrong.append(change.path)
            else:
                if state != change.before:
                    wrong.append(change.path)
    return wrong


def repositories(tree: Tree, paths: Sequence[str]) -> list[str]:
    """Folders that git would take for a repository if these paths were written.

    It obeys the settings of any such folder, whatever its name, for whoever works in it.
    """
    names: dict[tuple[str, ...], set[str]] = {}
    for parts in map(normalise, paths):
        for depth, part in enumerate(parts):
            names.setdefault(parts[:depth], set()).add(part.lower())

    def has(folder: tuple[str, ...], name: str) -> bool:
        known = name.lower() in names[folder]
        return known or tree.entry_of("/".join([*folder, name]), root) is not None

    def is_repository(folder: tuple[str, ...]) -> bool:
        # In a folder with a `commondir`, objects and refs are where it says.
        return has(folder, "HEAD") and (
            has(folder, "commondir") or (has(folder, "objects") and has(folder, "refs"))
        )

    with tree.open_root() as root:
        return ["/".join(folder) or "." for folder in names if is_repository(folder)]
