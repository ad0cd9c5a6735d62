"""Who may speak to the server over HTTP, and a client that goes away there."""

import socket
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest

from ringi.errors import NoExtra, NoPort, NotLocal, StorageFailed
from ringi.mcp import command, http
from ringi.mcp.server import PlanServer, Surroundings
from ringi.mcp.worker import Ending, Worker, Workers
from tests.helpers import PATIENCE_SEC, open_scratch, proposed, write
from tests.tables import each

ADDRESS = http.Address("127.0.0.1", 4711)
RIGHT = [(b"host", b"127.0.0.1:4711"), (b"authorization", b"Bearer secret")]


@each(
    ("headers", "status"),
    [
        (RIGHT, None),
        ([(b"host", b"localhost:4711"), RIGHT[1]], None),
        ([*RIGHT, (b"origin", b"http://localhost:4711")], None),
        ([RIGHT[1]], 421),
        ([RIGHT[0], *RIGHT], 421),
        ([(b"host", b"evil.example:4711"), RIGHT[1]], 421),
        ([(b"host", b"127.0.0.1:4712"), RIGHT[1]], 421),
        ([*RIGHT, (b"origin", b"null")], 403),
        ([*RIGHT, (b"origin", b"http://localhost:4711"), (b"origin", b"http://evil.example")], 403),
        ([RIGHT[0]], 401),
        ([RIGHT[0], (b"authorization", b"Bearer secre")], 401),
        ([RIGHT[0], (b"authorization", b"Bearer \xff\xfe")], 401),
        ([RIGHT[0], RIGHT[1], RIGHT[1]], 401),
    ],
)
def test_the_guard(headers: list[tuple[bytes, bytes]], status: int | None):
    guard = http.Guard(lambda *_: None, ADDRESS, "secret")
    refusal = guard._refusal(headers)
    assert (refusal and refusal[0]) == status


def test_only_this_machine():
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org", "127.0.0.1.example.org", ""):
        with pytest.raises(NotLocal):
            http.listen(host, 0)
    for host in ("127.0.0.1", "localhost", "127.0.0.2"):
        listening, address = http.listen(host, 0)
        with listening:
            assert address.port > 0
            with pytest.raises(NoPort):
                http.listen(address.host, address.port)
    assert http.Address("::1", 5).url == "http://[::1]:5/mcp"


def test_the_token_is_made_once_and_for_the_user_alone(tmp_path: Path):
    environment = {"HOME": str(tmp_path)}
    first = http.token_of(environment)
    assert first.made
    assert first.place
    assert first.place.stat().st_mode & 0o777 == 0o600
    assert http.token_of(environment) == (first.value, first.place, False)
    first.place.chmod(0o644)
    with pytest.raises(StorageFailed):
        http.token_of(environment)
    first.place.chmod(0o600)
    first.place.write_text("short")
    with pytest.raises(StorageFailed):
        http.token_of(environment)
    first.place.unlink()
    first.place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed):
        http.token_of(environment)
    assert http.token_of({}).place is None


def test_servers_that_start_together_agree_on_the_token(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            environment = {"HOME": str(tmp_path / str(number))}
            together = threading.Barrier(8)

            def start(
                found: dict[str, str] = environment, together: threading.Barrier = together
            ) -> http.Token:
                together.wait()
                return http.token_of(found)

            tokens = [one.result() for one in [pool.submit(start) for _ in range(8)]]
            assert len({token.value for token in tokens}) == 1
            assert sum(token.made for token in tokens) == 1
            assert [path.name for path in (tmp_path / str(number)).rglob("*mcp-token*")] == ["mcp-token"]


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mcp", None)  # as if nothing by that name could be imported

    class Nothing:
        environment: Mapping[str, str] = MappingProxyType({})

    with pytest.raises(NoExtra) as caught:
        command.mcp.callback.__wrapped__(Nothing(), "", None, "127.0.0.1")
    assert caught.value.details["extra"] == "mcp"
    assert sys.executable in caught.value.details["command"]


class Counting(Worker):
    calls = 0

    def begin(self, work):
        self.calls += 1
        return super().begin(work)


def request(port: int, body: str, session: str = "") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Authorization: Bearer secret",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        *([f"Mcp-Session-Id: {session}"] if session else []),
    ]
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body.encode())
    return connection


HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"x","version":"1"}}}'
)
WAIT = (
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plan_wait",'
    '"arguments":{"plan_id":"p1","seconds":300}}}'
)


def test_a_client_that_goes_while_it_waits_leaves_nothing_running(tmp_path: Path):
    with open_scratch(tmp_path) as person:
        proposed(person, write("README.md", "# Other\n"))
    reading = Counting(lambda: open_scratch(tmp_path))
    around = Surroundings("", tuple, lambda *_: None)
    server = PlanServer(
        Workers(reading, Worker(lambda: open_scratch(tmp_path)), Worker(lambda: open_scratch(tmp_path))),
        around,
    ).server
    listening, address = http.listen("127.0.0.1", 0)
    ending = Ending()
    talk = http.talking(server, listening, address, "secret")
    threads = [
        threading.Thread(target=reading.run),
        threading.Thread(target=lambda: anyio.run(talk, ending)),
    ]
    for thread in threads:
        thread.start()

    def grows() -> bool:
        before = reading.calls
        threading.Event().wait(0.4)
        return reading.calls > before

    try:
        hello = request(address.port, HELLO)
        head = hello.recv(65536).decode().lower()
        session = head.partition("mcp-session-id: ")[2].partition("\r\n")[0]
        waiting = request(address.port, WAIT, session)
        for _ in range(20):
            if grows():
                break
        assert grows()
        waiting.close()
        hello.close()
        for _ in range(20):
            if not grows():
                break
        assert not grows()
    finally:
        ending.now()
        reading.stop()
        for thread in threads:
            thread.join(PATIENCE_SEC)
        listening.close()
    assert not any(thread.is_alive() for thread in threads)
