"""Which entries below a folder are as they were, known without reading them.

Only the kernel sets the time of an inode's last change: a write, a new mode, owner or time, a link or a
rename sets it to now. So an entry with the same inode and the same time to the nanosecond has the same bytes,
if time has passed since the imprint was taken. Programs that can set the clock or write to the disk itself
can deceive us; in a sandbox there are none.
"""

import os
import stat
import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

_TICK: Final = 0.001
_Facts = tuple[int, ...]


class Imprint(msgspec.Struct, frozen=True):
    """By path. The folder itself is there as an empty one."""

    folders: dict[bytes, _Facts]
    others: dict[bytes, _Facts]
    """Files and links."""

    @classmethod
    def take(cls, top: Path, clock: Path, without: Collection[bytes]) -> "Imprint":
        """Returns when the time of later changes differs; `clock` is a file on the same file system.

        `without` are paths that do not matter.
        """
        place = os.fsencode(top)
        found = cls({b"": _of_folder(os.lstat(place))}, {})
        newest = 0
        waiting = [b""]
        while waiting:
            folder = waiting.pop()
            with os.scandir(place + b"/" + folder) as entries:
                for entry in entries:
                    path = _below(folder, entry.name)
                    if path in without:
                        continue
                    seen = entry.stat(follow_symlinks=False)
                    newest = max(newest, seen.st_ctime_ns)
                    if stat.S_ISDIR(seen.st_mode):
                        found.folders[path] = _of_folder(seen)
                        waiting.append(path)
                    else:
                        found.others[path] = _of_other(seen)
        while _now(clock) <= newest:
            time.sleep(_TICK)
        return found

    def clear(self, top: Path, bin_: Path) -> bool:
        """Moves every entry that is not as it was out of the folder, into `bin_`.

        What is left has the same bytes, modes and owners as before; entries may be missing. False if that
        cannot be said.
        """
        place = os.fsencode(top)
        try:
            bin_.mkdir(mode=0o700)
            if not self._restore_folder(b"", place):
                return False
            waiting, count = [b""], 0
            while waiting:
                folder = waiting.pop()
                with os.scandir(place + b"/" + folder) as entries:
                    listed = [(entry, entry.stat(follow_symlinks=False)) for entry in entries]
                for entry, seen in listed:
                    path = _below(folder, entry.name)
                    if stat.S_ISDIR(seen.st_mode) and self._restore_folder(path, entry.path):
                        waiting.append(path)
                    elif stat.S_ISDIR(seen.st_mode) or self.others.get(path) != _of_other(seen):
                        count += 1
                        _move(entry.path, stat.S_ISDIR(seen.st_mode), bin_ / str(count))
        except OSError:
            return False
        return True

    def _restore_folder(self, path: bytes, place: bytes) -> bool:
        """Whether the folder is the same one. If only its mode differs, it gets that back."""
        before, seen = self.folders.get(path), os.lstat(place)
        if before is None:
            return False
        inode, mode, changed = before[:-2], before[-2], before[-1]
        if _of_folder(seen)[:-2] != inode:
            return False
        if seen.st_mode != mode:
            os.chmod(place, stat.S_IMODE(mode))  # noqa: PTH101  # bytes
        # A folder can carry rules about the rights of files made in it. The entries are looked at anyway.
        return seen.st_ctime_ns == changed or not _rules(place)


def _of_folder(seen: os.stat_result) -> _Facts:
    return (seen.st_dev, seen.st_ino, seen.st_uid, seen.st_gid, seen.st_mode, seen.st_ctime_ns)


def _of_other(seen: os.stat_result) -> _Facts:
    return (seen.st_dev, seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


def _rules(place: bytes) -> list[str]:
    """Extended attributes, except those that only the system sets."""
    return [name for name in os.listxattr(place, follow_symlinks=False) if not name.startswith("security.")]


def _below(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


def _move(place: bytes, is_folder: bool, target: Path) -> None:
    if is_folder:
        os.chmod(place, 0o700)  # noqa: PTH101  # bytes; a folder without rights cannot be moved
    os.rename(place, target)  # noqa: PTH104  # bytes


def _now(clock: Path) -> int:
    clock.touch()
    return clock.stat().st_ctime_ns
