"""The sandbox that confines an agent to its copy, if bubblewrap works: all else is read-only or hidden."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ringi.agents.command_line import without_sandbox
from ringi.agents.state import AgentState, SandboxContext, state_places
from ringi.agents.table import agent_of
from ringi.errors import NoSandbox, NoSuchProgram
from ringi.kernel.places import own_folders
from ringi.kernel.process import layers, sandbox
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.kernel.process.hidden import Hidden, find_hidden
from ringi.kernel.process.program import program_of
from ringi.kernel.process.sandbox import How, Lack, Mount
from ringi.kernel.process.terminal import somebody_types
from ringi.kernel.text import Text
from ringi.tree.commands import Invocation
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_mounts import CopyMounts, mounts_of_copy

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
    mend: Text | str = ""
    """How to get one; empty if somebody switched it off."""

    @property
    def scoped(self) -> bool:
        """Whether a sandbox, if there is one, keeps it from sockets without a file."""
        return self.bwrap is None or sandbox.can_scope_sockets(self.bwrap)


def agent_sandbox(workspace: SandboxContext, *, path: str = SYSTEM_PATH) -> AgentSandbox:
    """Raises NoSandbox if the configuration requires one and there is none."""
    wanted = workspace.config.beside.sandbox
    if wanted == "off":
        return AgentSandbox(None, why=Text("with.sandbox is off"))
    found, setsid = sandbox.usable(path), shutil.which("setsid", path=path)
    if setsid is None and isinstance(found, str):
        found = Lack(Text("setsid is not installed"), sandbox.to_install("util-linux"))
    if isinstance(found, str):
        return AgentSandbox(found, setsid or "")
    if wanted == "required":
        raise NoSandbox(why=found.why)
    return AgentSandbox(None, why=found.why, mend=found.mend)


def enclose(
    workspace: SandboxContext,
    copy: WorkCopy,
    box: AgentSandbox,
    invocation: Invocation,
    *,
    visible: Sequence[Path] = (),
    terminal: bool = True,
    reading: bool = False,
    once: bool = False,
    covered: Mapping[Path, Path] = {},
) -> Invocation:
    """The command wrapped in the sandbox; unchanged if there is no sandbox.

    With a terminal it is an agent, which can write to its own state. One that is only `reading` has none
    either, and can write nowhere else. One that answers `once` has no terminal. `covered` files appear with
    the content of another.
    """
    if box.bwrap is None:
        return invocation
    env = invocation.env
    argv = _in_ours(invocation.argv, reading=reading) if terminal or reading else invocation.argv
    root, home = workspace.places.root, _home(env)
    program = program_of(argv, copy.folder_of_commands, env)
    # A script run by an interpreter must be visible as well; what lies beside the copy, its caller shows.
    files = [path for word in argv[1:] if (path := Path(word)).is_absolute() and path.is_file()]
    named = [path for path in files if path.parent != copy.folder]
    needed = [path for path in [program, *named, *_OURS] for path in _both(path)]
    stands = mounts_of_copy(copy, root, home, needed)
    if reading:
        stands = stands.read_only()
    seen = [folder for path in needed if not path.is_relative_to(root) for folder in _folders_to_mount(path)]
    state = AgentState(workspace, copy, argv if terminal or reading else (), env)
    state.prepare()
    unseen = find_hidden(env, own_folders(workspace.places, env), visible)
    wished = [] if reading else _extra_writable(workspace, env)
    places = _places(workspace, stands, state, env, unseen, [*visible, *seen], wished)
    over = tuple(Mount(path, How.READ, source=str(source)) for path, source in covered.items())
    chosen = sandbox.mounts(places._replace(laid=(*places.laid, *over)))
    started = stands.folder / program.relative_to(copy.tree) if program.is_relative_to(copy.tree) else program
    for path in (started, *_both(program)[1:]):
        if not sandbox.sees(chosen, path):
            raise NoSuchProgram(name=Text("{name} that can be seen in the sandbox", name=str(program)))
    folder = stands.folder / copy.folder_of_commands.relative_to(copy.tree)
    takes_terminal = terminal and not reading and not once and somebody_types()
    if takes_terminal:
        words = sandbox.for_agent(box.bwrap, box.setsid, chosen, folder, copy.id)
    else:
        words = sandbox.for_check(box.bwrap, chosen, folder, copy.id)
    gone = unseen.variables | {"TMPDIR"}
    inside = {name: value for name, value in env.items() if name not in gone}
    inside |= {"PWD": str(folder), **state.variables}
    whole = layers.command(state.layers, [*words, str(started), *argv[1:]])
    return Invocation(tuple(whole), inside, takes_terminal, sandbox.confinement(box.bwrap))


def place_in_sandbox(
    workspace: SandboxContext, copy: WorkCopy, box: AgentSandbox, env: Mapping[str, str]
) -> Path:
    """Where a command finds the copy: at the project's own path, if there is a sandbox and it can be."""
    return copy.tree if box.bwrap is None else mounts_of_copy(copy, workspace.places.root, _home(env)).folder


