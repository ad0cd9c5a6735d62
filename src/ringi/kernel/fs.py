"""Files through descriptors: the only module with system calls on the workspace.

Everything is named by an open folder and one name in it, never by a path, and nothing follows a link.
"""

import contextlib
import errno
import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from ringi.errors import FolderUnusable
from ringi.kernel.text import Text, why_failed

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_RENAME_EXCHANGE_LINUX = 2
_RENAME_SWAP_MACOS = 2


class EntryKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    FIFO = "fifo"
    SOCKET = "socket"
    CHARACTER_DEVICE = "character device"
    BLOCK_DEVICE = "block device"
    OTHER = "other"
    """Anything else, such as a device."""


_KINDS = {
    stat.S_IFREG: EntryKind.FILE,
    stat.S_IFDIR: EntryKind.FOLDER,
    stat.S_IFLNK: EntryKind.LINK,
    stat.S_IFIFO: EntryKind.FIFO,
    stat.S_IFSOCK: EntryKind.SOCKET,
    stat.S_IFCHR: EntryKind.CHARACTER_DEVICE,
    stat.S_IFBLK: EntryKind.BLOCK_DEVICE,
}


class Entry(NamedTuple):
    kind: EntryKind
    mode: int
    size: int
    device: int
    inode: int
    owner: int
    group: int


class NotRegular(OSError):
    """The name exists but is not a regular file."""


class FileChanged(OSError):
    """The file was written while it was being read."""


class FileSystem(Protocol):
    """What execution needs from a file system; tests replace it with one that loses power."""

    def open_root(self, path: Path) -> int: ...
    def open_folder(self, at: int, name: str) -> int: ...
    def close(self, folder: int) -> None: ...
    def entry(self, at: int, name: str) -> Entry | None: ...
    def folder_entry(self, folder: int) -> Entry: ...
    def names(self, at: int) -> list[str]: ...
    def read(self, at: int, name: str) -> tuple[bytes, Entry]: ...
    def create(self, at: int, name: str, data: bytes, mode: int) -> None: ...
    def give(self, at: int, name: str, owner: int, group: int) -> None: ...
    def make_folder(self, at: int, name: str, mode: int) -> None: ...
    def remove_folder(self, at: int, name: str) -> None: ...
    def remove(self, at: int, name: str) -> None: ...
    def link(self, source: int, name: str, target: int, target_name: str) -> None: ...
    def move(self, source: int, name: str, target: int, target_name: str) -> None: ...
    def exchange(self, source: int, name: str, target: int, target_name: str) -> None: ...
    def sync_file(self, at: int, name: str) -> None: ...
    def sync_folder(self, folder: int) -> None: ...
    def sync_everything(self, folder: int) -> None: ...


class OsFileSystem:
    """The real one, for Linux and macOS."""

    def open_root(self, path: Path) -> int:
        return os.open(path, _DIRECTORY & ~os.O_NOFOLLOW)

    def open_folder(self, at: int, name: str) -> int:
        return os.open(name, _DIRECTORY, dir_fd=at)

    def close(self, folder: int) -> None:
        os.close(folder)

    def entry(self, at: int, name: str) -> Entry | None:
        try:
            return _entry(os.stat(name, dir_fd=at, follow_symlinks=False))
        except FileNotFoundError:
            return None

    def folder_entry(self, folder: int) -> Entry:
        return _entry(os.fstat(folder))

    def names(self, at: int) -> list[str]:
        return os.listdir(at)

    def read(self, at: int, name: str) -> tuple[bytes, Entry]:
        # O_NONBLOCK: do not wait for a writer when opening a FIFO.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, dir_fd=at)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENXIO}:
                raise NotRegular(error.errno, "not a regular file", name) from None
            raise
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise NotRegular(errno.EINVAL, "not a regular file", name)
            data = _read_all(descriptor, before.st_size)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, len(data)):
            raise FileChanged(errno.EAGAIN, "changed while being read", name)
        return data, _entry(after)

    def create(self, at: int, name: str, data: bytes, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=at)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            # After the bytes, so that the umask does not matter.
            os.fchmod(descriptor, mode)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=at)
            raise
        finally:
            os.close(descriptor)

    def give(self, at: int, name: str, owner: int, group: int) -> None:
        os.chown(name, owner, group, dir_fd=at, follow_symlinks=False)

    def make_folder(self, at: int, name: str, mode: int) -> None:
        os.mkdir(name, mode, dir_fd=at)

    def remove_folder(self, at: int, name: str) -> None:
        os.rmdir(name, dir_fd=at)

    def remove(self, at: int, name: str) -> None:
        os.unlink(name, dir_fd=at)

    def link(self, source: int, name: str, target: int, target_name: str) -> None:
        os.link(name, target_name, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)

    def move(self, source: int, name: str, target: int, target_name: str) -> None:
        os.rename(name, target_name, src_dir_fd=source, dst_dir_fd=target)

    def exchange(self, source: int, name: str, target: int, target_name: str) -> None:
        function, flag = _exchange_function()
        if function(source, os.fsencode(name), target, os.fsencode(target_name), flag) != 0:
            import ctypes  # noqa: PLC0415  # 5 ms that only an execution needs

            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)

    def sync_file(self, at: int, name: str) -> None:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
        try:
            _sync(descriptor)
        finally:
            os.close(descriptor)

    def sync_folder(self, folder: int) -> None:
        _sync(folder)

    def sync_everything(self, folder: int) -> None:
        if sys.platform != "linux":  # only Linux has syncfs; on macOS sync() alone does not reach the disk
            os.sync()
            _sync(folder)
            return
        libc = _libc()
        if libc.syncfs(folder) != 0:
            import ctypes  # noqa: PLC0415  # 5 ms that only an execution needs

            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))


