"""The trees of a work copy in which several steps are made one after another."""

import os
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from ringi.kernel.process.git import Git, index_entries, tree_files
from ringi.tree.copy import WorkCopy
from ringi.tree.difference import TreeDifference
from ringi.tree.private_git import OWN

_BYTES_A_LINE: Final = 100


def since(copy: WorkCopy, tree: str) -> WorkCopy:
    """The same copy; its differences are those to this tree."""
    return WorkCopy(copy.folder, msgspec.structs.replace(copy.record, base=tree))


def checkout(copy: WorkCopy, tree: str) -> None:
    """Brings its files to this tree; what git ignores stays. Raises CopyFailed."""
    # Then the index knows all files, and git writes only what differs.
    if copy.shadow.capture().tree != tree:
        copy.shadow.lay_out(tree)


def list_changed_paths(copy: WorkCopy, base: str, tree: str) -> tuple[str, ...]:
    """Paths that differ; a name that is not UTF-8 is escaped."""
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")
    names = copy.shadow.git.run(*words, base, tree).split(b"\0")
    return tuple(name.decode("utf-8", "backslashreplace") for name in names if name)


def line_counts(copy: WorkCopy, difference: TreeDifference) -> dict[str, int]:
    """By path: lines added plus lines removed; of a file that is not text one for each 100 bytes."""
    words = ("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
    out = copy.shadow.git.run(*words, difference.base, difference.tree)
    counted = {}
    for entry in out.split(b"\0"):
        added, _, rest = entry.partition(b"\t")
        removed, _, path = rest.partition(b"\t")
        if path:
            counted[os.fsdecode(path)] = (added, removed)
    found = {}
    for change in difference.changes:
        added, removed = counted.get(change.path, (b"0", b"0"))
        if added == b"-":
            size = max(len(change.before or b""), len(change.after or b""))
            found[change.path] = 1 + size // _BYTES_A_LINE
        else:
            # A mode, or an empty file, is a change too.
            found[change.path] = int(added) + int(removed)
    return found


def patch_between(copy: WorkCopy, base: str, tree: str) -> bytes:
    """As `git apply` takes it: it was tried on the base. Raises CopyFailed."""
    git = copy.shadow.git
    patch = git.run("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
                    "--no-textconv", base, tree)  # fmt: skip
    if patch:
        with tempfile.TemporaryDirectory(prefix="ringi-patch-") as folder:
            aside = Git(copy.shadow.git_dir, copy.tree, index=Path(folder, "index"))
            aside.run("read-tree", base)
            aside.run("apply", "--cached", "--check", "--whitespace=nowarn", "-", stdin=patch)
    return patch


def file_ids(copy: WorkCopy, tree: str) -> dict[bytes, str]:
    """The blob of each file in a tree of the copy."""
    return {path: oid for path, (_, oid) in _entries(copy, tree).items()}


def _entries(copy: WorkCopy, tree: str) -> dict[bytes, tuple[str, str]]:
    """Mode and blob of each file in a tree of the copy."""
    found = tree_files(copy.shadow.git.run("ls-tree", "-r", "-z", tree))
    return {file.path: (file.mode, file.oid) for file in found}


def files_of_tree(source: WorkCopy, tree: str, copy: WorkCopy) -> dict[str, tuple[bytes, int] | None]:
    """What to lay over the copy, which was just made, so that it has the files of a tree of `source`.

    Without links and repositories of their own, which no plan can hold.
    """
    there, wanted = _entries(copy, copy.base), _entries(source, tree)
    new = {
        path: entry
        for path, entry in wanted.items()
        if there.get(path) != entry and entry[0].startswith("100")
    }
    blobs = source.shadow.blobs(oid for _, oid in new.values())
    files: dict[str, tuple[bytes, int] | None] = dict.fromkeys(map(os.fsdecode, there.keys() - wanted.keys()))
    return files | {
        os.fsdecode(path): (blobs[oid], int(mode, 8) & 0o777) for path, (mode, oid) in new.items()
    }


def files_to(copy: WorkCopy, tree: str, folder: Path) -> dict[str, tuple[bytes, int] | None]:
    """What to lay over the copy, which is at this tree, so that it has the files that are committed in the
    folder, as they are there: bytes and permission bits by path; None for a file to delete.
    """
    there, wanted = file_ids(copy, tree), _list_committed(folder)
    files: dict[str, tuple[bytes, int] | None] = {}
    for path in there.keys() - wanted.keys():
        files[os.fsdecode(path)] = None
    for path, oid in wanted.items():
        if there.get(path) != oid:
            place = folder / os.fsdecode(path)
            if place.is_file() and not place.is_symlink():
                files[os.fsdecode(path)] = (place.read_bytes(), place.stat().st_mode & 0o777)
    return files


def _list_committed(folder: Path) -> dict[bytes, str]:
    """Its files, by the id of what is committed. Our own folder is in no tree of a copy."""
    entries = index_entries(Git(folder / ".git", folder).run("ls-files", "-s", "-z"))
    ours = f"{OWN}/".encode()
    return {
        entry.path: entry.oid.decode()
        for entry in entries
        if not (entry.is_link or entry.path.startswith(ours))
    }
