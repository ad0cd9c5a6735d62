"""Folders of our own outside the project, and what to do if one cannot be used."""

import errno
import os
from pathlib import Path
from typing import Final

from ringi.errors import FolderUnusable
from ringi.kernel.text import Text, why_failed

_FULL: Final = frozenset([errno.ENOSPC, errno.EDQUOT])


def folder_unusable(folder: Path, error: OSError, variable: str) -> FolderUnusable:
    """`variable` is the one that names another folder for the same purpose."""
    nearest = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    why: Text | str = why_failed(error)
    names = {"path": str(nearest), "variable": variable}
    if nearest.is_dir() and error.errno in _FULL:
        todo = Text("Free some space for {path}, or name another folder: export {variable}=/…", **names)
    elif nearest.is_dir():
        todo = Text("Make {path} writable for you, or name another folder: export {variable}=/…", **names)
    else:
        why = Text("{path} is not a folder", path=str(nearest))
        if nearest.is_file() or nearest.is_symlink():
            todo = Text("Move {path} away, or name another folder: export {variable}=/…", **names)
        else:  # such as the /dev/null that a service has as its home
            todo = Text("Name another folder: export {variable}=/…", variable=variable)
    return FolderUnusable(what=str(folder), why=why, todo=todo)
