"""The proxy between an editor and its agents: what is passed on, what is held, what we answer ourselves."""

import asyncio
import contextlib
import signal
from typing import Final

from ringi.acp.agent import AgentListener, AgentProcess
from ringi.acp.channel import ChannelReply
from ringi.acp.crew import AgentPool
from ringi.acp.files import in_words
from ringi.acp.protocol import (
    BEGINNING,
    CANCEL,
    CANCEL_REQUEST,
    CLOSE,
    ELSEWHERE,
    INITIALIZE,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LOGIN,
    LONGEST_LINE,
    NOT_POSSIBLE,
    PROMPT,
    Id,
    Message,
    MessageRefusal,
    RpcError,
    content,
    parse_message,
    read_address,
    refusal_line,
    too_long,
)
from ringi.acp.requests import Requests, Tasks
from ringi.acp.sessions import AcpSessions
from ringi.acp.turns import PATIENCE_SEC, Turns
from ringi.acp.updates import Updates
from ringi.acp.wire import Inlet, Outlet
from ringi.acp.work import Work
from ringi.beside.words import Printer
from ringi.errors import Interrupted, RingiError
from ringi.kernel.process.wire import Wire
from ringi.kernel.text import Text

_LAST_SEC: Final = 2.0
_CHECK_SEC: Final = 1.0
_END_SEC: Final = 20.0
_MOST_TOLD: Final = 200


