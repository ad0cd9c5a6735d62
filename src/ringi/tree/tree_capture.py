"""Trees read without trusting the repository in them: the person's own, and what an agent made of a copy.

Exact bytes, through a private git directory, with none of the repository's own configuration.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed
from ringi.kernel.fs import FileTooLarge, NotRegular, read_bounded, walk
from ringi.kernel.process import sandbox
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.kernel.process.git import (
    TIME_LIMIT,
    Git,
    IndexEntry,
    TreeChange,
    failure,
    index_entries,
    join_names,
    keep,
    names_in,
    read_blobs,
    require_version,
    settings,
    tree_changes,
)
from ringi.kernel.process.repository import Repository, read_small
from ringi.kernel.process.sandbox import How, Mount
from ringi.kernel.system import process_environment
from ringi.kernel.text import Text
from ringi.tree.objects import Hold, KeptObjects
from ringi.tree.private_git import (
    OWN,
    RULES,
    GitFacts,
    IndexPlaces,
    KeptIndex,
    PrivateFolder,
    files_of,
    signature,
)

_SECOND: Final = 1_000_000_000
_MOST_SHARED: Final = 64
_LARGEST_INDEX: Final = 256 << 20
_RULES_NAME: Final = b".gitignore"
_READING: Final = Text("Reading files")


class CapturedTree(NamedTuple):
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

    def capture(self) -> CapturedTree:
        """The exact bytes and modes of every file that is tracked, or neither tracked nor ignored."""
        if not self.work_tree.is_dir():
            raise CopyFailed(why=Text("the folder {folder} is gone", folder=str(self.work_tree)))
        self.folder.refuse_link()
        with self._index.lock():
            self._refresh()
            try:
                return self._capture()
            except CopyFailed:
                # A damaged index, or objects lost in a crash or pruned from the repository they came from.
                self._index.forget()
                return self._capture()

    def rebuild(self) -> CapturedTree:
        self.folder.refuse_link()
        with self._index.lock():
            self._index.forget()
        return self.capture()

    def lay_out(self, tree: str) -> None:
        """Fills the work tree, which is empty or has only files that the index knows; it knows all then."""
        self.git.read_tree_counted(Text("Copying files"), "--reset", "-u", tree)

    def list_ignored(self, patterns: Path | None = None) -> tuple[str, ...]:
        """The top-most ignored files and folders, or those that a file with patterns names.

        Folders end in a slash.
        """
        rules = f"--exclude-from={patterns}" if patterns else "--exclude-standard"
        out = self.reader().run("ls-files", "-z", "-o", "-i", rules, "--directory")
        names = [name for name in names_in(out) if not _own(name)]
        kept = set(self.without_ignored(names)) if patterns else ()
        return tuple(sorted(os.fsdecode(name) for name in names if name not in kept))

    def reader(self, index: Path | None = None) -> Git:
        """The git for everything that reads the work tree."""
        return Git(self.git_dir, self.work_tree, index=index)

    def _refresh(self) -> None:
        """Reads the surroundings before each capture, if they can change."""

    def _list_tracked(self) -> set[bytes]:
        """Files that are captured even if they are ignored."""
        return set()

    def _read_tracked_mark(self) -> bytes:
        """A value that changes whenever that set may have changed."""
        return b""

    def _capture(self) -> CapturedTree:
        self._index.borrow()
        git = self.reader(self._index.following)
        mark = self._read_tracked_mark()
        places = self._index.recall_places() or _places(
            names_in(git.run("ls-files", "-z")) if self._index.current.exists() else ()
        )
        self._unlearn(git, places)
        rules = _rules(self.git_dir, self.work_tree, places)
        # Git would add each of these to the index, and we would drop it again.
        known = [name for name in self._index.recall_nested() if _is_still_nested(self.work_tree, name)]
        clean = self._add(git, known)
        if clean and self._index.is_unchanged() and (tree := self._index.recall_tree(mark, rules, *known)):
            return CapturedTree(tree, _sort(known), ())
        if known:
            clean = self._add(git)
        entries = list(index_entries(git.run("ls-files", "-s", "-z")))
        key = _digest([rules, *(e.path + b"\0" + e.oid for e in entries if _has_rules(e.path))])
        ignored = self._index.recall_ignored(key)
        if ignored is None:
            ignored = set(names_in(git.run("ls-files", "-z", "-c", "-i", "--exclude-standard")))
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
        words = ["-A", "--ignore-errors", "--no-warn-embedded-repo", "--", "."]
        words += map(_except, without)
        added = git.add_counted(_READING, *words)
        if added.code > 1 and (closed := self._find_closed_folders()):
            # Git gives up at a folder that it can list but not enter.
            again = git.add_counted(_READING, *words, *map(_except, sorted(closed)))
            added = again._replace(err=added.err)
        if added.code > 1:
            raise failure("add", added)
        return not added.code and not added.err

    def _settle(
        self, git: Git, added: Sequence[IndexEntry], ignored: set[bytes], *, clean: bool
    ) -> tuple[CapturedTree, set[bytes]]:
        """Corrects the index after `git add`; also returns what that added."""
        nested, unreadable = set[bytes](), set[bytes]()
        if not clean:
            nested, unreadable = self._not_taken(git)
        tracked = self._list_tracked()
        entries = {entry.path: entry for entry in added}
        links = {path for path, entry in entries.items() if entry.is_link}
        drop = {path for path in entries if path in links or _below(path, unreadable) or _own(path)}
        drop |= (ignored & entries.keys()) - tracked
        force = [path for path in tracked - entries.keys() if not _own(path)]
        if drop:
            git.run("update-index", "--force-remove", "-z", "--stdin", stdin=join_names(sorted(drop)))
        unreadable |= self._force(git, force)
        if drop or force:
            tree = _text(git.run("write-tree"))
        else:
            key = _digest(b"\0".join(entry) for entry in added)
            tree = self._index.tree_of(key) or _text(git.run("write-tree"))
            self._index.remember_entries(key, tree)
        return CapturedTree(tree, _sort(nested | links), _sort(unreadable)), set(force)

    def _force(self, git: Git, paths: list[bytes]) -> set[bytes]:
        """Adds files that are tracked although they are ignored; returns those that cannot be read."""
        there = sorted(path for path in paths if _is_there(self.work_tree, path))
        unreadable = {path for path in there if not _readable(self.work_tree, path)}
        if names := [path for path in there if path not in unreadable]:
            git.run("update-index", "--add", "-z", "--stdin", stdin=join_names(names))
        return unreadable

    def _not_taken(self, git: Git) -> tuple[set[bytes], set[bytes]]:
        """Nested repositories without a commit, and everything else that git left out."""
        left = set(names_in(git.run("ls-files", "-z", "-o", "-m", "--exclude-standard")))
        nested = {path.rstrip(b"/") for path in left if path.endswith(b"/")}
        unreadable = {path for path in left if not path.endswith(b"/") and not _own(path)}
        for path in sorted(unreadable):
            if _is_there(self.work_tree, path) and _readable(self.work_tree, path):
                # A bad name, or our own store failed: a full disk must not look like an unreadable file.
                git.run("hash-object", "-w", "--no-filters", "--", os.fsdecode(path))
                break
        return nested, unreadable | self._find_closed_folders()

    def _find_closed_folders(self) -> set[bytes]:
        """Folders that are not ignored but cannot be listed or entered. Git at most warns about them."""
        closed = list[str]()
        for step in walk(self.work_tree, closed.append):
            if ".git" in step.inner:
                step.inner.remove(".git")
            own = step.folder and any(entry.name == ".git" for entry in step.entries)
            if own and is_nested(self.work_tree / step.folder):
                step.inner.clear()
            closed += [step.path(name) for name in step.inner if not _enterable(name, step.at)]
        found = [os.fsencode(name) for name in closed]
        return {name for name in self.without_ignored(found) if not _own(name)}

    def without_ignored(self, names: list[bytes]) -> list[bytes]:
        if not names:
            return []
        answer = self.reader().attempt("check-ignore", "-z", "--stdin", stdin=join_names(names))
        ignored = set(names_in(answer.out))
        return [name for name in names if name not in ignored]


def _enterable(name: str, at: int) -> bool:
    return os.access(name, os.R_OK | os.X_OK, dir_fd=at)


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


def _below(path: bytes, names: set[bytes]) -> bool:
    if not names:
        return False
    parts = path.split(b"/")
    return any(b"/".join(parts[:count]) in names for count in range(1, len(parts) + 1))


def _own(path: bytes) -> bool:
    return path.split(b"/", 1)[0] == OWN.encode()


def _sort(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(os.fsdecode(path) for path in sorted(paths))


def _text(out: bytes) -> str:
    return out.decode("ascii").strip()


class WorktreeCapture(PrivateGit):
    """Reads the person's own tree, in or outside git."""

    def __init__(self, git_dir: Path, work_tree: Path, *, keeps_all: bool = False) -> None:
        """`keeps_all` if trees of earlier captures are needed later."""
        super().__init__(git_dir, work_tree)
        self.repository = Repository.at(work_tree)
        self.around = GitFacts()
        self.objects = KeptObjects(git_dir)
        self._keeps_all = keeps_all
        self.held: Hold | None = None
        """Keeps the trees that were captured for as long as this exists."""

    def capture(self) -> CapturedTree:
        self.folder.make_folders()
        if self.held is None and not self._keeps_all:
            self.objects.prune(self._index.recall_last_tree())
        self.held = self.held or self.objects.hold()
        return super().capture()

    def _refresh(self) -> None:
        if not (self.git_dir / "HEAD").exists():
            require_version()
            self.folder.prepare(self.around)  # git needs a directory to run in
        self.repository = Repository.at(self.work_tree)
        self.around = self._look_around()
        self.folder.prepare(self.around)

    def _look_around(self) -> GitFacts:
        repository = self.repository
        git_dir = repository.git_dir if repository else self.git_dir
        asked = Git(git_dir, self.work_tree, personal=True, time_limit=30)
        found = settings(
            asked, r"^(core\.(excludesfile|ignorecase|precomposeunicode)|extensions\.objectformat)$"
        )
        facts = GitFacts(personal_excludes=_personal_excludes(found, self.work_tree))
        if repository is None:
            return facts
        own = {name: value for (scope, name), value in found.items() if scope == "local"}
        return facts._replace(
            objects=repository.objects(),
            excludes=read_small(repository.common / "info" / "exclude"),
            object_format="sha256" if own.get("extensions.objectformat") == "sha256" else "sha1",
            ignorecase=own.get("core.ignorecase") == "true",
            precompose=own.get("core.precomposeunicode") == "true",
        )

    def find_ignored(self, names: list[bytes]) -> set[bytes]:
        """Those of the files that are ignored and not tracked; all of them if git cannot say."""
        self.folder.refuse_link()
        self.folder.make_folders()
        with self._index.lock():
            self._refresh()
        answer = self.git.attempt("check-ignore", "--no-index", "-z", "--stdin", stdin=join_names(names))
        if answer.code not in {0, 1}:  # 1: none is
            return set(names)
        ignored = set(names_in(answer.out))
        return ignored - self._list_tracked() if ignored else ignored

    def submodules(self) -> set[bytes]:
        """Nested repositories in the person's own index, even if ignored."""
        return (
            {entry.path for entry in index_entries(self._listing()) if entry.is_link}
            if (self.work_tree / ".gitmodules").is_file()
            else set()
        )

    def _list_tracked(self) -> set[bytes]:
        return _parse_tracked(self._listing())

    def list_skipped(self) -> list[bytes]:
        """Files of the person's own index that a sparse checkout left out."""
        names = [line[2:] for line in names_in(self._listing("-t")) if line.startswith(b"S ")]
        top = os.fsencode(self.work_tree) + b"/"
        return [name for name in names if not os.path.lexists(top + name)]

    def _listing(self, form: str = "-s") -> bytes:
        """All entries of the person's own index."""
        if self.repository is None or not (index := self.repository.git_dir / "index").is_file():
            return b""
        # A split index needs its other half beside it: a recent one, among older ones.
        halves = sorted(index.parent.glob("sharedindex.*"), key=_read_mtime, reverse=True)
        for shared in halves[:_MOST_SHARED]:
            with suppress(NotRegular, FileTooLarge):
                keep(self.git_dir / shared.name, read_bounded(shared, _LARGEST_INDEX))
        return Git(self.git_dir, self.work_tree, index=index).run("ls-files", form, "-z")

    def _unlearn(self, git: Git, places: IndexPlaces) -> None:
        """If plain files of a folder are in the index, git would not notice a repository made there since."""
        top = os.fsencode(self.work_tree) + b"/"
        for name in places.folders:
            # The cheap test first: this runs for every folder.
            there = os.access(top + name + b"/.git", os.F_OK)
            if there and is_nested(self.work_tree / os.fsdecode(name)):
                known = git.run("ls-files", "-z", "--", f":(literal){os.fsdecode(name)}")
                git.run("update-index", "--force-remove", "-z", "--stdin", stdin=known)

    def _read_tracked_mark(self) -> bytes:
        return signature(self.repository.git_dir / "index" if self.repository else None)


