"""An MCP server that we start: its messages are lines on its standard input and output, within limits."""

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

import anyio
import anyio.to_thread
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from ringi.kernel.process.lines import TooLong, lines, read_some, write
from ringi.kernel.process.program import program_of
from ringi.kernel.process.start import CHECK_EVERY, RunningCommand, start_command
from ringi.kernel.text import Text
from ringi.tools.effects import ErrorKind

_KEPT_ERRORS: Final = 2_000  # bytes of its standard error, shown if it dies
_SHOWN: Final = 300
_MOST_STRAY_LINES: Final = 100  # npx and others print a few lines that are no messages

Cut = Callable[[ErrorKind, Text], None]
"""Ends the connection for a reason."""
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Arriving = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class Program(NamedTuple):
    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]


class Amounts(NamedTuple):
    """How much a server may send."""

    message_bytes: int = 4 * 1024 * 1024
    unasked: int = 1_000
    """Messages that answer nothing, between two calls."""
    error_bytes: int = 64 * 1024 * 1024
    """Of its standard error, in all."""


class Child:
    def __init__(self, program: Program, cut: Cut, amounts: Amounts) -> None:
        self._program = program
        self._cut = cut
        self._amounts = amounts
        self._errors = bytearray()
        self._unasked = 0
        self._stray = 0
        self._drained = anyio.Event()

    def note_request(self) -> None:
        """A call begins: what comes unasked is counted anew."""
        self._unasked = 0

    @asynccontextmanager
    async def messages(self) -> AsyncIterator[tuple[Incoming, Outgoing]]:
        """Raises NoSuchProgram, OSError or ValueError if it cannot be started. No process stays."""
        arriving, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, leaving = anyio.create_memory_object_stream[SessionMessage]()
        async with AsyncExitStack() as stack:
            for stream in (arriving, incoming, outgoing, leaving):
                stack.enter_context(stream)
            to_it, from_it, errors, command = await self._start(stack)
            async with anyio.create_task_group() as group:
                group.start_soon(self._read, from_it, arriving)
                group.start_soon(self._speak, to_it, leaving)
                group.start_soon(self._keep_errors, errors)
                group.start_soon(self._watch, command)
                yield incoming, outgoing
                group.cancel_scope.cancel()

    async def _start(self, stack: AsyncExitStack) -> tuple[int, int, int, RunningCommand]:
        argv, folder, environment = self._program
        program_of(argv, folder, environment)
        ends = [os.pipe() for _ in range(3)]
        (stdin, to_it), (from_it, stdout), (errors, stderr) = ends
        theirs = (stdin, stdout, stderr)
        for descriptor in (to_it, from_it, errors):
            stack.callback(os.close, descriptor)
        running = start_command(argv, cwd=folder, env=environment, stdin=stdin, stdout=stdout, stderr=stderr)
        try:
            # Waited for even if the time is up: otherwise the process would stay.
            command = await anyio.to_thread.run_sync(running.__enter__)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        stack.push_async_callback(_end, running)
        return to_it, from_it, errors, command

    async def _read(self, descriptor: int, arriving: Arriving) -> None:
        most = self._amounts.message_bytes
        async for line in lines(descriptor, most):
            if isinstance(line, TooLong):
                self._cut(ErrorKind.FLOODED, Text("it sent more than {most} bytes at once", most=most))
                return
            message = self._understood(line)
            if message is not None:
                await arriving.send(SessionMessage(message))
            if self._unasked > self._amounts.unasked or self._stray > _MOST_STRAY_LINES:
                self._cut(ErrorKind.FLOODED, Text("it sends messages that nobody asked for"))
                return
        self._drained.set()
        await anyio.sleep(CHECK_EVERY)  # if it ended, `_watch` knows how
        self._cut(ErrorKind.DIED, self._with_errors(Text("it closed its output")))

    def _understood(self, line: bytes) -> types.JSONRPCMessage | None:
        try:
            message: types.JSONRPCMessage = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            self._stray += 1
            return None
        if isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification):
            self._unasked += 1
        return message

    async def _speak(self, descriptor: int, leaving: MemoryObjectReceiveStream[SessionMessage]) -> None:
        with contextlib.suppress(OSError):  # it is gone: `_watch` says so
            async for one in leaving:
                said = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                await write(descriptor, said.encode("utf-8", "replace") + b"\n")

    async def _keep_errors(self, descriptor: int) -> None:
        received = 0
        while data := await read_some(descriptor):
            received += len(data)
            self._errors += data
            del self._errors[:-_KEPT_ERRORS]
            if received > self._amounts.error_bytes:
                most = self._amounts.error_bytes
                self._cut(ErrorKind.FLOODED, Text("it printed more than {most} bytes of errors", most=most))
                return

    async def _watch(self, command: RunningCommand) -> None:
        while not command.over:
            command.keep_alive()
            with anyio.move_on_after(CHECK_EVERY):
                await anyio.wait_readable(command)
                command.hear()
        with anyio.move_on_after(CHECK_EVERY):  # what it said last may still be on its way
            await self._drained.wait()
        self._cut(
            ErrorKind.DIED, self._with_errors(Text("it ended with exit code {code}", code=command.exit_code))
        )

    def _with_errors(self, what: Text) -> Text:
        last = self._errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        return Text("{what}: {said}", what=what, said=last[0][:_SHOWN]) if last else what


async def _end(running: AbstractContextManager[RunningCommand]) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(running.__exit__, None, None, None)
