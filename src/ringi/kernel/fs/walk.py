"""Every folder below another one, however deep: others made it, and a recursion would end at some depth."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

LONGEST_WALKED: Final = 4000
"""Bytes of a path below the top. The system, and so git, reaches little further."""
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
        start = os.open(top, _FOLDER & ~os.O_NOFOLLOW)
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
    at = os.open(".", _FOLDER, dir_fd=start)
    for part in folder.split("/") if folder else ():
        try:
            inner = os.open(part, _FOLDER, dir_fd=at)
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