class Proxy:
    def __init__(self, work: Work, log: Printer, *, patience_sec: float = PATIENCE_SEC) -> None:
        self._log = log
        self._inlet = Inlet(LONGEST_LINE, self._from_editor, self._skip, self._over)
        self._outlet = Outlet(self._full)
        self._tasks = Tasks()
        self._crew = AgentPool(work, AgentListener(self._from_agent, self._on_exit, self._strange))
        self._sessions = AcpSessions(work, self._crew)
        self._updates = Updates(self._outlet.write, self._sessions, self._strange)
        self._turns = Turns(self._outlet.write, patience_sec)
        self._requests = Requests(self._outlet.write, self._tasks)
        self._open: set[Id] = set()
        """Requests of the editor that wait for us."""
        self._ended = asyncio.Event()
        self._code = 0
        self._dropped = 0
        self.stuck = False
        """Threads still run that nobody waits for."""

    async def run(self, wire: Wire) -> int:
        """Until the editor leaves, the agents are gone, or a signal comes. Returns the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it on purpose
                loop.add_signal_handler(number, self._over, Interrupted.exit_code)
        await self._outlet.open(wire.outgoing)
        self._crew.warm_up()
        await self._inlet.listen(wire.incoming)
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _CHECK_SEC)
            for agent in self._crew.agents:
                agent.keep_alive()
        self._tasks.cancel()
        try:
            ended = await asyncio.wait_for(self._crew.close(), _END_SEC)
        except TimeoutError:  # a check goes on; the plan is saved, and the rest ends with us
            self.stuck, ended = True, []
        for left in ended:
            if isinstance(left, str):
                self._log.next_step(f"ringi review {left}")
            elif isinstance(left, RingiError):
                self._log.line(f"✗ {in_words(left).words}")
                self._over(left.exit_code)
            else:
                raise left
        await self._outlet.close(_LAST_SEC)
        return self._code

    def _over(self, code: int = 0) -> None:
        self._code = self._code or code
        self._ended.set()

    def _full(self, full: bool) -> None:  # a callback
        """The editor does not read: neither do we, from the agents."""
        for agent in self._crew.agents:
            agent.channel.pause(paused=full)

    def _strange(self, said: Text | str) -> None:
        self._dropped += 1
        if self._dropped >= _MOST_TOLD:  # the reader of standard error may be slow
            if self._dropped == _MOST_TOLD:
                self._log.line(Text("! more is dropped, and not named here"))
            return
        self._log.line(Text("! dropped, because the protocol does not know it: {said}", said=said))

    # ------------------------------------------------------------------ from the editor

    def _skip(self, head: bytes) -> None:
        refusal = too_long(head)
        self._outlet.write(refusal_line(refusal.id, refusal.code, refusal.words))

    def _from_editor(self, line: bytes) -> None:
        message = parse_message(line)
        if isinstance(message, MessageRefusal):
            self._outlet.write(refusal_line(message.id, message.code, message.words))
        elif message.is_request and isinstance(message.id, int | str):
            self._take_request(message.id, message, line)
        elif not message.is_response:
            self._take_notification(message, line)
        elif not self._requests.answer(message):
            self._strange(Text("an answer to {number}, which nobody asked", number=repr(message.id)))

    def _take_notification(self, message: Message, line: bytes) -> None:
        to = read_address(message.params)
        if message.method == CANCEL_REQUEST:
            agent = next((one for one in self._crew.agents if _has(one, to.request_id)), None)
        else:
            agent = self._sessions.of(to.session_id)
        if agent is None or not agent.alive:
            return
        if message.method == CANCEL:
            self._turns.cancel(agent)
        try:
            agent.channel.send(message, line)
        except RpcError as error:
            self._strange(error.words)

    def _take_request(self, number: Id, message: Message, line: bytes) -> None:
        if number in self._open or any(agent.channel.has(number) for agent in self._crew.agents):
            words = Text("The request {number} is still open.", number=repr(number))
            self._outlet.write(refusal_line(number, INVALID_REQUEST, words))
        else:
            self._open.add(number)
            self._tasks.spawn(self._answer(number, message, line))

    async def _answer(self, number: Id, message: Message, line: bytes) -> None:
        """Every request gets an answer, whatever happens."""
        line_back = refusal_line(number, INTERNAL_ERROR, Text("This is a mistake in ringi, not yours."))
        try:
            answer = await self._answer_to(number, message, line)
            line_back = answer.line if answer is not None else b""
        except RpcError as error:
            line_back = refusal_line(number, error.code, error.words)
        except RingiError as error:
            line_back = refusal_line(number, NOT_POSSIBLE, in_words(error).words)
        except OSError as error:
            line_back = refusal_line(number, INTERNAL_ERROR, str(error))
        except asyncio.CancelledError:  # the editor cancelled it
            line_back = b""
            raise
        finally:
            self._outlet.write(line_back)
            self._open.discard(number)
            self._updates.release(self._crew.agents)

    async def _answer_to(self, number: Id, message: Message, line: bytes) -> ChannelReply | None:
        """None if an agent's own answer is passed on when it comes."""
        method, crew, sessions = message.method, self._crew, self._sessions
        if method == INITIALIZE:
            return await crew.greet(number, message.params)
        if not await crew.was_greeted():
            raise RpcError(INVALID_REQUEST, Text("initialize comes first."))
        if method in BEGINNING:
            return await sessions.begin(number, str(method), content(message.params))
        to = read_address(message.params)
        agent = sessions.of(to.session_id)
        named = isinstance(to.session_id, str) and not str(method).startswith(ELSEWHERE)
        if agent is None and (named or method in {PROMPT, CLOSE}):
            name = to.session_id or "-"
            words = Text("There is no session {name} here: load it, or begin a new one.", name=name)
            raise RpcError(INVALID_PARAMS, words)
        if agent is not None and method == PROMPT:
            return await self._turns.take(agent, number, content(message.params))
        agent = agent or await crew.any()
        if method == LOGIN:
            return await crew.log_in(agent, number, message)
        if method == CLOSE:
            answer = await agent.channel.ask(CLOSE, message.params, number)
            sessions.forget(agent)
            await crew.end(agent)
            return answer
        agent.channel.send(message, line)
        return None

    # ------------------------------------------------------------------ from the agents

    def _from_agent(self, agent: AgentProcess, message: Message, line: bytes) -> None:
        if message.is_request:
            if self._updates.may_ask(agent, message):
                self._requests.take(agent, message)
            elif isinstance(message.id, int | str):
                words = Text("This is no session of yours.")
                agent.channel.write(refusal_line(message.id, INVALID_PARAMS, words))
            return
        if not message.is_response:
            if message.method == CANCEL_REQUEST:
                self._requests.cancel(agent, message)
                return
            if not self._updates.fits(agent, message, line):
                return
            line = self._requests.replace_terminals(agent, message, line)
        self._outlet.write(line + b"\n")

    def _on_exit(self, agent: AgentProcess) -> None:
        self._tasks.spawn(self._finish_dead_agent(agent))

    async def _finish_dead_agent(self, agent: AgentProcess) -> None:
        """What it had to answer is answered, what it left becomes a plan."""
        why = await agent.last_words()
        left = agent.channel.drop(why)
        await agent.quiet.wait()
        for number in left:
            self._outlet.write(refusal_line(number, INTERNAL_ERROR, why))
        self._requests.forget(agent)
        self._log.line(why)
        self._sessions.forget(agent)
        await self._crew.end(agent)
        if not self._crew.agents:
            self._over(1)


def _has(agent: AgentProcess, number: object) -> bool:
    return isinstance(number, int | str) and agent.channel.has(number)
