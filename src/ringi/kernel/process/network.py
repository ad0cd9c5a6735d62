"""What every client on the network keeps to: proxy, certificates, and what is told of an answer."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ringi.kernel.text import visible

if TYPE_CHECKING:
    import ssl

_SAID_LENGTH: Final = 300


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """From the same variables as curl, but never for this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_here(host) or _is_exempt(host, _variable(environment, "no_proxy")):
        return None
    return _variable(environment, f"{parts.scheme}_proxy") or _variable(environment, "all_proxy") or None


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_exempt(host: str, no_proxy: str) -> bool:
    names = [name.strip().lstrip(".").casefold() for name in no_proxy.split(",")]
    return any(name == "*" or (name and (host == name or host.endswith(f".{name}"))) for name in names)


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what a token or a password may go to."""
    parts = urlsplit(url)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    try:
        return parts.scheme, (parts.hostname or "").lower(), parts.port or usual
    except ValueError:  # no number
        return parts.scheme, "", None


def trust(url: str, environment: Mapping[str, str]) -> ssl.SSLContext | bool:
    import ssl  # noqa: PLC0415  # heavy, and only for those who connect

    if urlsplit(url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; loading certificates would be wasted
    file, folder = environment.get("SSL_CERT_FILE"), environment.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    return True


def shorten_scrubbed(text: str, scrub: Callable[[str], str]) -> str:
    """Scrub before cutting; otherwise half a key could remain."""
    words = visible(" ".join(scrub(text).split()))
    return words if len(words) <= _SAID_LENGTH else f"{words[:_SAID_LENGTH]}…"
