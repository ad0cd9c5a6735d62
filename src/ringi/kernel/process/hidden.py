"""What no sandbox shows: keys, and every socket that leads out. The same list for agents and for commands.

Through a socket a command could act in the person's name: sign with a key agent, start a container, type an
answer into tmux. A read-only mount does not prevent connecting, so sockets are covered one by one, and the
folders in which they usually lie are hidden as a whole.
"""

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

LEADING_OUT: Final = frozenset(
    [
        "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
        "DOCKER_HOST", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TMUX", "TMUX_PANE", "TMUX_TMPDIR", "STY",
        "SCREENDIR", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "NVIM",
    ]
)  # fmt: skip
"""Variables of keys, containers, the desktop and other terminals. In a sandbox they are not set."""
RUNTIME: Final = (Path("/run"), Path("/var/run"))
# The last one holds sockets through which keys can be typed into the person's terminals.
_IN_HOME: Final = (".ssh", ".gnupg", ".screen")
_BY_VARIABLE: Final = ("GNUPGHOME", "XDG_RUNTIME_DIR", "SCREENDIR")
_BOUND_SOCKETS: Final = Path("/proc/net/unix")
_BETWEEN_PATHS: Final = re.compile(r"[,;:=\s]+")
_PATH_COLUMN: Final = 7


class Hidden(NamedTuple):
    """Real paths of what exists now."""

    folders: tuple[Path, ...] = ()
    """They appear empty."""
    files: tuple[Path, ...] = ()
    """So do they; sockets cannot be connected to."""
    variables: frozenset[str] = frozenset()
    """Those that lead to such places."""


def find_hidden(
    environment: Mapping[str, str], own: Iterable[Path] = (), kept: Iterable[Path] = ()
) -> Hidden:
    """`own` are folders of ours to hide as well; `kept` holds sockets that are meant for the command."""
    home = Path(environment.get("HOME", ""))
    found = [*RUNTIME, *own, *_folders(environment, home)]
    named = [(name, path) for name, path in _paths_in_variables(environment) if not path.is_dir()]
    files = [*(path for _, path in named), *_listening_sockets()]
    files += [home / ".Xauthority", *_login_files(environment, home)]
    kept = [Path(os.path.realpath(path)) for path in kept]
    real = dict.fromkeys(Path(os.path.realpath(path)) for path in [*found, *files] if path.is_absolute())
    there = [path for path in real if not any(path.is_relative_to(one) for one in kept)]
    folders = tuple(path for path in there if path.is_dir())
    variables = LEADING_OUT | {name for name, path in named if Path(os.path.realpath(path)) in there}
    return Hidden(folders, tuple(path for path in there if path.exists() and not path.is_dir()), variables)


def _folders(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    if home.is_absolute():
        yield from (home / name for name in _IN_HOME)
    for name in _BY_VARIABLE:
        path = Path(environment.get(name, ""))
        if path.is_absolute() and not home.is_relative_to(path):
            yield path
    screens = Path(environment.get("TMUX_TMPDIR", ""))
    if screens.is_absolute():
        # Made now, because a server that starts later would make it, in sight of the sandbox.
        own = screens / f"tmux-{os.getuid()}"
        with contextlib.suppress(OSError):
            own.mkdir(mode=0o700)
        yield own


def _login_files(environment: Mapping[str, str], home: Path) -> Iterator[Path]:
    """Of git, curl, gh and glab: with one an agent could push or merge in the person's name.

    Programs also read private registries with `.netrc`. Nobody can tell a login that may only read from one
    that may push, so all are hidden; what an agent may use, the person gives it in a variable.
    """
    settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    yield from (home / ".git-credentials", settings / "git" / "credentials")
    yield from (home / ".netrc", Path(environment.get("NETRC", "")))
    yield Path(environment.get("GH_CONFIG_DIR") or settings / "gh") / "hosts.yml"
    yield Path(environment.get("GLAB_CONFIG_DIR") or settings / "glab-cli") / "config.yml"


def _paths_in_variables(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Sockets, and whatever variables of keys and terminals name: as in `/tmp/tmux-0/default,1,0`,
    `unix:path=/run/bus,guid=1` and `unix:///run/docker.sock`.
    """
    for name, value in environment.items():
        words = [value, *_BETWEEN_PATHS.split(value)] if "/" in value else []
        for word in dict.fromkeys(words):
            if word.startswith("/") and (name in LEADING_OUT or _is_socket(word)):
                yield name, Path("/" + word.lstrip("/"))


def _listening_sockets() -> Iterator[Path]:
    """Every one that somebody listens on, as far as the kernel tells."""
    with contextlib.suppress(OSError):
        for line in _BOUND_SOCKETS.read_bytes().splitlines():
            columns = line.split(maxsplit=_PATH_COLUMN)
            path = os.fsdecode(columns[-1]) if len(columns) > _PATH_COLUMN else ""
            if path.startswith("/") and _is_socket(path) and _is_reachable(Path(path)):
                yield Path(path)


def _is_reachable(path: Path) -> bool:
    """Whether it is reached without root's rights, which a sandbox has not: it could not even hide it."""
    for folder in path.parents:
        try:
            found = folder.stat()
        except OSError:  # gone meanwhile
            return False
        if found.st_uid == os.geteuid():
            enter = stat.S_IXUSR
        elif found.st_gid in {os.getegid(), *os.getgroups()}:
            enter = stat.S_IXGRP
        else:
            enter = stat.S_IXOTH
        if not found.st_mode & enter:
            return False
    return True


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(Path(path).stat().st_mode)
    except (OSError, ValueError):  # ValueError: characters that no path has
        return False
