"""Small encrypted files, each valid only under its own name.

AES-GCM with a key that lies beside the ledger, 0600. The name of a file is part of what is authenticated:
one that was moved, altered or cut short is not there. A cache stands on it, so nothing here raises.
"""

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.errors import RingiError
from ringi.kernel.fs import replace_file
from ringi.ledger.connection import private_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FOLDER: Final = "cache"
KEY: Final = "cache.key"
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FORM: Final = b"ringi 1\n"
_NAME: Final = re.compile("[a-z]+-[0-9a-f]{64}")
_MOST_FILES: Final = 512
_MOST_BYTES: Final = 32 * 1024 * 1024
_LARGEST: Final = 2 * 1024 * 1024
_CENTURY: Final = 100 * 365 * 86_400


def can_encrypt() -> bool:
    """Whether the library for it is installed."""
    try:
        _cipher()
    except ImportError:
        return False
    return True


def _cipher() -> "type[AESGCM]":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  # only who uses it waits

    return AESGCM


class KeptFile(NamedTuple):
    name: str
    size: int
    written_at: float
    """Seconds since the epoch."""


class SealedFiles:
    def __init__(self, state: Path, *, most_files: int = _MOST_FILES, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = state / FOLDER
        self._key_file = state / KEY
        self._most_files = most_files
        self._most_bytes = most_bytes
        self._known: AESGCM | None = None

    def get(self, name: str) -> bytes | None:
        """None if there is none, or it is not as it was written."""
        data = _read(self._folder / name, _LARGEST) if _NAME.fullmatch(name) else None
        if data is None:
            return None
        cipher = self._unlock(make=False)
        if cipher is None:
            return None
        head = len(_FORM)
        nonce, sealed = data[head : head + _NONCE_BYTES], data[head + _NONCE_BYTES :]
        if data.startswith(_FORM) and len(nonce) == _NONCE_BYTES:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # as above

            with suppress(InvalidTag):
                return cipher.decrypt(nonce, sealed, _FORM + name.encode())
        self.drop(name)  # nobody can ever read it
        return None

    def put(self, name: str, data: bytes) -> None:
        """Makes room for it if need be: the oldest goes first."""
        if len(data) > _LARGEST // 2 or not _NAME.fullmatch(name):
            return
        with suppress(OSError, RingiError):
            private_folder(self._folder)
            if (cipher := self._unlock(make=True)) is None:
                return
            nonce = os.urandom(_NONCE_BYTES)
            sealed = _FORM + nonce + cipher.encrypt(nonce, data, _FORM + name.encode())
            self._make_room(len(sealed))
            # Not synced: what a loss of power spoils cannot be decrypted, and counts as absent.
            replace_file(self._folder / name, sealed, synced=False)

    def drop(self, name: str) -> None:
        with suppress(OSError):
            (self._folder / name).unlink()

    def files(self) -> Iterator[KeptFile]:
        """Ours; what is left of an interrupted write, too."""
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if not stat.S_ISDIR(found.st_mode):
                        yield KeptFile(entry.name, found.st_size, found.st_mtime)

    def sweep(self, older_than_sec: float) -> int:
        """Removes what is older; how many there were."""
        limit = time.time() - older_than_sec
        old = [one for one in self.files() if one.written_at < limit]
        for one in old:
            self.drop(one.name)
        return len(old)

    def clear(self) -> int:
        """Removes everything, and the key; how many there were."""
        count = self.sweep(-_CENTURY)
        with suppress(OSError):
            self._key_file.unlink()
        self._known = None
        return count

    def _make_room(self, size: int) -> None:
        kept = sorted(self.files(), key=lambda one: one.written_at, reverse=True)
        total = size
        for number, one in enumerate(kept, 2):
            total += one.size
            if number > self._most_files or total > self._most_bytes:
                self.drop(one.name)

    def _unlock(self, *, make: bool) -> "AESGCM | None":
        if self._known is None:
            try:
                cipher = _cipher()
            except ImportError:
                return None
            key = self._key() or (self._new_key() if make else None)
            self._known = cipher(key) if key else None
        return self._known

    def _key(self) -> bytes | None:
        """None if there is none, or others could have read it."""
        key = _read(self._key_file, _KEY_BYTES, private=True)
        return key if key is not None and len(key) == _KEY_BYTES else None

    def _new_key(self) -> bytes | None:
        """One process makes it; whoever comes second takes that one."""
        fresh = self._key_file.with_name(f".{KEY}.{os.urandom(4).hex()}")
        try:
            replace_file(fresh, os.urandom(_KEY_BYTES))
            with suppress(FileExistsError):
                os.link(fresh, self._key_file)
            if self._key() is None:  # cut short, or readable by others: what it encrypted is given up
                fresh.replace(self._key_file)
        except OSError:
            return None
        finally:
            with suppress(OSError):
                fresh.unlink()
        return self._key()


def _read(path: Path, most: int, *, private: bool = False) -> bytes | None:
    """Of a plain file of ours; anything else that is put there is not read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        others = private and (found.st_mode & 0o077 or found.st_uid != os.geteuid())
        if not stat.S_ISREG(found.st_mode) or found.st_size > most or others:
            return None
        return os.read(descriptor, most + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
