"""Too deep, too long, too much: memory stays limited, nothing is lost, and nobody waits in vain."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from ringi.acp.channel import Callbacks, Channel
from ringi.acp.paths import ProjectPaths
from ringi.acp.protocol import (
    INVALID_REQUEST,
    Message,
    MessageRefusal,
    OwnUpdates,
    RpcError,
    parse_message,
    raw,
    read_address,
)
from ringi.acp.requests import MOST_OPEN, Requests
from ringi.acp.terminals import AgentTerminal
from ringi.acp.wire import Inlet, Outlet
from tests.tables import each

DEEP = b"[" * 100_000
SHUT = b"]" * 100_000


@each("deep", [DEEP, DEEP + SHUT, b'{"a":' * 100_000 + b"1" + b"}" * 100_000])
def test_no_depth_is_too_much(deep: bytes):
    for kind in (b'"result":', b'"method":"session/update","params":', b'"error":'):
        found = parse_message(b'{"jsonrpc":"2.0","id":7,' + kind + deep + b"}")
        assert isinstance(found, MessageRefusal)
        assert (found.code, found.id) == (INVALID_REQUEST, 7)
    assert isinstance(parse_message(deep), MessageRefusal)


def test_what_cannot_be_read_belongs_to_nobody():
    """Or a field of the wrong kind would lead past the check of the session."""
    for more in (b'"requestId":{}', b'"requestId":[[]]', b'"x":' + DEEP):
        assert read_address(msgspec.Raw(b'{"sessionId":"other",' + more + b"}")).session_id == ""
    assert read_address(msgspec.Raw(b'{"sessionId":"own"}')).session_id == "own"


@contextlib.contextmanager
def pipes() -> Iterator[tuple[int, int, int, int]]:
    """What an agent reads and writes, and our ends of both."""
    theirs, ours = os.pipe(), os.pipe()
    try:
        yield theirs[0], ours[1], theirs[1], ours[0]
    finally:
        for number in (theirs[0], ours[1]):
            with contextlib.suppress(OSError):
                os.close(number)


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":"ringi-1","result":' + DEEP + SHUT + b"}",
        b'{"id":"ringi-1","result":[}',
        b'{"jsonrpc":"2.0","id":"ringi-1"}',
    ],
)
def test_an_answer_that_cannot_be_read_is_an_error_for_whoever_waits(answer: bytes):
    strange: list[str] = []

    async def talk(reads: int, writes: int, stdin: int, stdout: int) -> None:
        channel = Channel(Callbacks(lambda *_: None, strange.append, lambda: None))
        await channel.open(stdin, stdout, ProjectPaths(Path("/p"), Path("/p")))
        asked = asyncio.ensure_future(channel.ask("session/prompt", msgspec.Raw(b"{}")))
        await asyncio.sleep(0)
        # A request of its own may have the same number.
        for line in (b'{"jsonrpc":"2.0","method":"x","id":"ringi-1","params":' + DEEP, answer):
            view = memoryview(line + b"\n")
            while view:
                view = view[await asyncio.to_thread(os.write, writes, view[:65536]) :]
        message = (await asyncio.wait_for(asked, 30)).message
        assert b"cannot be read" in bytes(message.error)  # type: ignore[arg-type]
        await channel.close()

    with pipes() as ends:
        asyncio.run(talk(*ends))
    assert len(strange) == 2


def test_deep_messages_whose_paths_are_mapped_are_refused():
    heard: list[Message] = []
    strange: list[str] = []
    deep = b'{"jsonrpc":"2.0","method":"x","params":' + b'{"a":' * 800 + b"1" + b"}" * 800 + b"}"

    async def talk(reads: int, writes: int, stdin: int, stdout: int) -> None:
        came = asyncio.Event()

        def hear(message: Message, _: bytes) -> None:
            heard.append(message)
            came.set()

        channel = Channel(Callbacks(hear, strange.append, lambda: None))
        await channel.open(stdin, stdout, ProjectPaths(Path("/p"), Path("/copy")))
        message = parse_message(deep)
        assert isinstance(message, Message)
        with pytest.raises(RpcError, match="too deeply"):
            channel.send(message, deep)
        os.write(writes, deep + b'\n{"jsonrpc":"2.0","method":"y"}\n')
        await asyncio.wait_for(came.wait(), 30)
        await channel.close()

    with pipes() as ends:
        asyncio.run(talk(*ends))
    assert [message.method for message in heard] == ["y"]
    assert len(strange) == 1


def test_no_line_says_one_thing_to_us_and_another_to_an_editor():
    heard: list[bytes] = []
    other = b'"Method":"fs/write_text_file","method":"fs/write_text_file",'

    async def talk(reads: int, writes: int, stdin: int, stdout: int) -> None:
        came = asyncio.Event()

        def hear(_: Message, line: bytes) -> None:
            heard.append(line)
            came.set()

        channel = Channel(Callbacks(hear, lambda _: None, lambda: None))
        await channel.open(stdin, stdout, ProjectPaths(Path("/p"), Path("/p")))
        os.write(writes, b'{"jsonrpc":"2.0",' + other + b'"method":"_x","params":{"n": 1.0e2}}\n')
        await asyncio.wait_for(came.wait(), 30)
        await channel.close()

    with pipes() as ends:
        asyncio.run(talk(*ends))
    assert heard == [b'{"jsonrpc":"2.0","method":"_x","params":{"n": 1.0e2}}']


def test_lines_wait_while_the_other_side_does_not_read():
    heard: list[bytes] = []
    ended: list[int] = []

    async def listen() -> None:
        def hear(line: bytes) -> None:
            heard.append(line)
            inlet.pause(paused=True)

        inlet = Inlet(10, hear, heard.append, lambda: ended.append(len(heard)))
        inlet.data_received(b"1\n2\n" + b"x" * 20 + b"\n3\n")
        inlet.connection_lost(None)
        assert (heard, ended) == ([b"1"], [])
        for _ in range(5):
            inlet.pause(paused=False)
            await asyncio.sleep(0)

    asyncio.run(listen())
    assert heard == [b"1", b"2", b"x" * 20, b"3"]
    assert ended == [4]


def test_a_flood_reaches_a_slow_reader_whole_and_memory_stays_small():
    """An agent says 20,000 lines, each of which becomes 1,000 times as long; the editor reads slowly."""
    count, most = 20_000, 0
    got = bytearray()

    async def flood(reads: int, writes: int, target: int, source: int) -> None:
        nonlocal most
        outlet = Outlet(lambda full: inlet.pause(paused=full))

        def hear(line: bytes) -> None:
            nonlocal most
            outlet.write(line * 200 + b"\n")
            most = max(most, outlet.waiting)

        inlet = Inlet(1000, hear, lambda _: None, lambda: None)
        await outlet.open(target)
        await inlet.listen(source)

        def say() -> None:
            for number in range(count):
                os.write(writes, b"%05d\n" % number)

        def read() -> None:
            while len(got) < count * 1001:
                got.extend(os.read(reads, 1 << 20))

        await asyncio.gather(asyncio.to_thread(say), asyncio.to_thread(read))
        inlet.close()
        await outlet.close(1)

    with pipes() as ends:
        asyncio.run(flood(*ends))
    assert [int(line[:5]) for line in bytes(got).splitlines()] == list(range(count))
    assert most < 5 * 1024 * 1024


def test_an_agent_has_only_so_many_open_requests():
    told: list[bytes] = []
    back: list[bytes] = []
    agent: Any = SimpleNamespace(
        asking=0,
        alive=True,
        channel=SimpleNamespace(write=back.append, send=lambda _, line: back.append(line)),
    )
    tasks: Any = None
    requests = Requests(told.append, tasks)
    for number in range(MOST_OPEN + 2):
        requests.take(agent, Message(jsonrpc="2.0", id=number, method="session/request_permission"))
    assert len(told) == MOST_OPEN
    assert [msgspec.json.decode(line)["id"] for line in back] == [MOST_OPEN, MOST_OPEN + 1]
    assert requests.answer(Message(jsonrpc="2.0", id=1, result=msgspec.Raw(b"{}")))
    requests.take(agent, Message(jsonrpc="2.0", id="more", method="session/request_permission"))
    assert len(told) == MOST_OPEN + 1


def test_what_a_terminal_shows_in_a_thread_is_limited():
    async def look() -> str:
        terminal = AgentTerminal("x" * 200_000, 1_000_000)
        terminal._output += b"y" * 900_000 + b"the end\n"
        return terminal.shown

    shown = asyncio.run(look())
    assert len(shown) < 110_000
    assert "the end\n" in shown
    assert len(OwnUpdates("s").content_of("c", shown)) < 120_000


def test_a_terminal_is_shown_once_in_an_update():
    tasks: Any = None
    terminal = SimpleNamespace(shown="printed", over=SimpleNamespace(is_set=lambda: True))
    agent: Any = SimpleNamespace(shows=set(), terminals={"t": terminal})
    blocks = [{"type": "terminal", "terminalId": "t"}] * 1000 + [{"type": "text"}] * 2
    params = {"update": {"toolCallId": "c", "content": blocks}}
    message = Message(jsonrpc="2.0", method="session/update", params=raw(params))
    line = Requests(lambda _: None, tasks).replace_terminals(agent, message, msgspec.json.encode(params))
    shown = msgspec.json.decode(line)["params"]["update"]["content"]
    assert len(shown) == 3
    assert shown[0]["content"]["text"] == "printed"
