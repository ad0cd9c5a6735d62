"""A work copy that goes on from the workspace's files of now, while its agent lives on in it."""

import os
import secrets
from pathlib import Path

import msgspec

from ringi.errors import StorageFailed
from ringi.fs import OsFileSystem
from ringi.process.erase import erase_later
from ringi.text import why_failed
from ringi.workspace.copy import REMOVED, WorkCopy, facts_of, fill
from ringi.workspace.copy_run import Files, lay_over
from ringi.workspace.difference import Difference
from ringi.workspace.private_git import OWN
from ringi.workspace.shadow import Shadow
from ringi.workspace.tree import Tree


def rebased(copy: WorkCopy, root: Path, state: Path, known: str) -> WorkCopy | None:
    """In the same folder, in which commands may go on running: the workspace's files of now.

    What differs from the tree `known` stays as it is; nobody has seen it yet. None if there has to be another
    copy instead.
    """
    shadow = Shadow(state / "git", root.resolve())
    captured = shadow.capture()
    facts = facts_of(shadow, captured)
    if any(facts[name] != getattr(copy.record, name) for name in facts if name not in {"base", "nested"}):
        return None
    since = WorkCopy(copy.folder, msgspec.structs.replace(copy.record, base=known)).difference()
    again = WorkCopy(copy.folder, msgspec.structs.replace(copy.record, **facts))
    try:
        for name in (".git", OWN):  # made again, with what the project has there now
            if os.path.lexists(copy.tree / name):
                removed = copy.folder / f"{REMOVED}{secrets.token_hex(4)}"
                (copy.tree / name).rename(removed)
                erase_later(removed)
        fill(again, shadow)
        lay_over(Tree(OsFileSystem(), copy.tree), files_of(since))
    except OSError as error:
        raise StorageFailed(what=str(copy.folder), why=why_failed(error)) from None
    return again


def files_of(difference: Difference) -> Files:
    """As they are after it."""
    return {
        change.path: None
        if change.after is None
        else (change.after, 0o755 if change.after_mode == "100755" else 0o644)
        for change in difference.changes
    }
