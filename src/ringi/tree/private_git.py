"""A private git directory for a work tree: its files, which alone decide what git may run, and its index.

The index is kept between runs; a crash leaves the last good one.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import Busy, CopyFailed, StorageFailed
from ringi.kernel.process.git import Git, keep, names_in, quote
from ringi.kernel.process.repository import read_small
from ringi.kernel.text import Text

OWN: Final = ".agent"
_PERSONAL: Final = "personal-exclude"
RULES: Final = ("info/exclude", f"info/{_PERSONAL}", "config")
"""The ignore files outside the tree."""
_LOCK_WAIT: Final = 60.0
_LOCK_NAME: Final = "ringi.lock"
_TICK: Final = 0.02
"""The coarsest tick of a file system's clock."""
# Stronger than any .gitattributes in the tree. An encoding can only be made unspecified: git dies on "-".
_ATTRIBUTES: Final = b"* -text -eol -crlf -ident -filter !working-tree-encoding\n"
_CONFIG: Final = b"""\
[core]
\trepositoryformatversion = %(version)d
\tbare = false
\tfilemode = true
\tignorecase = %(ignorecase)s
\tprecomposeunicode = %(precompose)s
\tautocrlf = false
\tsafecrlf = false
\tlogallrefupdates = false
\tuntrackedcache = false
\tsplitindex = false
\tsparsecheckout = false
\tloosecompression = 1
\tfsync = none
\texcludesfile = %(excludes)s
[checkout]
\tworkers = 4
[gc]
\tauto = 0
[extensions]
"""


class GitFacts(NamedTuple):
    """What a private git directory takes from the person's repository and settings."""

    objects: tuple[Path, ...] = ()
    """Folders of objects that are borrowed."""
    excludes: bytes = b""
    personal_excludes: bytes = b""
    object_format: str = "sha1"
    ignorecase: bool = sys.platform == "darwin"
    precompose: bool = sys.platform == "darwin"


