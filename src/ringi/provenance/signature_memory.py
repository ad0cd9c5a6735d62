"""Signatures that were found good before, so that the same range is verified faster the second time."""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Final

from ringi.approvals.document import NAMESPACE
from ringi.approvals.signing import Signer, SignerList, listing, parse_signature
from ringi.errors import BadDocument, NewerVersion, SignatureRefused
from ringi.kernel import codec
from ringi.kernel.document import Versioned
from ringi.kernel.fs import read_bounded, replace_file
from ringi.provenance.ports import PastSignatures

_MOST: Final = 20_000
_MOST_BYTES: Final = 16 * 1024 * 1024
_OTHERS: Final = 0o077
_WHAT: Final = "remembered signatures"


class _Remembered(Versioned, frozen=True, kw_only=True):
    good: dict[str, tuple[str, str, str]]
    """By the digest of all that was asked: name, key and list. The oldest first."""


class RememberedSignatures:
    """Remembers only what counts, in a file of the person's own: who can write it could sign for them anyway.

    One that is damaged, or that others could have written, is forgotten.
    """

    def __init__(self, signatures: PastSignatures, file: Path) -> None:
        self._signatures = signatures
        self._file = file
        self._known = self._read()
        self._fresh: dict[str, tuple[str, str, str]] = {}
        self._lock = Lock()

    def signer_at(
        self,
        message: bytes,
        signature: str,
        lists: Sequence[SignerList],
        at: datetime,
        namespace: str = NAMESPACE,
    ) -> Signer:
        key = _key(message, signature, lists, at, namespace)
        if key and (found := self._known.get(key)):
            return Signer(*found)
        signer = self._signatures.signer_at(message, signature, lists, at, namespace)
        if key:
            with self._lock:
                self._fresh[key] = (signer.principal, signer.key, signer.where)
        return signer

    def save(self) -> None:
        """Keeps what is new, with what others kept meanwhile. A failure costs only time."""
        if not self._fresh:
            return
        kept = list(({**self._read(), **self._fresh}).items())[-_MOST:]
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._file, codec.pretty(_Remembered(good=dict(kept))), synced=False)

    def _read(self) -> dict[str, tuple[str, str, str]]:
        try:
            found = self._file.lstat()
            if found.st_uid != os.geteuid() or found.st_mode & _OTHERS:
                return {}
            data = read_bounded(self._file, _MOST_BYTES, follow=False)
            return codec.decode_own(data, _Remembered, _WHAT).good
        except (OSError, BadDocument, NewerVersion):
            return {}


def _key(message: bytes, signature: str, lists: Sequence[SignerList], at: datetime, namespace: str) -> str:
    """Empty for what is no signature. Only the lines that list its key matter."""
    try:
        envelope = parse_signature(signature)
    except SignatureRefused:
        return ""
    parts = [message, envelope.blob, namespace.encode(), at.isoformat().encode()]
    for entry in lists:
        parts += [entry.where.encode("utf-8", "surrogateescape"), *listing(entry.data, envelope), b""]
    return codec.digest(b"".join(b"%d:%s" % (len(part), part) for part in parts))
