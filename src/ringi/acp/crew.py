"""The agents' processes: each is told what the first was told, and one without a session is kept ready."""

import asyncio
from typing import Any

from msgspec import UNSET, Raw, UnsetType

from ringi.acp.agent import AgentListener, AgentProcess
from ringi.acp.channel import ChannelReply
from ringi.acp.protocol import (
    INITIALIZE,
    INVALID_REQUEST,
    NOT_POSSIBLE,
    VERSION,
    Id,
    Message,
    RpcError,
    content,
    raw,
)
from ringi.acp.thread import shows_content
from ringi.acp.work import Work
from ringi.errors import RingiError
from ringi.kernel.text import Text
from ringi.tree.copy import WorkCopy


class AgentPool:
    def __init__(self, work: Work, listener: AgentListener) -> None:
        self._work = work
        self._listener = listener
        self.agents: list[AgentProcess] = []
        self._spare: asyncio.Task[AgentProcess] | None = None
        self._greeting: Raw | None = None
        self._meeting = asyncio.Lock()
        self._login: Message | None = None

    async def was_greeted(self) -> bool:
        """After a greeting that is under way: CodeCompanion may not wait for its answer."""
        async with self._meeting:
            return self._greeting is not None

    def warm_up(self) -> None:
        """Starts the first agent while the editor is still writing its greeting."""
        self._spare = asyncio.get_running_loop().create_task(self._start())

    async def greet(self, number: Id, params: Raw | UnsetType) -> ChannelReply:
        async with self._meeting:
            return await self._greet(number, params)

    async def _greet(self, number: Id, params: Raw | UnsetType) -> ChannelReply:
        if self._greeting is not None:
            raise RpcError(INVALID_REQUEST, Text("initialize was answered already."))
        given = content(params)
        known = given.get("clientCapabilities")
        # Reading is served, but not offered: the copy is at hand, and Gemini CLI cannot make a file if it
        # reads through its client.
        fs = {"readTextFile": False, "writeTextFile": True}
        known = known if isinstance(known, dict) else {}
        given["clientCapabilities"] = {**known, "fs": fs, "terminal": True}
        given["protocolVersion"] = VERSION  # an editor that knows a later one is answered with this one
        agent = await self.ready()
        answer = await agent.channel.ask(INITIALIZE, raw(given), number)
        if answer.message.result is not UNSET:
            version = content(answer.message.result).get("protocolVersion")
            if version != VERSION:
                words = Text(
                    "The agent speaks version {version} of the protocol, ringi version {known}.",
                    version=repr(version),
                    known=VERSION,
                )
                raise RpcError(NOT_POSSIBLE, words)
            self._greeting = raw(given)
            self._work.diffs_as_text = not shows_content(given.get("clientInfo"))
        return answer

    async def log_in(self, agent: AgentProcess, number: Id, message: Message) -> ChannelReply:
        answer = await agent.channel.ask(str(message.method), message.params, number)
        if answer.message.result is not UNSET:
            self._login = message
        return answer

    async def any(self) -> AgentProcess:
        """One that lives, for what belongs to no session."""
        living = (agent for agent in self.agents if agent.alive)
        return next(living, None) or await self.ready()

    async def ready(self) -> AgentProcess:
        """One without a session."""
        if self._spare is None:
            self._spare = asyncio.get_running_loop().create_task(self.start())
        try:
            return await asyncio.shield(self._spare)
        except (RingiError, RpcError, OSError):
            self._spare = None
            raise

    async def take(self) -> AgentProcess:
        """One without a session, for a session."""
        agent = await (self.start() if self._spare is None else self.ready())
        self._spare = None
        return agent

    def give_back(self, agent: AgentProcess) -> None:
        """No session came of it, for instance because somebody has to log in first."""
        if self._spare is None and agent.alive:
            self._spare = asyncio.get_running_loop().create_task(_itself(agent))

    async def start(self, conversation: str = "", source: WorkCopy | None = None) -> AgentProcess:
        """As `Work.start`."""
        agent = await self._start(conversation, source)
        told: list[tuple[str, Any]] = [(INITIALIZE, self._greeting)]
        if self._login is not None:
            told.append((str(self._login.method), self._login.params))
        for method, params in told:
            if params is not None:
                await agent.channel.ask(method, params)
        return agent

    async def _start(self, conversation: str = "", source: WorkCopy | None = None) -> AgentProcess:
        agent = AgentProcess(self._work, self._listener)
        await agent.start(conversation, source)
        self.agents.append(agent)
        return agent

    async def end(self, agent: AgentProcess) -> str:
        """Returns the name of the plan that holds its work. Raises RingiError."""
        if agent in self.agents:
            self.agents.remove(agent)
        spare = self._spare
        if spare is not None and spare.done() and not spare.exception() and spare.result() is agent:
            self._spare = None
        return await agent.close()

    async def close(self) -> list[str | BaseException]:
        """Ends all of them; returns the plans that hold their work, and what went wrong."""
        spare = [] if self._spare is None else [self._spare]
        begun = await asyncio.gather(*spare, return_exceptions=True)
        failed = [one for one in begun if isinstance(one, BaseException)]
        ended = await asyncio.gather(*(self.end(agent) for agent in [*self.agents]), return_exceptions=True)
        return [*failed, *(one for one in ended if one)]


async def _itself(agent: AgentProcess) -> AgentProcess:
    return agent
