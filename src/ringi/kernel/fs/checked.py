"""Files of our own that can be made again: a damaged, foreign or older one counts as missing."""

import contextlib
import hashlib
from pathlib import Path
from typing import Final

from ringi.kernel.fs.bounded import read_bounded
from ringi.kernel.fs.replace import replace_file

_DIGEST: Final = hashlib.sha256().digest_size


def read_checked(path: Path, magic: bytes, most: int) -> memoryview | None:
    """What was written with the same first line; None if it is not there whole."""
    try:
        data = read_bounded(path, most, follow=False)
    except OSError:
        return None
    start = len(magic) + _DIGEST
    payload = memoryview(data)[start:]
    if not data.startswith(magic) or data[len(magic) : start] != hashlib.sha256(payload).digest():
        return None
    return payload


def replace_checked(path: Path, magic: bytes, payload: bytes) -> None:
    """Atomically; if it cannot be written, it stays as it is. `magic` is its first line."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, magic + hashlib.sha256(payload).digest() + payload, synced=False)
