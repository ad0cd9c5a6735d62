"""The private index that is kept between runs: a crash leaves the last good one."""

import fcntl
import hashlib
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ringi.errors import Busy, CopyFailed
from ringi.text import Text
from ringi.workspace.git import read_small
from ringi.workspace.private_folder import keep

_LOCK_WAIT: Final = 60.0
_LOCK_NAME: Final = "ringi.lock"


class KeptIndex:
    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self.current = git_dir / "index"
        self.following = git_dir / "index.next"
        self._memo = git_dir / "captured"

    def borrow(self) -> None:
        """Git works on a second name of the index, so that a crash leaves the last good one.

        A link and not a copy: git compares the time of the index with the times of the files.
        """
        for left in (*self._git_dir.glob("*.lock"), self.following):
            if left.name != _LOCK_NAME:
                left.unlink(missing_ok=True)
        if self.current.exists():
            try:
                self.following.hardlink_to(self.current)
            except OSError:
                shutil.copy2(self.current, self.following)

    def unchanged(self) -> bool:
        return self.current.exists() and self.following.exists() and self.current.samefile(self.following)

    def _key(self, tracked: bytes, ignored: bytes) -> bytes:
        parts = (signature(self.current), tracked, ignored)
        return hashlib.sha256(b"\0\0".join(parts)).hexdigest().encode() + b" "

    def remembered(self, tracked: bytes, ignored: bytes) -> str | None:
        found, key = read_small(self._memo), self._key(tracked, ignored)
        return found.removeprefix(key).decode("ascii").strip() if found.startswith(key) else None

    def accept(self) -> None:
        """What git worked on becomes the index."""
        self.following.replace(self.current)

    def remember(self, tracked: bytes, ignored: bytes, tree: str) -> None:
        keep(self._memo, self._key(tracked, ignored) + tree.encode())

    def forget(self) -> None:
        for path in (self.current, self.following, self._memo):
            path.unlink(missing_ok=True)
        for path in (self._git_dir / "objects").glob("??/*"):
            if path.stat().st_size == 0:  # what a power loss leaves of an object
                path.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        try:
            lock = (self._git_dir / _LOCK_NAME).open("ab")
        except OSError as error:
            why = Text("{folder} cannot be used: {problem}", folder=self._git_dir, problem=error.strerror)
            raise CopyFailed(why=why) from None
        with lock:
            end = time.monotonic() + _LOCK_WAIT
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise Busy(holder=Text("another command is reading its files")) from None
                    time.sleep(0.02)
            yield


def signature(path: Path | None) -> bytes:
    try:
        found = path.stat() if path else None
    except OSError:
        found = None
    return b"%d %d %d" % (found.st_ino, found.st_mtime_ns, found.st_size) if found else b""
