"""An editor that speaks the Agent Client Protocol by hand, so that it can also speak wrongly."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.functional import warm
from tests.functional.beside_desk import HomeDesk
from tests.functional.desk import RINGI
from tests.helpers import PATIENCE_SEC

AGENT = Path(__file__).parents[1] / "fakes" / "acp_agent.py"


class Editor:
    """One connection to `ringi acp`. All that arrives is kept in `heard`."""

    def __init__(self, desk: HomeDesk, *options: str, agent: tuple[str, ...] = (), **variables: str) -> None:
        self.root = desk.root
        command = agent or (sys.executable, str(desk.programs / "scripted-agent"))
        self.log = desk.home / "stderr.txt"
        with self.log.open("ab") as errors:
            self.process = warm.Popen(
                [*RINGI, "acp", *options, "--", *command],
                cwd=desk.root,
                env={**os.environ, **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.heard: list[dict[str, Any]] = []
        self.closed = False
        self._changed = threading.Condition()
        self._number = 0
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                with self._changed:
                    self.heard.append(json.loads(line))
                    self._changed.notify_all()
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin
        data = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> int:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self._number

    def wait(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = PATIENCE_SEC) -> dict[str, Any]:
        """The first such message."""
        until = time.monotonic() + seconds
        with self._changed:
            while True:
                for message in self.heard:
                    if wanted(message):
                        return message
                left = until - time.monotonic()
                waits = left > 0 and not self.closed
                assert waits, f"{self.heard[-5:]}\n{self.log.read_text()}"
                self._changed.wait(left)

    def answer(self, number: object) -> dict[str, Any]:
        return self.wait(lambda message: message.get("id") == number and "method" not in message)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.ask(method, **params))

    def begin(self, **greeting: Any) -> str:
        """Greets it and opens a session; returns the session's name."""
        known = {"protocolVersion": 1, "clientCapabilities": {"fs": {}, "terminal": False}}
        answer = self.call("initialize", **{**known, **greeting})
        assert "result" in answer, (answer, self.log.read_text())
        return self.new()

    def new(self, **params: Any) -> str:
        answer = self.call("session/new", **{"cwd": str(self.root), "mcpServers": [], **params})
        assert "result" in answer, answer
        return str(answer["result"]["sessionId"])

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        return self.answer(self.start(session, text))

    def start(self, session: str, text: str) -> int:
        return self.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def updates(self, kind: str, session: str = "") -> list[dict[str, Any]]:
        found = [message["params"] for message in self.heard if message.get("method") == "session/update"]
        return [
            one["update"]
            for one in found
            if one["update"]["sessionUpdate"] == kind and session in {"", one["sessionId"]}
        ]

    def plans(self, session: str = "") -> list[dict[str, Any]]:
        """What the thread shows of plans, complete."""
        calls = self.updates("tool_call_update", session)
        return [one for one in calls if one["toolCallId"].startswith("ringi-")]

    def files(self) -> list[str]:
        """The files that the newest plan in the thread changes."""
        return [block["path"] for block in self.plans()[-1]["content"] if block["type"] == "diff"]

    def said(self, session: str = "") -> str:
        chunks = self.updates("agent_message_chunk", session)
        return "".join(one["content"]["text"] for one in chunks)

    def told(self) -> list[dict[str, Any]]:
        """What the agent was told."""
        lines = self.log.read_text().splitlines()
        return [json.loads(line[5:]) for line in lines if line.startswith("TOLD ")]

    def leave(self) -> int:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        return self.end()

    def end(self) -> int:
        code = self.process.wait(PATIENCE_SEC)
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self._listener.join(PATIENCE_SEC)
        return code


@contextlib.contextmanager
def editor(desk: HomeDesk, *options: str, **variables: str) -> Iterator[Editor]:
    program = desk.programs / "scripted-agent"
    if not program.exists():
        program.write_bytes(AGENT.read_bytes())
    opened = Editor(desk, *options, **variables)
    try:
        yield opened
    finally:
        if opened.process.poll() is None:
            opened.leave()
