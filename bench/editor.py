"""The promises about `ringi acp`: what a message costs beside a bare pipe, and how soon the agent starts."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.measure import Figure, take_turns
from bench.scratch import scratch

_MESSAGES: Final = 400
_STARTS: Final = 9
_MOST_MS: Final = 1.0
_MOST_START_SEC: Final = 0.4
# Answers every request at once, so that all of the time is ours.
_ECHO: Final = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {"protocolVersion": 1, "sessionId": "s"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


class Talk:
    """Somebody who asks over a pipe and waits for the answer."""

    def __init__(self, argv: Sequence[str], root: Path, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            argv,
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._number = 0

    def ask(self, method: str = "session/list", **params: Any) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        print(json.dumps(message), file=self.process.stdin, flush=True)
        assert "result" in self.process.stdout.readline(), method

    def end(self) -> None:
        with self.process:
            assert self.process.stdin
            self.process.stdin.close()


def figures() -> Iterator[Figure]:
    agent = [sys.executable, "-S", "-c", _ECHO]
    ringi = [sys.executable, "-m", "ringi", "acp", "--", *agent]
    with scratch() as (root, environment):
        (root / "README.md").write_text("# Sample\n")
        long = {"sessionId": "s", "text": "x" * 2000}
        talks = [Talk(argv, root, environment) for argv in (ringi, agent)]
        for talk in talks:
            talk.ask("initialize", protocolVersion=1)
            talk.ask("session/new", cwd=str(root), mcpServers=[])
        jobs = [lambda talk=talk: talk.ask(**long) for talk in talks]
        take_turns(20, *jobs)
        ours, bare = take_turns(_MESSAGES, *jobs)
        for talk in talks:
            talk.end()
        detail = f"{ours * 1000:.2f} ms against {bare * 1000:.2f} ms, there and back"
        yield Figure(
            "a message through ringi acp less a bare pipe",
            (ours - bare) * 500,
            _MOST_MS,
            unit=" ms",
            detail=detail,
        )

        def greeted(argv: Sequence[str]) -> None:
            talk = Talk(argv, root, environment)
            talk.ask("initialize", protocolVersion=1)
            talk.process.kill()
            talk.end()

        ours, bare = take_turns(_STARTS, lambda: greeted(ringi), lambda: greeted(agent))
        detail = f"{ours:.2f} s against {bare:.2f} s"
        yield Figure(
            "ringi acp answers initialize less the agent alone",
            ours - bare,
            _MOST_START_SEC,
            unit=" s",
            detail=detail,
        )


if __name__ == "__main__":
    for figure in figures():
        print(f"{figure.name}: {figure.value:.3f}{figure.unit} (goal ≤ {figure.goal:g})  {figure.detail}")
