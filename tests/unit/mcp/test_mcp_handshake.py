"""The first answer is the SDK's own, byte for byte, and the SDK goes on from there."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.server.lowlevel import Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from ringi.kernel.process.wire import Wire
from ringi.mcp.handshake import VERSIONS, EarlyHandshake, plain_initialize
from ringi.mcp.server import PlanServer, ServerContext
from ringi.mcp.stdio import messages
from ringi.mcp.worker import Worker, Workers
from tests.helpers import PATIENCE_SEC, open_scratch
from tests.tables import each

CLIENT = {"name": "a client", "version": "1"}
BARE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
PING = b'{"jsonrpc":"2.0","id":"ping","method":"ping"}\n'
PONG = {"jsonrpc": "2.0", "id": "ping", "result": {}}


def initialize(params: object = BARE, **members: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params, **members}
    ).encode()


def asked(**changes: Any) -> bytes:
    return initialize({**BARE, **changes})


def able(**capabilities: Any) -> bytes:
    return asked(capabilities=capabilities)


def told(**client: Any) -> bytes:
    return asked(clientInfo={**CLIENT, **client})


ICON = {"src": "https://example.org/icon.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}
TASKS = {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}}}
PLAIN = [
    *(
        asked(protocolVersion=version)
        for version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
    ),
    asked(protocolVersion="of the future"),
    asked(protocolVersion=""),
    initialize(id="text"),
    initialize(id=0),
    initialize(id=-5),
    initialize(unknown={"a": [1]}),
    asked(unknown=1),
    able(roots={"listChanged": True}, sampling={}, elicitation={"form": {}, "url": {"x": 1}}, tasks=TASKS),
    able(
        roots={},
        sampling={"context": {}, "tools": {}},
        experimental={"x": {"y": [1]}},
        extensions={"a/b": {}},
    ),
    able(roots=None, sampling=None, elicitation=None, experimental=None, extensions=None, tasks=None),
    able(unknown=[{"a": 1.5}]),
    told(title="A client", description="It asks.", websiteUrl="https://example.org", icons=[ICON], unknown=1),
    told(title=None, icons=None),
    told(name="\u7a1f\u8b70 \u2028"),
    b" " + initialize() + b"\r",
]
NOT_PLAIN = [
    b"",
    b"{",
    b"[]",
    b"\xff",
    b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
    b'{"jsonrpc":"2.0","method":"initialize","params":{}}',
    initialize(jsonrpc="1.0"),
    initialize(id=None),
    initialize(id=1.5),
    initialize(id=True),
    initialize(id=10**30),
    initialize(result={}),
    initialize([]),
    initialize({}),
    asked(protocolVersion=20250618),
    asked(capabilities=[]),
    asked(clientInfo={"name": "x"}),
    asked(_meta={"progressToken": {}}),
    able(roots={"listChanged": "perhaps"}),
    able(experimental={"x": 1}),
    able(tasks={"requests": 1}),
    able(unknown=json.loads("[" * 200 + "]" * 200)),
    told(icons=[{"mimeType": "image/png"}]),
    told(name="half \ud800 a character"),
    initialize().replace(b'"capabilities": {}', b'"capabilities": {"x": NaN}'),
    initialize().replace(b'"initialize"', b'"ping"'),
]


@contextmanager
def plan_server(folder: Path) -> Iterator[Server[Any]]:
    workers = Workers(*(Worker(lambda: open_scratch(folder)) for _ in range(3)))
    reader = threading.Thread(target=workers.reading.run)
    reader.start()
    try:
        yield PlanServer(workers, ServerContext("", tuple, lambda *_: None)).server
    finally:
        workers.reading.stop()
        reader.join(PATIENCE_SEC)


def said(
    server: Server[Any], sent: bytes, begun: EarlyHandshake | None = None, answers: int = 1
) -> list[bytes]:
    """Everything that the server writes to a client that leaves after so many answers."""
    (reading, theirs), (ours, writing) = os.pipe(), os.pipe()
    heard: list[bytes] = []

    def client() -> None:
        with os.fdopen(ours, "rb") as lines:
            with os.fdopen(theirs, "wb") as requests:
                requests.write(sent)
                requests.flush()
                heard.extend(lines.readline() for _ in range(answers))
            heard.extend(lines)

    async def talk() -> None:
        wire = Wire(reading, writing)
        async with messages(wire, begun or EarlyHandshake(), anyio.CancelScope()) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asking = threading.Thread(target=client)
    asking.start()
    try:
        anyio.run(talk)
    finally:
        os.close(writing)
        os.close(reading)
        asking.join(PATIENCE_SEC)
    return heard


def test_it_answers_as_the_sdk_does(tmp_path: Path):
    assert VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert VERSIONS[-1] == LATEST_HANDSHAKE_VERSION
    with plan_server(tmp_path) as server:
        for line in PLAIN:
            request = plain_initialize(line)
            assert request is not None, line
            assert [request.answer()] == said(server, line + b"\n"), line


@each("line", NOT_PLAIN)
def test_anything_else_is_left_to_the_sdk(line: bytes):
    assert plain_initialize(line) is None


def test_the_sdk_goes_on_without_answering_twice(tmp_path: Path):
    initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    listing = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    with plan_server(tmp_path) as server:
        rest = said(server, initialized + listing, EarlyHandshake(initialize() + b"\n", 1))
        assert len(rest) == 1
        assert "tools" in json.loads(rest[0])["result"]
        # The line may have been cut anywhere, and nothing may have been read.
        for cut in (0, 30):
            line = initialize() + b"\n"
            whole = said(server, line[cut:] + PING, EarlyHandshake(line[:cut]), answers=2)
            assert [json.loads(one)["id"] for one in whole] == [1, "ping"]
        assert [json.loads(one) for one in said(server, b"", EarlyHandshake(PING))] == [PONG]
