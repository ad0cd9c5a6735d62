"""Whether a person sits at this terminal, as far as that can be told.

An agent that types an answer must not pass for a person. What it started is known by the variables that it
sets for its children and by the processes above this one. Both can be hidden; the threat model says so.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ringi.agents.recognition import WITH_VARIABLE, by_process, by_variable, is_ringi_with
from ringi.integrations.processes import read_stat
from ringi.text import Text


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
        return by_variable(self._environment) or self._below_process()

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

    def _below_process(self) -> Text | None:
        supervisors = frozenset(self._supervisors())
        for ancestor in _ancestors():
            # By its words too: where it is noted, the agent's own variables could hide.
            # In the sandbox `ringi with` is out of sight; what it started bwrap with is not.
            ours = (ancestor.pid, ancestor.start) in supervisors or WITH_VARIABLE in ancestor.argv
            if ours or is_ringi_with(ancestor.argv):
                return Text(
                    "this runs below ringi with (process {pid}); the agent could have typed the answer.",
                    pid=ancestor.pid,
                )
            agent = by_process(ancestor.name, ancestor.argv)
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
