"""What a file says about others, before it is resolved to files; cached between runs."""

import posixpath
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import msgspec

from ringi.kernel.codec import blob_id
from ringi.kernel.document import prepare
from ringi.kernel.fs import read_checked, replace_checked
from ringi.kernel.process.installation import extending_command
from ringi.kernel.text import Text

LARGEST: Final = 2 * 1024 * 1024
"""Bytes of a source file; a larger one is generated."""

GIVEN_UP: Final = Text("not tried yet: too many others could not be parsed; ask again")


class FoundReferences(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one content says: its references as its language spells them, and why there may be others."""

    refs: tuple[str, ...] = ()
    why: str = ""
    definitions: tuple[tuple[str, str, int, int], ...] = ()
    """Name with what contains it, kind, first and last line. Not with the references: they cost more."""


class SourceContent(NamedTuple):
    key: str
    data: bytes


Extract = Callable[[Iterable[SourceContent]], Iterator[tuple[str, FoundReferences]]]


class Resolver(Protocol):
    """Knows every file of the snapshot and finds the ones a reference means."""

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterable[str]: ...


class ReferenceSnapshot(NamedTuple):
    """All paths, and what was found in those that were read."""

    paths: frozenset[str]
    found: Mapping[str, FoundReferences]

    def find(self, *names: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The folders of the files with these names, and their contents; outermost first."""
        hits = [path for path in self.found if path.rpartition("/")[2] in names]
        for path in sorted(hits, key=lambda path: (path.count("/"), path)):
            yield path.rpartition("/")[0], self.found[path].refs


def join(folder: str, name: str) -> str:
    """A path in the snapshot; empty for the root; begins with `..` if it leads outside."""
    joined = posixpath.normpath(posixpath.join(folder, name))
    return "" if joined == "." else joined


def ancestors(folder: str) -> Iterator[str]:
    """The folder and all above it, innermost first; the root is the empty one."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def why(text: Text) -> FoundReferences:
    return FoundReferences(why=str(text))


@cache
def missing_extra() -> FoundReferences:
    command = extending_command("graph")
    return why(Text("its language needs an extra that is not installed: {command}", command=command))


# Increase it whenever the extraction changes. Python's own parser reads the largest files.
_VERSION: Final = 2
ANALYSIS: Final = "references {}, Python {}.{}".format(_VERSION, *sys.version_info[:2])
_MAGIC: Final = f"ringi {ANALYSIS}\n".encode()
_NAME: Final = "references"
_LARGEST: Final = 256 * 1024 * 1024
_ALWAYS_KEPT: Final = 1000

Entries = dict[str, FoundReferences]


class _KeptReferences(msgspec.Struct, array_like=True):
    used: Entries
    """Contents of the snapshot that was asked about last."""
    unused: Entries
    """Contents of earlier snapshots, the latest first: another branch, or what an undo restores."""


class ReferenceCache:
    """One file in the folder. If it is damaged, foreign or missing, everything is parsed again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self._kept = _read(self._path) or _KeptReferences({}, {})

    def get(self, key: str) -> FoundReferences | None:
        return self._kept.used.get(key) or self._kept.unused.get(key)

    def keep(self, used: Entries) -> None:
        """Keeps at most as many unused ones as used ones."""
        if used.keys() == self._kept.used.keys():
            return
        unused: Entries = {}
        room = max(len(used), _ALWAYS_KEPT)
        for entries in (self._kept.used, self._kept.unused):
            for key, found in entries.items():
                if key not in used and len(unused) < room:
                    unused[key] = found
        self._kept = _KeptReferences(used, unused)
        replace_checked(self._path, _MAGIC, _encode(self._kept))


def _encode(kept: _KeptReferences) -> bytes:
    payload = msgspec.msgpack.encode(kept)
    if len(payload) > _LARGEST // 2:
        payload = msgspec.msgpack.encode(_KeptReferences(kept.used, {}))
    return payload


def _read(path: Path) -> _KeptReferences | None:
    payload = read_checked(path, _MAGIC, _LARGEST)
    if payload is None:
        return None
    try:
        return msgspec.msgpack.decode(payload, type=prepare(_KeptReferences))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def key(language: str, oid: str) -> str:
    """The same bytes may have two names in two languages."""
    return f"{language} {oid}"


def holds(oid: str, data: bytes) -> bool:
    """Whether the bytes are those of the git object: others must not be cached under its id."""
    return blob_id(data, like=oid) == oid
