"""Whether a person sits at this terminal, as far as we can tell.

An agent that types an answer must not pass for a person. We recognise what an agent started by the variables
that it sets and by the ancestors of this process. Both can be hidden; the threat model says so.
"""

import os
import pwd
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from ringi.agents.recognition import by_process, by_variable, is_ringi_with
from ringi.process.ancestors import ancestors
from ringi.process.environment import WITH_VARIABLE
from ringi.process.terminal import opened_at
from ringi.text import Text


class TerminalPerson:
    """`supervisors` yields the pid and `process_start` of every running `ringi with`."""

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

    def since(self) -> str:
        try:
            opened = datetime.fromtimestamp(opened_at(0), UTC)
        except OSError:
            return ""
        return opened.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"

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
        for ancestor in ancestors():
            # Also by its arguments: the agent could hide the record of the process.
            # In the sandbox `ringi with` is invisible; the arguments it gave bwrap are not.
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
