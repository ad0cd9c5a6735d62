"""A private git directory for a work tree: exact bytes, and none of the repository's own configuration.

Only its own files decide which programs git may run.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed, StorageFailed
from ringi.text import Text
from ringi.workspace.git import Git, Repository, failure, keep, quoted, read_small
from ringi.workspace.kept_index import IndexPlaces, KeptIndex

OWN: Final = ".agent"
_PERSONAL: Final = "personal-exclude"
RULES: Final = ("info/exclude", f"info/{_PERSONAL}", "config")
"""The ignore files outside the tree."""
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


class Surroundings(NamedTuple):
    """What a private git directory takes from the person's repository and settings."""

    alternates: tuple[bytes, ...] = ()
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

    def prepare(self, around: Surroundings) -> None:
        """Creates or updates the directory; if it is shared, the caller holds the lock."""
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


_GITLINK: Final = b"160000"
_RULES_NAME: Final = b".gitignore"


class Captured(NamedTuple):
    tree: str
    nested: tuple[str, ...]
    """Repositories inside the tree; they are not in it."""
    unreadable: tuple[str, ...]
    """Files and folders that could not be read; they are not in it either."""


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
                # A damaged index, or objects lost in a crash or pruned from the repository they came from.
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
        """Reads the surroundings before each capture, if they can change."""

    def _tracked(self) -> set[bytes]:
        """Files that are captured even if they are ignored."""
        return set()

    def _tracked_mark(self) -> bytes:
        """A value that changes whenever that set may have changed."""
        return b""

    def _capture(self) -> Captured:
        self._index.borrow()
        git = Git(self.git_dir, self.work_tree, index=self._index.following)
        mark = self._tracked_mark()
        places = self._index.places() or _places(_names(git.run("ls-files", "-z")))
        self._unlearn(git, places)
        rules = _rules(self.git_dir, self.work_tree, places)
        # Git would add each of these to the index, and we would drop it again.
        known = [name for name in self._index.nested() if _is_still_nested(self.work_tree, name)]
        clean = self._add(git, known)
        if clean and self._index.unchanged() and (tree := self._index.remembered(mark, rules, *known)):
            return Captured(tree, _sorted(known), ())
        if known:
            clean = self._add(git)
        entries = list(index_entries(git.run("ls-files", "-s", "-z")))
        key = _digest([rules, *(e.path + b"\0" + e.oid for e in entries if _has_rules(e.path))])
        ignored = self._index.ignored(key)
        if ignored is None:
            ignored = set(_names(git.run("ls-files", "-z", "-c", "-i", "--exclude-standard")))
        captured, forced = self._settle(git, entries, ignored, clean=clean)
        self._index.accept()
        nested = [os.fsencode(name) for name in captured.nested]
        self._index.remember_places(_places([*nested, *forced, *(e.path for e in entries)]))
        if not captured.unreadable:
            self._index.remember_ignored(key, ignored | forced)
            self._index.remember(mark, rules, *nested, tree=captured.tree)
            self._index.remember_nested(nested)
        return captured

    def _unlearn(self, git: Git, places: IndexPlaces) -> None:
        """Drops entries from the index that would keep git from seeing the tree with fresh eyes."""

    def _add(self, git: Git, without: Iterable[bytes] = ()) -> bool:
        """Whether git added everything without a warning."""
        command = ["add", "-A", "--ignore-errors", "--no-warn-embedded-repo", "--", "."]
        command += map(_except, without)
        added = git.attempt(*command)
        if added.code > 1 and (closed := self._closed_folders()):
            # Git gives up at a folder that it can list but not enter.
            again = git.attempt(*command, *map(_except, sorted(closed)))
            added = again._replace(err=added.err)
        if added.code > 1:
            raise failure("add", added)
        return not added.code and not added.err

    def _settle(
        self, git: Git, listed: Iterable["IndexEntry"], ignored: set[bytes], *, clean: bool
    ) -> tuple[Captured, set[bytes]]:
        """Corrects the index after `git add`; also returns what that added."""
        nested, unreadable = set[bytes](), set[bytes]()
        if not clean:
            nested, unreadable = self._not_taken(git)
        tracked = self._tracked()
        entries = {entry.path: entry.mode for entry in listed}
        links = {path for path, mode in entries.items() if mode == _GITLINK}
        drop = {path for path in entries if path in links or _below(path, unreadable) or _own(path)}
        drop |= (ignored & entries.keys()) - tracked
        force = [path for path in tracked - entries.keys() if not _own(path)]
        if drop:
            git.run("update-index", "--force-remove", "-z", "--stdin", stdin=b"\0".join(sorted(drop)) + b"\0")
        unreadable |= self._force(git, force)
        tree = _text(git.run("write-tree"))
        return Captured(tree, _sorted(nested | links), _sorted(unreadable)), set(force)

    def _force(self, git: Git, paths: list[bytes]) -> set[bytes]:
        """Adds files that are tracked although they are ignored; returns those that cannot be read."""
        there = sorted(path for path in paths if _is_there(self.work_tree, path))
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
            if _is_there(self.work_tree, path) and _readable(self.work_tree, path):
                # A bad name, or our own store failed: a full disk must not look like an unreadable file.
                git.run("hash-object", "-w", "--no-filters", "--", os.fsdecode(path))
                break
        return nested, unreadable | self._closed_folders()

    def _closed_folders(self) -> set[bytes]:
        """Folders that are not ignored but cannot be listed or entered. Git at most warns about them."""
        closed = []
        for place, names, _ in os.walk(self.work_tree):
            names[:] = [name for name in names if name != ".git"]
            if Path(place) != self.work_tree and is_nested(Path(place)):
                names.clear()
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


