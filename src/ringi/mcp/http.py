"""Streamable HTTP on a local address, for clients that hold the user's token."""

import asyncio
import hmac
import ipaddress
import os
import secrets
import socket
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from ringi.errors import NoPort, NotLocal, StorageFailed
from ringi.kernel.places import user_folder
from ringi.kernel.text import Text, why_failed
from ringi.mcp.server import ServerOptions, serve
from ringi.mcp.stdio import LONGEST_MESSAGE
from ringi.mcp.worker import Ending, Talk

PATH: Final = "/mcp"


class Address(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.authority}{PATH}"

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def authorities(self) -> list[str]:
        """The Host values under which clients may call this server."""
        return [self.authority, f"localhost:{self.port}"]


def listen(host: str, port: int) -> tuple[socket.socket, Address]:
    """Raises NotLocal if others could reach it."""
    host = "127.0.0.1" if host == "localhost" else host
    try:
        place = ipaddress.ip_address(host)
    except ValueError:
        raise NotLocal(address=host) from None
    if not place.is_loopback:
        raise NotLocal(address=host)
    family = socket.AF_INET if place.version == 4 else socket.AF_INET6  # noqa: PLR2004  # of the protocol
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((str(place), port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise NoPort(port=port, why=why_failed(error)) from None
    return listening, Address(str(place), listening.getsockname()[1])


_MOST_CLIENTS: Final = 64
_MOST_CONNECTIONS: Final = 4 * _MOST_CLIENTS
"""Clients may have several, and whoever has no token is answered too."""
_HEADER_SEC: Final = 10.0
_TOKEN_BYTES: Final = 32
_FORBIDDEN, _UNAUTHORIZED, _MISDIRECTED = 403, 401, 421


class Token(NamedTuple):
    value: str
    place: Path | None
    """None if the user has no folder for it; the token is then valid until the server ends."""
    made: bool


def token_of(environment: Mapping[str, str]) -> Token:
    """The user's own token, made once. Other users of this machine cannot read it, so they cannot call."""
    fresh, folder = secrets.token_urlsafe(_TOKEN_BYTES), user_folder(environment)
    if folder is None:
        return Token(fresh, None, made=True)
    place = folder / "mcp-token"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made = _made(place, fresh)
        return Token(fresh if made else _kept(place), place, made=made)
    except OSError as error:
        raise StorageFailed(what=str(place), why=why_failed(error)) from None


def _made(place: Path, value: str) -> bool:
    """False if there is one already. A server that starts at the same time never sees an empty file."""
    if place.exists():
        return False
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(value + "\n")
        place.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _kept(place: Path) -> str:
    with place.open(encoding="ascii", errors="replace") as file:
        found = os.fstat(file.fileno())
        value = file.read(1000).strip()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise StorageFailed(what=str(place), why=Text("others can read or write it; remove it"))
    if len(value) < _TOKEN_BYTES:
        raise StorageFailed(what=str(place), why=Text("it holds no token; remove it"))
    return value


class Guard:
    """Refuses, before reading anything, DNS rebinding from a browser and requests without the token."""

    def __init__(self, app: ASGIApp, address: Address, token: str) -> None:
        self._app = app
        self._hosts = {name.encode() for name in address.authorities}
        self._origins = {f"http://{name}".encode() for name in address.authorities}
        self._token = f"bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(scope["headers"])):
            code, words = refusal
            headers = {"WWW-Authenticate": "Bearer"} if code == _UNAUTHORIZED else None
            await PlainTextResponse(words, code, headers)(scope, receive, send)
        elif scope["type"] in {"http", "lifespan"}:
            await self._app(scope, receive, send)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        def given(name: bytes) -> list[bytes]:
            return [value for key, value in headers if key == name]

        if len(hosts := given(b"host")) != 1 or hosts[0] not in self._hosts:
            return _MISDIRECTED, "This server is called by another name.\n"
        if any(origin not in self._origins for origin in given(b"origin")):
            return _FORBIDDEN, "Pages of other places do not speak to this server.\n"
        token = given(b"authorization")
        if len(token) != 1 or not hmac.compare_digest(_lowered(token[0]), self._token):
            return _UNAUTHORIZED, "The header is missing: Authorization: Bearer TOKEN\n"
        return None


def _lowered(header: bytes) -> bytes:
    scheme, _, value = header.partition(b" ")
    return scheme.lower() + b" " + value.strip()


class _Connection(H11Protocol):
    """Bounded in number and in the time that it may take to say what it wants."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        if len(self.connections) > _MOST_CONNECTIONS:
            transport.abort()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        if self._idle and self._waiting is None:
            self._wait()
        super().data_received(data)
        if not self._idle:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def _idle(self) -> bool:
        """No request has a complete header."""
        return not self.cycle or self.cycle.response_complete  # type: ignore[truthy-bool]  # None at first

    def _wait(self) -> None:
        self._waiting = self.loop.call_later(_HEADER_SEC, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if self._idle:
            self.transport.abort()


def talking(server: Server[Any], listening: socket.socket, address: Address, token: str) -> Talk:
    names = address.authorities
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=LONGEST_MESSAGE,
        max_sessions=_MOST_CLIENTS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
        ),
    )
    config = uvicorn.Config(
        Guard(app, address, token),
        http=_Connection,
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )

    async def talk(ending: Ending) -> None:
        serving = uvicorn.Server(config)
        ending.by(lambda: setattr(serving, "should_exit", True))
        await serving.serve(sockets=[listening])

    return talk


class Printer(Protocol):
    def line(self, text: Text | str = "", *, style: str = "", indent: int = 0) -> None: ...


def on_http(options: ServerOptions, host: str, port: int, printer: Printer) -> bool:
    listening, address = listen(host, port)
    with listening:
        token = token_of(options.environment)
        printer.line(Text("Serving on {address}", address=address.url))
        if token.made:
            header = f"Authorization: Bearer {token.value}"
            printer.line(Text("Every request needs the header {header}", header=header), indent=2)
        if token.place:
            printer.line(Text("The token is in {path}", path=str(token.place)), indent=2)
        return serve(options, lambda server: talking(server, listening, address, token.value))