class PrivateFolder:
    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir

    def make_folders(self) -> None:
        try:
            for folder in ("", "objects/info", "refs", "info"):
                (self.git_dir / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(what=str(self.git_dir), why=error.strerror or str(error)) from None

    def prepare(self, around: GitFacts) -> None:
        """Creates or updates the directory; if it is shared, the caller holds the lock."""
        self.make_folders()
        info = self.git_dir / "info"
        self._write(
            {
                info / _PERSONAL: around.personal_excludes,
                info / "exclude": around.excludes + b"\n/" + OWN.encode() + b"/\n",
                self.git_dir / "objects" / "info" / "alternates": b"".join(
                    quote(folder) + b"\n" for folder in around.objects
                ),
            }
        )
        self.guard(around)

    def guard(self, around: GitFacts) -> None:
        """Restores the files that decide which programs git may run here."""
        self.refuse_link()
        with suppress(OSError):
            (self.git_dir / "commondir").unlink()
        self._write(
            {
                self.git_dir / "info" / "attributes": _ATTRIBUTES,
                self.git_dir / "config": _config(around, self.git_dir / "info" / _PERSONAL),
                self.git_dir / "HEAD": b"ref: refs/heads/none\n",
            }
        )

    def refuse_link(self) -> None:
        if self.git_dir.is_symlink():
            raise CopyFailed(why=Text("{folder} is a link", folder=self.git_dir))

    def _write(self, wanted: Mapping[Path, bytes]) -> None:
        try:
            for path, data in wanted.items():
                keep(path, data)
        except OSError as error:
            raise StorageFailed(what=str(self.git_dir), why=error.strerror or str(error)) from None


def _config(around: GitFacts, excludes: Path) -> bytes:
    wide = around.object_format == "sha256"
    text = _CONFIG % {
        b"version": 1 if wide else 0,
        b"ignorecase": _switch(around.ignorecase),
        b"precompose": _switch(around.precompose),
        b"excludes": quote(excludes),
    }
    return text + b"\tobjectformat = sha256\n" if wide else text


def _switch(on: bool) -> bytes:
    return b"true" if on else b"false"


class IndexPlaces(NamedTuple):
    """The folders of the files in an index."""

    folders: set[bytes]
    """All folders with a file at any depth; without the top."""
    rules: set[bytes]
    """Those with ignore files."""


class KeptIndex:
    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self.current = git_dir / "index"
        self.following = git_dir / "index.next"
        self._memo = git_dir / "captured"
        self._memo_ignored = git_dir / "ignored"
        self._memo_places = git_dir / "places"
        self._memo_nested = git_dir / "nested"
        self._memo_entries = git_dir / "entries"
        self._memos = (
            self._memo,
            self._memo_ignored,
            self._memo_places,
            self._memo_nested,
            self._memo_entries,
        )
        self._began = 0.0

    def borrow(self) -> None:
        """Git works on a hard link to the index, so that a crash leaves the last good one.

        A link, not a copy: git compares the time of the index with the times of the files.
        """
        for left in (*self._git_dir.glob("*.lock"), self.following):
            if left.name != _LOCK_NAME:
                left.unlink(missing_ok=True)
        self._began = time.time()
        if self.current.exists():
            try:
                self.following.hardlink_to(self.current)
            except OSError:
                shutil.copy2(self.current, self.following)

    def is_unchanged(self) -> bool:
        return self.current.exists() and self.following.exists() and self.current.samefile(self.following)

    def _key(self, *facts: bytes) -> bytes:
        parts = (signature(self.current), *facts)
        return hashlib.sha256(b"\0\0".join(parts)).hexdigest().encode() + b" "

    def recall_tree(self, *facts: bytes) -> str | None:
        """The tree of the current index, if these are still the facts."""
        found, key = read_small(self._memo), self._key(*facts)
        return found.removeprefix(key).decode("ascii").strip() if found.startswith(key) else None

    def recall_last_tree(self) -> str | None:
        """The tree that was remembered last, whatever has changed since."""
        return read_small(self._memo).partition(b" ")[2].decode("ascii", "replace").strip() or None

    def tree_of(self, entries: bytes) -> str | None:
        """The tree of an index with these entries, by their digest, if that is the one remembered last.

        Its objects are kept.
        """
        found, _, tree = read_small(self._memo_entries).partition(b" ")
        known = found == entries.hex().encode() and tree.decode("ascii", "replace")
        return known if known and known == self.recall_last_tree() else None

    def recall_ignored(self, rules: bytes) -> set[bytes] | None:
        """The ignored files of the current index, if these are still the rules."""
        found, key = read_small(self._memo_ignored), self._key(rules)
        return set(names_in(found.removeprefix(key))) if found.startswith(key) else None

    def recall_nested(self) -> list[bytes]:
        """The repositories found last time; the caller must check them."""
        return sorted(names_in(read_small(self._memo_nested)))

    def recall_places(self) -> IndexPlaces | None:
        """Those of the current index, if they are known."""
        found, key = read_small(self._memo_places), self._key()
        if not found.startswith(key):
            return None
        folders, _, rules = found.removeprefix(key).partition(b"\0\0")
        return IndexPlaces(set(names_in(folders)), set(names_in(rules)))

    def accept(self) -> None:
        """What git worked on becomes the index."""
        # Git trusts files older than its index. It must not trust one that is written in the same clock
        # tick after git has read it, so the index gets the time of the first look at a file.
        moment = self._began - _TICK
        os.utime(self.following, (moment, moment))
        self.following.replace(self.current)

    def remember(self, *facts: bytes, tree: str) -> None:
        keep(self._memo, self._key(*facts) + tree.encode())

    def remember_entries(self, entries: bytes, tree: str) -> None:
        keep(self._memo_entries, f"{entries.hex()} {tree}".encode())

    def remember_ignored(self, rules: bytes, names: set[bytes]) -> None:
        keep(self._memo_ignored, self._key(rules) + b"\0".join(sorted(names)))

    def remember_nested(self, names: Iterable[bytes]) -> None:
        keep(self._memo_nested, b"\0".join(names))

    def remember_places(self, places: IndexPlaces) -> None:
        lists = (b"\0".join(sorted(names)) for names in places)
        keep(self._memo_places, self._key() + b"\0\0".join(lists))

    def forget(self) -> None:
        for path in (self.current, self.following, *self._memos):
            path.unlink(missing_ok=True)
        for path in (self._git_dir / "objects").glob("??/*"):
            if path.stat().st_size == 0:  # what a loss of power leaves of an object
                path.unlink()

    @contextmanager
    def lock(self) -> Iterator[None]:
        try:
            lock = (self._git_dir / _LOCK_NAME).open("ab")
        except OSError as error:
            why = Text("{folder} cannot be used: {problem}", folder=self._git_dir, problem=error.strerror)
            raise CopyFailed(why=why) from None
        with lock:
            end = time.monotonic() + _LOCK_WAIT
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise Busy(holder=Text("another command is reading its files")) from None
                    time.sleep(0.02)
            yield


def signature(path: Path | None) -> bytes:
    try:
        found = path.stat() if path else None
    except OSError:
        found = None
    return b"%d %d %d" % (found.st_ino, found.st_mtime_ns, found.st_size) if found else b""


@lru_cache(4)
def files_of(git_dir: Path, tree: str) -> frozenset[bytes]:
    """A run opens its copy anew at every turn, and asks for the same tree."""
    return frozenset(names_in(Git(git_dir, git_dir).run("ls-tree", "-r", "-z", "--name-only", tree)))
