"""The connection to a model service: to the host that was named, through the proxy that was named."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx2

_CONNECT_SEC: Final = 10.0
# The SDKs add what variables of the process name, which may be meant for another service. The key is not
# left to them: it is put in here.
_SENT: Final = re.compile(
    r"accept|accept-encoding|connection|content-length|content-type|host|transfer-encoding|user-agent"
    r"|anthropic-(?:version|beta)|openai-(?:organization|project)|x-stainless-.*",
    re.IGNORECASE,
)
# Streams wrap every few letters in a frame of a hundred; this bounds what a service gone wrong can pour out.
MAX_RECEIVED_BYTES: Final = 64 * 1024 * 1024


def client(url: str, environment: Mapping[str, str], credentials: Mapping[str, str]) -> httpx2.AsyncClient:
    """Nothing is read from the environment but what was given; redirects would carry the key elsewhere."""
    import httpx2  # noqa: PLC0415  # heavy, and only for those who ask a model

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received = 0
            async for chunk in self._inner:
                received += len(chunk)
                if received > MAX_RECEIVED_BYTES:
                    raise httpx2.DecodingError("more bytes than any answer has")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    class Transport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            kept = [
                (name, value) for name, value in request.headers.items() if value and _SENT.fullmatch(name)
            ]
            request.headers = httpx2.Headers([*kept, *credentials.items()])
            response = await super().handle_async_request(request)
            packed = response.headers.get("content-encoding", "identity")
            if packed != "identity":
                # It was not asked for, and a few bytes could unpack to more than there is memory.
                await response.aclose()
                raise httpx2.DecodingError(f"the answer is packed ({packed[:20]})")
            response.stream = Bounded(response.stream)
            return response

    transport = Transport(verify=_trust(url, environment), proxy=proxy_for(url, environment), trust_env=False)
    return httpx2.AsyncClient(
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=_CONNECT_SEC),
        headers={"Accept-Encoding": "identity"},
    )


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """As curl reads the variables, but never for this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_here(host) or _excepted(host, _variable(environment, "no_proxy")):
        return None
    return _variable(environment, f"{parts.scheme}_proxy") or _variable(environment, "all_proxy") or None


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _excepted(host: str, no_proxy: str) -> bool:
    names = [name.strip().lstrip(".").casefold() for name in no_proxy.split(",")]
    return any(name == "*" or (name and (host == name or host.endswith(f".{name}"))) for name in names)


def _trust(url: str, environment: Mapping[str, str]) -> ssl.SSLContext | bool:
    if urlsplit(url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody, and need not be filled
    file, folder = environment.get("SSL_CERT_FILE"), environment.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    return True


class Loop(asyncio.SelectorEventLoop):
    """Looks up names in a thread that nobody waits for; the usual one holds up Ctrl-C until it is done."""

    async def getaddrinfo(self, host: Any, port: Any, **wanted: int) -> Any:
        found: asyncio.Future[Any] = self.create_future()

        def settle(result: Any, error: OSError | UnicodeError | None) -> None:
            if found.done():
                return
            if error is None:
                found.set_result(result)
            else:
                found.set_exception(error)

        def look_up() -> None:
            result, error = None, None
            try:
                result = socket.getaddrinfo(host, port, **wanted)
            except (OSError, UnicodeError) as failure:
                error = failure
            with suppress(RuntimeError):  # the call was given up, and the loop is gone
                self.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=look_up, name="ringi-name-lookup", daemon=True).start()
        return await found
