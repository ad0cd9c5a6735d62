"""Bubblewrap: what a command in the sandbox can see, write and reach.

The whole file system is read-only, except a private /tmp and the named folders. Processes outside are
invisible, and there are no capabilities. A command of a plan has no network and can write to the workspace;
an agent has the network, because it calls its model, and can write to its copy.
"""

import functools
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from ringi.kernel.process.environment import SYSTEM_PATH, WITH_VARIABLE
from ringi.kernel.process.hidden import RUNTIME, Hidden, find_hidden
from ringi.kernel.process.start import JOB
from ringi.kernel.process.supervisor import OWN_KEYS, SCOPED, scopes_work
from ringi.kernel.system import process_environment
from ringi.kernel.text import Text

_PROBE_SEC: Final = 10.0
_MAX_SHOWN: Final = 200
_ISOLATION: Final = ("--unshare-all", "--cap-drop", "ALL", "--new-session", "--die-with-parent")
# Root reads every file, as it does outside, but only in what it sees.
_ROOT_READS: Final = (
    "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
    "--cap-drop", "ALL", "--cap-add", "CAP_DAC_READ_SEARCH", "--new-session", "--die-with-parent",
)  # fmt: skip
# Also a session of its own, but with the terminal: see `for_agent`.
_AGENT_ISOLATION: Final = ("--unshare-all", "--share-net", "--cap-drop", "ALL", "--die-with-parent")
_RESOLVERS: Final = (Path("/run/systemd/resolve"), Path("/run/nscd"))
_MOST_LAID: Final = 2000
"""Entries of a home folder; bwrap accepts 9,000 arguments."""
_RESOLVER_FILE: Final = Path("/etc/resolv.conf")
# By its presence, the one that installs packages here.
_INSTALL: Final = {"apt": "install", "dnf": "install", "pacman": "-S", "apk": "add", "zypper": "install"}
# Settings of the kernel: the value that keeps bwrap from making namespaces, and one that does not.
_REFUSING: Final = {
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "user.max_user_namespaces": ("0", "10000"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
}
_SYSTEM: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/gnu",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
)
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
    """It is not writable either."""
    source: str = ""
    """What is mounted there; empty for the path itself."""
    layered: bool = False
    """The source is a layer through which the path's own content is seen."""

    @property
    def words(self) -> tuple[str, ...]:
        takes_source = self.how in {How.READ, How.READ_IF_THERE, How.WRITE, How.LINK}
        source = (self.source or str(self.path),) if takes_source else ()
        return (self.how, *source, str(self.path))


_KEPT: Final = Mount(Path("/run/current-system"), How.READ_IF_THERE)  # the programs of NixOS
_BASE: Final = (
    Mount(Path("/"), How.READ),
    Mount(Path("/proc"), How.PROCESSES),
    Mount(Path("/dev"), How.DEVICES),
    Mount(_TMP, How.EMPTY),
    _KEPT,
    # Root can write to most of it, without any capability.
    Mount(Path("/proc/sys"), How.READ_IF_THERE),
)


class SandboxPlaces(NamedTuple):
    """Real paths, without links. The deeper path wins."""

    laid: tuple[Mount, ...]
    """The workspace, or a copy of it, and whatever else is not at its own path."""
    hidden: Hidden
    read_only: tuple[Path, ...] = ()
    """What must be visible although it may be below /tmp, a hidden or a writable folder."""
    writable: tuple[Path, ...] = ()
    """An agent's state, and what a person named."""
    home: Path | None = None
    """The agent can create files directly in it, but not deeper; they vanish with the sandbox."""
    network: bool = False


