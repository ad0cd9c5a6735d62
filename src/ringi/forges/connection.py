"""The way to one forge: its token goes to its own host and nowhere else."""

from __future__ import annotations

import ssl
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin

from ringi.errors import BadForgeAnswer, ForgeFailed, ForgeUnreachable
from ringi.kernel.process.network import origin, proxy_for, shorten_scrubbed, trust
from ringi.kernel.text import Text

if TYPE_CHECKING:
    import httpx2

MOST_BYTES: Final = 20 * 1024 * 1024
"""Of one answer."""
CALL_SEC: Final = 60.0
_KEPT_BYTES: Final = 32 * 1024 * 1024
_CONNECT_SEC: Final = 10.0
_READ_SEC: Final = 30.0
_MOST_HOPS: Final = 3
_PAGING: Final = frozenset(["link", "x-next-page", "x-per-page", "x-total"])
_REDIRECTS: Final = frozenset([301, 302, 303, 307, 308])


class ForgeToken:
    """Never shown when an object that holds it is printed."""

    __slots__ = ("_headers",)

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)

    def headers(self) -> dict[str, str]:
        return dict(self._headers)

    def __repr__(self) -> str:
        return "Token(…)"

    __reduce__ = None  # type: ignore[assignment]  # it goes into no file


class ForgeAddress(NamedTuple):
    api: str
    """Of the interface, without a slash at the end."""
    host: str
    """As people know the forge."""
    environment: Mapping[str, str] = {}
    """Says which proxy, and whose certificates count."""
    ca: str = ""
    """A file with the certificates that count instead."""

    def __repr__(self) -> str:
        return f"Address({self.api!r})"  # the environment has secrets


class HttpReply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes
    url: str = ""
    """Where it was read, after redirects."""


class ForgeConnection:
    """`scrub` hides the token in words that come from outside."""

    def __init__(
        self,
        address: ForgeAddress,
        token: ForgeToken,
        scrub: Callable[[str], str],
        monotonic: Callable[[], float],
    ) -> None:
        self.address = address
        self._token = token
        self._scrub = scrub
        self._monotonic = monotonic
        self._known = _KnownAnswers()
        self._opened: httpx2.Client | None = None

    def send(self, method: str, url: str, data: bytes | None) -> HttpReply:
        """A project that moved is read where it is now; a token follows no other redirect."""
        reply, hops = self._send_once(method, url, data), 0
        while reply.status in _REDIRECTS:
            url, hops = _join_url(url, reply.headers.get("location", "")), hops + 1
            if method != "GET" or hops > _MOST_HOPS or origin(url) != origin(self.address.api):
                where = shorten_scrubbed(url.partition("?")[0], self._scrub)
                why = Text("it redirects to {where}, and the token is not sent there", where=where)
                raise ForgeFailed(host=self.address.host, why=why)
            reply = self._send_once(method, url, data)
        return reply

    def forget(self, reply: HttpReply) -> None:
        """It is asked for without a condition the next time."""
        self._known.drop(reply.url)

    def _send_once(self, method: str, url: str, data: bytes | None) -> HttpReply:
        if origin(url) != origin(self.address.api):
            raise AssertionError(url)  # the token must not go there
        headers = {**self._token.headers(), "Accept-Encoding": "identity"}
        known = self._known.of(url) if method == "GET" else None
        if known:
            headers["If-None-Match"] = known.headers["etag"]
        if data is not None:
            headers["Content-Type"] = "application/json"
        with self._client().stream(method, url, headers=headers, content=data) as response:
            found = {name.lower(): value for name, value in response.headers.items()}
            reply = HttpReply(response.status_code, found, self._body(response), url)
        if known and reply.status == HTTPStatus.NOT_MODIFIED:
            # The tag is of the body alone: a page that follows may be new.
            paging = {name: value for name, value in found.items() if name in _PAGING}
            return known._replace(headers={**known.headers, **paging})
        if method == "GET" and reply.status == HTTPStatus.OK and found.get("etag"):
            self._known.keep(url, reply)
        return reply

    def _body(self, response: httpx2.Response) -> bytes:
        packed = response.headers.get("content-encoding", "identity")
        if packed != "identity":
            raise self._bad(Text("it is compressed ({how})", how=shorten_scrubbed(packed, self._scrub)))
        pieces, size = [], 0
        until = self._monotonic() + CALL_SEC
        for piece in response.iter_raw():
            size += len(piece)
            pieces.append(piece)
            if size > MOST_BYTES:
                raise self._bad(Text("it is longer than {limit} bytes", limit=MOST_BYTES))
            if self._monotonic() > until:
                why = Text("it answered too slowly")
                raise ForgeUnreachable(host=self.address.host, why=why)
        return b"".join(pieces)

    def _client(self) -> httpx2.Client:
        if self._opened is None:
            self._opened = _open(self.address, self._scrub)
            weakref.finalize(self, self._opened.close)
        return self._opened

    def _bad(self, why: Text | str) -> BadForgeAnswer:
        return BadForgeAnswer(host=self.address.host, why=why)


class _KnownAnswers:
    """Answers with their tags, so that what did not change is not sent again; the oldest are forgotten."""

    def __init__(self) -> None:
        self._replies: OrderedDict[str, HttpReply] = OrderedDict()
        self._size = 0

    def of(self, url: str) -> HttpReply | None:
        return self._replies.get(url)

    def drop(self, url: str) -> None:
        before = self._replies.pop(url, None)
        self._size -= len(before.body) if before else 0

    def keep(self, url: str, reply: HttpReply) -> None:
        self.drop(url)
        self._size += len(reply.body)
        self._replies[url] = reply
        while self._size > _KEPT_BYTES:
            _, gone = self._replies.popitem(last=False)
            self._size -= len(gone.body)


def _open(address: ForgeAddress, scrub: Callable[[str], str]) -> httpx2.Client:
    import httpx2  # noqa: PLC0415  # heavy, and only for those who work with a forge

    try:
        own = ssl.create_default_context(cafile=address.ca) if address.ca else None
        verify = own or trust(address.api, address.environment)
        transport = httpx2.HTTPTransport(
            verify=verify, proxy=proxy_for(address.api, address.environment), trust_env=False
        )
        return httpx2.Client(
            transport=transport,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(_READ_SEC, connect=_CONNECT_SEC),
            headers={"User-Agent": "ringi"},
        )
    # Unreadable certificates, or a proxy that is invalid or unsupported.
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
        why = shorten_scrubbed(str(error), scrub)
    raise ForgeUnreachable(host=address.host, why=why)


def _join_url(url: str, location: str) -> str:
    """Only letters that an address has; what is none leads nowhere."""
    try:
        return urljoin(url, location) if location.isascii() and location.isprintable() else ""
    except ValueError:
        return ""
