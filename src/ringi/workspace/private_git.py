"""A private git directory for a work tree: exact bytes, and nothing of the repository's own configuration."""

import fcntl
import hashlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import Busy, CopyFailed, StorageFailed
from ringi.text import Text
from ringi.workspace.git import (
    Git,
    failure,
    quoted,
    read_small,
)

OWN: Final = ".agent"
_LOCK_WAIT: Final = 60.0
_PERSONAL: Final = "personal-exclude"
_LOCK_NAME: Final = "ringi.lock"
_GITLINK: Final = b"160000"
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
[gc]
\tauto = 0
[extensions]
"""


class Captured(NamedTuple):
    tree: str
    nested: tuple[str, ...]
    """Repositories inside the tree; they are not in it."""
    unreadable: tuple[str, ...]
    """Files and folders that could not be taken in; they are not in it either."""


class Surroundings(NamedTuple):
    """What a private git directory takes from outside."""

    alternates: tuple[bytes, ...] = ()
    excludes: bytes = b""
    personal_excludes: bytes = b""
    object_format: str = "sha1"
    ignorecase: bool = sys.platform == "darwin"
    precompose: bool = sys.platform == "darwin"


class PrivateGit:
    def __init__(self, git_dir: Path, work_tree: Path) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree
        self._index = git_dir / "index"
        self._next_index = git_dir / "index.next"
        self._memo = git_dir / "captured"
        self.git = Git(git_dir, work_tree)

    def make_folders(self) -> None:
        try:
            for folder in ("", "objects/info", "refs", "info"):
                (self.git_dir / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(what=str(self.git_dir), why=error.strerror or str(error)) from None

    def prepare(self, around: Surroundings) -> None:
        """Writes the directory, or brings it up to date; whoever shares it holds the lock."""
        self.make_folders()
        info = self.git_dir / "info"
        self._write(
            {
                info / _PERSONAL: around.personal_excludes,
                info / "exclude": around.excludes + b"\n/" + OWN.encode() + b"/\n",
                self.git_dir / "objects" / "info" / "alternates": b"".join(
                    a + b"\n" for a in around.alternates
                ),
            }
        )
        self.guard(around)

    def guard(self, around: Surroundings) -> None:
        """Puts right what decides which programs git may run here."""
        self._refuse_link()
        with suppress(OSError):
            (self.git_dir / "commondir").unlink()
        self._write(
            {
                self.git_dir / "info" / "attributes": _ATTRIBUTES,
                self.git_dir / "config": _config(around, self.git_dir / "info" / _PERSONAL),
                self.git_dir / "HEAD": b"ref: refs/heads/none\n",
            }
        )

    def _refuse_link(self) -> None:
        if self.git_dir.is_symlink():
            raise CopyFailed(why=Text("{folder} is a link", folder=self.git_dir))

    def _write(self, wanted: Mapping[Path, bytes]) -> None:
        try:
            for path, data in wanted.items():
                _keep(path, data)
        except OSError as error:
            raise StorageFailed(what=str(self.git_dir), why=error.strerror or str(error)) from None

    def capture(self) -> Captured:
        """The exact bytes and modes of every file that is tracked, or neither tracked nor ignored."""
        if not self.work_tree.is_dir():
            raise CopyFailed(why=Text("the folder {folder} is gone", folder=str(self.work_tree)))
        with self._locked():
            self._refresh()
            try:
                return self._capture()
            except CopyFailed:
                # A damaged index, objects lost by a crash or pruned by the repository they came from.
                self._forget()
                return self._capture()

    def rebuild(self) -> Captured:
        with self._locked():
            self._forget()
        return self.capture()

    def lay_out(self, tree: str) -> None:
        """Fills the empty work tree; the index knows every file from then on."""
        self.git.run("read-tree", "-m", "-u", tree)

    def ignored(self) -> tuple[str, ...]:
        """The top-most ignored files and folders; folders end in a slash."""
        out = self.git.run("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
        return tuple(sorted(name for name in map(os.fsdecode, _names(out)) if not _own(os.fsencode(name))))

    def _refresh(self) -> None:
        """Looks at the surroundings before each capture, where they can change."""

    def _tracked(self) -> set[bytes]:
        """What counts even where it is ignored."""
        return set()

    def _tracked_mark(self) -> bytes:
        """Changes whenever that set may have changed."""
        return b""

    # ------------------------------------------------------------------ capture

    def _capture(self) -> Captured:
        self._borrow_index()
        git = Git(self.git_dir, self.work_tree, index=self._next_index)
        mark = self._tracked_mark()
        with self.git.started("ls-files", "-z", "-c", "-i", "--exclude-standard") as listing:
            clean = self._add(git)
            ignored = listing.result()
        if clean and self._same_index() and (tree := self._remembered(mark, ignored)):
            return Captured(tree, (), ())
        captured = self._settle(git, set(_names(ignored)), clean=clean)
        self._next_index.replace(self._index)
        if clean and not captured.nested:
            _keep(self._memo, self._key(mark, ignored) + captured.tree.encode())
        return captured

    def _add(self, git: Git) -> bool:
        """Whether git took in everything without a word."""
        command = ("add", "-A", "--ignore-errors", "--no-warn-embedded-repo", "--", ".")
        added = git.attempt(*command)
        if added.code > 1 and (closed := self._closed_folders()):
            # Git gives up at a folder that it can list and not enter.
            around = (f":(exclude,literal){os.fsdecode(name)}" for name in sorted(closed))
            again = git.attempt(*command, *around)
            added = again._replace(err=added.err)
        if added.code > 1:
            raise failure("add", added)
        return not added.code and not added.err

    def _settle(self, git: Git, ignored: set[bytes], *, clean: bool) -> Captured:
        """Brings the index from what git took in to what counts, whatever it held before."""
        nested, unreadable = set[bytes](), set[bytes]()
        if not clean:
            nested, unreadable = self._not_taken(git)
        tracked = self._tracked()
        entries = dict(_entries(git.run("ls-files", "-s", "-z")))
        links = {path for path, mode in entries.items() if mode == _GITLINK}
        drop = {path for path in entries if path in links or _below(path, unreadable) or _own(path)}
        drop |= (ignored & entries.keys()) - tracked
        force = [path for path in tracked - entries.keys() if not _own(path)]
        if drop:
            git.run("update-index", "--force-remove", "-z", "--stdin", stdin=b"\0".join(sorted(drop)) + b"\0")
        unreadable |= self._force(git, force)
        return Captured(_text(git.run("write-tree")), _sorted(nested | links), _sorted(unreadable))

    def _force(self, git: Git, paths: list[bytes]) -> set[bytes]:
        """Takes in ignored files that are tracked all the same; returns those that cannot be read."""
        there = sorted(path for path in paths if self._there(path))
        unreadable = {path for path in there if not self._readable(path)}
        if names := [path for path in there if path not in unreadable]:
            git.run("update-index", "--add", "-z", "--stdin", stdin=b"\0".join(names) + b"\0")
        return unreadable

    def _not_taken(self, git: Git) -> tuple[set[bytes], set[bytes]]:
        """Nested repositories without a commit, and everything else that git left out."""
        left = set(_names(git.run("ls-files", "-z", "-o", "-m", "--exclude-standard")))
        nested = {path.rstrip(b"/") for path in left if path.endswith(b"/")}
        unreadable = {path for path in left if not path.endswith(b"/") and not _own(path)}
        for path in sorted(unreadable):
            if self._there(path) and self._readable(path):
                # The name is at fault, or our own store: a full disk must not look like an unreadable file.
                git.run("hash-object", "-w", "--no-filters", "--", os.fsdecode(path))
                break
        return nested, unreadable | self._closed_folders()

    def _closed_folders(self) -> set[bytes]:
        """Those that cannot be listed or entered and are not ignored. Git at most warns of them."""
        closed = []
        for place, names, _ in os.walk(self.work_tree):
            paths = (Path(place, name) for name in names)
            closed += [
                path for path in paths if not path.is_symlink() and not os.access(path, os.R_OK | os.X_OK)
            ]
        found = [os.fsencode(path.relative_to(self.work_tree)) for path in closed]
        return {name for name in self.without_ignored(found) if not _own(name)}

    def without_ignored(self, names: list[bytes]) -> list[bytes]:
        if not names:
            return []
        answer = self.git.attempt("check-ignore", "-z", "--stdin", stdin=b"\0".join(names) + b"\0")
        ignored = set(_names(answer.out))
        return [name for name in names if name not in ignored]

    def _there(self, path: bytes) -> bool:
        """A file or link at exactly this place: nothing on the way is a link."""
        place = os.fsencode(self.work_tree)
        *folders, name = path.split(b"/")
        with suppress(OSError):
            for folder in folders:
                place += b"/" + folder
                if not stat.S_ISDIR(os.lstat(place).st_mode):
                    return False
            mode = os.lstat(place + b"/" + name).st_mode
            return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
        return False

    def _readable(self, path: bytes) -> bool:
        place = os.fsencode(self.work_tree) + b"/" + path
        return stat.S_ISLNK(os.lstat(place).st_mode) or os.access(place, os.R_OK)

    # ------------------------------------------------------------------ the index, kept between runs

    def _borrow_index(self) -> None:
        """Git works on a second name of the index, so that a crash leaves the last good one.

        A link and not a copy: git compares the time of the index with the times of the files.
        """
        for left in (*self.git_dir.glob("*.lock"), self._next_index):
            if left.name != _LOCK_NAME:
                left.unlink(missing_ok=True)
        if self._index.exists():
            try:
                self._next_index.hardlink_to(self._index)
            except OSError:
                shutil.copy2(self._index, self._next_index)

    def _same_index(self) -> bool:
        return self._index.exists() and self._next_index.exists() and self._index.samefile(self._next_index)

    def _key(self, tracked: bytes, ignored: bytes) -> bytes:
        parts = (signature(self._index), tracked, ignored)
        return hashlib.sha256(b"\0\0".join(parts)).hexdigest().encode() + b" "

    def _remembered(self, tracked: bytes, ignored: bytes) -> str | None:
        found, key = read_small(self._memo), self._key(tracked, ignored)
        return _text(found.removeprefix(key)) if found.startswith(key) else None

    def _forget(self) -> None:
        for path in (self._index, self._next_index, self._memo):
            path.unlink(missing_ok=True)
        for path in (self.git_dir / "objects").glob("??/*"):
            if path.stat().st_size == 0:  # what a power loss leaves of an object
                path.unlink()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._refuse_link()
        try:
            lock = (self.git_dir / _LOCK_NAME).open("ab")
        except OSError as error:
            why = Text("{folder} cannot be used: {problem}", folder=self.git_dir, problem=error.strerror)
            raise CopyFailed(why=why) from None
        with lock:
            end = time.monotonic() + _LOCK_WAIT
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise Busy(holder=Text("its files are being read")) from None
                    time.sleep(0.02)
            yield


def tracked_files(listing: bytes) -> set[bytes]:
    """The paths in the output of `ls-files -s -z`, without nested repositories."""
    return {path for path, mode in _entries(listing) if mode != _GITLINK}


def _config(around: Surroundings, excludes: Path) -> bytes:
    wide = around.object_format == "sha256"
    text = _CONFIG % {
        b"version": 1 if wide else 0,
        b"ignorecase": _switch(around.ignorecase),
        b"precompose": _switch(around.precompose),
        b"excludes": quoted(excludes),
    }
    return text + b"\tobjectformat = sha256\n" if wide else text


def _switch(on: bool) -> bytes:
    return b"true" if on else b"false"


def _keep(path: Path, data: bytes) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        fresh = path.with_name(path.name + ".fresh")
        fresh.unlink(missing_ok=True)
        fresh.write_bytes(data)
        fresh.replace(path)


def signature(path: Path | None) -> bytes:
    try:
        found = path.stat() if path else None
    except OSError:
        found = None
    return b"%d %d %d" % (found.st_ino, found.st_mtime_ns, found.st_size) if found else b""


def _entries(out: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in _names(out):
        facts, _, path = line.partition(b"\t")
        yield path, facts[:6]


def _names(out: bytes) -> list[bytes]:
    return [name for name in out.split(b"\0") if name]


def _below(path: bytes, names: set[bytes]) -> bool:
    if not names:
        return False
    parts = path.split(b"/")
    return any(b"/".join(parts[:count]) in names for count in range(1, len(parts) + 1))


def _own(path: bytes) -> bool:
    return path.split(b"/", 1)[0] == OWN.encode()


def _sorted(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in sorted(paths))


def _text(out: bytes) -> str:
    return out.decode("ascii").strip()
