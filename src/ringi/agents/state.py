"""What an agent keeps outside its copy: its conversations are shared, its settings are read-only.

Nothing that is written in a sandbox may run outside later. So settings, hooks, servers and rules are sealed,
and folders with programs get a layer that only this copy sees; so do the caches of package managers.
"""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from ringi.agents.record import AgentFile, StatePlace
from ringi.agents.table import agent_of
from ringi.config.keys import Config
from ringi.errors import StateInWorkspace
from ringi.kernel.fs import replace_file
from ringi.kernel.places import Places
from ringi.kernel.process import layers
from ringi.kernel.process.layers import Layer
from ringi.kernel.process.sandbox import How, Mount
from ringi.tree.copy import WorkCopy


class SandboxContext(Protocol):
    """What a sandbox needs to know of a workspace."""

    @property
    def places(self) -> Places: ...
    @property
    def config(self) -> Config: ...


class ProjectSettings(NamedTuple):
    """A sandbox context without a workspace."""

    places: Places
    config: Config


class AgentCache(NamedTuple):
    state: AgentFile
    variable: str = ""
    """Says where else it can be."""


CACHES: Final = (
    AgentCache(AgentFile(".npm", "npm_config_cache"), "npm_config_cache"),
    AgentCache(AgentFile("{cache}/pip", "PIP_CACHE_DIR"), "PIP_CACHE_DIR"),
    AgentCache(AgentFile("{cache}/uv", "UV_CACHE_DIR"), "UV_CACHE_DIR"),
    AgentCache(AgentFile("{cache}/yarn", "YARN_CACHE_FOLDER"), "YARN_CACHE_FOLDER"),
    AgentCache(AgentFile("{data}/pnpm/store")),
    AgentCache(AgentFile("{cache}/go-build", "GOCACHE"), "GOCACHE"),
    AgentCache(AgentFile("go/pkg/mod", "GOMODCACHE"), "GOMODCACHE"),
    AgentCache(AgentFile(".cargo/registry", "CARGO_HOME", below="registry")),
    AgentCache(AgentFile(".cargo/git", "CARGO_HOME", below="git")),
)


def state_places(workspace: SandboxContext, argv: Sequence[str], env: Mapping[str, str]) -> list[StatePlace]:
    """Leaves out the workspace, which may be such a place, and dangling links. Raises StateInWorkspace."""
    root, agent = _real(workspace.places.root), agent_of(argv)
    found = agent.places(env) if argv else ()
    there = [place for place in found if place.path.exists() or not place.path.is_symlink()]
    for place in there:
        if _leads_into(root, place.path, Path(env.get("HOME", "/"))):
            raise StateInWorkspace(path=str(place.path), agent=agent.title, real=str(_real(place.path)))
    return [place for place in there if _real(place.path) != root]


def _leads_into(root: Path, path: Path, home: Path) -> bool:
    real = _real(path)
    if real == root or not real.is_relative_to(root):
        return False
    # If the home folder itself is in the workspace, what really lies in it belongs there.
    inside = _real(home).is_relative_to(root) and path.is_relative_to(home)
    return not inside or real != _real(home) / path.relative_to(home)


class Replaced(NamedTuple):
    """A link to settings that an agent had replaced."""

    link: Path
    why_not: str = ""
    """Why it could not be put back."""


class AgentState:
    """The places of one agent, for one copy."""

    def __init__(
        self, workspace: SandboxContext, copy: WorkCopy, argv: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self.places = state_places(workspace, argv, env)
        self._root = workspace.places.root
        self._private = copy.folder / "layers"
        self._env = env
        self.layers: list[Layer] = []
        self.mounts: list[Mount] = []
        self.variables: dict[str, str] = {}

    def prepare(self) -> None:
        """Makes what is missing, so that it can be mounted."""
        self.put_back_links()
        for place in self.places:
            _make(place.path, place.content)
            for path, content in place.sealed.items():
                _make(path, content)
                if path.is_symlink():
                    self._remember(path)
            if place.state.layer:
                self._lay(place.path)
            elif place.state.back:
                inside = self._inside(place.path)
                with suppress(OSError):
                    inside.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                    replace_file(inside, place.path.read_bytes(), synced=False)
                    self.mounts.append(Mount(_real(place.path), How.WRITE, source=str(inside)))
        for cache, path in self._caches():
            if path.is_dir():
                self._lay(path)
            elif cache.variable:
                private = self._private / _name(path)
                private.mkdir(mode=0o700, parents=True, exist_ok=True)
                self.mounts.append(Mount(private, How.WRITE))
                self.variables[cache.variable] = str(private)

    def _caches(self) -> Iterator[tuple[AgentCache, Path]]:
        for cache in CACHES:
            path = cache.state.find(self._env)
            if path is not None and not _real(path).is_relative_to(self._root):
                yield cache, path

    def _lay(self, path: Path) -> None:
        """As it is, with a private layer over it; empty if the kernel knows no layers."""
        layer = Layer(_real(path), self._private / _name(path))
        layers.make(layer)
        over = layers.work_here(self._private)
        if over:
            self.layers.append(layer)
        source = layer.folder if over else layer.private / "upper"
        self.mounts.append(Mount(layer.lower, How.WRITE, source=str(source), layered=over))

    def _inside(self, path: Path) -> Path:
        return self._private / _name(path) / path.name

    @property
    def writable(self) -> list[Path]:
        return [place.path for place in self.places if not place.state.layer and not place.state.back]

    @property
    def sealed(self) -> list[Path]:
        return [path for place in self.places for path in place.sealed if not path.is_symlink()]

    def _remember(self, link: Path) -> None:
        """Nothing can be mounted over a link, so the agent can replace it."""
        kept = self._link_place(link)
        with suppress(OSError):
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            kept.unlink(missing_ok=True)
            kept.symlink_to(link.readlink())

    def _link_place(self, link: Path) -> Path:
        return self._private / "links" / _name(link)

    def put_back_links(self) -> list[Replaced]:
        """What replaced a sealed link gets a name beside it that no agent reads."""
        replaced = []
        for path in (path for place in self.places for path in place.sealed):
            kept = self._link_place(path)
            if not kept.is_symlink() or (path.is_symlink() and path.readlink() == kept.readlink()):
                continue
            try:
                # A folder without write permission can be renamed, but not moved elsewhere.
                if os.path.lexists(path):
                    path.rename(path.with_name(f"{path.name}.replaced-{secrets.token_hex(4)}"))
                path.symlink_to(kept.readlink())
            except OSError as error:
                replaced.append(Replaced(path, error.strerror or str(error)))
            else:
                replaced.append(Replaced(path))
        return replaced

    def take_back(self) -> None:
        """What the agent wrote to files that have settings too; they may have changed meanwhile."""
        for place in self.places:
            if place.state.back:
                with suppress(OSError, ValueError):  # what cannot be read stays as it is
                    now, inside = place.path.read_bytes(), self._inside(place.path).read_bytes()
                    if now != (new := place.state.back(now, inside, str(self._root))):
                        replace_file(_real(place.path), new, synced=False)


def _make(path: Path, content: bytes | None) -> None:
    with suppress(OSError):  # the agent will complain if it needs it
        if content is None:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not os.path.lexists(path):
            with open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(content)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _name(path: Path) -> str:
    return str(path).strip("/").replace("/", "-")
