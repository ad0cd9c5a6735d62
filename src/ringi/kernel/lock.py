"""Only one process at a time may change a workspace. The kernel frees the lock of a dead process."""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ringi.errors import Busy, StorageFailed
from ringi.kernel.text import Text

_PAUSE: Final = 0.05
_NOTE_LENGTH: Final = 40


class FileLock:
    """A flock on a file that is never renamed. The file's content only tells people who holds it."""

    def __init__(self, path: Path, wait_sec: float) -> None:
        self._path = path
        self._wait_sec = wait_sec

    @contextlib.contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        descriptor = self._open()
        try:
            self._take(descriptor, what)
            yield
        finally:
            os.close(descriptor)

    def is_held(self) -> bool:
        """Whether somebody has it just now; does not wait, and writes nothing."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # nobody made it
            return False
        try:
            # Shared: two that only ask do not get into each other's way.
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(descriptor)

    def end_holder(self) -> bool:
        """Asks the process that has it to stop, as Ctrl-C would; whether there was one."""
        if not self.is_held():
            return False
        with contextlib.suppress(OSError, ValueError):
            pid = int(self._path.read_text().partition(" ")[0])
            os.kill(pid, signal.SIGTERM)
            return True
        return False

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(self._path, flags, 0o600)
        except OSError as error:
            raise StorageFailed(what=str(self._path), why=error.strerror or str(error)) from None

    def _take(self, descriptor: int, what: str) -> None:
        if not wait_for(descriptor, self._wait_sec):
            pid, _, doing = os.pread(descriptor, 200, 0).decode(errors="replace").partition(" ")
            raise Busy(holder=Text("process {pid} ({what})", pid=pid or "?", what=doing.strip()))
        # The lock works even on a full disk.
        with contextlib.suppress(OSError):
            # Overwritten in full: truncating first would cost as much as all the rest.
            os.pwrite(descriptor, f"{os.getpid()} {what}".ljust(_NOTE_LENGTH).encode(), 0)


class PassingLock(FileLock):
    """A lock for one of many things: its file is removed when the lock is released."""

    @contextlib.contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        while True:
            descriptor = self._open()
            try:
                self._take(descriptor, what)
                # The previous holder may have removed the file, and somebody else made another.
                if self._is(descriptor):
                    try:
                        yield
                    finally:
                        self._path.unlink(missing_ok=True)
                    return
            finally:
                os.close(descriptor)

    def _is(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.lstat())
        except FileNotFoundError:
            return False


def wait_for(descriptor: int, wait_sec: float) -> bool:
    """Whether the lock was acquired in that time."""
    end = time.monotonic() + wait_sec
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
        else:
            return True