def _except(name: bytes) -> str:
    return f":(exclude,literal){os.fsdecode(name)}"


def _mode_at(work_tree: Path, path: bytes) -> int:
    """The mode at exactly this path, through no link; 0 if nothing is there."""
    place = os.fsencode(work_tree)
    *folders, name = path.split(b"/")
    with suppress(OSError):
        for folder in folders:
            place += b"/" + folder
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                return 0
        return os.lstat(place + b"/" + name).st_mode
    return 0


def _is_there(work_tree: Path, path: bytes) -> bool:
    """A file or link."""
    mode = _mode_at(work_tree, path)
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _is_still_nested(work_tree: Path, path: bytes) -> bool:
    return stat.S_ISDIR(_mode_at(work_tree, path)) and is_nested(work_tree / os.fsdecode(path))


def is_nested(folder: Path) -> bool:
    """Whether git treats it as a repository of its own."""
    with suppress(CopyFailed):
        return os.access(folder / ".git", os.F_OK) and Repository.at(folder) is not None
    return False


def _readable(work_tree: Path, path: bytes) -> bool:
    place = os.fsencode(work_tree) + b"/" + path
    return stat.S_ISLNK(os.lstat(place).st_mode) or os.access(place, os.R_OK)


class IndexEntry(NamedTuple):
    path: bytes
    mode: bytes
    oid: bytes


def tracked_files(listing: bytes) -> set[bytes]:
    """The paths in the output of `ls-files -s -z`, without nested repositories."""
    return {entry.path for entry in index_entries(listing) if entry.mode != _GITLINK}


def tracked_links(listing: bytes) -> set[bytes]:
    """The nested repositories in the output of `ls-files -s -z`."""
    return {entry.path for entry in index_entries(listing) if entry.mode == _GITLINK}


def index_entries(out: bytes) -> Iterator[IndexEntry]:
    for line in _names(out):
        facts, _, path = line.partition(b"\t")
        yield IndexEntry(path, facts[:6], facts[7:-2])


def _has_rules(path: bytes) -> bool:
    return path.rpartition(b"/")[2] == _RULES_NAME


def _places(paths: Iterable[bytes]) -> IndexPlaces:
    folders, rules = set[bytes](), set[bytes]()
    for path in paths:
        folder, _, name = path.rpartition(b"/")
        if name == _RULES_NAME:
            rules.add(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    return IndexPlaces(folders, rules)


def _rules(git_dir: Path, work_tree: Path, places: IndexPlaces) -> bytes:
    """A digest of everything that decides what is ignored, except the ignore files in the index."""
    top = os.fsencode(work_tree) + b"/"
    names = [_RULES_NAME, *(folder + b"/" + _RULES_NAME for folder in places.folders)]
    # Ignore files that are themselves ignored.
    hidden = sorted(name for name in names if name not in places.rules and os.access(top + name, os.F_OK))
    files = [git_dir / name for name in RULES] + [work_tree / os.fsdecode(name) for name in hidden]
    return _digest([*hidden, *(_digest([read_small(path)]) for path in files)])


def _digest(parts: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"\0\0".join(parts)).digest()


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