def mounts(places: SandboxPlaces) -> tuple[Mount, ...]:
    folders, files, _ = places.hidden
    named = {*places.writable, *folders, *files, *(mount.path for mount in places.laid)}
    return _order_mounts(
        (
            *_BASE,
            *(_resolvers() if places.network else ()),
            *_relaid(places.home, named),
            *(Mount(path, How.WRITE) for path in places.writable),
            *(Mount(path, How.READ) for path in places.read_only),
            *(Mount(path, How.EMPTY, sealed=True) for path in folders),
            *places.laid,
            *(Mount(path, How.READ, source=os.devnull) for path in files),
        )
    )


def _order_mounts(wanted: Iterable[Mount]) -> tuple[Mount, ...]:
    """Deeper paths come later, so that they stay visible."""
    chosen: list[Mount] = []
    for mount in sorted(wanted, key=lambda mount: len(mount.path.parts)):
        hides = mount.how is How.EMPTY or mount.source == os.devnull
        if not hides or _is_there(chosen, mount.path):
            chosen.append(mount)
    return tuple(chosen)


def _is_there(chosen: Sequence[Mount], path: Path) -> bool:
    """Whether there is something to hide; hiding what is not there would reveal its name or make it."""
    over = next((mount for mount in reversed(chosen) if path.is_relative_to(mount.path)), None)
    if over is None or over.how is How.EMPTY:
        return over is None
    if over.source and not over.layered:
        return os.path.lexists(over.source / path.relative_to(over.path))
    return True


def sees(chosen: Sequence[Mount], path: Path) -> bool:
    over = [mount for mount in chosen if path.is_relative_to(mount.path)]
    return not over or over[-1].how is not How.EMPTY


def _resolvers() -> Iterator[Mount]:
    """Files needed for name resolution, if they are among the sockets."""
    named = Path(os.path.realpath(_RESOLVER_FILE))
    for path in dict.fromkeys([*_RESOLVERS, named]):
        if any(path.is_relative_to(os.path.realpath(folder)) for folder in RUNTIME):
            yield Mount(path, How.READ_IF_THERE)


def _relaid(home: Path | None, named: Iterable[Path]) -> Iterator[Mount]:
    """A fresh folder with the same entries: the top is writable, the entries are not."""
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
    """For bwrap; the command comes after them."""
    chosen = tuple(chosen)
    # At the end: the mounts below need folders in them first.
    seals = [word for mount in chosen if mount.sealed for word in ("--remount-ro", str(mount.path))]
    laid = [word for mount in chosen for word in mount.words]
    return [*isolation, *laid, *seals, "--chdir", str(folder), "--"]


def for_agent(bwrap: str, setsid: str, chosen: Iterable[Mount], folder: Path, copy: str) -> list[str]:
    """The words before an agent's own command.

    A session inside gets the terminal: Ctrl-C reaches the agent and not bwrap, which would die and take the
    agent with it.
    """
    return [bwrap, *arguments(chosen, folder, _mark_arguments(copy)), setsid, "-c", *JOB]


def for_check(bwrap: str, chosen: Iterable[Mount], folder: Path, copy: str) -> list[str]:
    """As for an agent, without a terminal."""
    return [bwrap, *arguments(chosen, folder, (*_mark_arguments(copy), "--new-session"))]


def _mark_arguments(copy: str) -> tuple[str, ...]:
    """Inside, bwrap is an ancestor of every process, and nobody can change its arguments."""
    return (*_AGENT_ISOLATION, "--setenv", WITH_VARIABLE, copy)


def for_reader(bwrap: str, program: str, folders: Iterable[Mount], folder: Path) -> tuple[str, ...]:
    """The words before a program of ours that reads where an agent may be at work.

    It sees the system's programs and these folders: what the agent swaps for a link leads nowhere else.
    """
    isolation, system = _reader_view(bwrap, program, os.geteuid())
    return (bwrap, *arguments((*system, *folders), folder, isolation))


