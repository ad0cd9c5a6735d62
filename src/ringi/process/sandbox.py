"""Bubblewrap: what a command in the sandbox can see, write and reach.

The whole file system is read-only, but for a /tmp of its own and what is named; nothing outside is in sight
as a process, and there are no capabilities. A command of a plan has no network and writes in the workspace;
an agent has the network, because it calls its model, and writes in its copy.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from ringi.process.environment import WITH_VARIABLE
from ringi.text import Text

_PROBE_SEC: Final = 10.0
_MAX_SHOWN: Final = 200
_ISOLATION: Final = ("--unshare-all", "--cap-drop", "ALL", "--new-session", "--die-with-parent")
# A session of its own as well, but with the terminal: see `for_agent`.
_AGENT_ISOLATION: Final = ("--unshare-all", "--share-net", "--cap-drop", "ALL", "--die-with-parent")
# Sockets of agents, containers and the desktop lie there, and a read-only mount does not stop a connection.
_SOCKETS: Final = (Path("/run"), Path("/var/run"))
_RESOLVERS: Final = (Path("/run/systemd/resolve"), Path("/run/nscd"))
_MOST_LAID: Final = 2000
"""Entries of a home folder; bwrap takes 9,000 words."""
_RESOLVER_FILE: Final = Path("/etc/resolv.conf")
_TMP: Final = Path("/tmp")  # noqa: S108  # the sandbox has one of its own


class How(StrEnum):
    READ = "--ro-bind"
    READ_IF_THERE = "--ro-bind-try"
    WRITE = "--bind"
    LINK = "--symlink"
    EMPTY = "--tmpfs"
    PROCESSES = "--proc"
    DEVICES = "--dev"


class Mount(NamedTuple):
    path: Path
    how: How
    sealed: bool = False
    """Nothing can be written there either."""
    source: str = ""
    """What is seen there; empty for the path itself."""

    @property
    def words(self) -> tuple[str, ...]:
        takes_source = self.how in {How.READ, How.READ_IF_THERE, How.WRITE, How.LINK}
        source = (self.source or str(self.path),) if takes_source else ()
        return (self.how, *source, str(self.path))


_BASE: Final = (
    Mount(Path("/"), How.READ),
    Mount(Path("/proc"), How.PROCESSES),
    Mount(Path("/dev"), How.DEVICES),
    Mount(_TMP, How.EMPTY),
)
_KEPT: Final = Mount(Path("/run/current-system"), How.READ_IF_THERE)  # the programs of NixOS


class AgentPlaces(NamedTuple):
    """Real paths, without links. Whatever is deeper counts more."""

    writable: tuple[Path, ...]
    """Its copy, its state, and what a person named."""
    read_only: tuple[Path, ...]
    """What has to be seen although it may lie below /tmp or a hidden folder."""
    hidden: tuple[Path, ...]
    masked: tuple[Path, ...] = ()
    """Files that are there and empty."""
    home: Path | None = None
    """In its top the agent has to make files, and in nothing below it; they go with the sandbox."""


def mounts(root: Path, read_only: Iterable[Path], hidden: Iterable[Path]) -> tuple[Mount, ...]:
    """All paths are real ones, without links."""
    return _chosen(
        (
            *_BASE,
            _KEPT,
            Mount(root, How.WRITE),
            *(Mount(path, How.READ) for path in read_only),
            *(Mount(path, How.EMPTY, sealed=True) for path in hidden if path != root),
        )
    )


def agent_mounts(places: AgentPlaces) -> tuple[Mount, ...]:
    hidden = [path for path in dict.fromkeys(places.hidden) if path.is_dir()]
    named = {*places.writable, *hidden, *places.masked}
    return _chosen(
        (
            *_BASE,
            *_resolvers(),
            *_relaid(places.home, named),
            *(Mount(path, How.READ) for path in places.read_only),
            *(Mount(path, How.WRITE) for path in places.writable),
            *(Mount(path, How.EMPTY, sealed=True) for path in [*_sockets(), *hidden]),
            *(Mount(path, How.READ, source=os.devnull) for path in places.masked),
        )
    )


def _chosen(wanted: Iterable[Mount]) -> tuple[Mount, ...]:
    """Whatever is deeper comes later, so that it is seen."""
    chosen: list[Mount] = []
    for mount in sorted(wanted, key=lambda mount: len(mount.path.parts)):
        # In an empty folder there is nothing to hide, and hiding it would tell its name.
        hides = mount.how is How.EMPTY or mount.source == os.devnull
        if not hides or sees(chosen, mount.path):
            chosen.append(mount)
    return tuple(chosen)


def sees(chosen: Sequence[Mount], path: Path) -> bool:
    over = [mount for mount in chosen if path.is_relative_to(mount.path)]
    return not over or over[-1].how is not How.EMPTY


def _sockets() -> list[Path]:
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in _SOCKETS)
    return [path for path in real if path.is_dir()]


def _resolvers() -> Iterator[Mount]:
    """What finding the address of a name needs, if it lies among the sockets."""
    yield _KEPT
    named = Path(os.path.realpath(_RESOLVER_FILE))
    for path in dict.fromkeys([*_RESOLVERS, named]):
        if any(path.is_relative_to(folder) for folder in _sockets()):
            yield Mount(path, How.READ_IF_THERE)


def _relaid(home: Path | None, named: Iterable[Path]) -> Iterator[Mount]:
    """The folder's own entries in a fresh one: its top can be written to, and what is in it cannot."""
    entries = sorted(home.iterdir()) if home else []
    if home is None or len(entries) > _MOST_LAID:
        return
    named = set(named)
    yield Mount(home, How.EMPTY)
    for entry in entries:
        if entry.is_symlink():
            yield Mount(entry, How.LINK, source=str(entry.readlink()))
        elif entry not in named:
            yield Mount(entry, How.READ_IF_THERE)


def arguments(chosen: Iterable[Mount], folder: Path, isolation: Sequence[str] = _ISOLATION) -> list[str]:
    """For bwrap; the command follows."""
    chosen = tuple(chosen)
    # At the end: folders for the mounts below had to be made in them.
    seals = [word for mount in chosen if mount.sealed for word in ("--remount-ro", str(mount.path))]
    laid = [word for mount in chosen for word in mount.words]
    return [*isolation, *laid, *seals, "--chdir", str(folder), "--"]


def for_agent(bwrap: str, setsid: str, chosen: Iterable[Mount], folder: Path, copy: str) -> list[str]:
    """The words before an agent's own command.

    The terminal becomes that of a session inside: a key that interrupts reaches the agent and not bwrap,
    which would die of it and take the agent along.
    """
    return [bwrap, *arguments(chosen, folder, _marked(copy)), setsid, "-c"]


def for_check(bwrap: str, chosen: Iterable[Mount], folder: Path, copy: str) -> list[str]:
    """As for an agent, without a terminal."""
    return [bwrap, *arguments(chosen, folder, (*_marked(copy), "--new-session"))]


def _marked(copy: str) -> tuple[str, ...]:
    """Inside, bwrap is above every process, and nobody can take these words from it."""
    return (*_AGENT_ISOLATION, "--setenv", WITH_VARIABLE, copy)


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
