"""What agents say and ask: files and terminals they get from us, all else from the editor."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, Final

from ringi.acp.agent import AgentProcess
from ringi.acp.protocol import (
    CANCEL_REQUEST,
    INVALID_REQUEST,
    UPDATE,
    Id,
    Message,
    RpcError,
    answer_line,
    content,
    line_of,
    raw,
    read_address,
    refusal_line,
    text_of,
)
from ringi.kernel.text import Text


class Tasks:
    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            task.get_loop().call_exception_handler({"message": "a task failed", "exception": error})

    def cancel(self) -> None:
        for task in [*self._running]:
            task.cancel()


MOST_OPEN: Final = 1000
"""Requests of one agent."""
_MOST_SHOWN: Final = 100
"""Tool calls that wait for the end of a terminal."""
_SERVED: Final = ("fs/", "terminal/")


class Requests:
    """Of all agents: the editor sees each under a number of ours, because they all count from one."""

    def __init__(self, tell: Callable[[bytes], None], tasks: Tasks) -> None:
        self._tell = tell
        self._tasks = tasks
        self._numbers = itertools.count(1)
        self._asked: dict[Id, tuple[AgentProcess, Id]] = {}

    def take(self, agent: AgentProcess, message: Message) -> None:
        number = message.id
        if not isinstance(number, int | str):
            return
        if agent.asking >= MOST_OPEN:
            words = Text(
                "1 request is open: wait for its answer first.",
                "{count} requests are open: wait for an answer first.",
                count=MOST_OPEN,
            )
            agent.channel.write(refusal_line(number, INVALID_REQUEST, words))
            return
        agent.asking += 1
        if str(message.method).startswith(_SERVED):
            self._tasks.spawn(self._serve(agent, number, message))
            return
        message.id = next(self._numbers)
        self._asked[message.id] = agent, number
        self._tell(line_of(message))

    async def _serve(self, agent: AgentProcess, number: Id, message: Message) -> None:
        try:
            line = answer_line(number, await agent.serve(str(message.method), message.params))
        except RpcError as error:
            line = refusal_line(number, error.code, error.words)
        finally:
            agent.asking -= 1
        if agent.alive:
            agent.channel.write(line)

    def answer(self, message: Message) -> bool:
        """Passes the editor's answer to the agent that asked; False if none did."""
        asked = self._asked.pop(message.id, None) if isinstance(message.id, int | str) else None
        if asked is None:
            return False
        agent, message.id = asked
        agent.asking -= 1
        if agent.alive:
            try:
                agent.channel.send(message, line_of(message)[:-1])
            except RpcError as error:
                agent.channel.write(refusal_line(asked[1], error.code, error.words))
        return True

    def cancel(self, agent: AgentProcess, message: Message) -> None:
        wanted = read_address(message.params).request_id
        for number, asked in self._asked.items():
            if asked == (agent, wanted):
                self._tell(line_of(Message(method=CANCEL_REQUEST, params=raw({"requestId": number}))))

    def forget(self, agent: AgentProcess) -> None:
        self._asked = {number: asked for number, asked in self._asked.items() if asked[0] is not agent}

    def replace_terminals(self, agent: AgentProcess, message: Message, line: bytes) -> bytes:
        """The editor knows none of the copy's terminals: a tool call shows what they print instead."""
        if message.method != UPDATE or b'"terminalId"' not in line:
            return line
        params = content(message.params)
        update = params.get("update")
        blocks = update.get("content") if isinstance(update, dict) else None
        if not isinstance(update, dict) or not isinstance(blocks, list):
            return line
        call = str(update.get("toolCallId", ""))
        once = {_terminal_of(one): one for one in reversed(blocks)}  # its text for each would fill the memory
        kept = [one for one in blocks if not _terminal_of(one) or once[_terminal_of(one)] is one]
        update["content"] = [self._block(agent, call, one) for one in kept]
        message.params = raw(params)
        return line_of(message)[:-1]

    def _block(self, agent: AgentProcess, call: str, block: object) -> object:
        name = _terminal_of(block)
        if not name:
            return block
        terminal = agent.terminals.get(name)
        if terminal is None:
            return text_of("")
        known = (name, call) in agent.shows or len(agent.shows) >= _MOST_SHOWN
        if not terminal.over.is_set() and not known:
            agent.shows.add((name, call))
            self._tasks.spawn(self._show_later(agent, call, name))
        return text_of(terminal.shown)

    async def _show_later(self, agent: AgentProcess, call: str, name: str) -> None:
        if (terminal := agent.terminals.get(name)) is not None:
            await terminal.over.wait()
            agent.shows.discard((name, call))
            self._tell(agent.told.content_of(call, terminal.shown))


def _terminal_of(block: object) -> str:
    """The terminal that it shows, if it shows one."""
    shows = isinstance(block, dict) and block.get("type") == "terminal"
    return str(block.get("terminalId")) if shows and isinstance(block, dict) else ""
