"""Reads a file that somebody else may have put there: a regular one, and not more than a limit."""

import errno
import os
import stat
from typing import Final

from ringi.kernel.fs.calls import NotRegular

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
