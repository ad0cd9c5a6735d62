"""The files of a copy as a model sees them: what git does not ignore, as text, never through a link."""

import os
import threading
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from ringi.kernel.fs import OsFileSystem
from ringi.kernel.process.git import names_in
from ringi.kernel.text import visible
from ringi.policy.files import is_credential
from ringi.policy.globs import globs, within
from ringi.tools.effects import ErrorKind
from ringi.tools.ports_process import ToolResult
from ringi.tree.copy import WorkCopy, capture
from ringi.tree.copy_steps import list_changed_paths
from ringi.tree.paths import normalise
from ringi.tree.private_git import signature
from ringi.tree.tree import Tree

_E = ErrorKind
LARGEST: Final = 1 << 20
"""Bytes of a file that is read, searched or written."""
LONGEST_NAME: Final = 200
_NAMED: Final = 3
HIDDEN: Final = "it may hold credentials, or context.never_send names it"


class _SeenTree(NamedTuple):
    tree: str
    files: tuple[str, ...]
    mark: bytes
    """Of the index that they were captured with."""


class CopyFiles:
    def __init__(self, copy: WorkCopy, never_send: Sequence[str]) -> None:
        self.tree = Tree(OsFileSystem(), copy.tree)
        self._copy = copy
        self._never = globs(tuple(never_send))
        self._lock = threading.Lock()
        self._now: _SeenTree | None = None

    def names(self) -> tuple[str, ...]:
        """Its files, without what git ignores."""
        with self._lock:
            return self._look().files

    def current_tree(self) -> str:
        """Its tree."""
        with self._lock:
            return self._look().tree

    def changes_since(self, before: str) -> tuple[str, ...]:
        """What differs now from this tree."""
        with self._lock:
            self._now = None
            tree = self._look().tree
            return list_changed_paths(self._copy, before, tree) if tree != before else ()

    def _look(self) -> _SeenTree:
        """Captured once, and again if the copy was captured or laid out by others since."""
        index = self._copy.shadow.git_dir / "index"
        if self._now is None or signature(index) != self._now.mark:
            tree = capture(self._copy)[0].tree
            names = names_in(self._copy.shadow.git.run("ls-tree", "-r", "-z", "--name-only", tree))
            self._now = _SeenTree(tree, tuple(map(os.fsdecode, names)), signature(index))
        return self._now

    def may_show(self, path: str) -> bool:
        return not is_credential(path) and not self._never.match(path)

    def below(self, wanted: str, glob: str) -> tuple[str, tuple[str, ...]] | ToolResult:
        """The folder or file that is named, and the files there that the glob matches."""
        if len(glob) > LONGEST_NAME:
            return failure(_E.INVALID_ARGUMENTS, f"glob may have {LONGEST_NAME} characters.")
        plain = wanted.rstrip("/") if wanted.strip("/") else wanted
        path = "" if plain in {"", "."} else "/".join(normalise(plain))
        files = self.names()
        if path:
            files = tuple(one for one in files if one == path or one.startswith(f"{path}/"))
            if not files:
                return self._missing(path)
        if glob:
            files = tuple(one for one in files if _fits(one, path, glob))
        return path, files

    def _missing(self, path: str) -> ToolResult:
        known = self.names()
        names = {*known, *(folder for one in known if (folder := one.rpartition("/")[0]))}
        same = [one for one in sorted(names) if one.rpartition("/")[2] == path.rpartition("/")[2]]
        near = same[:_NAMED] or get_close_matches(path[:LONGEST_NAME], sorted(names), _NAMED)
        then = (
            f"Do you mean {' or '.join(map(display_name, near))}?"
            if near
            else "Use list to see what is there."
        )
        return failure(_E.NOT_FOUND, f"There is no {display_name(path)}. {then}")

    def text(self, path: str) -> str | ToolResult:
        """A file's text; a failure if there is none that a model may see."""
        if not self.may_show(path):
            return failure(
                _E.NOT_ALLOWED, f"No model is shown {display_name(path)}: {HIDDEN}. Go on without it."
            )
        with self.tree.open_root() as root:
            entry = self.tree.entry_of(path, root)
            if entry is not None and entry.size > LARGEST:
                why = f"{display_name(path)} has {entry.size} bytes; at most {LARGEST} can be read."
                return failure(_E.INVALID_ARGUMENTS, f"{why} Go on without it, or use run to see a part.")
            found = self.tree.look_from(root, path)
        if found is None:
            return self._missing(path)
        if b"\0" in found.data:
            return failure(_E.INVALID_ARGUMENTS, f"{display_name(path)} is not text. Go on without it.")
        try:
            return found.data.decode()
        except UnicodeDecodeError:
            return failure(_E.INVALID_ARGUMENTS, f"{display_name(path)} is not UTF-8. Go on without it.")


def _fits(path: str, folder: str, glob: str) -> bool:
    """Also from the folder that is listed."""
    inside = path[len(folder) + 1 :] if folder and path != folder else path
    return within(path, (glob,)) or within(inside, (glob,)) or fnmatchcase(path, glob)


def lines_of(text: str) -> list[str]:
    """With their ends; only what git takes for one ends a line."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def fit_lines(lines: Sequence[str], most: int) -> list[str]:
    """As many whole lines as fit."""
    kept, size = [], 0
    for line in lines:
        size += len(line.encode("utf-8", "replace"))
        if size > most:
            break
        kept.append(line)
    return kept


def failure(kind: ErrorKind, message: str) -> ToolResult:
    return ToolResult("", kind, message)


def display_name(name: str) -> str:
    return visible(name)[:LONGEST_NAME]
