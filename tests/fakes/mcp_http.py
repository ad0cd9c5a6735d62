"""An MCP server at an address on loopback, in raw JSON-RPC. It says how it misbehaves."""

import json
from typing import Any

from tests.fakes.loopback import Handler, Loopback

READ = {
    "name": "read",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
}


ANSWERS: dict[str, tuple[int, str, bytes, dict[str, str]]] = {
    "gateway": (504, "text/html", b"<h1>timeout</h1>", {}),
    "accepted": (202, "text/plain", b"", {}),
    "page": (200, "text/html", b"<h1>sign in</h1>", {}),
    "elsewhere": (307, "text/plain", b"", {"Location": "http://127.0.0.2:9/mcp"}),
    "packed": (200, "application/json", b"\x1f\x8b", {"Content-Encoding": "gzip"}),
    "cut stream": (200, "text/event-stream", b": nothing\n\n", {}),
    "long event": (200, "text/event-stream", b"data: " + b"x" * 8_000_000, {}),
}


class HttpTools(Loopback):
    """`how` changes what it answers to a call."""

    def __init__(self, how: str = "") -> None:
        self.how = how
        self.calls: list[dict[str, Any]] = []
        self.methods: list[str] = []
        self.authorization: list[str | None] = []
        super().__init__()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/mcp"

    def handler(self, *given: Any) -> Handler:
        tools = self

        class Asked(Handler):
            def do_GET(self) -> None:  # noqa: N802  # the base class calls it so
                tools.methods.append("GET")
                if tools.how == "back and forth":
                    return self.whole(200, "text/event-stream", b"id: 1\nretry: 0\ndata:\n\n")
                return self.whole(405, "text/plain", b"")

            def do_DELETE(self) -> None:  # noqa: N802  # the base class calls it so
                tools.methods.append("DELETE")
                if tools.how == "hangs at goodbye":
                    tools.closing.wait()
                self.whole(200, "text/plain", b"")

            def do_POST(self) -> None:  # noqa: N802  # the base class calls it so
                request = json.loads(self.body())
                tools.methods.append(request.get("method", ""))
                tools.authorization.append(self.headers.get("Authorization"))
                tools.answered(self, request)

        return Asked(*given)

    def answered(self, handler: Handler, request: dict[str, Any]) -> None:
        match request.get("method"):
            case "initialize":
                self.say(handler, request, _hello(request), {"mcp-session-id": "s1"})
            case "tools/list":
                self.say(handler, request, {"tools": [READ, {**READ, "name": "make", "annotations": {}}]})
            case "tools/call":
                self.calls.append(request["params"])
                self.called(handler, request)
            case _:
                handler.whole(202, "text/plain", b"")

    def called(self, handler: Handler, request: dict[str, Any]) -> None:
        fine = {"content": [{"type": "text", "text": "over http"}]}
        if self.how == "hangs":
            self.closing.wait()
        elif self.how == "hangs up":
            handler.close_connection = True
            handler.connection.close()
        elif self.how == "huge":
            fine["content"][0]["text"] = "x" * 8_000_000
            self.say(handler, request, fine)
        elif self.how == "stream":
            data = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": fine})
            handler.whole(200, "text/event-stream", f"event: message\ndata: {data}\n\n".encode())
        elif self.how in ANSWERS:
            handler.whole(*ANSWERS[self.how])
        else:
            self.say(handler, request, fine)

    def say(
        self, handler: Handler, request: dict[str, Any], result: object, more: dict[str, str] | None = None
    ) -> None:
        data = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        handler.whole(200, "application/json", data, more)


def _hello(request: dict[str, Any]) -> dict[str, Any]:
    version = request["params"]["protocolVersion"]
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "x", "version": "1"},
    }
