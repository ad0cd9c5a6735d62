"""One agent: a process in a copy of its own, for one session of the editor."""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import UNSET, Raw, UnsetType

from ringi.acp.channel import Callbacks, Channel
from ringi.acp.files import read_text_file, write_text_file
from ringi.acp.protocol import Id, Message, OwnUpdates, text_of
from ringi.acp.terminals import Terminals
from ringi.acp.work import StartedAgent, Work
from ringi.kernel.text import Text, translate
from ringi.tree.copy import WorkCopy

T = TypeVar("T")
_LOOK_SEC: Final = 0.02
_MOST_LOOKS: Final = 50
_MOST_ASKED: Final = 20


class PromptTurn:
    """One prompt, until its end."""

    def __init__(self, number: Id, asked: str) -> None:
        self.id = number
        self.asked = asked
        """In the person's words."""
        self.cancelled = False


class AgentListener(NamedTuple):
    """Who hears what an agent says."""

    heard: "Callable[[AgentProcess, Message, bytes], None]"
    gone: "Callable[[AgentProcess], None]"
    strange: Callable[[str], None]


class AgentProcess:
    def __init__(self, work: Work, listener: AgentListener) -> None:
        self._work = work
        self._listener = listener
        # The workspace is used by one thread at a time.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ringi-acp")
        self._started: StartedAgent | None = None
        heard = Callbacks(
            lambda message, line: listener.heard(self, message, line), listener.strange, self._end
        )
        self.channel = Channel(heard)
        self.session = ""
        self.told = OwnUpdates("")
        self.turns: list[PromptTurn] = []
        self.quiet = asyncio.Event()
        """Set while there is no turn."""
        self.quiet.set()
        self.asking = 0
        """How many of its requests have no answer yet."""
        self.alive = False
        self.warned = False
        self.servers: tuple[str, ...] = ()
        """MCP servers outside of its sandbox that the editor gave it."""
        self.asked: list[str] = []
        """In the turns since its last plan."""
        self.beginning = False
        """It was asked for a session, and its answer has not come."""
        self.held: list[tuple[str, bytes]] = []
        """What it said meanwhile, by session."""
        self.rested = False
        """A turn has ended, and it has said nothing since."""
        self.shows: set[tuple[str, str]] = set()
        """Terminals, and the tool calls that show them."""

    @property
    def started(self) -> StartedAgent:
        assert self._started is not None  # noqa: S101  # used only between `start` and `close`
        return self._started

    async def start(self, conversation: str = "", source: WorkCopy | None = None) -> None:
        """Raises RingiError."""
        self._started = started = await self._in_thread(lambda: self._work.start(conversation, source))
        self.terminals = Terminals(lambda: self._work.terminal_in(self.started), started.paths)
        self.alive = True
        loop = asyncio.get_running_loop()
        loop.add_reader(started.command.fileno(), self._report)
        for descriptor in started.socket.descriptors:
            loop.add_reader(descriptor, started.socket.serve)
        await self.channel.open(started.stdin, started.stdout, started.paths)

    async def _in_thread(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)

    def _report(self) -> None:
        command = self.started.command
        command.hear()
        if command.over:
            asyncio.get_running_loop().remove_reader(command.fileno())

    def _end(self) -> None:
        if self.alive:
            self.alive = False
            self._listener.gone(self)

    def name_session(self, session: str) -> None:
        self.session = session
        self.told = OwnUpdates(session)

    def begin(self, turn: PromptTurn) -> None:
        self.turns.append(turn)
        self.quiet.clear()

    def end(self, turn: PromptTurn) -> None:
        self.turns.remove(turn)
        if not self.turns:
            self.rested = True
            self.quiet.set()

    async def serve(self, method: str, params: Raw | UnsetType) -> dict[str, Any]:
        """What it asks the editor for, from its copy. Raises RpcError."""
        if method == "fs/read_text_file":
            return read_text_file(self.started.copy, self.started.paths, params)
        if method == "fs/write_text_file":
            return write_text_file(self.started.copy, self.started.paths, params)
        return await self.terminals.serve(method, params)

    async def begin_turn(self, tell: Callable[[bytes], None]) -> str:
        """What it must be told first. Raises RingiError."""
        begun = await self._in_thread(lambda: self._work.begin(self.started, self.session))
        self._started = self.started._replace(copy=begun.copy)
        if begun.words:
            tell(self.told.text(begun.words))
        return begun.news

    async def end_turn(self, asked: str, tell: Callable[[bytes], None], *, cut_off: bool = False) -> None:
        """Tells the thread about its plan. Raises RingiError."""
        loop, started = asyncio.get_running_loop(), self.started
        self.asked = [*self.asked, asked][-_MOST_ASKED:]

        def say(text: str) -> None:
            loop.call_soon_threadsafe(tell, self.told.text(text))

        ended = UNSET if self.alive else started.command.exit_code or UNSET
        code = None if cut_off else ended
        end = await self._in_thread(lambda: self._work.end(started, self.asked, say, exit_code=code))
        if end.plan is not None:
            self.asked.clear()
            # A message can be imitated by the agent; so can a tool call, but not this one be rewritten.
            tell(self.told.call(end.plan.title, [text_of(end.words), *end.plan.content], kind="edit"))
        if end.words:
            tell(self.told.text(end.words))

    async def close(self) -> str:
        """Ends it; returns the name of the plan that holds its work. Raises RingiError."""
        started, self.alive = self._started, False
        if started is None:
            return ""
        loop = asyncio.get_running_loop()
        self.channel.drop(translate(Text("The agent was ended.")))
        for descriptor in (started.command.fileno(), *started.socket.descriptors):
            loop.remove_reader(descriptor)
        with contextlib.suppress(OSError):
            await self.terminals.close()
        await self.channel.close()
        try:
            return await self._in_thread(lambda: self._work.close(started, self.session))
        finally:
            self._started = None
            self._thread.shutdown(wait=False)

    async def last_words(self) -> str:
        """How it ended, for people; its exit code follows soon after the end of its output."""
        command = self.started.command
        for _ in range(_MOST_LOOKS):
            if command.over:
                return translate(Text("The agent ended with exit code {code}.", code=command.exit_code))
            await asyncio.sleep(_LOOK_SEC)
        return translate(Text("The agent closed its output."))

    def keep_alive(self) -> None:
        if self.alive and not self.started.command.over:
            self.started.command.keep_alive()
