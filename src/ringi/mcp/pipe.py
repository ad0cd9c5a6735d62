"""Inside `ringi with`: standard input and output, led to the server outside the sandbox."""

import contextlib
import os
import socket
import threading
from typing import Final

from ringi.errors import Unreadable
from ringi.text import why_failed

_CHUNK: Final = 65536
_LAST_WORDS_SEC: Final = 5.0


def lead(path: str) -> None:
    """Until either side ends."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with server:
        try:
            server.connect(path)
        except OSError as error:
            raise Unreadable(what=path, why=why_failed(error)) from None
        # It waits for a client that may never say anything again.
        threading.Thread(target=_to_server, args=(server,), daemon=True).start()
        with contextlib.suppress(OSError):
            while data := server.recv(_CHUNK):
                _write(data)


def _to_server(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(0, _CHUNK):
            server.sendall(data)
        # The client is done; what it asked for last is still answered.
        server.settimeout(_LAST_WORDS_SEC)
        server.shutdown(socket.SHUT_WR)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
