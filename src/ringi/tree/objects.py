"""The objects of a private git directory: those that nothing needs any more are removed."""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from ringi.errors import CopyFailed
from ringi.kernel.fs import replace_file
from ringi.kernel.process.git import Git, index_entries, names_in
from ringi.kernel.process.repository import read_small
from ringi.kernel.text import Text
from ringi.tree.private_git import signature

_IN_USE: Final = "in-use"
_LENT: Final = "lent"
_MEASURED: Final = "measured"
_ROOM: Final = 64 * 1024 * 1024
"""Bytes of objects that are not worth looking at."""
_GROWN: Final = 2


class Hold:
    """Nothing is removed while one of these exists."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            os.close(self._descriptor)


class KeptObjects:
    """Whoever reads trees holds them; they are removed only while nobody does."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._objects = git_dir / "objects"
        self._lent = git_dir / _LENT

    def hold(self) -> "Hold":
        try:
            return Hold(self._git_dir / _IN_USE)
        except OSError as error:
            why = Text("{folder} cannot be used: {problem}", folder=self._git_dir, problem=error.strerror)
            raise CopyFailed(why=why) from None

    def lend(self, tree: str, to: Path) -> None:
        """The tree is kept for as long as the folder exists."""
        self._lent.mkdir(mode=0o700, exist_ok=True)
        name = hashlib.sha256(os.fsencode(to)).hexdigest()
        replace_file(self._lent / name, tree.encode() + b"\n" + os.fsencode(to), synced=False)

    def prune(self, tree: str | None) -> None:
        """Removes what neither the index, nor this tree, nor a borrower needs, if much has come since.

        Only cleanup: what fails now is done the next time.
        """
        with suppress(OSError):
            self._lent.mkdir(mode=0o700, exist_ok=True)
            measured = read_small(self._git_dir / _MEASURED).split(b"\n")
            mark = signature(self._git_dir / "index")
            if measured[0] == mark:
                return
            last = int(measured[1]) if measured[1:] and measured[1].isdigit() else 0
            if self._size() > max(_ROOM, _GROWN * last):
                if not self._remove_others(tree):
                    return
                last = self._size()
            replace_file(self._git_dir / _MEASURED, b"%s\n%d" % (mark, last), synced=False)

    def _remove_others(self, tree: str | None) -> bool:
        """False if somebody holds them."""
        with (self._git_dir / _IN_USE).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            needed = set(self._list_needed(tree))
            for name, path in self._loose().items():
                if name not in needed:
                    path.unlink(missing_ok=True)
            for pack in (self._objects / "pack").glob("pack-*.pack"):
                # A very large file has a pack of its own.
                if needed.isdisjoint(self._list_packed(pack)):
                    for part in pack.parent.glob(f"{pack.stem}.*"):
                        part.unlink(missing_ok=True)
            return True

    def _list_needed(self, tree: str | None) -> Iterator[str]:
        git = Git(self._git_dir)
        yield from (entry.oid.decode() for entry in index_entries(git.run("ls-files", "-s", "-z")))
        for needed in filter(None, {tree, *self._list_lent()}):
            yield needed
            # Of a tree that is damaged, what can be listed.
            listed = git.attempt("ls-tree", "-r", "-t", "-z", "--full-tree", needed)
            yield from (line.partition(b"\t")[0].split()[-1].decode() for line in names_in(listed.out))

    def _list_lent(self) -> Iterable[str]:
        for note in self._lent.iterdir():
            tree, _, folder = read_small(note).partition(b"\n")
            if os.path.isdir(folder):  # noqa: PTH112  # of bytes
                yield tree.decode("ascii", "replace")
            else:
                note.unlink(missing_ok=True)

    def _loose(self) -> dict[str, Path]:
        return {path.parent.name + path.name: path for path in self._objects.glob("??/*")}

    def _list_packed(self, pack: Path) -> set[str]:
        listed = Git(self._git_dir).attempt("show-index", stdin=pack.with_suffix(".idx").read_bytes())
        return {line.split(b" ")[1].decode() for line in listed.out.splitlines()}

    def _size(self) -> int:
        return sum(path.lstat().st_size for path in self._objects.glob("??*/*"))
