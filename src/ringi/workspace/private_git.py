"""A private git directory for a work tree: exact bytes, and nothing of the repository's own configuration."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed
from ringi.text import Text
from ringi.workspace.git import Git, failure
from ringi.workspace.kept_index import KeptIndex
from ringi.workspace.private_folder import OWN, PrivateFolder

_GITLINK: Final = b"160000"


class Captured(NamedTuple):
    tree: str
    nested: tuple[str, ...]
    """Repositories inside the tree; they are not in it."""
    unreadable: tuple[str, ...]
    """Files and folders that could not be taken in; they are not in it either."""


class PrivateGit:
    def __init__(self, git_dir: Path, work_tree: Path) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree
        self.folder = PrivateFolder(git_dir)
        self._index = KeptIndex(git_dir)
        self.git = Git(git_dir, work_tree)

    def capture(self) -> Captured:
        """The exact bytes and modes of every file that is tracked, or neither tracked nor ignored."""
        if not self.work_tree.is_dir():
            raise CopyFailed(why=Text("the folder {folder} is gone", folder=str(self.work_tree)))
        self.folder.refuse_link()
        with self._index.locked():
            self._refresh()
            try:
                return self._capture()
            except CopyFailed:
                # A damaged index, objects lost by a crash or pruned by the repository they came from.
                self._index.forget()
                return self._capture()

    def rebuild(self) -> Captured:
        self.folder.refuse_link()
        with self._index.locked():
            self._index.forget()
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

    def _capture(self) -> Captured:
        self._index.borrow()
        git = Git(self.git_dir, self.work_tree, index=self._index.following)
        mark = self._tracked_mark()
        with self.git.started("ls-files", "-z", "-c", "-i", "--exclude-standard") as listing:
            clean = self._add(git)
            ignored = listing.result()
        if clean and self._index.unchanged() and (tree := self._index.remembered(mark, ignored)):
            return Captured(tree, (), ())
        captured = self._settle(git, set(_names(ignored)), clean=clean)
        self._index.accept()
        if clean and not captured.nested:
            self._index.remember(mark, ignored, captured.tree)
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
        unreadable = {path for path in there if not _readable(self.work_tree, path)}
        if names := [path for path in there if path not in unreadable]:
            git.run("update-index", "--add", "-z", "--stdin", stdin=b"\0".join(names) + b"\0")
        return unreadable

    def _not_taken(self, git: Git) -> tuple[set[bytes], set[bytes]]:
        """Nested repositories without a commit, and everything else that git left out."""
        left = set(_names(git.run("ls-files", "-z", "-o", "-m", "--exclude-standard")))
        nested = {path.rstrip(b"/") for path in left if path.endswith(b"/")}
        unreadable = {path for path in left if not path.endswith(b"/") and not _own(path)}
        for path in sorted(unreadable):
            if self._there(path) and _readable(self.work_tree, path):
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


def _readable(work_tree: Path, path: bytes) -> bool:
    place = os.fsencode(work_tree) + b"/" + path
    return stat.S_ISLNK(os.lstat(place).st_mode) or os.access(place, os.R_OK)


def tracked_files(listing: bytes) -> set[bytes]:
    """The paths in the output of `ls-files -s -z`, without nested repositories."""
    return {path for path, mode in _entries(listing) if mode != _GITLINK}


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
