"""Bubblewrap: what a command in the sandbox can see, write and reach.

It has no network, no capabilities, no process of ours in sight, and the whole file system read-only except
the workspace and a /tmp of its own.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from ringi.text import Text

_PROBE_SEC: Final = 10.0
_MAX_SHOWN: Final = 200
_ISOLATION: Final = ("--unshare-all", "--cap-drop", "ALL", "--new-session", "--die-with-parent")
# Sockets of agents, containers and the desktop lie there, and a read-only mount does not stop a connection.
_SOCKETS: Final = (Path("/run"), Path("/var/run"))


class How(StrEnum):
    READ = "--ro-bind"
    READ_IF_THERE = "--ro-bind-try"
    WRITE = "--bind"
    EMPTY = "--tmpfs"
    PROCESSES = "--proc"
    DEVICES = "--dev"


class Mount(NamedTuple):
    path: Path
    how: How
    sealed: bool = False
    """Nothing can be written there either."""

    @property
    def words(self) -> tuple[str, ...]:
        takes_source = self.how in {How.READ, How.READ_IF_THERE, How.WRITE}
        return (self.how, *[str(self.path)] * (2 if takes_source else 1))


_BASE: Final = (
    Mount(Path("/"), How.READ),
    Mount(Path("/proc"), How.PROCESSES),
    Mount(Path("/dev"), How.DEVICES),
    Mount(Path("/tmp"), How.EMPTY),  # noqa: S108  # one of its own
)
_KEPT: Final = Mount(Path("/run/current-system"), How.READ_IF_THERE)  # the programs of NixOS


def mounts(root: Path, read_only: Iterable[Path], hidden: Iterable[Path]) -> tuple[Mount, ...]:
    """All paths are real ones, without links. Whatever is deeper comes later, so that it is seen."""
    wanted = (
        *_BASE,
        _KEPT,
        Mount(root, How.WRITE),
        *(Mount(path, How.READ) for path in read_only),
        *(Mount(path, How.EMPTY, sealed=True) for path in hidden if path != root),
    )
    chosen: list[Mount] = []
    for mount in sorted(wanted, key=lambda mount: len(mount.path.parts)):
        # In an empty folder there is nothing to hide, and hiding it would tell its name.
        if mount.how is not How.EMPTY or sees(chosen, mount.path):
            chosen.append(mount)
    return tuple(chosen)


def sees(chosen: Sequence[Mount], path: Path) -> bool:
    over = [mount for mount in chosen if path.is_relative_to(mount.path)]
    return not over or over[-1].how is not How.EMPTY


def arguments(chosen: Iterable[Mount], folder: Path) -> list[str]:
    """For bwrap; the command follows."""
    chosen = tuple(chosen)
    # At the end: folders for the mounts below had to be made in them.
    seals = [word for mount in chosen if mount.sealed for word in ("--remount-ro", str(mount.path))]
    laid = [word for mount in chosen for word in mount.words]
    return [*_ISOLATION, *laid, *seals, "--chdir", str(folder), "--"]


def mounts_of(root: Path, hidden: Iterable[Path]) -> tuple[Mount, ...]:
    """As the file system is now. The workspace's `.agent` stays as it is, and so does its `.git`.

    A hook that a command left there would run outside, as soon as the person uses git.
    """
    kept = [root / ".agent", root / ".git"]
    read_only = [folder for folder in kept if folder.exists() and not folder.is_symlink()]
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in (*_SOCKETS, *hidden))
    return mounts(root, read_only, [path for path in real if path.is_dir()])


def find(path: str) -> str | None:
    return shutil.which("bwrap", path=path)


@functools.cache
def trouble(bwrap: str) -> Text | None:
    """Why it does not work here: many containers and some systems forbid it. Tried once."""
    argv = [bwrap, *arguments(_BASE, Path("/")), bwrap, "--version"]
    try:
        tried = subprocess.run(
            argv, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_SEC, check=False
        )
    except subprocess.TimeoutExpired:
        return Text("it did not end within {seconds} seconds", seconds=int(_PROBE_SEC))
    except OSError as error:
        return Text("it cannot be started: {why}", why=error.strerror or str(error))
    if tried.returncode == 0:
        return None
    said = tried.stderr.decode("utf-8", "replace").strip()[:_MAX_SHOWN]
    return Text("it ended with exit code {code}: {said}", code=tried.returncode, said=said)
