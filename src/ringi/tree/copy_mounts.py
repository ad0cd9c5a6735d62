"""Where a copy is inside a sandbox: at the project's own path, which then leads to the copy and not to the
project.

An editable install, an absolute path in a setting, `.venv/bin/python`: they all name the project's own
folder. A check that follows one of them must read the copy, or it would pass on bytes that nobody changed.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ringi.kernel.process.sandbox import How, Mount
from ringi.tree.copy import LENT, WorkCopy


class CopyMounts(NamedTuple):
    folder: Path
    """Where commands find the copy: at the project's own path, or, if that cannot be, at the copy's."""
    mounts: tuple[Mount, ...]

    @property
    def hides_project(self) -> bool:
        return any(mount.path == self.folder and mount.source for mount in self.mounts)

    def read_only(self) -> "CopyMounts":
        return self._replace(mounts=tuple(mount._replace(how=How.READ) for mount in self.mounts))


def mounts_of_copy(copy: WorkCopy, root: Path, home: Path | None, needed: Iterable[Path] = ()) -> CopyMounts:
    """`root` and `needed`, the files a command starts from, are real paths. A copy cannot stand in for a
    home folder: programs would miss all else that is in it.
    """
    lent = [Mount(link, How.READ, source=os.path.realpath(link)) for link in copy.folder.glob(f"{LENT}/*")]
    if home is not None and home.is_relative_to(root):
        return CopyMounts(copy.tree, (*lent, Mount(root, How.READ), Mount(copy.tree, How.WRITE)))
    shown = [root / name for name in copy.record.dependencies if _can_show(copy, name)]
    shown += [part for path in needed if (part := _find_hidden_part(copy, root, path)) is not None]
    return CopyMounts(
        root,
        (
            *lent,
            Mount(root, How.WRITE, source=str(copy.tree)),
            *(Mount(path, How.READ) for path in dict.fromkeys(shown)),
        ),
    )


def _can_show(copy: WorkCopy, name: str) -> bool:
    """Whether nothing that the agent made is in the way, such as a link that leads elsewhere."""
    place = copy.tree
    for part in name.split("/"):
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return False
    return True


def _find_hidden_part(copy: WorkCopy, root: Path, path: Path) -> Path | None:
    """The part of the project to show so that a file is there; None if it is there already."""
    if not path.is_relative_to(root):
        return None
    name = path.relative_to(root)
    shown = any(name.is_relative_to(one) for one in copy.record.dependencies)
    if shown or os.path.lexists(copy.tree / name):
        return None
    folder = str(name.parent)
    alone = name.parent != Path() and not os.path.lexists(copy.tree / folder) and _can_show(copy, folder)
    return root / folder if alone else path
