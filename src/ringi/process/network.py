"""What every client on the network keeps to: proxy, certificates, and what is told of an answer."""

import ipaddress
import ssl
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

from ringi.text import visible

_SAID_LENGTH: Final = 300


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """From the same variables as curl, but never for this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_here(host) or _excepted(host, _variable(environment, "no_proxy")):
        return None
    return _variable(environment, f"{parts.scheme}_proxy") or _variable(environment, "all_proxy") or None


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name) or environment.get(name.upper()) or ""


def is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _excepted(host: str, no_proxy: str) -> bool:
    names = [name.strip().lstrip(".").casefold() for name in no_proxy.split(",")]
    return any(name == "*" or (name and (host == name or host.endswith(f".{name}"))) for name in names)


def trust(url: str, environment: Mapping[str, str]) -> ssl.SSLContext | bool:
    if urlsplit(url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; loading certificates would be wasted
    file, folder = environment.get("SSL_CERT_FILE"), environment.get("SSL_CERT_DIR")
    if file or folder:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    return True


def shortened(text: str, scrub: Callable[[str], str]) -> str:
    """Scrub before cutting; otherwise half a key could remain."""
    words = visible(" ".join(scrub(text).split()))
    return words if len(words) <= _SAID_LENGTH else f"{words[:_SAID_LENGTH]}…"
