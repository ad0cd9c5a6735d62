"""What a call of a model took so far, in a file: the ledger learns of it only with the answer."""

import os
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Final

_SUFFIX: Final = ".call"
_LENGTH: Final = 1024


class OpenCalls(MutableMapping[str, bytes]):
    """By session. Not synced: it is for a process that is killed, and writing it must not slow a call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, session_id: str) -> bytes:
        try:
            return self._path(session_id).read_bytes().rstrip()
        except OSError:
            raise KeyError(session_id) from None

    def __setitem__(self, session_id: str, data: bytes) -> None:
        """Without it only a number is missing, so a full disk does not stop the call."""
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self._path(session_id), flags, 0o600)
            try:
                # Overwritten in full, in one call: there is no moment at which half of it is there.
                os.pwrite(descriptor, data.ljust(_LENGTH), 0)
            finally:
                os.close(descriptor)

    def __delitem__(self, session_id: str) -> None:
        with suppress(OSError):
            self._path(session_id).unlink()

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in self._folder.glob(f"*{_SUFFIX}"))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{session_id}{_SUFFIX}"
