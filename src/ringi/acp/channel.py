"""The protocol with one agent: who waits for which answer, and paths as each side names them."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import UNSET, Raw, UnsetType

from ringi.acp.paths import ProjectPaths
from ringi.acp.protocol import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LONGEST_LINE,
    TOO_DEEP,
    Id,
    Message,
    MessageRefusal,
    RpcError,
    content,
    id_of_answer,
    line_of,
    parse_message,
    raw,
    refusal_line,
    request,
)
from ringi.acp.wire import Inlet, Outlet
from ringi.kernel.text import Text, translate

_MOST_WAITING: Final = 2 * LONGEST_LINE
_LAST_SEC: Final = 1.0
_SHOWN: Final = 200
_HEAD: Final = 4096


class ChannelReply(NamedTuple):
    message: Message
    line: bytes
    """As the editor gets it."""


class Callbacks(NamedTuple):
    """Who hears what an agent says."""

    heard: Callable[[Message, bytes], None]
    """A request, a notification, or an answer that the editor waits for; and its line."""
    strange: Callable[[str], None]
    """The beginning of a line that is not the protocol."""
    end: Callable[[], None]


class Channel:
    def __init__(self, ears: Callbacks) -> None:
        self._ears = ears
        self._inlet = Inlet(LONGEST_LINE, self._hear, self._skip, self._end)
        self._outlet = Outlet()
        self._numbers = itertools.count(1)
        self._paths: ProjectPaths | None = None
        self._pending: dict[Id, asyncio.Future[ChannelReply] | None] = {}
        """None if the editor waits for it."""
        self._over = ""

    async def open(self, stdin: int, stdout: int, paths: ProjectPaths) -> None:
        self._paths = paths if paths.mapped else None
        await self._outlet.open(stdin)
        await self._inlet.listen(stdout)

    def _hear(self, line: bytes) -> None:
        message = parse_message(line)
        if isinstance(message, MessageRefusal):
            self._skip(line[:_HEAD])
            return
        try:
            # Written anew: a field that is there twice, or twice but for its case, would say one thing to us
            # and another to an editor.
            line = _map_paths(message, self._paths.to_editor) if self._paths else line_of(message)[:-1]
        except RpcError:
            self._skip(line[:_HEAD])
            return
        if not message.is_response:
            self._ears.heard(message, line)
            return
        number = message.id
        if not isinstance(number, int | str) or number not in self._pending:
            self._skip(line)  # it was not asked
            return
        waiting = self._pending.pop(number)
        if waiting is None:
            self._ears.heard(message, line)
        elif not waiting.done():
            waiting.set_result(ChannelReply(message, line + b"\n"))

    def _skip(self, head: bytes) -> None:
        """Drops what cannot be read. Whoever waits for it hears so."""
        self._ears.strange(head[:_SHOWN].decode(errors="replace"))
        number = id_of_answer(head)
        if number is not None and number in self._pending:
            self._hear(refusal_line(number, INTERNAL_ERROR, Text("The agent's answer cannot be read."))[:-1])

    def _end(self) -> None:
        self._ears.end()

    def send(self, message: Message, line: bytes) -> None:
        """A message of the editor, as it came unless paths are mapped. Raises RpcError if the agent ended."""
        self._refuse_over()
        if self._paths:
            line = _map_paths(message, self._paths.to_agent)
        if message.is_request and isinstance(message.id, int | str):
            self._pending[message.id] = None
        self.write(line + b"\n")

    def write(self, line: bytes) -> None:
        self._outlet.write(line)
        if self._outlet.waiting > _MOST_WAITING:
            self._over = self._over or translate(Text("The agent does not read what it is told."))
            self._inlet.close()

    def has(self, number: Id) -> bool:
        """Whether it has yet to answer that request."""
        return number in self._pending

    async def ask(self, method: str, params: Raw | UnsetType, number: Id | None = None) -> ChannelReply:
        """Without a number, a request of our own. Raises RpcError if the agent ends before it answers."""
        self._refuse_over()
        if number is None:
            number = f"ringi-{next(self._numbers)}"
        if self._paths:
            params = _move_paths(params, self._paths.to_agent)
        waiting: asyncio.Future[ChannelReply] = asyncio.get_running_loop().create_future()
        self._pending[number] = waiting
        self.write(request(number, method, params))
        return await waiting

    def give_up(self, number: Id, line: bytes) -> None:
        """Answers for the agent, since it does not."""
        waiting, message = self._pending.get(number), parse_message(line)
        if waiting is not None and not waiting.done() and isinstance(message, Message):
            waiting.set_result(ChannelReply(message, line))

    def drop(self, why: str) -> list[Id]:
        """Fails all that was asked; returns the requests that the editor waits for."""
        self._over = self._over or why
        left = [number for number, waiting in self._pending.items() if waiting is None]
        for waiting in self._pending.values():
            if waiting is not None and not waiting.done():
                waiting.set_exception(RpcError(INTERNAL_ERROR, self._over))
        self._pending.clear()
        return left

    def _refuse_over(self) -> None:
        if self._over:
            raise RpcError(INTERNAL_ERROR, self._over)

    def pause(self, *, paused: bool) -> None:
        self._inlet.pause(paused=paused)

    async def close(self) -> None:
        await self._outlet.close(_LAST_SEC)
        self._inlet.close()


def _map_paths(message: Message, move: Callable[[object], object]) -> bytes:
    """Raises RpcError."""
    for name in ("params", "result"):
        if getattr(message, name) is not UNSET:
            setattr(message, name, _move_paths(getattr(message, name), move))
    return line_of(message)[:-1]


def _move_paths(value: Raw | UnsetType, move: Callable[[object], object]) -> Raw:
    """Raises RpcError."""
    try:
        return raw(move(content(value)))
    except RecursionError:
        raise RpcError(INVALID_REQUEST, TOO_DEEP) from None
