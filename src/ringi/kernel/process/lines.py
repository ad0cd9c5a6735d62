"""Lines over descriptors, of limited length, without blocking an event loop."""

import os
import select
from collections.abc import AsyncIterator
from typing import Final, NamedTuple

import anyio
import anyio.lowlevel

_CHUNK: Final = 65536


class TooLong(NamedTuple):
    head: bytes


async def read_some(descriptor: int) -> bytes:
    """Nothing at its end."""
    try:
        await anyio.wait_readable(descriptor)
    except PermissionError:  # a regular file, which never blocks
        await anyio.lowlevel.checkpoint()
    return os.read(descriptor, _CHUNK)


async def lines(descriptor: int, longest: int, begun: bytes = b"") -> AsyncIterator[bytes | TooLong]:
    """Keeps only the beginning of a line that is too long."""
    pending, skipping = bytearray(), False
    data = begun or await read_some(descriptor)
    while data:
        *whole, rest = data.split(b"\n")
        for end in whole:
            pending += end
            if not skipping and pending.strip():
                yield bytes(pending) if len(pending) <= longest else TooLong(bytes(pending[:_CHUNK]))
            pending, skipping = bytearray(), False
        if not skipping:
            pending += rest
            if len(pending) > longest:
                yield TooLong(bytes(pending[:_CHUNK]))
                pending, skipping = bytearray(), True
        data = await read_some(descriptor)
    if pending.strip():
        yield bytes(pending)


async def write(descriptor: int, data: bytes) -> None:
    """In pieces that a pipe takes without blocking the event loop."""
    view = memoryview(data)
    while view:
        if not select.select([], [descriptor], [], 0)[1]:
            await anyio.wait_writable(descriptor)
        view = view[os.write(descriptor, view[: select.PIPE_BUF]) :]
