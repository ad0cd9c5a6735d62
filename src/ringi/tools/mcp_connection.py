"""The connection to one MCP server, in an event loop: what it offers, its answers, and when it is cut off."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import anyio
import httpx2
import mcp_types as types
from mcp import ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

from ringi.errors import NoSuchProgram
from ringi.kernel.text import Text
from ringi.tools.effects import ErrorKind
from ringi.tools.mcp_answers import ServerProblem, ToolAnswers, words_of
from ringi.tools.mcp_child import Amounts, Child, Cut, Program
from ringi.tools.mcp_offer import Judge, OfferedTools, ServerTool, offer_of
from ringi.tools.ports_process import ServerState, ToolInfo, ToolResult

T = TypeVar("T")

_MOST_PAGES: Final = 50
_MOST_GETS: Final = 20  # a server may close a stream and have us come back, but not forever
_GOODBYE_SEC: Final = 3.0
_BROKEN: Final = (
    NoSuchProgram,
    OSError,
    ValueError,
    RuntimeError,
    MCPError,
    httpx2.HTTPError,
    httpx2.StreamError,
    httpx2.InvalidURL,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
)


class McpServer(NamedTuple):
    """Started by us, or reached at a URL."""

    name: str
    """Without an underscore: a tool is <server>_<tool>."""
    program: Program | None = None
    url: str = ""
    http: Callable[[int], httpx2.AsyncClient] | None = None
    """For a URL, with the credentials in it; the most bytes of one answer."""


class ServerLimits(NamedTuple):
    start_sec: float = 60.0
    ping_sec: float = 5.0
    """After a call that took too long: does it answer at all?"""
    result_bytes: int = 65_536
    tools: int = 250
    amounts: Amounts = Amounts()


class McpConnection:
    def __init__(
        self, server: McpServer, judge: Judge, mask: Callable[[str], str], limits: ServerLimits
    ) -> None:
        self._server = server
        self._judge = judge
        self._limits = limits
        self.answers = ToolAnswers(server.name, mask, limits.result_bytes)
        self._child: Child | None = None
        self._session: ClientSession | None = None
        self._task: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self._begun = asyncio.Event()
        self._pings: set[asyncio.Task[None]] = set()
        self._changed = False
        self._offer = OfferedTools({}, ())
        self.problem: ServerProblem | None = None

    @property
    def settled(self) -> bool:
        """It can be called, or it never will."""
        return self._session is not None or self.problem is not None

    @property
    def tools(self) -> list[ToolInfo]:
        return [] if self.problem else [tool.info for tool in self._offer.tools.values()]

    def state(self) -> ServerState:
        words = self.problem.words if self.problem else None
        return ServerState(self._server.name, len(self.tools), words, self._offer.left_out)

    def tool(self, name: str) -> ToolInfo | Text:
        """A text says why it cannot be called."""
        if self.problem is not None:
            return self.problem.words
        if known := self._offer.tools.get(name):
            return known.info
        for own, why in self._offer.left_out:
            if f"{self._server.name}_{own}" == name:
                return Text(
                    "server {server} has {tool}, but {why}", server=self._server.name, tool=own, why=why
                )
        return Text("server {server} has no tool {tool}", server=self._server.name, tool=name)

    def cut(self, kind: ErrorKind, why: Text) -> None:
        """For good: a server that misbehaved is not asked again."""
        if self.problem is None:
            words = Text(
                "server {server} cannot be used: {why}",
                server=self._server.name,
                why=self.answers.mask(why),
            )
            self.problem = ServerProblem(kind, words)
        self._over.set()

    # --- its life -----------------------------------------------------------------------------------------

    async def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._serve())
            self._task.add_done_callback(self._end)
        await self._begun.wait()

    async def close(self) -> None:
        if self._task is not None:
            self._over.set()
            await asyncio.wait([self._task])

    def _end(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        self.cut(ErrorKind.DIED, Text("the connection ended") if error is None else words_of(error))
        self._session = None
        self._begun.set()

    async def _serve(self) -> None:
        async def hear(message: object) -> None:
            self._changed = self._changed or isinstance(message, types.ToolListChangedNotification)

        try:
            with anyio.CancelScope() as scope:
                async with self._streams() as (read, write):
                    async with ClientSession(read, write, message_handler=hear) as session:
                        await self._talk(session)
                    # An HTTP server is told goodbye, and may not answer.
                    scope.deadline = anyio.current_time() + _GOODBYE_SEC
        except* httpx2.DecodingError:
            self.cut(ErrorKind.FLOODED, Text("it sent more than {most} bytes at once",
                                             most=self._limits.amounts.message_bytes))  # fmt: skip
        except* _BROKEN as group:
            self.cut(ErrorKind.DIED, words_of(group))

    async def _talk(self, session: ClientSession) -> None:
        seconds = self._limits.start_sec
        with anyio.move_on_after(seconds) as starting:
            if await self._unless_over(session.initialize()):
                self._offer = await self._unless_over(self._read_offer(session)) or self._offer
        if starting.cancelled_caught:
            self.cut(ErrorKind.TIMEOUT, Text("it did not start within {seconds} seconds", seconds=seconds))
        elif not self._over.is_set():
            self._session = session
            self._begun.set()
            await self._over.wait()

    @contextlib.asynccontextmanager
    async def _streams(self) -> AsyncIterator[Any]:
        server, most = self._server, self._limits.amounts.message_bytes
        if server.program is not None:
            self._child = Child(server.program, self.cut, self._limits.amounts)
            async with self._child.messages() as streams:
                yield streams
        elif server.http is not None:
            async with server.http(most) as client:
                client.event_hooks = {"request": [_count_gets()]}
                async with streamable_http_client(
                    server.url, http_client=client, max_sse_event_size=most
                ) as streams:
                    yield streams

    async def _unless_over(self, work: Coroutine[Any, Any, T]) -> T | None:
        """None if the server was cut off meanwhile."""
        task = asyncio.create_task(work)
        over = asyncio.create_task(self._over.wait())
        try:
            await asyncio.wait([task, over], return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            for one in (task, over):
                one.add_done_callback(_consume_result)
                one.cancel()

    # --- its tools ----------------------------------------------------------------------------------------

    async def _read_offer(self, session: ClientSession) -> OfferedTools:
        listed = await _list_tools(session, self._limits.tools)
        if listed is None:
            self.cut(ErrorKind.FLOODED, Text("it lists more than {most} tools", most=self._limits.tools))
        return offer_of(self._server.name, listed or [], self._judge)

    async def _is_as_listed(self, session: ClientSession, known: ServerTool) -> bool:
        now = (await self._read_offer(session)).tools.get(known.info.name)
        return now is not None and now.digest == known.digest

    # --- a call -------------------------------------------------------------------------------------------

    async def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        session, tool, say = self._session, self._offer.tools[name], self.answers
        if session is None or self.problem:
            return say.report_gone(self.problem)
        if self._child is not None:
            self._child.note_request()
        with anyio.move_on_after(timeout_sec) as waiting:
            try:
                if self._changed and not await self._unless_over(self._is_as_listed(session, tool)):
                    return say.report_gone(self.problem) if self._over.is_set() else say.report_changed(tool)
                answer = await self._unless_over(_send_call(session, tool, arguments))
            except MCPError as error:
                return say.report_refusal(tool, error, self.problem)
            except (ValidationError, ValueError, RuntimeError) as error:
                return say.no_result(tool, words_of(error))
        if waiting.cancelled_caught:
            ping = asyncio.create_task(_ping(session, self._limits.ping_sec, self.cut))
            self._pings.add(ping)
            ping.add_done_callback(self._pings.discard)
            return say.too_slow(tool.info, timeout_sec)
        return say.result(tool, answer) if answer else say.cut_short(tool, self.problem)


async def _ping(session: ClientSession, seconds: float, cut: Cut) -> None:
    """A slow tool is one thing, a server that does not answer at all another."""
    with anyio.move_on_after(seconds):
        with contextlib.suppress(MCPError, ValidationError):
            await session.send_ping()
        return
    cut(ErrorKind.TIMEOUT, Text("it no longer answers"))


async def _list_tools(session: ClientSession, most: int) -> list[types.Tool] | None:
    """None if there is no end to them."""
    found: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        found += page.tools
        cursor = page.next_cursor
        if len(found) > most or not cursor:
            break
    return None if len(found) > most or cursor else found


def _send_call(
    session: ClientSession, tool: ServerTool, arguments: Mapping[str, Any]
) -> Coroutine[Any, Any, types.CallToolResult]:
    # Not `call_tool`, which matches the answer with patterns of the server's own: they can take forever.
    params = types.CallToolRequestParams(name=tool.own_name, arguments=dict(arguments))
    return session.send_request(types.CallToolRequest(params=params), types.CallToolResult)


def _count_gets() -> Callable[[httpx2.Request], Coroutine[Any, Any, None]]:
    gets = 0

    async def count(request: httpx2.Request) -> None:
        nonlocal gets
        gets += request.method == "GET"
        if gets > _MOST_GETS:
            raise httpx2.TooManyRedirects("it sends us back and forth", request=request)

    return count


def _consume_result(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()
