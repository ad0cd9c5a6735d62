"""Tools of MCP servers (PP-15): started or reached when they are needed, cut off when they misbehave.

One thread runs an event loop with a task for each server; callers wait in their own threads. A server that
died, hangs, floods or lies fails alone: the others go on. Nothing here waits without a limit.
"""

import asyncio
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, Self, TypeVar

from ringi.errors import Interrupted
from ringi.kernel.process.signals import StopSignals
from ringi.kernel.text import Text
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.mcp_answers import report_failure
from ringi.tools.mcp_connection import McpConnection, McpServer, ServerLimits
from ringi.tools.mcp_offer import Judge
from ringi.tools.ports_process import ServerState, ToolInfo, ToolResult
from ringi.tools.schema import mismatch

T = TypeVar("T")
_SLACK_SEC: Final = 10.0  # for our own loop, and to end a process
_LOGGERS: Final = ("mcp.client", "mcp.shared", "client")


class McpServers:
    """Implements `Tools` and `OutsideTools`."""

    def __init__(
        self,
        servers: Sequence[McpServer],
        judge: Judge,
        mask: Callable[[str], str] = str,
        limits: ServerLimits | None = None,
    ) -> None:
        self._limits = limits or ServerLimits()
        self._connections = {one.name: McpConnection(one, judge, mask, self._limits) for one in servers}
        self._loop = asyncio.SelectorEventLoop()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        for name in _LOGGERS:  # the SDK logs what servers send
            logging.getLogger(name).propagate = False
            logging.getLogger(name).addHandler(logging.NullHandler())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every server that was started."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            ending = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
            with contextlib.suppress(TimeoutError):
                ending.result(2 * _SLACK_SEC)
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(_SLACK_SEC)
        if not self._loop.is_running():
            self._loop.close()

    async def _close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._connections.values()))

    def states(self) -> tuple[ServerState, ...]:
        """Of every server; starts them."""
        self._start(self._connections.values())
        return tuple(one.state() for one in self._connections.values())

    def list_tools(self) -> Sequence[ToolInfo]:
        self._start(self._connections.values())
        return [tool for one in self._connections.values() for tool in one.tools]

    def tool(self, name: str) -> ToolInfo | Text:
        """Starts its server alone. A text says why it cannot be called."""
        connection = self._of(name)
        if connection is None:
            return _no_server(name)
        self._start([connection])
        return connection.tool(name)

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        return self._call(name, arguments, timeout_sec, approved=False)

    def call_approved(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        """Only for the plan tool: a person approved these arguments.

        UNKNOWN_OUTCOME if it was sent and nobody knows what became of it.
        """
        return self._call(name, arguments, timeout_sec, approved=True)

    def _call(
        self, name: str, arguments: Mapping[str, Any], timeout_sec: float, *, approved: bool
    ) -> ToolResult:
        connection = self._of(name)
        if connection is None:
            return report_failure(ErrorKind.UNKNOWN_TOOL, _no_server(name))
        found = self.tool(name)
        if isinstance(found, Text):
            return (
                connection.answers.report_gone(connection.problem)
                if connection.problem
                else report_failure(ErrorKind.UNKNOWN_TOOL, found)
            )
        if found.effect is not ToolEffect.READS and not approved:
            why = Text("{tool} may change something: propose the call, and a person approves it", tool=name)
            return report_failure(ErrorKind.NOT_ALLOWED, why)
        if wrong := mismatch(dict(arguments), found.schema):
            return report_failure(
                ErrorKind.INVALID_ARGUMENTS, Text("the arguments do not fit: {why}", why=wrong)
            )
        try:
            return self._wait(connection.call(name, arguments, timeout_sec), timeout_sec + _SLACK_SEC)
        except TimeoutError:
            return connection.answers.too_slow(found, timeout_sec)

    def _of(self, name: str) -> McpConnection | None:
        return self._connections.get(name.partition("_")[0])

    def _start(self, some: Iterable[McpConnection]) -> None:
        if waiting := [one for one in some if not one.settled]:
            # It cuts off what does not start in time; this limit is for ourselves.
            with contextlib.suppress(TimeoutError):
                self._wait(_all_started(waiting), self._limits.start_sec + 2 * _SLACK_SEC)

    def _wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Raises TimeoutError, and Interrupted if a signal asks us to stop."""
        self._run()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        reader, writer = os.pipe()
        future.add_done_callback(lambda _: os.close(writer))
        try:
            until = time.monotonic() + seconds
            with StopSignals() as signals:
                while not future.done() and (left := until - time.monotonic()) > 0:
                    signals.wait([reader], seconds=left)
                    if signals.stop is not None:
                        raise Interrupted
            return future.result(timeout=0)
        finally:
            future.cancel()
            os.close(reader)

    def _run(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._loop.run_forever, daemon=True, name="mcp servers"
                )
                self._thread.start()


async def _all_started(connections: Sequence[McpConnection]) -> None:
    await asyncio.gather(*(one.start() for one in connections))


def _no_server(name: str) -> Text:
    return Text("there is no server {server} in mcp_servers", server=name.partition("_")[0])
