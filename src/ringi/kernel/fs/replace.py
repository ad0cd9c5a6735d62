"""Files replaced in one step, and files opened only if they are ours."""

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import Final

from ringi.kernel.fs.calls import OsFileSystem, open_for_block

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
