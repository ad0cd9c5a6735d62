import contextlib
import errno
import os
import stat as stat_module
import sys
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

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
    stat_module.S_IFREG: EntryKind.FILE,
    stat_module.S_IFDIR: EntryKind.FOLDER,
    stat_module.S_IFLNK: EntryKind.LINK,
    stat_module.S_IFIFO: EntryKind.FIFO,
    stat_module.S_IFSOCK: EntryKind.SOCKET,
    stat_module.S_IFCHR: EntryKind.CHARACTER_DEVICE,
    stat_module.S_IFBLK: EntryKind.BLOCK_DEVICE,
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
            if not stat_module.S_ISREG(before.st_mode):
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
    kind = _KINDS.get(stat_module.S_IFMT(found.st_mode), EntryKind.OTHER)
    mode = stat_module.S_IMODE(found.st_mode)
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
