"""A ref of ours that a loss of power has damaged: how to notice it, and how to move it out of the way.

A ref is damaged if its file is no ref, or leads to something that cannot be read. Git then refuses to write
to it, and to walk over all refs. What is in the way is moved into a folder beside it, and nothing is deleted:
the ref, its log, and loose objects that are not what their names say. Git takes those for written.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import StorageFailed
from ringi.kernel.fs import NotRegular, OsFileSystem, TooLarge, opened, read_bounded
from ringi.kernel.process.git import Git, Repository, read_small
from ringi.kernel.text import COMMIT_SHOWN, Text, why_failed

ASIDE: Final = "ringi-aside"
_LARGEST_REF: Final = 4096
_LARGEST_OBJECT: Final = 256 * 1024 * 1024
_LONGEST_LOCK: Final = 60.0
_MOST_OBJECTS: Final = 100_000
_ID: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LOGGED: Final = re.compile(rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ", re.MULTILINE)
_NAMED: Final = re.compile(rb"^(?:tree|parent) ([0-9a-f]{40,64})$", re.MULTILINE)
_FAN: Final = re.compile(r"[0-9a-f]{2}")
_LOOSE: Final = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
# What such a file claims of a commit may be wrong.
_AS_IT_IS: Final = ("-c", "core.commitGraph=false")

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
    except (NotRegular, TooLarge) as error:
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
    """Costs one read and two looks; finds what a loss of power does most often."""
    if stale_lock(repository, ref):
        return Damage(ref, LOCKED)
    found = read_ref(repository, ref)
    if found.problem:
        return Damage(ref, found.problem)
    if found.value:
        with contextlib.suppress(OSError):
            if _loose(repository, found.value).stat().st_size == 0:
                return Damage(ref, _missing(found.value))
    return None


def stale_lock(repository: Repository, ref: str) -> Path | None:
    """The lock of a ref, or of another file of git's, if whoever made it is gone: git is done in a moment."""
    path = Path(f"{ref}.lock")
    try:
        made = (repository.common / path).lstat().st_mtime
    except OSError:
        return None
    return path if made < max(time.time() - _LONGEST_LOCK, _started_at()) else None


def _started_at() -> float:
    """When this machine was started; 0 if nobody knows."""
    found = re.search(rb"^btime (\d+)$", read_small(Path("/proc/stat")), re.MULTILINE)
    return float(found[1]) if found else 0.0


def examine(repository: Repository, ref: str, without: str = "") -> Damage | None:
    """Whether all that it leads to is there. `without` is a commit behind which nobody looks."""
    if found := glance(repository, ref):
        return found
    git, file = Git(repository.git_dir), read_ref(repository, ref)
    value = file.value or packed_value(repository, ref)
    tip = commit_at(git, ref)
    if not tip:
        return Damage(ref, _missing(value)) if value or file.there else None
    if is_whole(git, tip, without):
        return None
    return Damage(ref, Text("commit {id} leads to something that cannot be read", id=tip[:COMMIT_SHOWN]))


def commit_at(git: Git, name: str) -> str:
    """Empty if git finds none."""
    finished = git.attempt(
        *_AS_IT_IS, "rev-parse", "-q", "--verify", "--end-of-options", f"{name}^{{commit}}"
    )
    return "" if finished.code else finished.out.decode("ascii", "replace").strip()


def is_whole(git: Git, commit: str, without: str = "") -> bool:
    """Whether its history, and every file in it, is there."""
    excluded = [f"^{without}"] if without else []
    # What a partial clone has left out is not damaged.
    words = ("rev-list", "--objects", "--quiet", "--exclude-promisor-objects")
    return not git.attempt(*_AS_IT_IS, *words, commit, *excluded).code


def is_partial(repository: Repository) -> bool:
    """Whether objects may be missing because the clone was made so."""
    return any((repository.common / "objects" / "pack").glob("*.promisor"))


def packed_value(repository: Repository, ref: str) -> str:
    for line in read_small(repository.common / "packed-refs").split(b"\n"):
        value, _, name = line.partition(b" ")
        if name == os.fsencode(ref) and _ID.fullmatch(value):
            return value.decode("ascii")
    return ""


def earlier_values(repository: Repository, ref: str) -> list[str]:
    """What its log says it was, the newest first."""
    found: dict[str, None] = {}
    for old, new in reversed(_LOGGED.findall(read_small(repository.common / "logs" / ref))):
        found[new.decode("ascii")] = found[old.decode("ascii")] = None
    return [value for value in found if value.strip("0")]


