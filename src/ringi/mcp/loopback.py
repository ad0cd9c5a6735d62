"""An address that only this machine can reach. Asked for before anything heavy is loaded."""

import ipaddress
import socket
from typing import Final, NamedTuple

from ringi.errors import NoPort, NotLocal
from ringi.text import why_failed

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
        """What a browser or a client may call this server."""
        return [self.authority, f"localhost:{self.port}"]


def listen(host: str, port: int) -> tuple[socket.socket, Address]:
    """Raises NotLocal where others could reach it."""
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