def _entry(found: os.stat_result) -> Entry:
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), EntryKind.OTHER)
    mode = stat.S_IMODE(found.st_mode)
    return Entry(kind, mode, found.st_size, found.st_dev, found.st_ino, found.st_uid, found.st_gid)


def _read_all(descriptor: int, expected: int) -> bytes:
    """Not much more than expected, even if the file grows without end."""
    pieces, found = [], 0
    # One byte more than expected, so that the usual file ends after one full and one empty read.
    while found <= expected and (piece := os.read(descriptor, max(expected + 1, 65536))):
        pieces.append(piece)
        found += len(piece)
    return b"".join(pieces)


def _sync(descriptor: int) -> None:
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415  # only there

        # fsync alone leaves the bytes in the drive's cache there.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        return
    os.fsync(descriptor)


@cache
def _libc() -> Any:
    import ctypes  # noqa: PLC0415  # 5 ms that only an execution needs

    return ctypes.CDLL(None, use_errno=True)


@cache
def _exchange_function() -> tuple[Any, int]:
    import ctypes  # noqa: PLC0415  # 5 ms that only an execution needs

    if sys.platform == "darwin":
        function, flag = _libc().renameatx_np, _RENAME_SWAP_MACOS
    else:
        function, flag = _libc().renameat2, _RENAME_EXCHANGE_LINUX
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return function, flag


@contextlib.contextmanager
def open_for_block(fs: FileSystem, folder: int) -> Iterator[int]:
    """Closes the folder at the end of the block."""
    try:
        yield folder
    finally:
        fs.close(folder)


# Reading a file that somebody else may have put there.

_PIECE: Final = 1 << 20


class FileTooLarge(OSError):
    """The file has more bytes than its kind ever needs."""


def read_bounded(
    path: str | os.PathLike[str], most: int, *, at: int | None = None, follow: bool = True
) -> bytes:
    """Raises NotRegular, TooLarge, or another OSError. `at` is the open folder that a single name is in.

    A pipe, a device or a file without end can neither block nor fill the memory.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags, dir_fd=at)
    except OSError as error:
        if error.errno in {errno.ENXIO, errno.ELOOP}:
            raise NotRegular(error.errno, "not a regular file", os.fspath(path)) from None
        raise
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise NotRegular(errno.EINVAL, "not a regular file", os.fspath(path))
        # One that grows has more than its size says.
        pieces, left = [], most + 1 if found.st_size <= most else 0
        while left > 0 and (piece := os.read(descriptor, min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    finally:
        os.close(descriptor)
    if left <= 0:
        raise FileTooLarge(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
    return b"".join(pieces)


# Replacing files, and files opened only if they are ours.

_NOT_OURS: Final = frozenset([errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EACCES])


def replace_file(path: Path, data: bytes, *, mode: int = 0o600, synced: bool = True) -> None:
    """Replaces the file atomically; its folder must exist.

    Without `synced`, a loss of power may leave it empty: only for data that can be regenerated.
    """
    fs, fresh = OsFileSystem(), f".{path.name}.{os.urandom(4).hex()}"
    with open_for_block(fs, fs.open_root(path.parent)) as folder:
        try:
            fs.create(folder, fresh, data, mode)
            if synced:
                fs.sync_file(folder, fresh)
            fs.move(folder, fresh, folder, path.name)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                fs.remove(folder, fresh)
            raise
        if synced:
            fs.sync_folder(folder)


def publish(at: int, name: str, data: bytes, *, private: bool = False) -> None:
    """Replaces the file in one step; readers see the old bytes or the new ones. A `private` one is 0600.

    The old file becomes the spare that the next call writes into: renaming a new file over the old one
    costs 30 times as much on ext4, which then flushes the data at once.
    """
    spare = spare_of(name)
    descriptor = open_own(at, spare, os.O_WRONLY)
    try:
        if private:
            os.fchmod(descriptor, 0o600)
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], written)
        if os.fstat(descriptor).st_size != len(data):
            os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)
    try:
        OsFileSystem().exchange(at, spare, at, name)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}:
            raise
        os.rename(spare, name, src_dir_fd=at, dst_dir_fd=at)


def spare_of(name: str) -> str:
    return f".{name}.spare"


def open_own(at: int, name: str, access: int) -> int:
    """Opens or creates a file; anything else of that name is removed first."""
    flags = access | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, 0o644, dir_fd=at)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return descriptor
        os.close(descriptor)
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
    # Through a link or a pipe the bytes would end up elsewhere.
    os.unlink(name, dir_fd=at)
    return os.open(name, flags | os.O_EXCL, 0o644, dir_fd=at)


# Files of our own that can be made again: a damaged, foreign or older one counts as missing.

_DIGEST: Final = hashlib.sha256().digest_size


def read_checked(path: Path, magic: bytes, most: int) -> memoryview | None:
    """What was written with the same first line; None if it is not there whole."""
    try:
        data = read_bounded(path, most, follow=False)
    except OSError:
        return None
    start = len(magic) + _DIGEST
    payload = memoryview(data)[start:]
    if not data.startswith(magic) or data[len(magic) : start] != hashlib.sha256(payload).digest():
        return None
    return payload


def replace_checked(path: Path, magic: bytes, payload: bytes) -> None:
    """Atomically; if it cannot be written, it stays as it is. `magic` is its first line."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, magic + hashlib.sha256(payload).digest() + payload, synced=False)


