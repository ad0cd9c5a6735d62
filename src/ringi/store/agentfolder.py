"""`.agent/` itself: opened without following a link, made if missing."""

import contextlib
import errno
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from ringi.errors import InTheWay
from ringi.fs import OsFileSystem, opened, publish
from ringi.text import Text

AGENT_FOLDER: Final = ".agent"
IGNORE_RULES: Final = (
    b"# Written by ringi: everything here but these two can be rebuilt.\n*\n!config.yaml\n!allowed_signers\n"
)


class AgentFolder:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._fs = OsFileSystem()

    @contextlib.contextmanager
    def folder(self, *names: str) -> Iterator[int]:
        """Made if missing, opened without following a link."""
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(opened(self._fs, self._fs.open_root(self._root)))
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
        with opened(self._fs, folder):
            if name == AGENT_FOLDER and self._fs.entry(folder, ".gitignore") is None:
                publish(folder, ".gitignore", IGNORE_RULES)
            yield folder

    def differing(self, folder: tuple[str, ...], expected: Mapping[str, bytes | None]) -> list[str]:
        """Names of files that differ from what is expected; None means that there should be no file."""
        with contextlib.ExitStack() as stack:
            at = stack.enter_context(opened(self._fs, self._fs.open_root(self._root)))
            for name in folder:
                try:
                    at = stack.enter_context(opened(self._fs, self._fs.open_folder(at, name)))
                except OSError:
                    return [name for name, data in expected.items() if data is not None]
            return [name for name, data in expected.items() if self._found(at, name) != data]

    def _found(self, at: int, name: str) -> bytes | bool | None:
        """The file's content; None if there is nothing, False if it is not a readable file."""
        try:
            return self._fs.read(at, name)[0]
        except FileNotFoundError:
            return None
        except OSError:
            return False