@functools.cache
def _reader_view(bwrap: str, program: str, user: int) -> tuple[tuple[str, ...], tuple[Mount, ...]]:
    """How a program is isolated, and what it needs of the system: the first way in which it starts here."""
    paths = [Path(name) for name in _SYSTEM if Path(name).exists()]
    links = [Mount(path, How.LINK, source=str(path.readlink())) for path in paths if path.is_symlink()]
    real = [Mount(path, How.READ) for path in paths if not path.is_symlink()]
    least = (*links, *real, Mount(Path("/dev"), How.DEVICES))
    for isolation in (_ROOT_READS, _ISOLATION) if user == 0 else (_ISOLATION,):
        if trouble(bwrap, tuple(arguments(least, Path("/"), isolation)), program) is None:
            return isolation, least
    # Its libraries may be anywhere: it sees what an agent sees.
    return _ISOLATION, mounts(SandboxPlaces((), find_hidden(process_environment()), (Path(program).parent,)))


def list_protected(root: Path) -> tuple[Path, ...]:
    """What a command may not change in the workspace: a hook left there would run outside as soon as the
    person uses git. Nobody uses that of a work copy.
    """
    kept = (root / ".agent", root / ".git")
    return tuple(path for path in kept if path.exists() and not path.is_symlink())


def find(path: str) -> str | None:
    return shutil.which("bwrap", path=path)


class Lack(NamedTuple):
    """There is no sandbox: why, and how to get one."""

    why: Text
    mend: Text | str


def usable(path: str) -> str | Lack:
    """The bwrap found on this path, if it works."""
    bwrap = find(path)
    if sys.platform != "linux":
        return Lack(Text("bubblewrap exists on Linux only"), "")
    if bwrap is None:
        return Lack(Text("bubblewrap is not installed"), to_install("bubblewrap"))
    why = trouble(bwrap)
    return bwrap if why is None else Lack(why, _to_allow())


def to_install(package: str) -> Text | str:
    for manager, words in _INSTALL.items():
        if shutil.which(manager, path=SYSTEM_PATH):
            return f"sudo {manager} {words} {package}"
    return Text("install the package {package}", package=package)


@functools.cache
def can_scope_sockets(bwrap: str) -> bool:
    """Whether sockets without a file are out of reach, although the network is shared. That needs Landlock,
    under which a bwrap that gets its rights from its owner would not work.
    """
    return scopes_work() and not Path(bwrap).stat().st_mode & stat.S_ISUID


def confinement(bwrap: str) -> int:
    """How the supervisor starts a command in the sandbox."""
    return OWN_KEYS | (SCOPED if can_scope_sockets(bwrap) else 0)


@functools.cache
def trouble(bwrap: str, words: tuple[str, ...] = (), program: str = "") -> Text | None:
    """Why it cannot start a program, itself if none is named; many systems forbid it. Tried once."""
    argv = [bwrap, *(words or arguments(_BASE, Path("/"))), program or bwrap, "--version"]
    try:
        tried = subprocess.run(
            argv, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_SEC, check=False
        )
    except subprocess.TimeoutExpired:
        return Text("bubblewrap did not end within {seconds} seconds", seconds=int(_PROBE_SEC))
    except OSError as error:
        return Text("bubblewrap cannot be started: {why}", why=error.strerror or str(error))
    if tried.returncode == 0:
        return None
    said = tried.stderr.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
    # The first sentence says what the system refused; the others are about one distribution.
    said = said.partition("\n")[0].partition(". ")[0][:_MAX_SHOWN]
    return Text("bubblewrap ended with exit code {code}: {said}", code=tried.returncode, said=said)


def _to_allow() -> Text | str:
    """What lets bubblewrap make its namespaces here, as far as the system shows it."""
    for setting, (refusing, allowing) in _REFUSING.items():
        if _read(Path("/proc/sys", *setting.split("."))) == refusing:
            return f"sudo sysctl {setting}={allowing}"
    if "\nSeccomp:\t2" in _read(Path("/proc/self/status")):
        options = "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"
        return Text("allow user namespaces in this container (Docker: {options})", options=options)
    return Text("allow user namespaces on this system")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