# Every folder below another one, however deep: others made it, and a recursion would end at some depth.

LONGEST_WALKED: Final = 4000
"""Bytes of a path below the top. The system, and so git, reaches little further."""


class WalkedFolder(NamedTuple):
    """One folder, open until the next step."""

    folder: str
    """Its path below the top; empty for the top itself."""
    at: int
    entries: list["os.DirEntry[str]"]
    inner: list[str]
    """Folders in it, through no link. What the caller removes is not entered."""

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name


def walk(top: Path, closed: Callable[[str], None] = lambda _: None) -> Iterator[WalkedFolder]:
    """`closed` is told each folder that cannot be listed, or whose path is too long."""
    try:
        start = os.open(top, _DIRECTORY & ~os.O_NOFOLLOW)
    except OSError:
        return
    try:
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            if (step := _enter(folder, start)) is None:
                closed(folder)
                continue
            try:
                yield step
            finally:
                os.close(step.at)
            waiting += map(step.path, step.inner)
    finally:
        os.close(start)


def _open_below(folder: str, start: int) -> int:
    """Through no link in any part, though a process may be swapping folders for links meanwhile."""
    at = os.open(".", _DIRECTORY, dir_fd=start)
    for part in folder.split("/") if folder else ():
        try:
            inner = os.open(part, _DIRECTORY, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    return at


def _enter(folder: str, start: int) -> WalkedFolder | None:
    if len(os.fsencode(folder)) > LONGEST_WALKED:
        return None
    try:
        at = _open_below(folder, start)
    except OSError:
        return None
    try:
        with os.scandir(at) as found:
            entries = list(found)
        return WalkedFolder(
            folder, at, entries, [one.name for one in entries if one.is_dir(follow_symlinks=False)]
        )
    except OSError:
        os.close(at)
        return None


# Folders of our own outside the project, and what to do if one cannot be used.

_FULL: Final = frozenset([errno.ENOSPC, errno.EDQUOT])


def folder_unusable(folder: Path, error: OSError, variable: str) -> FolderUnusable:
    """`variable` is the one that names another folder for the same purpose."""
    nearest = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    why: Text | str = why_failed(error)
    names = {"path": str(nearest), "variable": variable}
    if nearest.is_dir() and error.errno in _FULL:
        todo = Text("Free some space for {path}, or name another folder: export {variable}=/…", **names)
    elif nearest.is_dir():
        todo = Text("Make {path} writable for you, or name another folder: export {variable}=/…", **names)
    else:
        why = Text("{path} is not a folder", path=str(nearest))
        if nearest.is_file() or nearest.is_symlink():
            todo = Text("Move {path} away, or name another folder: export {variable}=/…", **names)
        else:  # such as the /dev/null that a service has as its home
            todo = Text("Name another folder: export {variable}=/…", variable=variable)
    return FolderUnusable(what=str(folder), why=why, todo=todo)
