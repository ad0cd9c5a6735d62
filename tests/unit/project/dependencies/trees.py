"""Small trees to ask about."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ringi.project.dependencies import SourceFile, analyse
from ringi.project.state import Dependencies


def oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Files:
    """Files in memory, which remember what was read of them."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self.data = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
        self.was_read: list[str] = []

    def read(self, path: str) -> bytes:
        self.was_read.append(path)
        return self.data[path]

    def listed(self) -> list[SourceFile]:
        return [SourceFile(path, oid(data)) for path, data in self.data.items()]

    def analyse(self, cache: Path) -> Dependencies:
        self.was_read.clear()
        return analyse(self.listed(), self.read, cache)


def uses(files: Mapping[str, str | bytes], cache: Path) -> dict[str, set[str]]:
    """What is used by what; all of the files must have been understood."""
    found = Files(files).analyse(cache)
    assert found.unanalysed == ()
    return {path: set(used) for path, used in found.uses.items()}
