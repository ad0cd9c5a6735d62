"""What agents tell without being asked: each only for its own session, and in the order in which it came."""

from collections.abc import Callable, Iterable
from typing import Final

from ringi.acp.agent import AgentProcess
from ringi.acp.protocol import LONGEST_LINE, UPDATE, Message, read_address, read_update
from ringi.acp.sessions import AcpSessions
from ringi.acp.thread import ThreadPrinter
from ringi.kernel.text import Text, shorten_path

# What a session is like, which may change at any time; everything else is said or done by the agent.
_STANDING: Final = frozenset(
    [
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
    ]
)
_LATE: Final = Text(
    "The agent goes on after the end of its turn. What it changes now is in the plan after your next prompt."
)


class Updates:
    def __init__(
        self,
        tell: Callable[[bytes], None],
        sessions: AcpSessions,
        strange: Callable[[Text | str], None],
        most_held: int = LONGEST_LINE,
    ) -> None:
        """`most_held` counts bytes of one agent."""
        self._most_held = most_held
        self._tell = tell
        self._sessions = sessions
        self._strange = strange

    def fits(self, agent: AgentProcess, message: Message, line: bytes) -> bool:
        """Whether the editor may have it now. If not, it is dropped, or held until the session is known."""
        if not message.may_be_told:
            self._strange(Text("{method} without an id", method=shorten_path(str(message.method))))
            return False
        name = read_address(message.params).session_id
        if not isinstance(name, str):
            return True
        owner = self._sessions.of(name)
        if owner is None and agent.beginning:
            self._hold(agent, name, line)
        elif owner is not agent:
            self._drop(name)
        else:
            self._mark_late(agent, message)
            return True
        return False

    def may_ask(self, agent: AgentProcess, message: Message) -> bool:
        """Whether a request of the agent is in its own session, or in none."""
        name = read_address(message.params).session_id
        if not isinstance(name, str):
            return True
        owner = self._sessions.of(name)
        return owner is agent or (owner is None and agent.beginning)

    def _hold(self, agent: AgentProcess, name: str, line: bytes) -> None:
        """An agent may speak in a session before the editor has its name."""
        if sum(len(held) for _, held in agent.held) + len(line) > self._most_held:
            self._drop(name)
        else:
            agent.held.append((name, line))

    def _drop(self, name: str) -> None:
        self._strange(Text("what an agent says in {session}, which is no session of its own", session=name))

    def release(self, agents: Iterable[AgentProcess]) -> None:
        """The editor has the answer that named their sessions."""
        for agent in agents:
            if agent.held and not agent.beginning:
                held, agent.held = agent.held, []
                for name, line in held:
                    if self._sessions.of(name) is agent:
                        self._tell(line + b"\n")
                    else:
                        self._drop(name)

    def _mark_late(self, agent: AgentProcess, message: Message) -> None:
        """Agents do so: the end of a message comes late, a task in the background ends. Nothing is lost, but
        it must not look like a part of the plan.
        """
        if agent.turns or not agent.rested or message.method != UPDATE:
            return
        if read_update(message.params).session_update not in _STANDING:
            agent.rested = False
            said = ThreadPrinter()
            said.line(_LATE)
            self._tell(agent.told.text(said.message))
