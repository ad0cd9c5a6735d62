"""A work copy used again: the workspace's files of now, and nothing that commands left there.

It must be exactly what a fresh copy would be. If that cannot be said, there is none.
"""

import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ringi.errors import CopyFailed
from ringi.kernel.process.erase import erase_later
from ringi.kernel.text import Text
from ringi.tree.copy import REMOVED, WorkCopy, facts_of, fill, take_along
from ringi.tree.copy_layout import carriable
from ringi.tree.ctime_manifest import Imprint
from ringi.tree.private_git import OWN
from ringi.tree.tree_capture import WorktreeCapture


def imprint_of(copy: WorkCopy) -> Imprint:
    """Of its files as they were laid out, before anything else is done with them."""
    made_again = {b".git", OWN.encode(), *map(os.fsencode, copy.record.carried)}
    return Imprint.take(copy.tree, copy.folder / "lock", made_again)


def renew(
    copy: WorkCopy,
    imprint: Imprint,
    root: Path,
    state: Path,
    *,
    carry: Sequence[str] = (),
    on_progress: Callable[[Text], None] = lambda _: None,
) -> WorkCopy | None:
    """In the same folder; `imprint` tells what commands touched. No command may run in it any more.

    None if another one has to be made instead.
    """
    root = root.resolve()
    carried = tuple(dict.fromkeys(carriable(root, name) for name in carry))
    on_progress(Text("Reading the workspace"))
    shadow = WorktreeCapture(state / "git", root)
    captured = shadow.capture()
    facts = facts_of(shadow, captured)
    if any(facts[name] != getattr(copy.record, name) for name in facts if name not in {"base", "nested"}):
        return None
    touched = copy.folder / f"{REMOVED}{secrets.token_hex(4)}"
    try:
        if not imprint.clear(copy.tree, touched):
            return None
        erase_later(touched)
        again = WorkCopy(copy.folder, msgspec.structs.replace(copy.record, **facts))
        fill(again, shadow)
        take_along(again, shadow, captured, carried, on_progress)
    except (CopyFailed, OSError):
        return None
    return again