def _missing(value: str) -> Text:
    return Text("commit {id} is missing or damaged", id=value[:COMMIT_SHOWN])


def _loose(repository: Repository, oid: str) -> Path:
    return repository.common / "objects" / oid[:2] / oid[2:]


# ------------------------------------------------------------------ out of the way


class Aside:
    """Where damaged files go, under the paths that they had."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository = repository
        self.folder = folder

    def take_ref(self, ref: str) -> None:
        """With its log, whose entries may name what is gone; git would complain of them for ever."""
        self._take(Path(ref))
        self._take(Path("logs") / ref)

    def take_objects(self, roots: Iterable[str]) -> None:
        """Those that are empty, and of what these lead to those that are not what they should be."""
        objects = self._repository.common / "objects"
        for path in [*_empty_objects(objects), *_damaged(self._repository, roots)]:
            self._take(path.relative_to(self._repository.common))

    def take_lock(self, name: str) -> bool:
        """If it is stale."""
        found = stale_lock(self._repository, name)
        if found:
            self._take(found)
        return bool(found)

    def note(self, ref: str, value: str) -> None:
        """What a packed ref said."""
        target = self.folder / ref
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.write_text(f"{value}\n", encoding="ascii")

    def _take(self, path: Path) -> None:
        source, target = self._repository.common / path, self.folder / path
        if not os.path.lexists(source):
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)  # a link goes as a link
        for folder in (target.parent, source.parent):
            fs = OsFileSystem()
            with opened(fs, fs.open_root(folder)) as found:
                fs.sync_folder(found)


@contextlib.contextmanager
def put_aside(repository: Repository) -> Iterator[Aside]:
    """One process at a time: another may just have mended it. Raises StorageFailed."""
    top = repository.common / ASIDE
    try:
        top.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            yield Aside(repository, top / f"{stamp}-{os.urandom(2).hex()}")
        finally:
            os.close(lock)
            with contextlib.suppress(OSError):  # if nothing had to go there
                top.rmdir()
    except OSError as error:
        raise StorageFailed(what=str(error.filename or top), why=why_failed(error)) from None


def _empty_objects(objects: Path) -> Iterator[Path]:
    """No object has no bytes."""
    for fan in sorted(one.name for one in objects.iterdir() if _FAN.fullmatch(one.name)):
        with contextlib.suppress(NotADirectoryError, FileNotFoundError), os.scandir(objects / fan) as found:
            for entry in found:
                seen = entry.stat(follow_symlinks=False)
                if _LOOSE.fullmatch(entry.name) and stat.S_ISREG(seen.st_mode) and seen.st_size == 0:
                    yield objects / fan / entry.name


def _damaged(repository: Repository, roots: Iterable[str]) -> Iterator[Path]:
    """Loose ones only: git has synced its packs ever since, and reads them first."""
    waiting, seen = [*roots], set[str]()
    while waiting and len(seen) < _MOST_OBJECTS:
        oid = waiting.pop()
        if oid in seen:
            continue
        seen.add(oid)
        path = _loose(repository, oid)
        try:
            packed = read_bounded(path, _LARGEST_OBJECT, follow=False)
        except (FileNotFoundError, TooLarge):
            continue
        except OSError:
            yield path
            continue
        data = _inflated(packed)
        hashed = hashlib.sha1 if len(oid) == 40 else hashlib.sha256  # noqa: PLR2004  # git's two lengths
        if hashed(data).hexdigest() != oid:
            if packed:  # empty ones are found anyway
                yield path
            continue
        waiting += _named(data, len(oid) // 2)


def _inflated(packed: bytes) -> bytes:
    engine = zlib.decompressobj()
    try:
        return engine.decompress(packed, _LARGEST_OBJECT)
    except zlib.error:
        return b""


def _named(data: bytes, width: int) -> Iterator[str]:
    """What a commit or a tree leads to."""
    head, _, body = data.partition(b"\0")
    if head.startswith(b"commit "):
        for found in _NAMED.findall(body.partition(b"\n\n")[0]):
            yield found.decode("ascii")
    elif head.startswith(b"tree "):
        at = 0
        while (end := body.find(b"\0", at)) >= 0:
            yield body[end + 1 : end + 1 + width].hex()
            at = end + 1 + width
