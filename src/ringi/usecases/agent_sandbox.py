"""The sandbox that confines an agent to its copy, if bubblewrap works: all else is read-only or hidden."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.agents.record import Place
from ringi.agents.table import agent_of
from ringi.errors import NoSandbox, NoSuchProgram
from ringi.process import sandbox
from ringi.process.environment import SYSTEM_PATH
from ringi.process.git import Repository
from ringi.process.program import program_of
from ringi.process.sandbox import AgentPlaces
from ringi.text import Text
from ringi.usecases.workspace import OpenWorkspace
from ringi.workspace.copy import WorkCopy
from ringi.workspace.copy_run import Invocation
from ringi.workspace.places import user_folder

# They give access to what could act in the person's name: keys, containers, the desktop, another terminal.
_LEADING_OUT: Final = frozenset(
    [
        "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR",
        "DOCKER_HOST", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TMUX", "TMUX_PANE", "STY",
        "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "NVIM",
    ]
)  # fmt: skip
# The last one holds sockets through which keys can be typed into the person's terminals.
_SECRET: Final = (".ssh", ".gnupg", ".screen")
# The sandbox has its own, empty ones.
_REPLACED: Final = tuple(Path(os.path.realpath(path)) for path in ("/tmp", "/dev/shm"))  # noqa: S108  # only compared
# The agent may call `ringi mcp`.
_OURS: Final = (Path(sys.executable), Path(__file__).parents[1])


class AgentSandbox(NamedTuple):
    bwrap: str | None
    """None if there is no sandbox."""
    setsid: str = ""
    why: Text | None = None
    """Why there is none."""


def agent_sandbox(workspace: OpenWorkspace, *, path: str = SYSTEM_PATH) -> AgentSandbox:
    """Raises NoSandbox if the configuration requires one and there is none."""
    wanted = workspace.settings.beside.sandbox
    if wanted == "off":
        return AgentSandbox(None, why=Text("with.sandbox is off"))
    bwrap, setsid = sandbox.find(path), shutil.which("setsid", path=path)
    if bwrap is None:
        why: Text | None = Text("bubblewrap is not installed")
    elif setsid is None:
        why = Text("setsid is not installed")
    else:
        why = sandbox.trouble(bwrap)
    if why is not None and wanted == "required":
        raise NoSandbox(why=why)
    return AgentSandbox(None, why=why) if why else AgentSandbox(bwrap, setsid or "")


def enclosed(
    workspace: OpenWorkspace,
    copy: WorkCopy,
    box: AgentSandbox,
    invocation: Invocation,
    *,
    agent: Sequence[str] = (),
    visible: Sequence[Path] = (),
    terminal: bool = True,
) -> Invocation:
    """The command wrapped in the sandbox; unchanged if there is no sandbox.

    `agent` is the command whose state is writable, if it differs from `argv`.
    """
    if box.bwrap is None:
        return invocation
    argv, env = invocation.argv, invocation.env
    program = program_of(argv, copy.tree, env)
    # A script run by an interpreter must be visible as well.
    named = [path for word in argv[1:] if (path := Path(word)).is_absolute() and path.is_file()]
    seen = [folder for path in [program, *named, *_OURS] for folder in _seen_with(path)]
    places = _places(workspace, copy, agent or argv, env, [*visible, *seen])
    chosen = sandbox.agent_mounts(places)
    for path in (program, Path(os.path.realpath(program))):
        if not sandbox.sees(chosen, path):
            raise NoSuchProgram(name=Text("{name} that can be seen in the sandbox", name=str(program)))
    if terminal:
        words = sandbox.for_agent(box.bwrap, box.setsid, chosen, copy.tree, copy.id)
    else:
        words = sandbox.for_check(box.bwrap, chosen, copy.tree, copy.id)
    inside = {name: value for name, value in env.items() if name not in _LEADING_OUT and name != "TMPDIR"}
    return Invocation((*words, str(program), *argv[1:]), inside, takes_terminal=terminal)


def writable_places(
    workspace: OpenWorkspace, argv: Sequence[str], env: Mapping[str, str]
) -> tuple[Path, ...]:
    """Besides the copy and /tmp: the agent's own state, and what the configuration names."""
    state = [place.path for place in _state(workspace, argv, env)]
    return tuple(dict.fromkeys([*state, *_wished(workspace, env)]))


