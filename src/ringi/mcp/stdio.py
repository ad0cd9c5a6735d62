"""Messages as lines on standard input and output: of limited length, with an error for every bad line."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import anyio
import mcp_types as types
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from ringi.kernel.process.lines import TooLong, lines, write
from ringi.kernel.process.wire import Wire
from ringi.mcp.handshake import EarlyHandshake
from ringi.mcp.server import ServerOptions, serve
from ringi.mcp.worker import Ending, Talk

LONGEST_MESSAGE: Final = 16 * 1024 * 1024
# Finds the id of a request that is too long to read, so that it gets an answer too.
_ID: Final = re.compile(
    rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")'
)


def encode(message: types.JSONRPCMessage) -> bytes:
    if isinstance(message, types.JSONRPCResponse):  # plain values; several times faster than pydantic
        return msgspec.json.encode({"jsonrpc": "2.0", "id": message.id, "result": message.result}) + b"\n"
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


class Refusal(NamedTuple):
    """The answer to a line that is not a message."""

    answer: types.JSONRPCError


def parse_line(line: bytes | TooLong) -> types.JSONRPCMessage | Refusal:
    if isinstance(line, TooLong):
        found = _ID.match(line.head)
        number: Any = msgspec.json.decode(found[1]) if found else None
        words = f"The message has more than {LONGEST_MESSAGE} bytes and was not read. Make the plan smaller."
        return _refusal(types.INVALID_REQUEST, words, number)
    try:
        message: types.JSONRPCMessage = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        number = _request_id(line)
        if any(one["type"] == "json_invalid" for one in error.errors(include_url=False)):
            return _refusal(types.PARSE_ERROR, "This line is not JSON.", number)
        return _refusal(types.INVALID_REQUEST, "This is not a message of JSON-RPC 2.0.", number)
    return message


def _request_id(line: bytes) -> int | str | None:
    """Read leniently, so that whoever sent a wrong request need not wait for an answer to it."""
    try:
        found = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    number = found.get("id") if isinstance(found, dict) and "method" in found else None
    # A half of a character cannot be sent back.
    sendable = type(number) is int or (isinstance(number, str) and number.isprintable())
    return number if sendable else None


def _refusal(code: int, words: str, number: str | int | None = None) -> Refusal:
    error = types.ErrorData(code=code, message=words)
    return Refusal(types.JSONRPCError(jsonrpc="2.0", id=number, error=error))


Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


def _answers(message: types.JSONRPCMessage, number: int | str) -> bool:
    return isinstance(message, types.JSONRPCResponse | types.JSONRPCError) and message.id == number


@asynccontextmanager
async def messages(
    wire: Wire, begun: EarlyHandshake, reading: anyio.CancelScope
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Ends when the client closes its end or `reading` is cancelled; pending answers still go out."""
    arriving, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, leaving = anyio.create_memory_object_stream[SessionMessage]()
    refusals = outgoing.clone()

    async def read() -> None:
        async with arriving, refusals:
            with reading, suppress(OSError, anyio.BrokenResourceError):
                async for line in lines(wire.incoming, LONGEST_MESSAGE, begun.read):
                    heard = parse_line(line)
                    if isinstance(heard, Refusal):
                        await refusals.send(SessionMessage(heard.answer))
                    else:
                        await arriving.send(SessionMessage(heard))

    async def speak() -> None:
        answered = begun.answered
        async with leaving:
            try:
                async for one in leaving:
                    if answered is not None and _answers(one.message, answered):
                        answered = None
                        continue
                    await write(wire.outgoing, encode(one.message))
            except OSError:  # the client is gone
                reading.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(speak)
        yield incoming, outgoing
        reading.cancel()


def on_stdio(options: ServerOptions, wire: Wire, begun: EarlyHandshake) -> bool:
    def talk_of(server: Server[Any]) -> Talk:
        async def talk(ending: Ending) -> None:
            reading = anyio.CancelScope()
            ending.by(reading.cancel)
            async with messages(wire, begun, reading) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        return talk

    return serve(options, talk_of)
