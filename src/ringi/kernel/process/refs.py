"""A ref of ours that a loss of power has damaged: how to notice it, and how to move it out of the way.

A ref is damaged if its file is no ref, or leads to something that cannot be read. Git then refuses to write
to it, and to walk over all refs. What is in the way is moved into a folder beside it, and nothing is deleted:
the ref, its log, and loose objects that are not what their names say. Git takes those for written.
"""

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ringi.errors import StorageFailed
from ringi.kernel.fs import FileTooLarge, OsFileSystem, open_for_block, read_bounded
from ringi.kernel.process.git import Git
from ringi.kernel.process.ref_files import (
    LOCKED,
    Damage,
    glance,
    inflate,
    is_named,
    loose_object,
    missing,
    read_ref,
    stale_lock,
    unreadable,
)
from ringi.kernel.process.repository import Repository
from ringi.kernel.text import COMMIT_SHOWN, Text, why_failed

ASIDE: Final = "ringi-aside"
_LARGEST_OBJECT: Final = 256 * 1024 * 1024
_MOST_OBJECTS: Final = 100_000
_NAMED: Final = re.compile(rb"^(?:tree|parent) ([0-9a-f]{40,64})$", re.MULTILINE)
_FAN: Final = re.compile(r"[0-9a-f]{2}")
_LOOSE: Final = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
# What such a file claims of a commit may be wrong.
_AS_IT_IS: Final = ("-c", "core.commitGraph=false")


def examine(repository: Repository, ref: str, without: str = "") -> Damage | None:
    """Whether all that it leads to is there. `without` is a commit behind which nobody looks; without that
    commit only what a glance finds is known.
    """
    if stale_lock(repository, ref):
        return Damage(ref, LOCKED)
    if found := unreadable(repository, ref):
        return found
    git, file = Git(repository.git_dir), read_ref(repository, ref)
    tip, edge = commits_at(git, ref, without or ref)
    if without and not edge:
        return glance(repository, ref)
    if not tip:
        # Whatever keeps the refs, git knows the value although it finds no commit. Asked for it before the
        # commit: another process may just be making the ref.
        value = file.value or object_at(git, ref)
        if not value and not file.there:
            return None
        tip = commit_at(git, ref)
        if not tip:
            return Damage(ref, missing(value))
    if is_whole(git, tip, without):
        return None
    return Damage(ref, leads_astray(tip))


def leads_astray(commit: str) -> Text:
    return Text("commit {id} leads to something that cannot be read", id=commit[:COMMIT_SHOWN])


def commit_at(git: Git, name: str) -> str:
    """Empty if git finds none."""
    return object_at(git, f"{name}^{{commit}}")


def commits_at(git: Git, *names: str) -> list[str]:
    """As `commit_at`, of several names at once."""
    asked = "".join(f"{name}^{{commit}}\n" for name in names)
    form = "--batch-check=%(objecttype) %(objectname)"
    finished = git.attempt(*_AS_IT_IS, "cat-file", form, stdin=os.fsencode(asked))
    said = finished.out.decode("ascii", "replace").splitlines()
    if finished.code or len(said) != len(names):  # git gave up at one of them
        return [commit_at(git, name) for name in names]
    return [line.removeprefix("commit ") if line.startswith("commit ") else "" for line in said]


def object_at(git: Git, name: str) -> str:
    """What git takes the name for, whether that is there or not; empty if it knows none."""
    finished = git.attempt(*_AS_IT_IS, "rev-parse", "-q", "--verify", "--end-of-options", name)
    return "" if finished.code else finished.out.decode("ascii", "replace").strip()


def is_whole(git: Git, commit: str, without: str = "") -> bool:
    """Whether its history, and every file in it, is there."""
    excluded = [f"^{without}"] if without else []
    # What a partial clone has left out is not damaged.
    words = ("rev-list", "--objects", "--quiet", "--exclude-promisor-objects")
    return not git.attempt(*_AS_IT_IS, *words, commit, *excluded).code


# ------------------------------------------------------------------ out of the way


class Quarantine:
    """Where damaged files go, under the paths that they had."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository = repository
        self.folder = folder

    def take_ref(self, ref: str) -> bool:
        """With its log, whose entries may name what is gone; git would complain of them for ever.

        True if git still has the ref, packed or in a table with others: then the caller deletes it.
        """
        self._take(Path(ref))
        self._take(Path("logs") / ref)
        value = object_at(Git(self._repository.git_dir), ref)
        if value:
            self._write_down(ref, value)
        return bool(value)

    def take_objects(self, roots: Iterable[str]) -> None:
        """Those that are empty, and of what these lead to those that are not what they should be."""
        for path in [*_empty_objects(self._repository), *_find_damaged(self._repository, roots)]:
            self._take(path.relative_to(self._repository.common))

    def take_lock(self, name: str) -> bool:
        """If it is stale."""
        found = stale_lock(self._repository, name)
        if found:
            self._take(found)
        return bool(found)

    def _write_down(self, ref: str, value: str) -> None:
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
            with open_for_block(fs, fs.open_root(folder)) as found:
                fs.sync_folder(found)


@contextlib.contextmanager
def put_aside(repository: Repository) -> Iterator[Quarantine]:
    """One process at a time: another may just have mended it. Raises StorageFailed."""
    top = repository.common / ASIDE
    try:
        top.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
            yield Quarantine(repository, top / f"{stamp}-{os.urandom(2).hex()}")
        finally:
            os.close(lock)
            with contextlib.suppress(OSError):  # if nothing had to go there
                top.rmdir()
    except OSError as error:
        raise StorageFailed(what=str(error.filename or top), why=why_failed(error)) from None


def loose_objects(repository: Repository) -> Iterator[Path]:
    objects = repository.common / "objects"
    for fan in sorted(one.name for one in objects.iterdir() if _FAN.fullmatch(one.name)):
        with contextlib.suppress(NotADirectoryError, FileNotFoundError), os.scandir(objects / fan) as found:
            for entry in found:
                if _LOOSE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield objects / fan / entry.name


def read_loose(path: Path) -> bytes:
    """An object with its header; empty if it cannot be read."""
    try:
        return inflate(read_bounded(path, _LARGEST_OBJECT, follow=False))
    except OSError:
        return b""


def _empty_objects(repository: Repository) -> Iterator[Path]:
    """No object has no bytes."""
    return (path for path in loose_objects(repository) if path.lstat().st_size == 0)


def _find_damaged(repository: Repository, roots: Iterable[str]) -> Iterator[Path]:
    """Loose ones only: git has synced its packs ever since, and reads them first."""
    waiting, seen = [*roots], set[str]()
    while waiting and len(seen) < _MOST_OBJECTS:
        oid = waiting.pop()
        if oid in seen:
            continue
        seen.add(oid)
        path = loose_object(repository, oid)
        try:
            packed = read_bounded(path, _LARGEST_OBJECT, follow=False)
        except (FileNotFoundError, FileTooLarge):
            continue
        except OSError:
            yield path
            continue
        data = inflate(packed)
        if not is_named(data, oid):
            if packed:  # empty ones are found anyway
                yield path
            continue
        waiting += _ids_in(data, len(oid) // 2)


def _ids_in(data: bytes, width: int) -> Iterator[str]:
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
