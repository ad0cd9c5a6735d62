"""Snapshots: one id for the exact bytes and modes of the workspace, nested repositories included (CP-9).

Each repository inside the workspace is read through a private git directory of its own, like the workspace
itself, and with its own ignore rules.
"""

import contextlib
import hashlib
import os
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed, NotFound, Unreadable
from ringi.kernel.process.git import Git, TreeFile, keep, names_in, read_blobs, tree_files
from ringi.kernel.process.repository import read_small
from ringi.kernel.text import Text
from ringi.tree.file_state import StateFile
from ringi.tree.tree_capture import WorktreeCapture, is_nested

_LOOKS: Final = 3
"""After the first."""
_NAMED: Final = 3
_FORM: Final = b"ringi snapshot 1"


class Snapshot(NamedTuple):
    id: str
    """Hash of all that follows: the same id means the same files."""
    tree: str
    """The git tree of the workspace itself."""
    nested: tuple[tuple[str, str], ...]
    """The path and the git tree of every repository inside, and of those inside them."""
    unreadable: tuple[str, ...]
    """Files and folders that are in no tree because they could not be read."""


class Look(NamedTuple):
    snapshot: Snapshot
    restless: tuple[str, ...] = ()
    """What somebody kept writing to: then it may be a mixture of several moments."""


class Listing(NamedTuple):
    files: tuple[StateFile, ...]
    """By path; those of nested repositories with the path from the workspace."""
    not_utf8: tuple[str, ...]
    """Names that no document can contain; their bytes are part of the snapshot all the same."""


