"""A work copy that goes on from the workspace's files of now, while its agent lives on in it.

Its processes may write at any moment, so nothing here follows a link in the copy, and no git is started with
settings that they could change: files are written one by one, and a repository is made elsewhere and moved
in.
"""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import msgspec

from ringi.errors import StorageFailed
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.process.erase import erase_later
from ringi.kernel.process.git import ABSENT, Git, TreeChange, index_entries, join_names, names_in, read_blobs
from ringi.kernel.text import why_failed
from ringi.patch.merge import MergedText, merge
from ringi.tree.copy import REMOVED, WorkCopy, digests, facts_of, own_repository
from ringi.tree.copy_run import Files, lay_over
from ringi.tree.copy_steps import since
from ringi.tree.difference import CopyChange, TreeDifference, below
from ringi.tree.private_git import OWN
from ringi.tree.tree import Tree
from ringi.tree.tree_capture import WorktreeCapture

_MODES: Final = {"100644": 0o644, "100755": 0o755}
_LINK: Final = "120000"


class Followed(NamedTuple):
    copy: WorkCopy
    changed: tuple[str, ...] = ()
    """What changed in the workspace; it is in the copy now, unless there is something torn."""
    torn: tuple[str, ...] = ()
    """What both changed so that it cannot be joined: then the copy stays as it is."""
    hidden: tuple[str, ...] = ()
    """New files of the agent that git ignores since."""


def follow_workspace(copy: WorkCopy, root: Path, state: Path, **noted: object) -> Followed:
    """With what changed in the workspace since the copy was made, beside what was changed in the copy.

    Its record gets the fields `noted`. Cut off at any moment, it is the same when it is done again. Raises
    CopyFailed and StorageFailed.
    """
    shadow, facts = _now(root, state)
    now = facts["base"]
    if not _alike(copy, facts) or now == copy.base:
        copy.note(**noted)
        return Followed(copy)
    theirs = {os.fsdecode(one.path): one for one in copy.shadow.changes(now)}
    changed, mine = tuple(sorted(theirs)), copy.difference()
    joined = _join(copy, mine, theirs)
    if joined.torn:
        copy.note(**noted)
        return Followed(copy, changed, joined.torn)
    if planned := copy.record.planned_tree:
        noted["planned_tree"] = _with(copy, planned, theirs)
    _lay(copy, joined)
    again = WorkCopy(copy.folder, msgspec.structs.replace(copy.record, **facts))
    again.note(**noted)
    shadow.objects.lend(again.base, again.folder)
    added = [os.fsencode(change.path) for change in mine.changes if change.before is None]
    ignored = again.shadow.git.attempt("check-ignore", "--no-index", "-z", "--stdin", stdin=join_names(added))
    return Followed(again, changed, hidden=tuple(map(os.fsdecode, names_in(ignored.out))))


def rebase(copy: WorkCopy, root: Path, state: Path, known: str, **noted: object) -> WorkCopy | None:
    """In the same folder, in which commands may go on running: the workspace's files of now.

    What differs from the tree `known` stays as it is; nobody has seen it yet. None if there has to be another
    copy instead. Its record gets the fields `noted`.
    """
    shadow, facts = _now(root, state)
    if not _alike(copy, facts):
        return None
    before = since(copy, known)
    theirs = {os.fsdecode(one.path): one for one in before.shadow.changes(facts["base"])}
    _lay(copy, _join(before, before.difference(), theirs))
    again = WorkCopy(copy.folder, msgspec.structs.replace(copy.record, **facts))
    again.note(**noted)
    shadow.objects.lend(again.base, again.folder)
    _renew_repository(again, shadow)
    return again


def _now(root: Path, state: Path) -> tuple[WorktreeCapture, dict[str, Any]]:
    shadow = WorktreeCapture(state / "git", root.resolve())
    return shadow, facts_of(shadow, shadow.capture())


def _alike(copy: WorkCopy, facts: Mapping[str, Any]) -> bool:
    """Whether it is still a repository of the same kind."""
    return all(facts[name] == getattr(copy.record, name) for name in facts if name not in {"base", "nested"})


class _Joined(NamedTuple):
    files: Files
    links: dict[str, bytes]
    torn: tuple[str, ...]
    """Not among the others."""


def _join(copy: WorkCopy, mine: TreeDifference, theirs: Mapping[str, TreeChange]) -> _Joined:
    """What has to be written, so that the copy has the changes of both."""
    own = {change.path: change for change in mine.changes}
    left_out = dict(mine.left_out)
    folders = {str(folder) for path in theirs for folder in PurePosixPath(path).parents}
    # A file where the other has a folder, or something that no plan can hold.
    torn = [path for path in (*own, *left_out) if path in folders]
    torn += [path for path in own if path not in theirs and below(path, theirs)]
    torn += [path for path in left_out if below(path, theirs)]
    files, links = dict[str, tuple[bytes, int] | None](), dict[str, bytes]()
    blobs = copy.shadow.blobs([one.oid for one in theirs.values() if one.after != ABSENT])
    for path, one in theirs.items():
        change, data = own.get(path), None if one.after == ABSENT else blobs[one.oid]
        if change is not None and change.after == data:
            if data is not None and one.after in _MODES and change.before is None:
                files[path] = (data, _MODES[one.after])
        elif change is not None and (text := _merge_text(change, one, data)) is None:
            torn.append(path)
        elif data is None:
            files[path] = None
        elif one.after == _LINK:
            links[path] = data
        else:
            mode = (
                one.after if change is None or change.after_mode == change.before_mode else change.after_mode
            )
            files[path] = (data if change is None else text or b"", _MODES[str(mode)])
    blocked = {*torn, *(str(folder) for path in torn for folder in PurePosixPath(path).parents)}
    for found in (files, links):
        for path in [path for path in found if path in blocked or below(path, torn)]:
            del found[path]
    return _Joined(files, links, tuple(dict.fromkeys(torn)))


