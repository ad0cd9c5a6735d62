"""An HTTP service on loopback, in a thread of its own."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else every answer takes 40 ms

    def log_message(self, *_: object) -> None:
        pass

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().strip() or b"0", 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def whole(self, code: int, kind: str, data: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class Loopback:
    """Serves from `with` on; each request gets a handler made by `handler`."""

    def __init__(self) -> None:
        self.closing = threading.Event()
        self._listen(0)

    def _listen(self, port: int) -> None:
        self._server = _Server(("127.0.0.1", port), self.handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    def handler(self, *given: Any) -> Handler:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._hang_up()

    def _hang_up(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody listens at its address inside."""
        self._hang_up()
        try:
            yield
        finally:
            self._listen(int(self._server.server_address[1]))
            self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def open_connections(self) -> int:
        return self._server.open_connections


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self.open_connections = 0
        self._counting = threading.Lock()
        super().__init__(*given)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        with self._counting:
            self.open_connections += 1
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._counting:
                self.open_connections -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle of an answer is what tests are about."""
