"""Whether a person sits at this terminal, as far as that can be told.

An agent that types an answer must not pass for a person. What it started is known by the variables that it
sets for its children and by the processes above this one. Both can be hidden; the threat model says so.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from ringi.integrations.processes import read_stat
from ringi.text import Text

_OURS: Final = frozenset(["ringi", "agent"])
WITH_VARIABLE: Final = "RINGI_WITH"

# What agents set for the commands they run. Left out on purpose: what people set to configure an agent
# (AIDER_MODEL, CODEX_HOME, GOOSE_PROVIDER, COPILOT_MODEL) and what editors set in a person's own terminal
# (CLAUDE_CODE_SSE_PORT, CURSOR_TRACE_ID). Aider sets nothing and is known by its process.
_VARIABLES: Final[Mapping[str, str]] = {
    "CLAUDECODE": "Claude Code",
    "CLAUDE_CODE_ENTRYPOINT": "Claude Code",
    "CLAUDE_CODE_CHILD_SESSION": "Claude Code",
    "CODEX_SANDBOX": "Codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "CODEX_CI": "Codex",
    "GEMINI_CLI": "Gemini CLI",
    "QWEN_CODE": "Qwen Code",
    "OPENCODE": "OpenCode",
    "OPENCODE_SESSION_ID": "OpenCode",
    "CURSOR_AGENT": "Cursor",
    "COPILOT_CLI": "Copilot",
    "COPILOT_AGENT_SESSION_ID": "Copilot",
    "GOOSE_TERMINAL": "Goose",
    "AMP_CURRENT_THREAD_ID": "Amp",
    "AUGMENT_AGENT": "Augment",
    "CLINE_ACTIVE": "Cline",
    "ROO_ACTIVE": "Roo Code",
    "CRUSH": "Crush",
    "IFLOW_CLI": "iFlow",
    "PI_CODING_AGENT": "Pi",
    "ANTIGRAVITY_AGENT": "Antigravity",
    "TRAE_AI_SHELL_ID": "Trae",
    "WINDSURF_CASCADE_TERMINAL": "Windsurf",
}
# Some agents agree on a common variable that holds their name. The shorter one is also used for other things,
# so only a name that we know counts there.
_ANY_AGENT: Final = "AI_AGENT"
_NAMED_AGENT: Final = "AGENT"

# Left out: names of editors and terminals (cursor, warp, q), below which people work too, and words that
# programs of other kinds have as well (agent, pi).
_AGENTS: Final = frozenset(
    [
        "aider",
        "amp",
        "auggie",
        "claude",
        "cline",
        "codex",
        "copilot",
        "crush",
        "cursor-agent",
        "droid",
        "gemini",
        "goose",
        "iflow",
        "kiro-cli-chat",
        "opencode",
        "openhands",
        "qchat",
        "qwen",
    ]
)
# Folders of packages whose entry file has a name that says nothing, as cli.js.
_PACKAGES: Final[Mapping[str, str]] = {
    "@anthropic-ai/claude-code": "claude",
    "@github/copilot": "copilot",
    "@google/gemini-cli": "gemini",
    "@openai/codex": "codex",
    "@qwen-code/qwen-code": "qwen",
    "@sourcegraph/amp": "amp",
    "opencode-ai": "opencode",
}
_INTERPRETERS: Final = (
    "bash",
    "bun",
    "dash",
    "deno",
    "node",
    "nodejs",
    "perl",
    "pypy",
    "python",
    "ruby",
    "sh",
    "zsh",
)


class _Ancestor(NamedTuple):
    pid: int
    start: str
    name: str
    argv: tuple[str, ...]


class TerminalPerson:
    """`supervisors` yields the process number and `process_start` of every running `ringi with`."""

    def __init__(
        self,
        environment: Mapping[str, str],
        supervisors: Callable[[], Iterable[tuple[int, str]]] = tuple,
    ) -> None:
        self._environment = environment
        self._supervisors = supervisors

    def refusal(self) -> Text | None:
        return self._no_terminal() or self.agent()

    def agent(self) -> Text | None:
        return self._below_variable() or self._below_process()

    def name(self) -> str:
        try:
            return os.ttyname(0)
        except OSError:
            return ""

    def user(self) -> str:
        number = os.getuid()
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return str(number)

    def _no_terminal(self) -> Text | None:
        if not os.isatty(0):
            return Text("standard input is not a terminal.")
        if not os.isatty(1):
            return Text("standard output is not a terminal.")
        return None

    def _below_variable(self) -> Text | None:
        if self._environment.get(WITH_VARIABLE):
            return Text("this runs inside ringi with; the agent could have typed the answer.")
        for variable, agent in _VARIABLES.items():
            if self._environment.get(variable):
                return Text("{variable} is set, so {agent} started this.", variable=variable, agent=agent)
        named = self._environment.get(_NAMED_AGENT, "").lower() in _AGENTS
        if self._environment.get(_ANY_AGENT) or named:
            variable = _NAMED_AGENT if named else _ANY_AGENT
            return Text("{variable} is set, so an agent started this.", variable=variable)
        return None

    def _below_process(self) -> Text | None:
        supervisors = frozenset(self._supervisors())
        for ancestor in _ancestors():
            # By its words too: where it is noted, the agent's own variables could hide.
            # In the sandbox `ringi with` is out of sight; what it started bwrap with is not.
            ours = (ancestor.pid, ancestor.start) in supervisors or WITH_VARIABLE in ancestor.argv
            if ours or _is_ringi_with(ancestor.argv):
                return Text(
                    "this runs below ringi with (process {pid}); the agent could have typed the answer.",
                    pid=ancestor.pid,
                )
            agent = _agent(ancestor)
            if agent is not None:
                return Text(
                    "this runs below the agent {agent} (process {pid}).", agent=agent, pid=ancestor.pid
                )
        return None


def process_start(pid: int) -> str | None:
    """With its number, tells a running process from every other one, also after a restart of the machine."""
    if _has_proc():
        found = read_stat(pid)
        return None if found is None or found.dead else _linux_start(found.start)
    row = _ps().get(pid)
    return row[1] if row else None


def _agent(process: _Ancestor) -> str | None:
    names = [process.name, *process.argv[:1]]
    script = _script(process.argv)
    if script is not None:
        names.append(script)
        for package, agent in _PACKAGES.items():
            if f"/{package}/" in script:
                return agent
    for name in names:
        plain = PurePosixPath(name).name
        if plain in _AGENTS:
            return plain
        if PurePosixPath(plain).stem in _AGENTS:  # as claude.js or claude.exe
            return PurePosixPath(plain).stem
    return None


def _is_ringi_with(argv: Sequence[str]) -> bool:
    program = _script(argv) or (argv[0] if argv else "")
    return PurePosixPath(program).name in _OURS and "with" in argv


def _script(argv: Sequence[str]) -> str | None:
    """The program that an interpreter runs: `node --flag /usr/bin/gemini`, `python3 -m aider`."""
    if not argv or PurePosixPath(argv[0]).name.lstrip("-").rstrip("0123456789.") not in _INTERPRETERS:
        return None
    rest = iter(argv[1:])
    for argument in rest:
        if not argument.startswith("-"):
            return argument
        if argument.startswith("--"):
            continue
        if argument[-1] in "ce":  # what follows is code, not a name
            return None
        if argument[-1] == "m":
            return next(rest, None)
    return None


def _ancestors() -> Iterator[_Ancestor]:
    """From the parent upwards; ends where the system shows no more."""
    rows = {} if _has_proc() else _ps()
    pid, seen = os.getppid(), set[int]()
    while pid > 0 and pid not in seen:
        seen.add(pid)
        if rows:
            row = rows.get(pid)
            if row is None:
                return
            parent, start, argv = row
            yield _Ancestor(pid, start, "", argv)
        else:
            found = read_stat(pid)
            if found is None:
                return
            parent = found.parent
            yield _Ancestor(pid, _linux_start(found.start), found.name, _arguments(pid))
        pid = parent


def _has_proc() -> bool:
    return sys.platform == "linux" and read_stat(os.getpid()) is not None


def _arguments(pid: int) -> tuple[str, ...]:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(argument) for argument in line.split(b"\0")[:16])


def _linux_start(ticks: int) -> str:
    # Ticks count from the start of the machine, so they need to say which start.
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return f"{boot}:{ticks}"


def _ps() -> dict[int, tuple[int, str, tuple[str, ...]]]:
    """Parent, start time and argument words of every process, where there is no /proc."""
    # Without the two variables the same moment would read differently in another person's shell.
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,lstart=,command="],
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC0"},
        capture_output=True,
        check=False,
    )
    rows = {}
    for line in os.fsdecode(listed.stdout).splitlines():
        words = line.split()
        if len(words) > 7:  # noqa: PLR2004  # two numbers, five words of time, then the command
            rows[int(words[0])] = int(words[1]), " ".join(words[2:7]), tuple(words[7:])
    return rows
