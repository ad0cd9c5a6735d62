"""The MCP server over HTTP: this machine only, the right names only, for whoever holds the token."""

import contextlib
import os
import re
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.functional.desk import RINGI, Desk
from tests.functional.test_mcp_stdio import through
from tests.functional.warm import Popen
from tests.helpers import PATIENCE_SEC

HELLO = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"clientInfo":{"name":"x","version":"1"}}}'
)


class Served:
    def __init__(self, repo: Path) -> None:
        self.root = repo
        self.process = Popen(
            [*RINGI, "mcp", "--http"], cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr
        self.said = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", self.said)
        assert found, self.said
        self.port = int(found[1])
        self.token = (Path(os.environ["XDG_CONFIG_HOME"]) / "ringi/mcp-token").read_text().strip()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def raw(
        self, *headers: str, method: str = "POST", path: str = "/mcp", body: str = HELLO, length: int = 0
    ) -> tuple[int, str]:
        """Exactly these headers, over a socket: the status and the rest."""
        lines = [
            f"{method} {path} HTTP/1.1",
            *headers,
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {length or len(body)}",
            "Connection: close",
        ]
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body.encode())
            answer = b""
            while data := connection.recv(65536):
                answer += data
        head, _, rest = answer.decode().partition("\r\n")
        return int(head.split()[1]), rest

    @asynccontextmanager
    async def client(self, mode: str) -> AsyncIterator[Client]:
        """`legacy` greets with a handshake, `auto` speaks the newest version."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=90) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client


@pytest.fixture
def served(repo: Path) -> Iterator[Served]:
    server = Served(repo)
    yield server
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    assert server.process.stdout
    assert server.process.stderr
    assert server.process.stdout.read() == ""
    assert "Traceback" not in server.process.stderr.read()
    server.process.stdout.close()
    server.process.stderr.close()


def check_guard(served: Served) -> None:
    host, token = f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}"
    assert served.raw(host, token)[0] == 200
    assert served.raw(f"Host: localhost:{served.port}", token)[0] == 200
    assert served.raw(host, token, f"Origin: http://127.0.0.1:{served.port}")[0] == 200
    assert served.raw(host, token.replace("Bearer", "bearer"))[0] == 200
    # A page that was led here by another name, or comes from elsewhere.
    for name in (
        "evil.example",
        f"evil.example:{served.port}",
        "127.0.0.1",
        f"127.0.0.1.evil.example:{served.port}",
    ):
        assert served.raw(f"Host: {name}", token)[0] == 421, name
    assert served.raw(token)[0] in {400, 421}
    assert served.raw(host, host.replace("127.0.0.1", "evil"), token)[0] in {400, 421}
    for origin in ("null", "http://evil.example", "http://localhost:1", f"https://127.0.0.1:{served.port}"):
        assert served.raw(host, token, f"Origin: {origin}")[0] == 403, origin
    # Somebody else on this machine.
    for wrong in ("X: y", "Authorization: Bearer ", f"Authorization: Basic {served.token}", token + "x"):
        status, rest = served.raw(host, wrong)
        assert (status, served.token in rest) == (401, False), wrong
    assert served.raw(host, token, path="/other")[0] == 404
    assert served.raw(host, token, method="GET", body="")[0] in {400, 405, 406}
    assert served.raw(host, token, body="{" + HELLO)[0] == 400
    assert served.raw(host, token, length=17 * 1024 * 1024)[0] == 413  # before any of it is read
    deep = HELLO.replace('"capabilities":{}', '"capabilities":' + '{"a":' * 5000 + "1" + "}" * 5000)
    for version in ("2025-06-18", "2026-07-28", "1999-01-01"):
        assert served.raw(host, token, f"MCP-Protocol-Version: {version}", body=deep)[0] in {400, 500}
    assert served.raw(host, token)[0] == 200


def check_own_token(served: Served) -> None:
    place = Path(os.environ["XDG_CONFIG_HOME"]) / "ringi/mcp-token"
    assert place.stat().st_mode & 0o777 == 0o600
    assert len(served.token) > 40
    taken = Desk(served.root).run("mcp", "--http", str(served.port))
    assert taken.returncode == 1
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
        refused = Desk(served.root).run("--json", "mcp", "--http", "0", "--host", host)
        assert refused.returncode == 6
        assert "not_local" in refused.stdout


@pytest.mark.req("PT-4", "PT-9")
@pytest.mark.slow
def test_over_http_two_clients_a_person_and_nobody_else(served: Served):
    async def main() -> None:
        async with served.client("auto") as one, served.client("legacy") as two:
            await through(one, served.root)
            listed = await two.call_tool("plan_list", {})
            assert listed.structured_content["plans"][0]["status"] == "completed"
            # One waits, the other goes on.
            made = await two.call_tool("plan_propose", {"content": "Another"})
            name = made.structured_content["name"]
            spec = {"kind": "delete", "path": "README.md"}
            await two.call_tool("plan_set_action_specs", {"plan_id": name, "specs": [spec]})
            async with anyio.create_task_group() as group:
                group.start_soon(two.call_tool, "plan_wait", {"plan_id": name, "seconds": 1})
                state = await one.call_tool("plan_get_state", {"plan_id": name})
                assert state.structured_content["action_specs"][0]["risk"] == "high"

    anyio.run(main)
    check_guard(served)
    check_own_token(served)


def ended(connection: socket.socket) -> bool:
    """Waits until the server ends it."""
    connection.settimeout(60)
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("said", [b"", b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-Slow: "], ids=["nothing", "half"])
def test_whoever_does_not_say_what_they_want_is_cut_off(served: Served, said: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_SEC) as connection:
        connection.sendall(said)
        assert ended(connection)
    assert served.raw(f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}")[0] == 200


def test_connections_are_counted(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=60))
        open_now = len(list(Path(f"/proc/{served.process.pid}/fd").iterdir()))
        last = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=60))
        assert ended(last)
        assert open_now < 300
    assert served.raw(f"Host: 127.0.0.1:{served.port}", f"Authorization: Bearer {served.token}")[0] == 200
