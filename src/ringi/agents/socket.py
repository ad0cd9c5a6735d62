"""A socket through which an agent reaches servers outside its sandbox, one server per connection."""

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from ringi.errors import RingiError
from ringi.kernel.process.erase import erase

_MOST_SERVERS: Final = 16
_GRACE: Final = 2.0  # seconds between SIGTERM and SIGKILL
# Not in TMPDIR: the sandbox of another agent has a /tmp of its own, but everything else is visible there.
# And a socket's path is limited to 104 to 108 bytes.
_OUT_OF_SIGHT: Final = "/tmp"  # noqa: S108  # a folder of its own below it, for this user only


class SocketServer(NamedTuple):
    """Answers a connection, which is its standard input and output."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]


class AgentSocket:
    """Has no socket if none can be made: the agent can work without."""

    def __init__(self, server: SocketServer, *, below: str = _OUT_OF_SIGHT) -> None:
        self._server = server
        self._below = below
        self._listener: socket.socket | None = None
        self._servers: list[subprocess.Popen[bytes]] = []
        self.folder: Path | None = None

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError):
            self.folder = Path(tempfile.mkdtemp(prefix="ringi-", dir=self._below))
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                listener.setblocking(False)
                listener.bind(str(self.folder / "mcp"))
                listener.listen(_MOST_SERVERS)
            except OSError:
                listener.close()
                raise
            self._listener = listener
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for server in self._servers:
            server.terminate()
        for server in self._servers:
            try:
                server.wait(_GRACE)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        self._servers.clear()
        if self.folder is not None:
            with contextlib.suppress(RingiError):
                erase(self.folder)

    @property
    def path(self) -> Path | None:
        return self.folder / "mcp" if self.folder and self._listener else None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Readable when somebody connects."""
        return (self._listener.fileno(),) if self._listener else ()

    def serve(self) -> bool:
        """Starts a server for the next connection; False if there is none."""
        if self._listener is None:
            return False
        try:
            connection, _ = self._listener.accept()
        except OSError:  # the client has gone again
            return False
        self._servers = [server for server in self._servers if server.poll() is None]
        with connection:
            connection.setblocking(True)
            if len(self._servers) >= _MOST_SERVERS:
                return False
            try:
                self._servers.append(self._start_server(connection))
            except OSError:
                return False
        return True

    def _start_server(self, connection: socket.socket) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self._server.argv,
            cwd=self._server.cwd,
            env=self._server.env,
            stdin=connection.fileno(),
            stdout=connection.fileno(),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
