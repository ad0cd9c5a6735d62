"""The files of a private git directory: what decides which programs git may run there."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed, StorageFailed
from ringi.fs import replace_file
from ringi.text import Text
from ringi.workspace.git import quoted

OWN: Final = ".agent"
_PERSONAL: Final = "personal-exclude"
RULES: Final = ("info/exclude", f"info/{_PERSONAL}", "config")
"""The files that say what is ignored, beside those in the tree."""
# Stronger than any .gitattributes in the tree. An encoding can only be made unspecified: git dies on "-".
_ATTRIBUTES: Final = b"* -text -eol -crlf -ident -filter !working-tree-encoding\n"
_CONFIG: Final = b"""\
[core]
\trepositoryformatversion = %(version)d
\tbare = false
\tfilemode = true
\tignorecase = %(ignorecase)s
\tprecomposeunicode = %(precompose)s
\tautocrlf = false
\tsafecrlf = false
\tlogallrefupdates = false
\tuntrackedcache = false
\tsplitindex = false
\tsparsecheckout = false
\tloosecompression = 1
\tfsync = none
\texcludesfile = %(excludes)s
[checkout]
\tworkers = 4
[gc]
\tauto = 0
[extensions]
"""


class Surroundings(NamedTuple):
    """What a private git directory takes from outside."""

    alternates: tuple[bytes, ...] = ()
    excludes: bytes = b""
    personal_excludes: bytes = b""
    object_format: str = "sha1"
    ignorecase: bool = sys.platform == "darwin"
    precompose: bool = sys.platform == "darwin"


class PrivateFolder:
    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir

    def make_folders(self) -> None:
        try:
            for folder in ("", "objects/info", "refs", "info"):
                (self.git_dir / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(what=str(self.git_dir), why=error.strerror or str(error)) from None

    def prepare(self, around: Surroundings) -> None:
        """Writes the directory, or brings it up to date; whoever shares it holds the lock."""
        self.make_folders()
        info = self.git_dir / "info"
        self._write(
            {
                info / _PERSONAL: around.personal_excludes,
                info / "exclude": around.excludes + b"\n/" + OWN.encode() + b"/\n",
                self.git_dir / "objects" / "info" / "alternates": b"".join(
                    a + b"\n" for a in around.alternates
                ),
            }
        )
        self.guard(around)

    def guard(self, around: Surroundings) -> None:
        """Puts right what decides which programs git may run here."""
        self.refuse_link()
        with suppress(OSError):
            (self.git_dir / "commondir").unlink()
        self._write(
            {
                self.git_dir / "info" / "attributes": _ATTRIBUTES,
                self.git_dir / "config": _config(around, self.git_dir / "info" / _PERSONAL),
                self.git_dir / "HEAD": b"ref: refs/heads/none\n",
            }
        )

    def refuse_link(self) -> None:
        if self.git_dir.is_symlink():
            raise CopyFailed(why=Text("{folder} is a link", folder=self.git_dir))

    def _write(self, wanted: Mapping[Path, bytes]) -> None:
        try:
            for path, data in wanted.items():
                keep(path, data)
        except OSError as error:
            raise StorageFailed(what=str(self.git_dir), why=error.strerror or str(error)) from None


def _config(around: Surroundings, excludes: Path) -> bytes:
    wide = around.object_format == "sha256"
    text = _CONFIG % {
        b"version": 1 if wide else 0,
        b"ignorecase": _switch(around.ignorecase),
        b"precompose": _switch(around.precompose),
        b"excludes": quoted(excludes),
    }
    return text + b"\tobjectformat = sha256\n" if wide else text


def _switch(on: bool) -> bytes:
    return b"true" if on else b"false"


def keep(path: Path, data: bytes) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        replace_file(path, data, synced=False)
