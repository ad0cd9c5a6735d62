"""The agents that need no configuration: where they keep their state, and how they are told something.

What stands here was read in their own documentation or source; docs/design/0023 says where.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

_HOMES: Final[Mapping[str, tuple[str, str]]] = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}
LONGEST_WORD: Final = 100_000
"""In bytes. Linux takes 131,072 in one argument, and what an agent makes of it has to fit too."""


class State(NamedTuple):
    """A place that an agent writes to, outside of where it works."""

    path: str
    """Below the home folder; or below one of the four XDG folders, as {data}/opencode."""
    variable: str = ""
    """Moves it, where it is set."""
    below: str = ""
    """What is added to the variable's value."""
    content: bytes | None = None
    """Of a file that is not there yet; None for a folder."""
    unless: str = ""
    """There is no such place where this variable is set."""


class Agent(NamedTuple):
    name: str
    state: tuple[State, ...]
    again: tuple[str, ...]
    """Words before a message that continues the last conversation in the same folder."""
    ignored: tuple[str, ...] = ()
    """What it leaves in the folder it works in, as git's patterns; that is no part of its change."""

    def continued(self, program: str, message: str, more: Sequence[str]) -> tuple[str, ...]:
        # The message comes first: an option that takes several values would swallow it.
        return (program, *self.again, message, *more)


class Place(NamedTuple):
    path: Path
    content: bytes | None
    """Of a file that is not there yet; None for a folder."""


_ALL: Final = (
    Agent(
        "claude",
        (
            State(".claude", "CLAUDE_CONFIG_DIR"),
            State(".claude.json", unless="CLAUDE_CONFIG_DIR", content=b"{}\n"),
            State("{state}/claude"),
            State("{cache}/claude-cli-nodejs"),
        ),
        again=("--continue",),
    ),
    Agent(
        "codex",
        (State(".codex", "CODEX_HOME"), State(".codex", "CODEX_SQLITE_HOME")),
        again=("resume", "--last"),
    ),
    Agent(
        "gemini",
        (State(".gemini", "GEMINI_CLI_HOME", below=".gemini"),),
        again=("--resume", "latest", "--prompt-interactive"),
    ),
    Agent(
        "aider",
        (State(".aider"),),
        again=("--restore-chat-history", "--message"),
        ignored=(".aider*",),
    ),
    Agent(
        "opencode",
        tuple(State(f"{{{kind}}}/opencode") for kind in ("data", "state", "cache", "config")),
        # Its screen drops a message that comes together with --continue.
        again=("run", "--continue"),
    ),
)
AGENTS: Final[Mapping[str, Agent]] = {agent.name: agent for agent in _ALL}


def agent_of(argv: Sequence[str]) -> Agent | None:
    """By the name of the program, wherever that lies."""
    return AGENTS.get(PurePosixPath(argv[0]).name) if argv else None


def places_of_agent(agent: Agent, environment: Mapping[str, str]) -> tuple[Place, ...]:
    """Each place once, as the variables have it; none where there is no home folder to look in."""
    found: dict[Path, Place] = {}
    for state in agent.state:
        if path := _where(state, environment):
            found.setdefault(path, Place(path, state.content))
    return tuple(found.values())


def _where(state: State, environment: Mapping[str, str]) -> Path | None:
    if state.unless and environment.get(state.unless):
        return None
    if state.variable and (moved := environment.get(state.variable)):
        path = Path(moved) / state.below
        return path if path.is_absolute() else None
    home = Path(environment.get("HOME", ""))
    if state.path.startswith("{"):
        kind, _, rest = state.path[1:].partition("}/")
        variable, usual = _HOMES[kind]
        base = Path(environment.get(variable, ""))
        base = base if base.is_absolute() else home / usual
        path = base / rest
    else:
        path = home / state.path
    return path if path.is_absolute() else None