def _in_ours(argv: tuple[str, ...], *, reading: bool) -> tuple[str, ...]:
    """Root has no capabilities in ours, so an agent's own sandbox cannot map users inside it."""
    agent = agent_of(argv)
    if os.geteuid() or agent.own_sandbox is None or agent.resume is None:
        return argv
    # Where ours is read-only, nothing is lost without its own.
    own = agent.own_sandbox._replace(kept=frozenset()) if reading else agent.own_sandbox
    return without_sandbox(own, agent.resume.line, argv)


def writable_places(
    workspace: SandboxContext, argv: Sequence[str], env: Mapping[str, str]
) -> tuple[Path, ...]:
    """Besides the copy and /tmp: the agent's own state, and what the configuration names."""
    state = [place.path for place in state_places(workspace, argv, env) if not place.state.layer]
    return tuple(dict.fromkeys([*state, *_extra_writable(workspace, env)]))


def _places(
    workspace: SandboxContext,
    stands: CopyMounts,
    state: AgentState,
    env: Mapping[str, str],
    unseen: Hidden,
    visible: Sequence[Path],
    wished: Sequence[Path],
) -> sandbox.SandboxPlaces:
    home = _home(env)
    # Programs replace a file through a temporary one next to it, so its folder must be writable.
    in_home = any(
        _real_path(place.path.parent) == home for place in state.places if place.content is not None
    )
    laid_again = home if home and in_home and len(home.parts) > 1 and home != workspace.places.root else None
    return sandbox.SandboxPlaces(
        laid=(*stands.mounts, *state.mounts),
        hidden=unseen,
        read_only=_real([*visible, *state.sealed]),
        writable=_real([*state.writable, *wished]),
        home=laid_again,
        network=True,
    )


def _home(env: Mapping[str, str]) -> Path | None:
    home = Path(env.get("HOME", ""))
    return _real_path(home) if home.is_absolute() else None


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _both(path: Path) -> tuple[Path, ...]:
    """The path, and what it leads to if the file itself is a link."""
    plain = _real_path(path.parent) / path.name
    return tuple(dict.fromkeys([plain, _real_path(path)]))


def _real(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Leaves out dangling links."""
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths if path.exists()))


def _extra_writable(workspace: SandboxContext, env: Mapping[str, str]) -> list[Path]:
    """Existing ones only; never the workspace or hidden places, even if the list names them."""
    home = Path(env.get("HOME", ""))
    kept = [workspace.places.root, *find_hidden(env, own_folders(workspace.places, env)).folders]
    found = []
    for name in workspace.config.beside.writable:
        path = home / name[2:] if name.startswith("~/") else Path(name)
        real = Path(os.path.realpath(path))
        if path.is_absolute() and real.exists() and not any(real.is_relative_to(one) for one in kept):
            found.append(path)
    return found


def _folders_to_mount(program: Path) -> list[Path]:
    """What to mount into the sandbox's own /tmp and /dev/shm so that the program is visible."""
    found = []
    for path in dict.fromkeys([program, Path(os.path.realpath(program))]):
        folder = Path(os.path.realpath(path.parent))
        if (folder.parent / "pyvenv.cfg").is_file():  # a Python environment is more than its bin folder
            folder = folder.parent
        if any(folder.is_relative_to(own) for own in _REPLACED):
            found.append(path if folder in _REPLACED else folder)
    return found
