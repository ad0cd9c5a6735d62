"""A small agent that speaks the Agent Client Protocol by hand: a prompt is a list of commands, one a line.

It runs alone in a sandbox, so it imports nothing of ours. It repeats what it is told on standard error.
"""

import json
import os
import pathlib
import sys
import threading
import time
from typing import Any

VERSION = int(os.environ.get("ACP_VERSION", "1"))
SESSION = os.environ.get("ACP_SESSION") or f"s-{os.getpid()}-{time.time_ns()}"


class ScriptedAgent:
    def __init__(self) -> None:
        self.folder = pathlib.Path()
        self.session = SESSION
        self.number = 0
        self.cancelled = False
        self.waiting: dict[Any, Any] = {}
        self.changed = threading.Condition()

    def send(self, **message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)  # noqa: T201  # its wire

    def update(self, kind: str, **more: Any) -> None:
        self.send(
            method="session/update",
            params={"sessionId": self.session, "update": {"sessionUpdate": kind, **more}},
        )

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", messageId="m", content={"type": "text", "text": text})

    def ask(self, method: str, **params: Any) -> Any:
        self.number += 1
        number = self.number
        self.send(id=number, method=method, params={"sessionId": self.session, **params})
        with self.changed:
            self.changed.wait_for(lambda: number in self.waiting)
            message = self.waiting.pop(number)
        return message.get("result", message.get("error"))

    def hear(self, message: dict[str, Any]) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method is None:
            with self.changed:
                self.waiting[number] = message
                self.changed.notify_all()
        elif method == "initialize":
            self.note(greeted=params)
            capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}, "fork": {}}}
            self.send(id=number, result={"protocolVersion": VERSION, "agentCapabilities": capabilities})
        elif method in {"session/new", "session/load", "session/resume", "session/fork"}:
            self.folder = pathlib.Path(params["cwd"])
            if method in {"session/load", "session/resume"}:
                self.session = params["sessionId"]
            self.note(began=method, folder=params["cwd"])
            self.send(id=number, result={"sessionId": self.session})
        elif method == "session/list":
            self.send(id=number, result={"sessions": []})
        elif method == "session/prompt":
            threading.Thread(target=self.turn, args=(number, params), daemon=True).start()
        elif method == "session/cancel":
            self.cancelled = True
        elif number is not None:
            self.send(id=number, result={})

    def note(self, **what: Any) -> None:
        print("TOLD", json.dumps(what), file=sys.stderr, flush=True)  # noqa: T201  # what tests look at

    def turn(self, number: Any, params: dict[str, Any]) -> None:
        texts = [block.get("text", "") for block in params["prompt"]]
        self.note(prompt=texts)
        self.cancelled, reason = False, "end_turn"
        for line in texts[-1].splitlines():
            word, _, rest = line.strip().partition(" ")
            if (found := self.act(word, rest)) is not None:
                self.say(json.dumps(found) + "\n")
            if self.cancelled:
                reason = "cancelled"
        self.send(id=number, result={"stopReason": reason})

    def act(self, word: str, rest: str) -> Any:
        """What a line of a prompt asks for; unknown words are a person's own."""
        act = getattr(self, "do_" + word.replace("-", "_").lower(), None)
        name, _, text = rest.partition(" ")
        return act(name, text.encode().decode("unicode_escape"), rest) if act else None

    def do_write(self, name: str, text: str, _: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def do_see(self, name: str, _: str, __: str) -> Any:
        return (self.folder / name).read_text()

    def do_remove(self, name: str, _: str, __: str) -> None:
        (self.folder / name).unlink()

    def do_fs_write(self, name: str, text: str, _: str) -> Any:
        return self.ask("fs/write_text_file", path=self.at(name), content=text)

    def do_fs_read(self, name: str, _: str, __: str) -> Any:
        return self.ask("fs/read_text_file", path=self.at(name))

    def do_ask(self, name: str, _: str, rest: str) -> Any:
        return self.ask(name, **json.loads(rest.partition(" ")[2] or "{}"))

    def do_terminal(self, _: str, __: str, rest: str) -> Any:
        wanted = json.loads(rest) if rest.startswith("{") else {"command": rest}
        made = self.ask("terminal/create", **wanted)
        if "terminalId" not in made:
            return made
        shown = [{"type": "terminal", **made}]
        self.update("tool_call", toolCallId="t", title=rest, content=shown)
        self.ask("terminal/wait_for_exit", **made)
        return self.ask("terminal/output", **made)

    def do_raw(self, _: str, __: str, rest: str) -> None:
        print(rest, flush=True)  # noqa: T201  # its wire

    def do_die(self, name: str, _: str, __: str) -> None:
        os._exit(int(name or 3))

    def do_hang(self, *_: str) -> None:
        while True:
            time.sleep(60)

    def do_wait(self, *_: str) -> None:
        while not self.cancelled:
            time.sleep(0.01)

    def at(self, name: str) -> str:
        return name if name.startswith("/") else str(self.folder / name)


if __name__ == "__main__":
    agent = ScriptedAgent()
    for line in sys.stdin:
        agent.hear(json.loads(line))