def _state(workspace: OpenWorkspace, argv: Sequence[str], env: Mapping[str, str]) -> list[Place]:
    """Leaves out the workspace, which may be in such a place, and dangling links."""
    root = os.path.realpath(workspace.places.root)
    found = agent_of(argv).places(env)
    there = [place for place in found if place.path.exists() or not place.path.is_symlink()]
    return [place for place in there if os.path.realpath(place.path) != root]


def _places(
    workspace: OpenWorkspace,
    copy: WorkCopy,
    argv: Sequence[str],
    env: Mapping[str, str],
    visible: Sequence[Path],
) -> AgentPlaces:
    places, state = workspace.places, _state(workspace, argv, env)
    for place in state:
        _make(place)
    repository = Repository.at(places.root)
    lent = [places.state / "git" / "objects", *([repository.common] if repository else [])]
    writable = [copy.tree, *(place.path for place in state), *_wished(workspace, env)]
    read_only = _real([places.root, *lent, *visible])
    home = Path(env.get("HOME", ""))
    # Programs replace a file through a temporary one next to it, so its folder must be writable.
    in_home = any(place.content is not None and place.path.parent == home for place in state)
    real_home = Path(os.path.realpath(home))
    return AgentPlaces(
        writable=_real(writable),
        read_only=read_only,
        hidden=_real(_hidden(workspace, env)),
        masked=_real(path for path in _masked(env) if not path.is_dir()),
        home=real_home if in_home and len(home.parts) > 1 and real_home not in read_only else None,
    )


def _real(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Leaves out dangling links."""
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths if path.exists()))


def _hidden(workspace: OpenWorkspace, env: Mapping[str, str]) -> list[Path]:
    home, user, places = Path(env.get("HOME", "")), user_folder(env), workspace.places
    secret = [home / name for name in _SECRET] if home.is_absolute() else []
    moved = [Path(env.get(name, "")) for name in ("GNUPGHOME", "XDG_RUNTIME_DIR")]
    moved += [Path(env.get("TMUX_TMPDIR", "")) / f"tmux-{os.getuid()}"]
    moved = [path for path in moved if path.is_absolute() and not home.is_relative_to(path)]
    return [places.states, places.copies.parent, *secret, *moved, *([user] if user else [])]


def _masked(env: Mapping[str, str]) -> list[Path]:
    """Files and sockets that variables name; they may be in a folder that must stay visible."""
    home = Path(env.get("HOME", ""))
    values = [env[name].partition("/") for name in sorted(_LEADING_OUT & env.keys())]
    # As in `/tmp/tmux-0/default,1,0`, `unix:path=/run/bus,guid=1` and `unix:///run/docker.sock`.
    full = ["/" + rest.lstrip("/") for _, slash, rest in values if slash]
    named = [Path(word) for path in full for word in (path, path.partition(",")[0])]
    return [*named, *([home / ".Xauthority"] if home.is_absolute() else [])]


def _wished(workspace: OpenWorkspace, env: Mapping[str, str]) -> list[Path]:
    """Existing ones only; never the workspace or hidden places, even if the list names them."""
    home = Path(env.get("HOME", ""))
    kept = [Path(os.path.realpath(path)) for path in [workspace.places.root, *_hidden(workspace, env)]]
    found = []
    for name in workspace.settings.beside.writable:
        path = home / name[2:] if name.startswith("~/") else Path(name)
        real = Path(os.path.realpath(path))
        if path.is_absolute() and real.exists() and not any(real.is_relative_to(one) for one in kept):
            found.append(path)
    return found


def _make(place: Place) -> None:
    with suppress(OSError):  # the agent will complain if it needs it
        if place.content is None:
            place.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not place.path.exists():
            with open(place.path, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write(place.content)


def _seen_with(program: Path) -> list[Path]:
    """What to mount into the sandbox's own /tmp and /dev/shm so that the program is visible."""
    found = []
    for path in dict.fromkeys([program, Path(os.path.realpath(program))]):
        folder = Path(os.path.realpath(path.parent))
        if (folder.parent / "pyvenv.cfg").is_file():  # a Python environment is more than its bin folder
            folder = folder.parent
        if any(folder.is_relative_to(own) for own in _REPLACED):
            found.append(path if folder in _REPLACED else folder)
    return found
