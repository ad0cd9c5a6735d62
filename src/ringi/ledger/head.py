"""How far the log has come, in a second place: an older copy of the ledger contradicts it."""

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

from ringi.kernel.codec import digest

_SUFFIX: Final = ".head"
_FLAGS: Final = os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_LINE: Final = "{seq:020} {hash} {sum}\n"
_SUM: Final = 8
_LARGEST: Final = 1024 * 1024


class Noted(NamedTuple):
    """What was committed at least."""

    seq: int
    hash: str
    """Of the event with this number."""
    revoked: frozenset[str]
    """Grants."""


class Head:
    """A file beside the ledger's folder, written after a commit, unsynced: it may be behind, not ahead."""

    def __init__(self, folder: Path) -> None:
        self.path = folder.with_name(folder.name + _SUFFIX)

    def read(self) -> Noted | None:
        """None if there is none yet, or a crash cut it off."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        try:
            first, *revoked = os.read(descriptor, _LARGEST).decode("ascii", "replace").split("\n")
        except OSError:
            return None
        finally:
            os.close(descriptor)
        seq, _, hash_ = first.rpartition(" ")[0].partition(" ")
        if not seq.isdigit() or first != _line(int(seq), hash_).rstrip("\n"):
            return None
        return Noted(int(seq), hash_, frozenset(filter(None, revoked)))

    def note(self, seq: int, hash_: str, revoked: Collection[str] = ()) -> None:
        # Whatever cannot be written is written after the next commit.
        with contextlib.suppress(OSError):
            _write(self.path, _line(seq, hash_), os.O_WRONLY)
            if revoked:
                _write(self.path, "".join(f"{grant_id}\n" for grant_id in revoked), os.O_WRONLY | os.O_APPEND)


def _line(seq: int, hash_: str) -> str:
    """Always of the same length. The sum tells a line that another process is writing just now."""
    return _LINE.format(seq=seq, hash=hash_, sum=digest(f"{seq} {hash_}".encode())[:_SUM])


def _write(path: Path, text: str, flags: int) -> None:
    descriptor = os.open(path, flags | _FLAGS, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
