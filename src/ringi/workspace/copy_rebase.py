"""A work copy that goes on from the workspace's files of now, while its agent lives on in it."""

import os
import secrets
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec

from ringi.errors import StorageFailed
from ringi.fs import OsFileSystem
from ringi.patching.merge import Merged, merge
from ringi.process.erase import erase_later
from ringi.process.git import ABSENT, Git, TreeChange, listed
from ringi.text import why_failed
from ringi.workspace.copy import REMOVED, WorkCopy, facts_of, fill, make_own_repository
from ringi.workspace.copy_layout import checkout_of
from ringi.workspace.copy_run import Files, lay_over
from ringi.workspace.copy_steps import since, stand_at
from ringi.workspace.difference import CopyChange, Difference, below
from ringi.workspace.private_git import OWN
from ringi.workspace.shadow import Shadow
from ringi.workspace.tree import Tree

_FILES: Final = frozenset(["100644", "100755"])


def rebased(copy: WorkCopy, root: Path, state: Path, known: str) -> WorkCopy | None:
    """In the same folder, in which commands may go on running: the workspace's files of now.

    What differs from the tree `known` stays as it is; nobody has seen it yet. None if there has to be another
    copy instead.
    """
    shadow, facts = _now(root, state)
    if not _alike(copy, facts):
        return None
    unseen = since(copy, known).difference()
    again = WorkCopy(copy.folder, msgspec.structs.replace(copy.record, **facts))
    try:
        _clear_repository(copy)
        fill(again, shadow)
        lay_over(Tree(OsFileSystem(), copy.tree), files_of(unseen))
    except OSError as error:
        raise StorageFailed(what=str(copy.folder), why=why_failed(error)) from None
    return again


class Followed(NamedTuple):
    copy: WorkCopy
    changed: tuple[str, ...] = ()
    """What changed in the workspace; it is in the copy now, unless there is something torn."""
    torn: tuple[str, ...] = ()
    """What both changed so that it cannot be joined: then the copy stays as it is."""


def followed(copy: WorkCopy, root: Path, state: Path) -> Followed:
    """With what changed in the workspace since the copy was made, beside what was changed in the copy.

    Killed at any moment, it is the same when it is done again. Raises CopyFailed and StorageFailed.
    """
    shadow, facts = _now(root, state)
    if not _alike(copy, facts):
        return Followed(copy)
    again, changed = copy, tuple[str, ...]()
    if facts["base"] != copy.base:
        theirs = list(copy.shadow.changes(facts["base"]))
        changed = tuple(sorted(os.fsdecode(one.path) for one in theirs))
        mine = copy.difference()
        joined = _join(copy, mine, theirs)
        if joined.torn:
            return Followed(copy, changed, joined.torn)
        stand_at(copy, _tree_of_both(copy, mine, theirs, joined.texts))
        again = WorkCopy(copy.folder, msgspec.structs.replace(copy.record, **facts))
        again.note()
        shadow.objects.lend(again.base, again.folder)
    moved = shadow.repository is not None and checkout_of(shadow).commit != copy.record.head
    if moved and copy.head_message() is None:  # a commit of the agent's would be lost
        try:
            _clear_repository(again)
            make_own_repository(again, shadow)
        except OSError as error:
            raise StorageFailed(what=str(copy.folder), why=why_failed(error)) from None
    return Followed(again, changed)


def _now(root: Path, state: Path) -> tuple[Shadow, dict[str, Any]]:
    shadow = Shadow(state / "git", root.resolve())
    return shadow, facts_of(shadow, shadow.capture())


def _alike(copy: WorkCopy, facts: Mapping[str, Any]) -> bool:
    """Whether it is still a repository of the same kind."""
    return all(facts[name] == getattr(copy.record, name) for name in facts if name not in {"base", "nested"})


def _clear_repository(copy: WorkCopy) -> None:
    """It is made again, with what the project has there now."""
    for name in (".git", OWN):
        if os.path.lexists(copy.tree / name):
            removed = copy.folder / f"{REMOVED}{secrets.token_hex(4)}"
            (copy.tree / name).rename(removed)
            erase_later(removed)


class _Joined(NamedTuple):
    texts: dict[bytes, bytes]
    """Of the files that both changed."""
    torn: tuple[str, ...]


def _join(copy: WorkCopy, mine: Difference, theirs: Collection[TreeChange]) -> _Joined:
    others = {os.fsdecode(one.path): one for one in theirs}
    folders = {str(folder) for path in others for folder in PurePosixPath(path).parents}
    texts = dict[bytes, bytes]()
    torn = [path for path, _ in mine.left_out if path in others or path in folders]
    for change in mine.changes:
        other = others.get(change.path)
        if other is None:
            # A file where the other has a folder.
            if change.path in folders or below(change.path, others):
                torn.append(change.path)
        elif (text := _merged(copy, change, other)) is None:
            torn.append(change.path)
        else:
            texts[other.path] = text
    return _Joined(texts, tuple(torn))


def _merged(copy: WorkCopy, mine: CopyChange, theirs: TreeChange) -> bytes | None:
    """None if they contradict each other."""
    data = None if theirs.after == ABSENT else copy.shadow.blobs([theirs.oid])[theirs.oid]
    if mine.after == data:
        return data or b""
    if mine.before is None or mine.after is None or data is None or theirs.after not in _FILES:
        return None
    if any(b"\0" in one for one in (mine.before, mine.after, data)):
        return None
    found = merge(mine.before, mine.after, data)
    return found.content if isinstance(found, Merged) else None


def _tree_of_both(
    copy: WorkCopy, mine: Difference, theirs: Collection[TreeChange], texts: Mapping[bytes, bytes]
) -> str:
    own = {os.fsencode(change.path): change for change in mine.changes}
    with tempfile.TemporaryDirectory(prefix="ringi-joined-") as folder:
        git = Git(copy.shadow.git_dir, copy.tree, index=Path(folder, "index"))
        git.run("read-tree", mine.tree)
        entries = []
        for one in theirs:
            mode, oid, change = one.after, one.oid, own.get(one.path)
            if change is not None and mode != ABSENT:
                words = ("hash-object", "-w", "--no-filters", "--stdin")
                oid = git.run(*words, stdin=texts[one.path]).decode("ascii").strip()
                kept = change.after_mode in {None, change.before_mode}
                mode = mode if kept else str(change.after_mode)
            entries.append(f"{mode} {oid}\t".encode() + one.path)
        git.run("update-index", "-z", "--index-info", stdin=listed(entries))
        return git.run("write-tree").decode("ascii").strip()


def files_of(difference: Difference) -> Files:
    """As they are after it."""
    return {
        change.path: None
        if change.after is None
        else (change.after, 0o755 if change.after_mode == "100755" else 0o644)
        for change in difference.changes
    }
