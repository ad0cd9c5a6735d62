"""`.agent/` itself: opened without following a link, made if missing."""

import contextlib
import errno
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import InTheWay
from ringi.kernel.codec import digest
from ringi.kernel.fs import OsFileSystem, open_for_block, publish, spare_of
from ringi.kernel.text import Text

AGENT_FOLDER: Final = ".agent"
IDENTITY: Final = (AGENT_FOLDER, "workspace.json")
IGNORE_RULES: Final = (
    b"# Written by ringi: everything here but these two can be rebuilt.\n*\n!config.yaml\n!allowed_signers\n"
)


class Sha256(NamedTuple):
    """Of a file whose bytes the ledger does not have."""

    value: str


Expected = Mapping[str, bytes | Sha256 | None]
"""Files by name; None means that there should be none."""


Folder = tuple[str, ...]
Place = tuple[Folder, Callable[[], Expected]]
"""A folder, and what should be in it."""


class AgentFolder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._fs = OsFileSystem()

    @contextlib.contextmanager
    def folder(self, *names: str) -> Iterator[int]:
        """Made if missing, opened without following a link."""
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(open_for_block(self._fs, self._fs.open_root(self._root)))
            for name in names:
                folder = stack.enter_context(self.subfolder(folder, name))
            yield folder

    @contextlib.contextmanager
    def subfolder(self, at: int, name: str) -> Iterator[int]:
        try:
            folder = self._fs.open_folder(at, name)
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                self._fs.make_folder(at, name, 0o755)
            folder = self._fs.open_folder(at, name)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise InTheWay(what=name, why=Text("it is a link or a file, not a folder")) from None
            raise
        with open_for_block(self._fs, folder):
            if name == AGENT_FOLDER and self._fs.entry(folder, ".gitignore") is None:
                publish(folder, ".gitignore", IGNORE_RULES)
            yield folder

    def differing(self, folder: Folder, expected: Expected) -> list[str]:
        """Names of files that differ from what is expected."""
        with self._existing(folder) as at:
            if at is None:
                return [name for name, data in expected.items() if data is not None]
            return [name for name, data in expected.items() if not self._is(at, name, data)]

    def names(self, folder: Folder) -> list[str]:
        """Without the hidden spares of the writer; empty if there is no such folder."""
        with self._existing(folder) as at:
            return [] if at is None else [name for name in self._fs.names(at) if not name.startswith(".")]

    def those_there(self, folder: Folder, expected: Callable[[], Expected]) -> Expected:
        """What is expected of files that may be missing."""
        there = self.names(folder)
        return {name: data for name, data in expected().items() if name in there} if there else {}

    def drop(self, folder: Folder, names: Collection[str]) -> None:
        """Removes files of ours, and the folder unless somebody put something else there."""
        self.remove(folder, {*names, *map(spare_of, names)})
        with self._existing(folder[:-1]) as above, contextlib.suppress(OSError):
            if above is not None:
                self._fs.remove_folder(above, folder[-1])

    def remove(self, folder: Folder, names: Collection[str]) -> None:
        """Files of ours that should not be there."""
        with self._existing(folder) as at:
            if at is None:
                return
            for name in {*self._fs.names(at)}.intersection(names):
                with contextlib.suppress(OSError):
                    self._fs.remove(at, name)

    @contextlib.contextmanager
    def _existing(self, folder: Folder) -> Iterator[int | None]:
        with contextlib.ExitStack() as stack:
            at = stack.enter_context(open_for_block(self._fs, self._fs.open_root(self._root)))
            try:
                for name in folder:
                    at = stack.enter_context(open_for_block(self._fs, self._fs.open_folder(at, name)))
            except OSError:
                yield None
            else:
                yield at

    def _is(self, at: int, name: str, expected: bytes | Sha256 | None) -> bool:
        found = self._read(at, name)
        if isinstance(expected, Sha256):
            return isinstance(found, bytes) and digest(found) == expected.value
        return found == expected

    def _read(self, at: int, name: str) -> bytes | bool | None:
        """The file's content; None if there is nothing, False if it is not a readable file."""
        try:
            return self._fs.read(at, name)[0]
        except FileNotFoundError:
            return None
        except OSError:
            return False
