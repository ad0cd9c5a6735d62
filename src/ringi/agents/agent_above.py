"""Which agent started us: by the variables it sets, or by a process above ours."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from ringi.agents.table import AGENTS
from ringi.kernel.process.environment import WITH_VARIABLE
from ringi.kernel.text import Text

_OURS: Final = frozenset(["ringi", "agent"])
# Some agents put their name into a common variable. The shorter one is also used for other things,
# so there only a known name counts.
_ANY_AGENT: Final = "AI_AGENT"
_NAMED_AGENT: Final = "AGENT"
_TITLES: Final[Mapping[str, str]] = {name: one.title for one in AGENTS.values() for name in one.variables}
_PROCESSES: Final = frozenset(name for agent in AGENTS.values() for name in agent.processes)
_PACKAGES: Final[Mapping[str, str]] = {
    name: one.processes[0] for one in AGENTS.values() for name in one.packages
}
PRIVATE_VARIABLES: Final = frozenset(
    [_ANY_AGENT, *_TITLES, *(name for agent in AGENTS.values() for name in agent.private)]
)
"""Agents set these for their child processes. An agent that inherits them would refuse to start, or act as a
part of the first one. Some give access to the person's editor."""
_INTERPRETERS: Final = frozenset(
    ["bash", "bun", "dash", "deno", "node", "nodejs", "perl", "pypy", "python", "ruby", "sh", "zsh"]
)


def by_variable(environment: Mapping[str, str]) -> Text | None:
    """Why we think an agent started this process; None if no variable says so."""
    if environment.get(WITH_VARIABLE):
        return Text("this runs inside ringi with; the agent could have typed the answer.")
    for variable, title in _TITLES.items():
        if environment.get(variable):
            return Text("{variable} is set, so {agent} started this.", variable=variable, agent=title)
    named = environment.get(_NAMED_AGENT, "").lower() in _PROCESSES
    if environment.get(_ANY_AGENT) or named:
        variable = _NAMED_AGENT if named else _ANY_AGENT
        return Text("{variable} is set, so an agent started this.", variable=variable)
    return None


def by_process(name: str, argv: Sequence[str]) -> str | None:
    """Which agent a process is, by its name and arguments."""
    names = [name, *argv[:1]]
    script = _script(argv)
    if script is not None:
        names.append(script)
        for package, agent in _PACKAGES.items():
            if f"/{package}/" in script:
                return agent
    for one in names:
        plain = PurePosixPath(one).name
        if plain in _PROCESSES:
            return plain
        if PurePosixPath(plain).stem in _PROCESSES:  # claude.js, claude.exe
            return PurePosixPath(plain).stem
    return None


def is_ringi_with(argv: Sequence[str]) -> bool:
    program = _script(argv) or (argv[0] if argv else "")
    return PurePosixPath(program).name in _OURS and ("with" in argv or "acp" in argv)


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
