"""Where answers and plans are kept to be used again. Nothing that goes wrong there is an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol


class KeptFile(NamedTuple):
    name: str
    size: int
    written_at: float
    """Seconds since the epoch."""


class Vault(Protocol):
    """Small texts by name, which nobody else can read or move to another name."""

    def get(self, name: str) -> bytes | None:
        """None if there is none, or it is not as it was written."""

    def put(self, name: str, data: bytes) -> None:
        """Makes room for it if need be: the oldest goes first."""

    def drop(self, name: str) -> None: ...
    def files(self) -> Iterator[KeptFile]: ...
    def sweep(self, older_than_sec: float) -> int:
        """Removes what is older; how many there were."""

    def clear(self) -> int:
        """Removes everything, and the key; how many there were."""
