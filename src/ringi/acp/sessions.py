"""Which agent serves which session: one process and one copy for each, so that they never mix."""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

from msgspec import UNSET

from ringi.acp.agent import AgentProcess
from ringi.acp.channel import ChannelReply
from ringi.acp.crew import AgentPool
from ringi.acp.protocol import FORK, INTERNAL_ERROR, INVALID_PARAMS, NEW, Id, RpcError, content, raw
from ringi.acp.work import Work
from ringi.kernel.text import Text


class AcpSessions:
    def __init__(self, work: Work, crew: AgentPool) -> None:
        self._work = work
        self._crew = crew
        self._by_name: dict[str, AgentProcess] = {}

    def of(self, session: object) -> AgentProcess | None:
        return self._by_name.get(session) if isinstance(session, str) else None

    def forget(self, agent: AgentProcess) -> None:
        self._by_name = {name: one for name, one in self._by_name.items() if one is not agent}

    async def begin(self, number: Id, method: str, params: dict[str, Any]) -> ChannelReply:
        """A session, with an agent and a copy of its own. Raises RingiError and RpcError."""
        self._check_folder(params)
        named = str(params.get("sessionId") or "")
        known = self._by_name.get(named) if method != FORK else None
        agent = known or await self._agent_for(method, named)
        if method != FORK and named:  # its history is told before the answer
            self._name(agent, named)
        agent.beginning = True
        try:
            answer = await agent.channel.ask(method, raw(_inside(agent, params)), number)
        finally:
            agent.beginning = False
        if answer.message.result is UNSET:
            if known is None:
                self._give_back(agent)
            return answer
        session = str(content(answer.message.result).get("sessionId") or ("" if method == FORK else named))
        if self._by_name.get(session, agent) is not agent:
            self._give_back(agent)
            words = Text("The agent gave this session the name of another one: {name}", name=session)
            raise RpcError(INTERNAL_ERROR, words)
        self._name(agent, session)
        agent.servers = _servers(params)
        return answer

    def _check_folder(self, params: dict[str, Any]) -> None:
        folder, root = params.get("cwd"), self._work.root
        named = Path(folder) if isinstance(folder, str) and "\0" not in folder else Path()
        if not named.is_absolute() or not Path(os.path.realpath(named)).is_relative_to(root):
            words = Text(
                "{folder} is not in {root}, where ringi acp was started. Start it in that project; if that "
                "is not a workspace yet, first run there: ringi init",
                folder=folder if isinstance(folder, str) else Text("A session without a folder"),
                root=root,
            )
            raise RpcError(INVALID_PARAMS, words)

    async def _agent_for(self, method: str, named: str) -> AgentProcess:
        if method == FORK:
            source = self._by_name.get(named)
            return await self._crew.start(source=source.started.copy if source else None)
        if method != NEW and await asyncio.to_thread(self._work.knows, named):
            return await self._crew.start(named)
        return await self._crew.take()

    def _name(self, agent: AgentProcess, session: str) -> None:
        self._by_name[session] = agent
        agent.name_session(session)

    def _give_back(self, agent: AgentProcess) -> None:
        self.forget(agent)
        agent.name_session("")
        self._crew.give_back(agent)


def _inside(agent: AgentProcess, params: dict[str, Any]) -> dict[str, Any]:
    """Folders outside of the project are none of this session's."""
    more = params.get("additionalDirectories")
    if not isinstance(more, list):
        return params
    kept = []
    for path in more:
        with contextlib.suppress(RpcError):
            agent.started.paths.inside(str(path))
            kept.append(path)
    return {**params, "additionalDirectories": kept}


def _servers(params: dict[str, Any]) -> tuple[str, ...]:
    """MCP servers that run elsewhere; the agent starts the others itself, in its sandbox."""
    given = params.get("mcpServers")
    found = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return tuple(str(one.get("name") or one["url"]) for one in found if one.get("url"))
