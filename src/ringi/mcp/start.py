"""How `ringi mcp` starts: it serves here, or leads out of a sandbox to where it is served."""

import contextlib
import os
import socket
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ringi.errors import NoExtra, Unreadable
from ringi.kernel.process.installation import extending_command
from ringi.kernel.process.wire import claim_wire
from ringi.kernel.text import Text, why_failed
from ringi.mcp.handshake import Handshake

_CHUNK: Final = 65536
_LAST_WORDS_SEC: Final = 5.0


SOCKET = "RINGI_MCP_SOCKET"
"""Set for an agent in a sandbox: the server listens outside of it."""


def serve(environment: Mapping[str, str], start: Path, label: str) -> bool:
    """Until the client leaves. False if the protocol failed. Raises NoExtra."""
    if find_spec("mcp") is None:
        raise NoExtra(what=Text("The MCP server"), extra="mcp", command=extending_command("mcp"))
    wire = claim_wire()
    handshake = Handshake(wire)
    from ringi.mcp.server import ServerOptions  # noqa: PLC0415  # the SDK takes most of a second to load
    from ringi.mcp.stdio import on_stdio  # noqa: PLC0415  # as above

    return on_stdio(ServerOptions(environment, start, label), wire, handshake.hand_over())


def relay(path: str) -> None:
    """Relays standard input and output to the server outside the sandbox, until either side ends."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with server:
        try:
            server.connect(path)
        except OSError as error:
            raise Unreadable(what=path, why=why_failed(error)) from None
        # It blocks on a client that may never write again.
        threading.Thread(target=_to_server, args=(server,), daemon=True).start()
        with contextlib.suppress(OSError):
            while data := server.recv(_CHUNK):
                _write(data)


def _to_server(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := os.read(0, _CHUNK):
            server.sendall(data)
        # The client is done writing; its last requests still get their answers.
        server.settimeout(_LAST_WORDS_SEC)
        server.shutdown(socket.SHUT_WR)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
