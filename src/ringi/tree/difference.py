"""How two trees differ, as far as a plan can hold it; the rest by name, with the reason."""

import os
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ringi.errors import PathRefused
from ringi.kernel.process.git import ABSENT, TreeChange
from ringi.kernel.text import Text
from ringi.tree.paths import normalise, too_far

LARGEST_FILE: Final = 64 * 1024 * 1024
REPOSITORY: Final = "160000"
"""The mode of a repository inside another."""
_NEARLY_ALL: Final = 0.9
_REGULAR: Final = frozenset(["100644", "100755"])


class CopyChange(NamedTuple):
    path: str
    before_mode: str | None
    after_mode: str | None
    before: bytes | None
    after: bytes | None


class TreeDifference(NamedTuple):
    base: str
    tree: str
    changes: tuple[CopyChange, ...]
    left_out: tuple[tuple[str, Text], ...]


def difference_of(
    base: str,
    tree: str,
    wanted: Iterable[TreeChange],
    blobs: Mapping[str, bytes],
    left_out: Mapping[str, Text],
) -> TreeDifference:
    changes = tuple(
        CopyChange(
            change.path.decode(),
            _mode(change.before),
            _mode(change.after),
            blobs.get(change.old_oid),
            blobs.get(change.oid),
        )
        for change in sorted(wanted)
    )
    named = tuple(sorted(left_out.items(), key=lambda pair: os.fsencode(pair[0])))
    return TreeDifference(base, tree, changes, named)


def unfit(path: str, change: TreeChange) -> Text | None:
    """Why no plan can hold the change, by its kind and its name."""
    modes = {change.before, change.after} - {ABSENT}
    if REPOSITORY in modes:
        return Text("it is a repository of its own")
    if not modes <= _REGULAR:
        if len(modes) > 1:
            return Text("a file became a link, or a link a file")
        return Text("it is a symbolic link")
    try:
        normalise(path)
    except PathRefused as error:
        why = error.details["why"]
        return why if isinstance(why, Text) else Text("its name is refused")
    return None


def unreadable(path: str) -> Text:
    """Why a file or folder is not in a tree that was read."""
    return too_far(path) or Text("it cannot be read")


def too_large(size: int) -> Text | None:
    if size <= LARGEST_FILE:
        return None
    return Text("it has {size} bytes, {limit} are allowed", size=size, limit=LARGEST_FILE)


def too_many(changes: Sequence[TreeChange], most: int) -> Text | None:
    """Why no plan can hold so many changes, with the folder that most of them are in."""
    count = len(changes) - _count_moves(changes)
    if count <= most:
        return None
    folder, part = _find_crowded_folder([os.fsdecode(change.path) for change in changes])
    if not folder:
        return Text("it changes {count} files, a plan can have {limit}", count=count, limit=most)
    return Text(
        "it changes {count} files, a plan can have {limit}; {part} are in {folder}/",
        count=count, limit=most, part=part, folder=folder,
    )  # fmt: skip


def _count_moves(changes: Sequence[TreeChange]) -> int:
    """Files that only have another path now: two changes of the tree, and one of a plan."""
    gone = Counter(change.old_oid for change in changes if change.after == ABSENT)
    new = Counter(change.oid for change in changes if change.before == ABSENT)
    return (gone & new).total()


def _find_crowded_folder(paths: Sequence[str]) -> tuple[str, int]:
    """The deepest folder that has nearly all of the files, or the one at the top that has most."""
    found, part, depth = "", 0, 0
    while True:
        depth += 1
        heads = Counter("/".join(parts[:depth]) for path in paths if len(parts := path.split("/")) > depth)
        head, count = max(heads.items(), key=lambda item: item[1], default=("", 0))
        if not head or (depth > 1 and count < _NEARLY_ALL * len(paths)):
            return found, part
        found, part = head, count


def below(path: str, names: Container[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:count]) in names for count in range(1, len(parts) + 1))


def _mode(mode: str) -> str | None:
    return None if mode == ABSENT else mode