def _merge_text(mine: CopyChange, theirs: TreeChange, data: bytes | None) -> bytes | None:
    """None if they contradict each other."""
    if mine.before is None or mine.after is None or data is None or theirs.after not in _MODES:
        return None
    return _both(mine.before, mine.after, data)


def _both(before: bytes, mine: bytes, theirs: bytes) -> bytes | None:
    if any(b"\0" in one for one in (before, mine, theirs)):
        return None
    found = merge(before, mine, theirs)
    return found.content if isinstance(found, MergedText) else None


def _with(copy: WorkCopy, tree: str, theirs: Mapping[str, TreeChange]) -> str:
    """A tree of the agent's, with their changes in it."""
    own = {os.fsdecode(change.path): change for change in copy.shadow.changes(tree)}
    with tempfile.TemporaryDirectory(prefix="ringi-joined-") as folder:
        git = Git(copy.shadow.git_dir, copy.tree, index=Path(folder, "index"))
        git.run("read-tree", tree)
        entries = []
        for path, one in theirs.items():
            mode, oid, change = one.after, one.oid, own.get(path)
            if change is not None and change.oid != oid and ABSENT not in {mode, change.before, change.after}:
                text = _both(*read_blobs(git, [change.old_oid, change.oid, oid]))
                words = ("hash-object", "-w", "--no-filters", "--stdin")
                oid = git.run(*words, stdin=text).decode("ascii").strip() if text is not None else change.oid
            if change is not None and change.before not in {ABSENT, change.after}:
                mode = change.after
            entries.append(f"{mode} {oid}\t".encode() + one.path)
        git.run("update-index", "-z", "--index-info", stdin=join_names(entries))
        return git.run("write-tree").decode("ascii").strip()


def _lay(copy: WorkCopy, joined: _Joined) -> None:
    tree = Tree(OsFileSystem(), copy.tree)
    try:
        lay_over(tree, {**joined.files, **dict.fromkeys(joined.links)})
        with tree.open_root() as root:
            for path, target in joined.links.items():
                with tree.folder_of(path, root, make=True) as (folder, name):
                    os.symlink(target, os.fsencode(name), dir_fd=folder)
    except OSError as error:
        raise StorageFailed(what=str(copy.tree), why=why_failed(error)) from None


def _renew_repository(copy: WorkCopy, shadow: WorktreeCapture) -> None:
    """Unless the agent keeps something there: a stash, or another branch."""
    git_dir = copy.tree / ".git"
    if _keeps_work(git_dir):
        return
    try:
        made, own = _aside(copy), _aside(copy)
        head = own_repository(copy, shadow, made)
        own.mkdir()
        lay_over(Tree(OsFileSystem(), own), _own_files(copy, made) if head else {})
        for place, new in ((git_dir, made), (copy.tree / OWN, own)):
            gone = _aside(copy)
            with contextlib.suppress(FileNotFoundError):
                place.rename(gone)
                erase_later(gone)
            if new == made or any(new.iterdir()):
                new.rename(place)
        copy.note(head=head, own_files=digests(copy.tree / OWN))
    except OSError as error:
        raise StorageFailed(what=str(copy.folder), why=why_failed(error)) from None


def _aside(copy: WorkCopy) -> Path:
    """A place that the agent does not see; what is left there goes with the copy."""
    return copy.folder / f"{REMOVED}{secrets.token_hex(4)}"


def _own_files(copy: WorkCopy, git_dir: Path) -> Files:
    """What the commit has below `.agent`, from there on."""
    git = Git(git_dir, copy.tree)
    entries = [one for one in index_entries(git.run("ls-files", "-s", "-z", "--", OWN)) if not one.is_link]
    texts = read_blobs(git, [one.oid.decode() for one in entries])
    return {
        os.fsdecode(one.path).removeprefix(f"{OWN}/"): (text, _MODES[one.mode.decode()])
        for one, text in zip(entries, texts, strict=True)
        if one.mode.decode() in _MODES
    }


def _keeps_work(git_dir: Path) -> bool:
    names = {path.name for path in git_dir.glob("refs/heads/*")}
    return len(names) > 1 or os.path.lexists(git_dir / "refs" / "stash")


def files_of(difference: TreeDifference) -> Files:
    """As they are after it."""
    return {
        change.path: None
        if change.after is None
        else (change.after, 0o755 if change.after_mode == "100755" else 0o644)
        for change in difference.changes
    }
