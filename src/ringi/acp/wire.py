"""Lines over pipes, for an event loop: of limited length, never blocking, each side with a buffer."""

import asyncio
import os
import stat
from collections import deque
from collections.abc import Callable
from io import FileIO
from typing import Final, cast

_CHUNK: Final = 65536
_HEAD: Final = 4096
_HIGH_WATER: Final = 4 * 1024 * 1024


class Inlet(asyncio.Protocol):
    """Calls `hear` with each line, `skip` with the beginning of one that is too long, `end` at the end."""

    def __init__(
        self,
        longest: int,
        hear: Callable[[bytes], None],
        skip: Callable[[bytes], None],
        end: Callable[[], None],
    ) -> None:
        self._longest = longest
        self._hear = hear
        self._skip = skip
        self._end = end
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self._lines: deque[bytes] = deque()
        """Whole ones that nobody has heard yet."""
        self._paused = False
        self._reading = True
        self._over = False
        self._transport: asyncio.ReadTransport | None = None

    async def listen(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        if _can_wait(descriptor):
            await loop.connect_read_pipe(lambda: self, os.fdopen(descriptor, "rb", buffering=0))
            return
        while data := await asyncio.to_thread(os.read, descriptor, _CHUNK):
            self.data_received(data)
        os.close(descriptor)
        self._over = True
        self._take_lines()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for end in whole:
            line = b"".join([*self._parts, end]) if self._parts else end
            skipping, self._skipping = self._skipping, False
            self._parts, self._size = [], 0
            if not skipping:
                self._lines.append(line)
        if rest and not self._skipping:
            self._parts.append(rest)
            self._size += len(rest)
            if self._size > self._longest:
                self._lines.append(b"".join(self._parts))
                self._parts, self._size, self._skipping = [], 0, True
        self._take_lines()

    def _take_lines(self) -> None:
        """Those that have come. If it is paused they wait: one short line may have a long answer."""
        while self._lines and not self._paused:
            line = self._lines.popleft()
            if len(line) > self._longest:
                self._skip(line[:_HEAD])
            elif line.strip():
                self._hear(line)
        if self._lines:
            return
        if self._over:
            self._over = False
            self._end()
        elif not self._paused:
            self._read(True)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._over = True
        self._take_lines()

    def pause(self, *, paused: bool) -> None:
        self._paused = paused
        if paused:
            self._read(False)
        else:  # not at once: the caller is in the middle of something
            asyncio.get_running_loop().call_soon(self._take_lines)

    def _read(self, on: bool) -> None:  # a switch
        if self._transport is not None and on is not self._reading and not self._transport.is_closing():
            self._reading = on
            self._transport.resume_reading() if on else self._transport.pause_reading()

    def close(self) -> None:
        self._paused = False
        if self._transport is not None:
            self._transport.close()


class Outlet(asyncio.BaseProtocol):
    """Buffers what the reader does not take yet; `full` is told when that is much, and when it is not."""

    def __init__(self, full: Callable[[bool], None] = lambda _: None) -> None:
        self._full = full
        self._transport: asyncio.WriteTransport | None = None
        self._file: FileIO | None = None
        self._lost = asyncio.Event()

    async def open(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        if _can_wait(descriptor):
            await loop.connect_write_pipe(lambda: self, os.fdopen(descriptor, "wb", buffering=0))
        else:
            self._file = os.fdopen(descriptor, "wb", buffering=0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._lost.set()

    def pause_writing(self) -> None:
        self._full(True)

    def resume_writing(self) -> None:
        self._full(False)

    @property
    def waiting(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport else 0

    def write(self, line: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)
        elif self._file is not None:
            self._file.write(line)

    async def close(self, seconds: float) -> None:
        """Waits so long for the reader to take the rest."""
        if self._file is not None:
            self._file.close()
        if self._transport is not None:
            self._transport.close()
            try:
                await asyncio.wait_for(self._lost.wait(), seconds)
            except TimeoutError:
                self._transport.abort()


def _can_wait(descriptor: int) -> bool:
    """Whether the loop can wait for it: not for a file or /dev/null, which never block."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)
