"""A client of the MCP server that speaks raw lines, so that it can also speak wrongly."""

import contextlib
import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.desk import RINGI, Terminal
from tests.functional.warm import Popen
from tests.helpers import PATIENCE_SEC

OLDEST = "2025-06-18"
MODERN = "2026-07-28"
SPEC = {"kind": "write", "path": "README.md", "content": "# Changed\n"}


class RawClient:
    """One connection over standard input and output."""

    def __init__(self, root: Path, *options: str, **variables: str) -> None:
        self.process = Popen(
            [*RINGI, "mcp", *options],
            cwd=root,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.notices: list[dict[str, Any]] = []
        self.stray: list[bytes] = []
        self._heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: dict[Any, dict[str, Any]] = {}
        self._number = 0
        self.envelope: dict[str, Any] = {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            try:
                self._heard.put(json.loads(line))
            except ValueError:
                self.stray.append(line)
        self._heard.put(None)

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._number += 1
        params = {**(params or {}), **({"_meta": self.envelope} if self.envelope else {})}
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def hear(self, number: int | None, seconds: float = PATIENCE_SEC) -> dict[str, Any]:
        """The answer to this request; others are kept for when they are asked for."""
        while number not in self._kept:
            self._take(seconds)
        return self._kept.pop(number)

    def _take(self, seconds: float) -> None:
        message = self._heard.get(timeout=seconds)
        assert message is not None, self.errors()
        if "id" in message:
            self._kept[message["id"]] = message
        else:
            self.notices.append(message)

    def noticed(self, method: str, count: int, seconds: float = PATIENCE_SEC) -> list[dict[str, Any]]:
        """What so many notices of this method say, after waiting for them."""
        while len(found := [one["params"] for one in self.notices if one["method"] == method]) < count:
            self._take(seconds)
        return found

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return self.hear(self.ask(method, params))

    def greet(self, version: str = OLDEST, name: str = "a tester") -> dict[str, Any]:
        client = {"name": name, "version": "1"}
        if version == MODERN:
            prefix = "io.modelcontextprotocol/"
            self.envelope = {
                f"{prefix}protocolVersion": version,
                f"{prefix}clientInfo": client,
                f"{prefix}clientCapabilities": {},
            }
            return self.request("server/discover")["result"]
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        result: dict[str, Any] = self.request("initialize", params)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    def begin(self, tool: str, **arguments: Any) -> int:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.hear(self.begin(tool, **arguments))
        assert "result" in answer, answer
        return answer["result"]

    def fine(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        told = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == told
        assert told["next_step"]
        return told

    def refused(self, tool: str, **arguments: Any) -> dict[str, str]:
        """Code, message and hint."""
        result = self.call(tool, **arguments)
        assert result["isError"], result
        told = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == told
        assert told["next_step"]
        error: dict[str, str] = told["error"]
        assert error["hint"]
        return error

    def waiting_plan(self, *specs: dict[str, Any]) -> str:
        """A plan that a person was asked about; its name."""
        name = self.fine("plan_propose", content="Change the readme")["name"]
        assert self.fine("plan_set_action_specs", plan_id=name, specs=list(specs or [SPEC]))["ok"]
        assert self.fine("plan_request_approval", plan_id=name)["outcome"] is None
        return name

    def end(self, seconds: float = PATIENCE_SEC) -> int:
        """Closes its side; the exit code."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(seconds)

    def errors(self) -> str:
        self.process.kill()
        assert self.process.stderr
        return self.process.stderr.read().decode()


@pytest.fixture
def talks(repo: Path) -> Iterator[Callable[..., RawClient]]:
    made: list[RawClient] = []

    def start(*options: str, root: Path = repo, **variables: str) -> RawClient:
        made.append(RawClient(root, *options, **variables))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.wait()
        assert one.stray == []
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                if stream:
                    stream.close()


def approve(root: Path, name: str) -> None:
    """A person, in a terminal of their own."""
    person = Terminal(root, ("approve", name), {})
    person.answer(r"\[y/n\]", "y")
    code, rest = person.end()
    assert code == 0, rest
