"""What we know about one agent, as data and pure functions. The records are in `table`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ringi.agents.command_line import OwnSandbox, Resume
from ringi.agents.output import AgentOutput
from ringi.kernel.text import Text

_HOMES: Final[Mapping[str, tuple[str, str]]] = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}
LONGEST_WORD: Final = 100_000
"""In bytes. Linux allows 131,072 for one argument; this leaves room for what the agent adds."""
FILES: Final = "\0files"
"""Placeholder in the arguments of a `Model` for the folder with its files; people never type it."""


class AgentFile(NamedTuple):
    """A file or folder that an agent writes to outside its working folder."""

    path: str
    """Below the home folder, or below one of the four XDG folders, such as {data}/opencode."""
    variable: str = ""
    """A variable that, if set, gives another location."""
    below: str = ""
    """Appended to the variable's value."""
    content: bytes | None = None
    """Of a file that does not exist yet; None for a folder."""
    unless: str = ""
    """If this variable is set, the place is not used."""
    sealed: Mapping[str, bytes | None] = {}
    """What in it can make something run later: settings, hooks, servers, rules. The agent can only read it.
    With the content of a file that does not exist yet; None for a folder."""
    layer: bool = False
    """It holds programs that run later: the agent writes to a layer of its own."""
    back: Callable[[bytes, bytes, str], bytes] | None = None
    """For a file with state and settings in one: the agent writes to a copy, and this takes over the state.
    Gets the file as it is now, the agent's, and the project's path; raises ValueError."""

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


class StatePlace(NamedTuple):
    """A state of an agent, found on this machine."""

    path: Path
    state: AgentFile

    @property
    def content(self) -> bytes | None:
        return self.state.content

    @property
    def sealed(self) -> dict[Path, bytes | None]:
        return {self.path / name: content for name, content in self.state.sealed.items()}


class Model(NamedTuple):
    """How to ask an agent one question without a terminal: on standard input, without tools, in an empty
    folder; or with tools that read, in a copy of the project.
    """

    words: tuple[str, ...]
    read: Callable[[str, str, int], AgentOutput]
    """Parses standard output, standard error and the exit code."""
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    streams: bool = False
    """The output is the plain answer and can be streamed."""
    reading: tuple[str, ...] = ()
    """The words in a copy that it cannot change; none if it is not known how it reads."""


class Mcp(NamedTuple):
    """Our entry in the agent's configuration file of a project."""

    files: tuple[str, ...]
    """The one that exists gets the entry, else the first. The suffix gives the format: .toml, else JSON."""
    holder: tuple[str, ...]
    """The path of keys to the servers."""
    server: Callable[[Sequence[str]], dict[str, Any]]
    """Makes the entry from the command that starts our server."""
    newer_holder: tuple[str, ...] = ()
    """Used instead if the file already has it."""
    opening: Mapping[str, Any] = {}
    """Other content of a new file."""
    note: Text | None = None


class Hook(NamedTuple):
    """A command of ours that the agent runs before calls of its tools. It must not go on without it."""

    command: str
    """The word after `ringi hook`."""
    event: str
    matcher: str
    timeout_sec: int


class SettingsFile(NamedTuple):
    """What we add to the file with one person's own settings of a project."""

    file: str
    hook: Hook
    listed: Mapping[tuple[str, ...], str]
    """Words in lists, by the path of keys to the list."""
    note: Text


class AgentTrust(NamedTuple):
    """An agent that reads a project's file only if it was told to trust the project."""

    file: AgentFile
    holds: Callable[[str, str], bool]
    """Whether the text of that file says so of the project's path."""
    lines: Callable[[str], tuple[str, ...]]
    """What to add to it for the project's path."""
    note: Callable[[str], Text]
    """What the person should do, given that file."""


class Presence(NamedTuple):
    """Signs that somebody uses the agent here."""

    programs: tuple[str, ...]
    folders: tuple[str, ...]
    """Below the home folder."""
    traces: tuple[str, ...]
    """In a project."""


class Unattended(NamedTuple):
    """How an agent without a terminal edits without asking. In our sandbox only."""

    options: tuple[str, ...]
    unless: frozenset[str]
    """If a person chose one of these, their choice counts."""


class Agent(NamedTuple):
    name: str
    """Also the name of the program that `ringi with` starts."""
    title: str
    variables: tuple[str, ...] = ()
    """Variables it sets for the commands it runs. Not those that people set (CODEX_HOME, AIDER_MODEL),
    nor those that editors set in a person's own terminal (CLAUDE_CODE_SSE_PORT, CURSOR_TRACE_ID)."""
    private: tuple[str, ...] = ()
    """More variables to remove before starting another agent."""
    processes: tuple[str, ...] = ()
    """Its process names. Not those of editors and terminals (cursor, warp, q), in which people work too,
    nor words that other programs use as well (agent, pi)."""
    packages: tuple[str, ...] = ()
    """Package folders, for entry files with a generic name such as cli.js."""
    state: tuple[AgentFile, ...] = ()
    resume: Resume | None = None
    """None if it cannot continue a conversation with a message."""
    unattended: Unattended | None = None
    own_sandbox: OwnSandbox | None = None
    conversations: str = ""
    """The files with its conversations, as a pattern below its first state folder; their names end with that
    of the conversation, and they say when it began and in which folder."""
    ignored: tuple[str, ...] = ()
    """Files it leaves in its working folder, as gitignore patterns; they are not part of its change."""
    model: Model | None = None
    presence: Presence | None = None
    mcp: Mcp | None = None
    settings: SettingsFile | None = None
    trust: AgentTrust | None = None
    acp: tuple[str, ...] = ()
    """What starts it for an editor, if it speaks the Agent Client Protocol."""

    def places(self, environment: Mapping[str, str]) -> tuple[StatePlace, ...]:
        """Where it keeps state, without duplicates; empty if there is no home folder."""
        found: dict[Path, StatePlace] = {}
        for state in self.state:
            if path := state.find(environment):
                found.setdefault(path, StatePlace(path, state))
        return tuple(found.values())

    def note_on(self, file: str) -> Text | None:
        """What to tell the person after the file is written."""
        if self.settings and file == self.settings.file:
            return self.settings.note
        return self.mcp.note if self.mcp else None

    def setup_files(self) -> tuple[tuple[str, ...], ...]:
        """The files `ringi init` writes for it, each with its alternative names."""
        mcp = (self.mcp.files,) if self.mcp else ()
        return (*mcp, (self.settings.file,)) if self.settings else mcp
