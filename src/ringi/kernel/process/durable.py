"""What git writes into a person's repository is on the disk before anybody says that it is done.

By itself git syncs packs and nothing else: after a loss of power a ref may be an empty file, or lead to an
empty object. With these settings it syncs every file before it gives it its name. Folders, logs and HEAD it
never syncs; `sync_refs` does. Whoever starts a git that writes into a person's repository uses both.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ringi.errors import StorageFailed
from ringi.kernel.fs import OsFileSystem, open_for_block
from ringi.kernel.process.git import Git, version
from ringi.kernel.process.repository import Repository
from ringi.kernel.text import why_failed

# A command line wins over whatever the person configured. With these limits what arrives stays a pack, which
# is two syncs, whatever number of objects it has.
_SETTINGS: Final = (
    "core.fsyncMethod=fsync",
    "fastimport.unpackLimit=1",
    "fetch.unpackLimit=1",
    "transfer.unpackLimit=1",
)
_OLD_SETTING: Final = "core.fsyncObjectFiles=true"
_SYNCS_EVERYTHING: Final = (2, 36)
# The clock of a file system is coarse, and may be a little behind.
_COARSE_NS: Final = 2_000_000_000
SWITCH: Final = "GIT_TEST_FSYNC"
"""A variable that would switch all of it off."""


def durable(*, own_index: bool = False) -> tuple[str, ...]:
    """Words for git, before its command. `own_index`: it works on an index that nobody needs afterwards."""
    settings = ["core.fsync=all,-index" if own_index else "core.fsync=all", *_SETTINGS]
    if version() < _SYNCS_EVERYTHING:  # it says so at every call that it would rather hear the other one
        settings.append(_OLD_SETTING)
    return tuple(word for setting in settings for word in ("-c", setting))


class DurableGit:
    """Writes into a person's repository. As `Git`, it runs nothing of theirs."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._git = Git(repository.git_dir, more=durable())

    def write(self, *words: str, refs: Sequence[str] = (), stdin: bytes | None = None) -> bytes:
        """`refs` are those that change. Raises CopyFailed, StorageFailed."""
        since = time.time_ns()
        out = self._git.run(*words, stdin=stdin)
        sync_refs(self._repository, refs, since)
        return out


def sync_refs(repository: Repository, refs: Sequence[str], since_ns: int) -> None:
    """Syncs what git leaves: the folders that changed since then, logs, and HEAD if it is one of the refs.

    Raises StorageFailed: what is not on the disk must not be said to be done.
    """
    since = since_ns - _COARSE_NS
    try:
        for file in _files(repository, refs):
            _sync_file(file)
        for folder in dict.fromkeys(_folders(repository, refs)):
            _sync_folder(folder, since)
    except OSError as error:
        raise StorageFailed(what=str(error.filename or repository.git_dir), why=why_failed(error)) from None


def _files(repository: Repository, refs: Iterable[str]) -> Iterator[Path]:
    for ref in refs:
        if ref == "HEAD":
            yield repository.git_dir / "HEAD"
            yield repository.git_dir / "logs" / "HEAD"
        else:
            yield repository.common / "logs" / ref


def _folders(repository: Repository, refs: Iterable[str]) -> Iterator[Path]:
    """From the inside out, objects before what leads to them."""
    objects = repository.common / "objects"
    yield from (one for one in objects.iterdir() if len(one.name) == len("00") or one.name == "pack")
    yield objects
    for ref in refs:
        for top in (repository.common, repository.common / "logs"):
            yield from (top / folder for folder in Path(ref).parents)
    yield from (repository.common, repository.git_dir / "logs", repository.git_dir)


def _sync_file(path: Path) -> None:
    fs = OsFileSystem()
    try:
        with open_for_block(fs, fs.open_root(path.parent)) as folder:
            fs.sync_file(folder, path.name)
    except (FileNotFoundError, NotADirectoryError):  # no log is kept, or somebody else was faster
        return


def _sync_folder(path: Path, since: int) -> None:
    fs = OsFileSystem()
    try:
        if path.stat().st_mtime_ns < since:
            return
        with open_for_block(fs, fs.open_root(path)) as folder:
            fs.sync_folder(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
