"""Whether a person sits at this terminal, as far as we can tell.

An agent that types an answer must not pass for a person. We recognise what an agent started by the variables
that it sets and by the ancestors of this process. Both can be hidden; the threat model says so.
"""

import grp
import os
import pwd
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, Protocol

from ringi.agents.agent_above import by_process, by_variable, is_ringi_with
from ringi.kernel.process.ancestors import Ancestor, ancestors
from ringi.kernel.process.environment import WITH_VARIABLE
from ringi.kernel.process.terminal import terminal_opening_time
from ringi.kernel.text import Text

_UNKNOWN_AGENT: Final = "with:"
"""No standing approval can be given to it."""


class PersonChannel(Protocol):
    """Who is here, and whether a person can answer."""

    def refusal(self) -> Text | None:
        """Why an answer typed here would not count; None if it counts."""

    def agent(self) -> Text | None:
        """Why we think that an agent is at work here, with or without a terminal; None if we do not."""

    def name(self) -> str:
        """The terminal the answers come from."""

    def since(self) -> str:
        """When that terminal was opened, at the earliest; empty if it cannot be told."""

    def user(self) -> str: ...

    def requester(self) -> str:
        """Who asks for what is done here, as the program sees it: with:claude, or user:hanako."""


class TerminalPerson:
    """`supervisors` yields every running `ringi with`: its pid, its `process_start` and the agent it runs."""

    def __init__(
        self,
        environment: Mapping[str, str],
        supervisors: Callable[[], Iterable[tuple[int, str, str]]] = tuple,
        above: Callable[[], Iterable[Ancestor]] = ancestors,
    ) -> None:
        """`above` gives the processes above this one."""
        self._environment = environment
        self._supervisors = supervisors
        self._above = above

    def refusal(self) -> Text | None:
        return self._no_terminal() or self.agent()

    def agent(self) -> Text | None:
        return by_variable(self._environment) or self._below_process()

    def name(self) -> str:
        try:
            return os.ttyname(0)
        except OSError:
            return ""

    def since(self) -> str:
        try:
            opened = datetime.fromtimestamp(terminal_opening_time(0), UTC)
        except OSError:
            return ""
        return opened.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"

    def user(self) -> str:
        number = os.getuid()
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return str(number)

    def requester(self) -> str:
        return self._requester

    @cached_property
    def _requester(self) -> str:
        running = {(pid, start): agent for pid, start, agent in self._supervisors()}
        above = tuple(self._above())
        for ancestor in above:
            if agent := running.get((ancestor.pid, ancestor.start)):
                return f"with:{agent}"
        # Its record may be hidden or gone. That makes an agent no user.
        hidden = self._environment.get(WITH_VARIABLE) or any(map(_runs_agent, above))
        return _UNKNOWN_AGENT if hidden else f"user:{self.user()}"

    def _no_terminal(self) -> Text | None:
        if not os.isatty(0):
            return Text("standard input is not a terminal.")
        if not os.isatty(1):
            return Text("standard output is not a terminal.")
        return None

    def _below_process(self) -> Text | None:
        supervisors = {(pid, start) for pid, start, _ in self._supervisors()}
        for ancestor in self._above():
            if (ancestor.pid, ancestor.start) in supervisors or _runs_agent(ancestor):
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


def _runs_agent(process: Ancestor) -> bool:
    """`ringi with`, by its arguments: the agent could hide the record of the process.

    In the sandbox `ringi with` is invisible; the arguments it gave bwrap are not.
    """
    return WITH_VARIABLE in process.argv or is_ringi_with(process.argv)


def is_user(name: str) -> bool:
    """Whether this machine knows a user of that name."""
    try:
        pwd.getpwnam(name)
    except (KeyError, ValueError):
        return False
    return True


def groups_of(user: str) -> frozenset[str]:
    """As the machine's databases say now; none for a user that they do not know."""
    try:
        entry = pwd.getpwnam(user)
        numbers = os.getgrouplist(user, entry.pw_gid)
    except (KeyError, ValueError, OSError):
        return frozenset()
    return frozenset(map(_group, numbers))


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


class OverMcp(TerminalPerson):
    """A client of the server: never a person, whatever it calls itself and whoever started the server."""

    def agent(self) -> Text | None:
        return Text("this came over MCP.")