def _read_mtime(path: Path) -> int:
    return path.lstat().st_mtime_ns


def _personal_excludes(found: dict[tuple[str, str], str], folder: Path) -> bytes:
    name = found.get(("global", "core.excludesfile")) or found.get(("system", "core.excludesfile"))
    if name:
        return read_small(folder / _expand(name))
    settings = process_environment().get("XDG_CONFIG_HOME") or "~/.config"
    return read_small(_expand(settings) / "git" / "ignore")


def _expand(name: str) -> Path:
    if name.startswith("~/") and (home := process_environment().get("HOME")):
        return Path(home + name[1:])
    return Path(os.path.expanduser(name))  # noqa: PTH111  # that of pathlib raises if there is no home


def doubt(entry: "os.DirEntry[str]", at: int, laid_at: int) -> None:
    """Makes git read a file that was written so early that its times alone do not show the change."""
    found = entry.stat(follow_symlinks=False)
    later = (laid_at // _SECOND + 2) * _SECOND
    # Only times that a file written by us can have: leave those of an unpacked archive alone.
    like_laid = laid_at - int(TIME_LIMIT) * _SECOND <= found.st_mtime_ns < later
    if like_laid and found.st_ctime_ns >= laid_at:
        with suppress(OSError):
            os.utime(entry.name, ns=(later, later), dir_fd=at, follow_symlinks=False)


def _parse_tracked(listing: bytes) -> set[bytes]:
    return {entry.path for entry in index_entries(listing) if not entry.is_link}


@lru_cache(4)
def _list_tracked_in(git_dir: Path, work_tree: Path, index: Path, _mark: tuple[int, ...]) -> frozenset[bytes]:
    """The files of an index in a copy; none if git cannot read it. Asked again if its mark is another."""
    confined = partial(_confine, git_dir, work_tree)
    git = Git(git_dir, work_tree, index=index, time_limit=60, confined=confined)
    listing = git.attempt("ls-files", "-s", "-z")
    return frozenset(_parse_tracked(listing.out)) if listing.code == 0 else frozenset()


def _confine(git_dir: Path, work_tree: Path, program: str) -> tuple[str, ...]:
    """The words that keep git from whatever else a process in the copy could lead it to.

    Git lists names and opens paths later: by then a folder may be a link.
    """
    bwrap = sandbox.usable(SYSTEM_PATH)
    if not isinstance(bwrap, str):
        return ()
    lent = Repository(git_dir, git_dir).objects()[1:]
    seen = (
        *(Mount(path, How.READ_IF_THERE) for path in lent),
        Mount(work_tree, How.READ),
        Mount(git_dir, How.WRITE),
    )
    return sandbox.for_reader(bwrap, program, seen, work_tree)


class CopyShadow(PrivateGit):
    """Reads a work copy, without using the repository in it, which the agent may have changed at will."""

    def __init__(self, git_dir: Path, work_tree: Path, base: str, around: GitFacts) -> None:
        super().__init__(git_dir, work_tree)
        self._base = base
        self._around = around

    def read_commit(self, objects: Path, *words: str) -> bytes:
        """What git says of a commit that is only in the copy's own repository."""
        git = Git(
            self.git_dir,
            more_objects=objects,
            time_limit=20,
            confined=partial(_confine, self.git_dir, self.work_tree),
        )
        return git.run(*words)

    def reader(self, index: Path | None = None) -> Git:
        return Git(
            self.git_dir,
            self.work_tree,
            index=index,
            confined=partial(_confine, self.git_dir, self.work_tree),
        )

    def trust_files(self, now: Path) -> int:
        """Makes git trust the files just written, although they are as old as its index.

        Returns the time that a file made `now` has; git must be told about files written from then on, see
        `doubt`.
        """
        now.touch()
        laid_at = now.stat().st_ctime_ns
        following = laid_at // _SECOND + 1
        os.utime(self.git_dir / "index", (following, following))
        return laid_at

    def guard_again(self) -> None:
        self.folder.guard(self._around)  # the agent could write to it

    def _refresh(self) -> None:
        self.guard_again()

    def _list_tracked(self) -> set[bytes]:
        """The original files, and what the agent has added to git."""
        found = set(files_of(self.git_dir, self._base))
        index = self.work_tree / ".git" / "index"
        if index.is_file():
            facts = index.stat()
            # Whoever works in the copy can set the other times of it, but not this one.
            mark = (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
            found |= _list_tracked_in(self.git_dir, self.work_tree, index, mark)
        return found

    def _read_tracked_mark(self) -> bytes:
        return signature(self.work_tree / ".git" / "index")

    def began_with(self, paths: Sequence[bytes]) -> bool:
        """Whether one of these, or something below it, was there originally."""
        folders = tuple(path + b"/" for path in paths)
        return any(name in paths or name.startswith(folders) for name in files_of(self.git_dir, self._base))

    def changes(self, tree: str) -> Iterator[TreeChange]:
        words = ("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev")
        return tree_changes(self.git.run(*words, self._base, tree))

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(ids))
        return dict(zip(wanted, read_blobs(self.git, wanted), strict=True))
