"""`patches/` and `logs/` of a run in `.agent/` (RN-11): what a step changed, and what its commands printed.

The ledger has their digests; these files are for people, and nothing relies on them.
"""

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from ringi.errors import InTheWay
from ringi.kernel.fs import OsFileSystem, open_for_block, open_own, publish
from ringi.kernel.text import Text, without_codes

_PATCHES: Final = "patches"
_LOGS: Final = "logs"
_HEAD: Final = 256 * 1024
"""Bytes of a log that are kept from its beginning; and as many from its end."""
_END: Final = 8 * 1024
"""And of one that is not written, for the next turn at the step."""
_PAUSE_SEC: Final = 0.5
"""How often the end of a long log is written: often enough to watch it."""
_KEY_BEGINS: Final = b"-----BEGIN "
_KEY_ENDS: Final = b"-----END "
_LONGEST_KEY: Final = 16 * 1024


def log_path(request_id: str, run_id: str, path: str) -> str:
    """Where the log is, from the top of the project."""
    return "/".join([*_folder_of(request_id, run_id), _LOGS, _name(path)])


def _folder_of(request_id: str, run_id: str) -> tuple[str, ...]:
    return (".agent", "runs", request_id, run_id)


class RunFiles:
    def __init__(
        self,
        root: Path,
        request_id: str,
        run_id: str,
        mask: Callable[[str], str],
        *,
        confidential: bool = False,
    ) -> None:
        """A confidential log says how much was printed; its end is known to this process alone."""
        self._unwritten: dict[str, bytes] | None = {} if confidential else None
        self._root = root
        self._names = _folder_of(request_id, run_id)
        self._mask = mask
        self._fs = OsFileSystem()

    @contextlib.contextmanager
    def log(self, path: str) -> Iterator[Callable[[bytes], None]]:
        """Opens the file anew and takes text as it comes; of a long one, its beginning and its end stay."""
        with self._folder(_LOGS) as folder:
            descriptor = open_own(folder, _name(path), os.O_RDWR)
        try:
            os.ftruncate(descriptor, 0)
            if self._unwritten is None:
                log = _GrowingLog(descriptor, self._mask)
                yield log.write
                log.finish()
            else:
                count = _Count()
                yield count.write
                self._unwritten[_name(path)] = bytes(count.end)
                os.write(descriptor, str(_not_kept(count.size)).encode() + b"\n")
        finally:
            os.close(descriptor)

    def write(self, path: str, data: bytes) -> None:
        """A patch; readers see the whole of it or none."""
        with self._folder(_PATCHES) as folder:
            publish(folder, _name(path), data)

    def tail(self, path: str, most: int) -> str:
        """The last bytes of a log as text, without colours; empty if it is not there."""
        if self._unwritten is not None:
            return without_codes(self._unwritten.get(_name(path), b"")[-most:].decode("utf-8", "replace"))
        with contextlib.suppress(OSError, InTheWay), self._folder(_LOGS, make=False) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(_name(path), flags, dir_fd=folder)
            try:
                size = os.fstat(descriptor).st_size
                data = os.pread(descriptor, most, max(0, size - most))
                return without_codes(data.decode("utf-8", "replace"))
            finally:
                os.close(descriptor)
        return ""

    def newest_log(self) -> str:
        """The name of the log that was written to last; empty if there is none."""
        with contextlib.suppress(OSError, InTheWay), self._folder(_LOGS, make=False) as folder:
            names = [name for name in self._fs.names(folder) if not name.startswith(".")]
            changed = {
                name: os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns for name in names
            }
            return max(changed, key=lambda name: changed[name], default="")
        return ""

    @contextlib.contextmanager
    def _folder(self, name: str, *, make: bool = True) -> Iterator[int]:
        """Opened without following a link."""
        with contextlib.ExitStack() as stack:
            at = stack.enter_context(open_for_block(self._fs, self._fs.open_root(self._root)))
            for part in (*self._names, name):
                at = stack.enter_context(open_for_block(self._fs, self._below(at, part, make=make)))
            yield at

    def _below(self, at: int, name: str, *, make: bool) -> int:
        if make:
            with contextlib.suppress(FileExistsError):
                self._fs.make_folder(at, name, 0o755)
        try:
            return self._fs.open_folder(at, name)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise InTheWay(what=name, why=Text("it is a link or a file, not a folder")) from None
            raise


class _Count:
    """How much was printed, and its end."""

    def __init__(self) -> None:
        self.size = 0
        self.end = bytearray()

    def write(self, data: bytes) -> None:
        self.size += len(data)
        self.end += data
        del self.end[:-_END]


def _not_kept(size: int) -> Text:
    return Text("{count} bytes, not kept: the repository is confidential (logs.confidential)", count=size)


class _GrowingLog:
    """A log as it grows: its beginning, and from then on its end, written anew now and then."""

    def __init__(self, descriptor: int, mask: Callable[[str], str]) -> None:
        self._descriptor = descriptor
        self._mask = mask
        self._size = 0
        """How much of what came is in the beginning."""
        self._length = 0
        """And how long that is in the file, masked."""
        self._recent = bytearray()
        """What is not in the beginning."""
        self._left_out = 0
        self._shown_at = 0.0

    def write(self, data: bytes) -> None:
        self._recent += data
        if self._size < _HEAD:
            self._take(_complete(self._recent))
        if self._size >= _HEAD:
            if len(self._recent) > 2 * _HEAD:
                self._left_out += len(self._recent) - _HEAD
                del self._recent[:-_HEAD]
            if time.monotonic() - self._shown_at > _PAUSE_SEC:
                self._show_end()

    def finish(self) -> None:
        if self._size < _HEAD:
            self._take(len(self._recent))
        self._show_end()

    def _take(self, count: int) -> None:
        """Into the beginning, as far as there is room."""
        if count > (room := _HEAD - self._size):
            # A secret is not cut in two, unless it has no end of line.
            count = self._recent.rfind(b"\n", 0, room) + 1 or room
        if count > 0:
            self._length = self._put(self._mask_bytes(bytes(self._recent[:count])), self._length)
            self._size += count
            del self._recent[:count]

    def _show_end(self) -> None:
        self._shown_at = time.monotonic()
        end = bytes(self._recent)
        if len(end) > _HEAD:
            end = end[-_HEAD:].partition(b"\n")[2] or end[-_HEAD:]
        if gone := self._left_out + len(self._recent) - len(end):
            end = f"\n{Text('… {count} bytes left out …', count=gone)}\n".encode() + end
        self._put(self._mask_bytes(end), self._length)

    def _mask_bytes(self, data: bytes) -> bytes:
        return self._mask(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _put(self, data: bytes, at: int) -> int:
        """Where it ends."""
        while data:
            written = os.pwrite(self._descriptor, data, at)
            at, data = at + written, data[written:]
        os.ftruncate(self._descriptor, at)
        return at


def _complete(data: bytes | bytearray) -> int:
    """How much of it is whole lines; a key that has not ended yet is masked only as a whole."""
    end = data.rfind(b"\n") + 1 or (len(data) if len(data) > _LONGEST_KEY else 0)
    begin = data.rfind(_KEY_BEGINS, 0, end)
    if begin >= 0 and data.find(_KEY_ENDS, begin, end) < 0 and end - begin < _LONGEST_KEY:
        return begin
    return end


def _name(path: str) -> str:
    """A plan made elsewhere names its outputs, but they do not get out of the folder of their run."""
    return PurePosixPath(path).name.lstrip(".") or "unnamed"