class Snapshots:
    """The snapshots of one workspace. `state` is ringi's own folder for it, outside the workspace."""

    def __init__(self, state: Path, root: Path) -> None:
        self._state = state
        self._root = root.resolve()
        self._settled = state / "git" / "snapshot"
        self._shadows: dict[str, WorktreeCapture] = {}
        """They keep what was captured."""

    def take(self) -> Snapshot:
        """The workspace as it was at one moment; Unreadable if somebody keeps writing to it."""
        found, restless = self.look()
        if restless:
            raise Unreadable(what=", ".join(restless), why=Text("somebody keeps writing to it"))
        return found

    def look(self) -> Look:
        """The workspace as it was at one moment, if there is one.

        Files are read one after another, so a changing workspace could give a mixture. A known id is no
        mixture; a new one counts only if a second look gives the same.
        """
        with _in_words(self._root):
            known = read_small(self._settled).decode("ascii", "replace")
            last = self._look()
            restless: tuple[str, ...] = ()
            if last.id == known:
                return Look(last)
            for _ in range(_LOOKS):
                found = self._look()
                if found.id == known:
                    return Look(found)
                if found == last:
                    # If it cannot be saved, the next call looks twice again.
                    with contextlib.suppress(OSError):
                        keep(self._settled, found.id.encode())
                    return Look(found)
                restless, last = self.differing(last, found), found
        return Look(last, restless[:_NAMED] or (str(self._root),))

    def files(self, snapshot: Snapshot) -> Listing:
        files: dict[str, StateFile] = {}
        not_utf8 = set()
        with _in_words(self._root):
            for prefix, tree in _trees(snapshot):
                for file in _files_of(self._git(prefix), tree):
                    try:
                        path = _join(prefix, file.path.decode())
                        path.encode()
                    except UnicodeError:
                        not_utf8.add(_join(prefix, os.fsdecode(file.path)))
                    else:
                        files[path] = StateFile(path, file.mode, file.oid)
        return Listing(tuple(files[path] for path in sorted(files)), tuple(sorted(not_utf8)))

    def not_checked_out(self) -> tuple[str, ...]:
        """Files in the person's own index that a sparse checkout left out."""
        with _in_words(self._root):
            return tuple(sorted(map(os.fsdecode, self._shadow_of("").list_skipped())))

    def find_ignored(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those that no snapshot contains: git ignores them, in the workspace or in a repository inside."""
        inside: dict[str, list[str]] = {}
        for path in paths:
            parts = path.split("/")
            for depth in range(len(parts)):
                prefix = "/".join(parts[:depth])
                if not prefix or is_nested(self._root / prefix):
                    inside.setdefault(prefix, []).append(path[len(prefix) :].lstrip("/"))
        found: set[str] = set()
        with _in_words(self._root):
            for prefix, names in inside.items():
                ignored = self._shadow_of(prefix).find_ignored([os.fsencode(name) for name in names])
                found |= {_join(prefix, os.fsdecode(name)) for name in ignored}
        return tuple(sorted(found))

    def contents(self, snapshot: Snapshot, files: Iterable[StateFile]) -> Iterator[tuple[StateFile, bytes]]:
        """The bytes of each file; one git process for each repository, one file in memory at a time."""
        prefixes = {prefix for prefix, _ in _trees(snapshot)}
        by_prefix: dict[str, list[StateFile]] = {}
        for file in files:
            by_prefix.setdefault(_prefix_of(file.path, prefixes), []).append(file)
        with _in_words(self._root):
            for prefix, some in by_prefix.items():
                blobs = read_blobs(self._git(prefix), [file.oid for file in some])
                yield from zip(some, blobs, strict=True)

    def read(self, snapshot: Snapshot, path: str) -> bytes:
        """The bytes of one file as they were; of a link, where it leads."""
        trees = dict(_trees(snapshot))
        prefix = _prefix_of(path, trees)
        inside = path[len(prefix) :].lstrip("/")
        git = self._git(prefix)
        with _in_words(self._root):
            found = list(_files_of(git, trees[prefix], inside)) if inside else []
            if [file.path for file in found] != [os.fsencode(inside)]:
                raise NotFound(what=Text("file"), name=path, see="ringi state show")
            return next(read_blobs(git, [found[0].oid]))

    def _look(self) -> Snapshot:
        trees: dict[str, str] = {}
        unreadable: set[str] = set()
        waiting = [""]
        while waiting:
            prefix = waiting.pop()
            try:
                shadow = self._shadow_of(prefix)
            except CopyFailed:
                if not prefix:
                    raise
                unreadable.add(prefix)  # a repository that cannot be read
                continue
            captured = shadow.capture()
            trees[prefix] = captured.tree
            unreadable |= {_join(prefix, name) for name in captured.unreadable}
            nested = {_join(prefix, name) for name in captured.nested}
            nested |= {_join(prefix, name) for name in self._list_ignored_submodules(prefix, shadow)}
            # If one was deleted or became a link since, the second look notices.
            waiting += (path for path in nested - trees.keys() if self._is_folder(path))
        tree, *nested_trees = sorted(trees.items())
        missing = tuple(sorted(name for name in unreadable if not _below(name, unreadable)))
        return Snapshot(_id([tree, *nested_trees], missing), tree[1], tuple(nested_trees), missing)

    def _list_ignored_submodules(self, prefix: str, shadow: WorktreeCapture) -> list[str]:
        """Returns all of them; those that are not ignored were found already."""
        found = [os.fsdecode(name) for name in shadow.submodules()]
        return [name for name in found if os.access(self._root / prefix / name / ".git", os.F_OK)]

    def _is_folder(self, path: str) -> bool:
        """Whether it is a folder, reached through no link."""
        place = self._root
        for part in path.split("/"):
            place /= part
            if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114  # those of pathlib raise
                return False
        return True

    def _shadow_of(self, prefix: str) -> WorktreeCapture:
        shadow = WorktreeCapture(self._git_dir(prefix), self._root / prefix)
        if earlier := self._shadows.get(prefix):
            shadow.held = earlier.held
        self._shadows[prefix] = shadow
        return shadow

    def _git_dir(self, prefix: str) -> Path:
        if not prefix:
            return self._state / "git"
        return self._state / "git-nested" / hashlib.sha256(os.fsencode(prefix)).hexdigest()[:32]

    def _git(self, prefix: str) -> Git:
        return Git(self._git_dir(prefix))

    def differing(self, one: Snapshot, other: Snapshot) -> tuple[str, ...]:
        """The paths at which they differ."""
        before, changed = dict(_trees(one)), set(one.unreadable) ^ set(other.unreadable)
        for prefix, tree in _trees(other):
            if (old := before.pop(prefix, tree)) != tree:
                out = self._git(prefix).run("diff-tree", "-r", "-z", "--name-only", old, tree)
                changed |= {_join(prefix, os.fsdecode(name)) for name in names_in(out)}
        return tuple(sorted(changed | before.keys()))


def _files_of(git: Git, tree: str, *paths: str) -> Iterator[TreeFile]:
    """Every file of the tree, or those at or below the paths."""
    literal = [f":(literal){path}" for path in paths]
    return tree_files(git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *literal))


def _trees(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    return (("", snapshot.tree), *snapshot.nested)


def _id(trees: Iterable[tuple[str, str]], unreadable: Iterable[str]) -> str:
    """Every field starts with a word that says what it is and ends with a NUL, which no path contains."""
    lines = [_FORM]
    lines += [b"tree " + tree.encode() + b" " + os.fsencode(path) for path, tree in trees]
    lines += [b"unreadable " + os.fsencode(path) for path in unreadable]
    return hashlib.sha256(b"".join(line + b"\0" for line in lines)).hexdigest()


def _join(prefix: str, name: str) -> str:
    return f"{prefix}/{name}" if prefix else name


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _prefix_of(path: str, prefixes: Container[str]) -> str:
    """The innermost repository that contains the path."""
    end = path.rfind("/")
    while end > 0 and path[:end] not in prefixes:
        end = path.rfind("/", 0, end)
    return path[: max(end, 0)]


@contextlib.contextmanager
def _in_words(root: Path) -> Iterator[None]:
    """No work copy is involved here, so the error must not mention one."""
    try:
        yield
    except CopyFailed as error:
        raise Unreadable(what=str(root), why=error.details["why"]) from None
