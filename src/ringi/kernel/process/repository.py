"""Where the folders of a repository are. It starts no git and loads little: plain commands look this far."""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed
from ringi.kernel.fs import FileTooLarge, NotRegular, read_bounded
from ringi.kernel.text import Text

_MOST_ALTERNATES: Final = 100
"""Git follows five levels; a file that names more is none of its own."""
_READ_LIMIT: Final = 16 * 1024 * 1024


class Repository(NamedTuple):
    """The person's own repository, seen from outside: where its folders are."""

    git_dir: Path
    common: Path
    """Where objects and refs are: another folder if this is a linked worktree."""

    @classmethod
    def at(cls, root: Path) -> "Repository | None":
        try:
            return cls._at(root)
        except OSError as error:
            why = Text("{folder} cannot be read: {problem}", folder=root / ".git", problem=error.strerror)
            raise CopyFailed(why=why) from None

    @classmethod
    def _at(cls, root: Path) -> "Repository | None":
        git_dir = root / ".git"
        if git_dir.is_file():
            first, _, target = read_small(git_dir).partition(b":")
            if first != b"gitdir":
                return None
            git_dir = root / os.fsdecode(target.strip())
        common = git_dir / os.fsdecode(read_small(git_dir / "commondir").strip() or b".")
        if not (git_dir / "HEAD").is_file() or not (common / "objects").is_dir():
            return None
        return cls(git_dir.resolve(), common.resolve())

    def objects(self) -> tuple[Path, ...]:
        """Its object folder, and those it borrows from."""
        found: dict[Path, None] = {}
        waiting = [self.common / "objects"]
        while waiting and len(found) < _MOST_ALTERNATES:
            folder = waiting.pop(0)
            if folder in found:
                continue
            try:
                lines = read_bounded(folder / "info" / "alternates", _READ_LIMIT).splitlines()
            except (NotRegular, FileTooLarge):  # git would wait for it, for ever
                continue
            except OSError:
                lines = []
            found[folder] = None
            lines = lines[:_MOST_ALTERNATES]
            named = [os.fsdecode(unquote(line)) for line in lines if line and not line.startswith(b"#")]
            waiting += (Path(os.path.normpath(folder / name)) for name in named)
        return tuple(found)


def unquote(line: bytes) -> bytes:
    """As git quotes a path: in C's way, with three octal digits for unusual bytes."""
    if not re.fullmatch(rb'".*"', line, re.DOTALL):
        return line
    known = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}

    def plain(match: re.Match[bytes]) -> bytes:
        word = match[1]
        return bytes([int(word, 8)]) if word.isdigit() else known.get(word, word)

    return re.sub(rb"\\([0-3][0-7]{2}|.)", plain, line[1:-1], flags=re.DOTALL)


def read_small(path: Path) -> bytes:
    """A small optional file. Anything but a regular file of a usual size counts as absent."""
    try:
        return read_bounded(path, _READ_LIMIT)
    except OSError:
        return b""


class Mended(NamedTuple):
    """A ref that is well again."""

    ref: str
    lines: tuple[Text, ...]
    """What was wrong, what became of it, and what could not be kept."""
    aside: str = ""
    """The folder with the damaged files; empty if there are none."""
    lost_notes: tuple[str, ...] = ()
    """The blobs that they hung on."""
    lost_plans: tuple[str, ...] = ()
    """The names of plans whose proof is lost."""
