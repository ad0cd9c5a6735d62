"""A ref and what it leads to, as files: noticed without git whether a loss of power has damaged them.

Every command looks at the refs of ours this way, so it reads a few small files and starts nothing. What a
look cannot see, such as a note deep in the tree, `refs.examine` finds with git.
"""

import contextlib
import hashlib
import mmap
import os
import re
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ringi.kernel.fs import FileTooLarge, NotRegular, read_bounded
from ringi.kernel.process.repository import Repository, read_small
from ringi.kernel.text import COMMIT_SHOWN, Text, why_failed

_LARGEST_REF: Final = 4096
_LARGEST_OBJECT: Final = 256 * 1024 * 1024
_LARGEST_SEEN: Final = 1 << 20
"""Of an object that a look reads: no commit and no folder of notes is larger."""
_LONGEST_LOCK: Final = 60.0
_SMALLEST_PACK: Final = 32
_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOGGED: Final = re.compile(rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ", re.MULTILINE)
_TREE: Final = re.compile(rb"commit \d+\0tree ([0-9a-f]{40,64})\n")
_SHA1_DIGITS: Final = 40
_INDEX_2: Final = b"\xfftOc\0\0\0\2"
_FAN: Final = 256 * 4

LOCKED: Final = Text("a git that is gone has locked it")


class Damage(NamedTuple):
    ref: str
    why: Text


class RefFile(NamedTuple):
    """What the file of a ref says."""

    value: str = ""
    """The id of an object; empty if it says none."""
    problem: Text | None = None
    there: bool = False


def read_ref(repository: Repository, ref: str) -> RefFile:
    """Reads one file. Git may know the ref although there is none: then it is packed, with many others."""
    try:
        data = read_bounded(repository.common / ref, _LARGEST_REF, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        return RefFile()
    except (NotRegular, FileTooLarge) as error:
        if (repository.common / ref).is_dir():  # of other refs, below this name
            return RefFile()
        why = Text("it is not a file of git's") if isinstance(error, NotRegular) else Text("it is too large")
        return RefFile("", why, there=True)
    except OSError as error:
        return RefFile("", Text("it cannot be read: {why}", why=why_failed(error)), there=True)
    if _ID.fullmatch(data.rstrip(b"\n")):
        return RefFile(data.decode("ascii").strip(), there=True)
    if data.startswith(b"ref: "):
        return RefFile(there=True)
    return RefFile("", Text("it is not the id of a commit") if data else Text("it is empty"), there=True)


def glance(repository: Repository, ref: str) -> Damage | None:
    """Finds what a loss of power does, without git. A lock that was left behind counts."""
    if stale_lock(repository, ref):
        return Damage(ref, LOCKED)
    if found := unreadable(repository, ref):
        return found
    value = _value(repository, ref)
    if value and not is_partial(repository) and not _is_had(repository, value):
        return Damage(ref, missing(value))
    return None


def unreadable(repository: Repository, ref: str) -> Damage | None:
    """Why git could not read the ref, or would wait for it for ever; None if git can be asked."""
    found = read_ref(repository, ref)
    if found.problem:
        return Damage(ref, found.problem)
    value = found.value or read_packed_ref(repository, ref)
    if not found.there and not value and _is_lost(repository, ref):
        return Damage(ref, Text("it is gone, but its log is there"))
    if value and _is_spoilt(repository, value):
        return Damage(ref, missing(value))
    return None


def stale_lock(repository: Repository, ref: str) -> Path | None:
    """The lock of a ref, or of another file of git's, if whoever made it is gone: git is done in a moment."""
    path = Path(f"{ref}.lock")
    try:
        made = (repository.common / path).lstat().st_mtime
    except OSError:
        return None
    return path if made < max(time.time() - _LONGEST_LOCK, _boot_time()) else None


def _boot_time() -> float:
    """When this machine was started; 0 if nobody knows."""
    found = re.search(rb"^btime (\d+)$", read_small(Path("/proc/stat")), re.MULTILINE)
    return float(found[1]) if found else 0.0


def is_partial(repository: Repository) -> bool:
    """Whether objects may be missing because the clone was made so."""
    return any((repository.common / "objects" / "pack").glob("*.promisor"))


def read_packed_ref(repository: Repository, ref: str) -> str:
    packed = read_small(repository.common / "packed-refs")
    found = re.search(rb"^([0-9a-f]{40,64}) " + re.escape(os.fsencode(ref)) + rb"$", packed, re.MULTILINE)
    return found[1].decode("ascii") if found and _ID.fullmatch(found[1]) else ""


def earlier_values(repository: Repository, ref: str) -> list[str]:
    """What its log says it was, the newest first."""
    found: dict[str, None] = {}
    for old, new in reversed(_LOGGED.findall(read_small(repository.common / "logs" / ref))):
        found[new.decode("ascii")] = found[old.decode("ascii")] = None
    return [value for value in found if value.strip("0")]


def list_loose_refs(repository: Repository, under: str) -> Iterator[str]:
    """The names of refs that have a file below this folder; locks are none."""
    for folder, _, names in os.walk(repository.common / under):
        for name in names:
            if not name.endswith(".lock"):
                yield str((Path(folder) / name).relative_to(repository.common))


def list_packed_refs(repository: Repository, under: str) -> list[str]:
    """As `loose_refs`, of those that git has packed."""
    packed = read_small(repository.common / "packed-refs")
    below = rb"^[0-9a-f]{40,64} (" + re.escape(os.fsencode(under)) + rb"/.+)$"
    return [os.fsdecode(name) for name in re.findall(below, packed, re.MULTILINE)]


def missing(value: str) -> Text:
    return Text("commit {id} is missing or damaged", id=value[:COMMIT_SHOWN])


def _value(repository: Repository, ref: str) -> str:
    return read_ref(repository, ref).value or read_packed_ref(repository, ref)


def _is_lost(repository: Repository, ref: str) -> bool:
    """Whether only the log is left: whoever deletes a ref deletes that too.

    Whoever makes one holds a lock, writes the log and then the ref: in this order it is seen here.
    """
    log = repository.common / "logs" / ref
    try:
        if not log.is_file() or log.stat().st_size == 0:
            return False
    except OSError:  # deleted just now
        return False
    if os.path.lexists(repository.common / f"{ref}.lock"):
        return False
    return not read_ref(repository, ref).there and not read_packed_ref(repository, ref)


# ------------------------------------------------------------------ objects


def loose_object(repository: Repository, oid: str) -> Path:
    return repository.common / "objects" / oid[:2] / oid[2:]


def inflate(packed: bytes) -> bytes:
    """An object with its header; empty if these bytes are none."""
    engine = zlib.decompressobj()
    try:
        return engine.decompress(packed, _LARGEST_OBJECT)
    except zlib.error:
        return b""


def is_named(data: bytes, oid: str) -> bool:
    """Whether these bytes have the id."""
    hashed = hashlib.sha1 if len(oid) == _SHA1_DIGITS else hashlib.sha256
    return hashed(data).hexdigest() == oid


def _is_spoilt(repository: Repository, oid: str) -> bool:
    """Whether there is a file for the object that is not what it should be, and no pack has it."""
    try:
        data = read_bounded(loose_object(repository, oid), _LARGEST_SEEN, follow=False)
    except (FileNotFoundError, FileTooLarge):
        return False
    except OSError:
        return True
    return not is_named(inflate(data), oid) and not _is_packed(repository, oid)


def _is_had(repository: Repository, commit: str) -> bool:
    """Whether the commit and its topmost tree are there."""
    data = _loose_bytes(repository, commit)
    if data is None:
        return _is_packed(repository, commit)
    found = _TREE.match(data)
    if found is None:  # something else than a commit
        return False
    tree = found[1].decode("ascii")
    return not _is_spoilt(repository, tree) and (
        _loose_bytes(repository, tree) is not None or _is_packed(repository, tree)
    )


def _loose_bytes(repository: Repository, oid: str) -> bytes | None:
    for folder in repository.objects():
        with contextlib.suppress(OSError):
            return inflate(read_bounded(folder / oid[:2] / oid[2:], _LARGEST_SEEN, follow=False))
    return None


def _is_packed(repository: Repository, oid: str) -> bool:
    return any(_names(index, bytes.fromhex(oid)) for index in _indexes(repository))


def _indexes(repository: Repository) -> Iterator[Path]:
    """Of packs, the newest first: there the objects are that were written last."""
    for objects in repository.objects():
        found = list[tuple[int, Path]]()
        with contextlib.suppress(OSError), os.scandir(objects / "pack") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.name.endswith(".pack") and entry.stat().st_size >= _SMALLEST_PACK:
                        found.append((entry.stat().st_mtime_ns, Path(entry.path).with_suffix(".idx")))
        yield from (path for _, path in sorted(found, reverse=True))


def _names(index: Path, oid: bytes) -> bool:
    """Whether the index of a pack lists the object."""
    try:
        with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            is_second = data[: len(_INDEX_2)] == _INDEX_2
            fan, before = (len(_INDEX_2), 0) if is_second else (0, 4)  # the first has offsets between ids
            (high,) = struct.unpack_from(">I", data, fan + oid[0] * 4)
            low = struct.unpack_from(">I", data, fan + oid[0] * 4 - 4)[0] if oid[0] else 0
            while low < high:
                middle = (low + high) // 2
                at = fan + _FAN + middle * (before + len(oid)) + before
                found = data[at : at + len(oid)]
                if found == oid:
                    return True
                low, high = (middle + 1, high) if found < oid else (low, middle)
    except (OSError, ValueError, struct.error):  # none, empty, or cut off
        return False
    return False
