"""The files of a plan as they are now, beside what was approved."""

from collections.abc import Sequence

from ringi.domain.approval import FileChange
from ringi.domain.plan import FileState
from ringi.errors import PathRefused, StorageFailed
from ringi.workspace.tree import Found, Tree


def found_at(tree: Tree, root: int, change: FileChange) -> tuple[FileState | None, Found | None]:
    """Of a folder only counts that it is one: its permission bits change with whoever makes it."""
    if (folder := change.folder) is None:
        found = tree.look_from(root, change.path)
        return (found.state if found else None), found
    found = tree.look_folder_from(root, change.path)
    return (folder if found and found.state.folder else found.state if found else None), found


def differing(tree: Tree, changes: Sequence[FileChange]) -> list[str]:
    """Paths that are not as before."""
    wrong = []
    with tree.open_root() as root:
        for change in changes:
            try:
                state, _ = found_at(tree, root, change)
            except (PathRefused, StorageFailed, OSError):
                wrong.append(change.path)
            else:
                if state != change.before:
                    wrong.append(change.path)
    return wrong
