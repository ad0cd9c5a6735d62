"""What is known about one agent. `table` has the records; everything here is data and pure functions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ringi.agents.output import Said
from ringi.text import Text

_HOMES: Final[Mapping[str, tuple[str, str]]] = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}
LONGEST_WORD: Final = 100_000
"""In bytes. Linux takes 131,072 in one argument, and what an agent makes of it has to fit too."""
FILES: Final = "\0files"
"""In the words of a `Model`: the folder that holds its files. No command line that people write has it."""


class State(NamedTuple):
    """A file or folder that an agent writes to, outside of where it works."""

    path: str
    """Below the home folder; or below one of the four XDG folders, as {data}/opencode."""
    variable: str = ""
    """Moves it, if set."""
    below: str = ""
    """What is added to the variable's value."""
    content: bytes | None = None
    """Of a file that does not exist yet; None for a folder."""
    unless: str = ""
    """There is no such place if this variable is set."""

    def find(self, environment: Mapping[str, str]) -> Path | None:
        if self.unless and environment.get(self.unless):
            return None
        if self.variable and (moved := environment.get(self.variable)):
            path = Path(moved) / self.below
            return path if path.is_absolute() else None
        home = Path(environment.get("HOME", ""))
        if self.path.startswith("{"):
            kind, _, rest = self.path[1:].partition("}/")
            variable, usual = _HOMES[kind]
            base = Path(environment.get(variable, ""))
            path = (base if base.is_absolute() else home / usual) / rest
        else:
            path = home / self.path
        return path if path.is_absolute() else None


class Place(NamedTuple):
    path: Path
    content: bytes | None
    """Of a file that does not exist yet; None for a folder."""


class Model(NamedTuple):
    """How an agent is asked one question without a terminal: in an empty folder, from standard input."""

    words: tuple[str, ...]
    read: Callable[[str, str, int], Said]
    """From its output, its errors and its exit code."""
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    streams: bool = False
    """Its output is the answer itself, as it comes."""


class Mcp(NamedTuple):
    """Our entry in the agent's configuration file of a project."""

    files: tuple[str, ...]
    """The one that exists gets the entry, else the first. The suffix tells the format: .toml, else JSON."""
    holder: tuple[str, ...]
    """The keys that lead to the servers."""
    server: Callable[[Sequence[str]], dict[str, Any]]
    """The entry, from the command that starts our server."""
    newer_holder: tuple[str, ...] = ()
    """Used instead if the file already has it."""
    opening: Mapping[str, Any] = {}
    """What else a new file begins with."""
    note: Text | None = None


class Hook(NamedTuple):
    """A command that the agent runs before every edit."""

    file: str
    event: str
    matcher: str
    timeout_sec: int
    note: Text


class Presence(NamedTuple):
    """By what we see that somebody uses the agent here."""

    programs: tuple[str, ...]
    folders: tuple[str, ...]
    """Below the home folder."""
    traces: tuple[str, ...]
    """In a project."""


class Agent(NamedTuple):
    name: str
    """Also the name of the program that `ringi with` starts."""
    title: str
    variables: tuple[str, ...] = ()
    """What it sets for the commands it runs. Not what people set to configure it (CODEX_HOME, AIDER_MODEL),
    and not what editors set in a person's own terminal (CLAUDE_CODE_SSE_PORT, CURSOR_TRACE_ID)."""
    private: tuple[str, ...] = ()
    """Further variables that another agent started below must not see."""
    processes: tuple[str, ...] = ()
    """The names of its process. Not those of editors and terminals (cursor, warp, q), below which people work
    too, and no words that other programs have as well (agent, pi)."""
    packages: tuple[str, ...] = ()
    """Folders of packages whose entry file has a name that says nothing, as cli.js."""
    state: tuple[State, ...] = ()
    resume: tuple[str, ...] = ()
    """Words before a message that continues the last conversation in the same folder; none if it cannot."""
    ignored: tuple[str, ...] = ()
    """What it leaves in the folder it works in, as git's patterns; that is no part of its change."""
    model: Model | None = None
    presence: Presence | None = None
    mcp: Mcp | None = None
    hook: Hook | None = None

    def resumed(self, program: str, message: str, more: Sequence[str]) -> tuple[str, ...]:
        # The message comes first: an option that takes several values would swallow it.
        return (program, *self.resume, message, *more)

    def places(self, environment: Mapping[str, str]) -> tuple[Place, ...]:
        """Its state, each place once, as the variables have it; none without a home folder to look in."""
        found: dict[Path, Place] = {}
        for state in self.state:
            if path := state.find(environment):
                found.setdefault(path, Place(path, state.content))
        return tuple(found.values())

    def note_on(self, file: str) -> Text | None:
        """What a person should know once the file is written."""
        if self.hook and file == self.hook.file:
            return self.hook.note
        return self.mcp.note if self.mcp else None

    def setup_files(self) -> tuple[tuple[str, ...], ...]:
        """What `ringi init` writes for it, each with its other names."""
        mcp = (self.mcp.files,) if self.mcp else ()
        return (*mcp, (self.hook.file,)) if self.hook else mcp
