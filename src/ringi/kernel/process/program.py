"""Which program a command means: the one found from the person's own folder."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from ringi.errors import NoSuchProgram
from ringi.kernel.text import Text

_INTERPRETER: Final = re.compile(r"python[0-9.]*|node|ruby|perl|(ba|z|da)?sh|env|npx|uvx")


def program_name(argv: Sequence[str]) -> str:
    """The program's name; for an interpreter, that of the script it runs."""
    return PurePosixPath(argv[1] if _runs_a_file(argv) else argv[0]).name


def _runs_a_file(argv: Sequence[str]) -> bool:
    name = PurePosixPath(argv[0]).name
    return len(argv) > 1 and not argv[1].startswith("-") and _INTERPRETER.fullmatch(name) is not None


def program_of(argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Path:
    """The file that is executed if the command is started in that folder. Raises NoSuchProgram."""
    name = argv[0] if argv else ""
    if not name or "\0" in name:
        raise NoSuchProgram(name=name)
    # An empty entry of PATH means the current folder; a relative one is relative to it.
    folders = [""] if "/" in name else environment.get("PATH", os.defpath).split(os.pathsep)
    # Not Path.is_file, which raises if a folder of PATH cannot be searched.
    there = [path for at in folders if os.path.isfile(path := folder / at / name)]  # noqa: PTH113
    for path in there:
        if os.access(path, os.X_OK):
            return path
    raise NoSuchProgram(name=Text("{name} that may be executed", name=name) if there else name)


def from_here(argv: Sequence[str], here: Path, root: Path) -> tuple[str, ...]:
    """The same command, to be run in the same folder of a copy.

    Paths of its program, and of the script given to an interpreter, become absolute if they are outside the
    workspace.
    """
    words, top = list(argv), Path(os.path.realpath(root))
    for at in _relative(argv):
        path = here / words[at]
        real = Path(os.path.realpath(path.parent), path.name)
        if path.is_file() and not real.is_relative_to(top):
            words[at] = str(real)
    return tuple(words)


def in_copy(argv: Sequence[str], tree: Path, root: Path) -> tuple[str, ...]:
    """Files that git ignores are not in the copy: use the workspace's own.

    `tree` and `root` are the folders in which the command starts, in the copy and in the workspace.
    """
    words = list(argv)
    for at in _relative(argv):
        if "/" in words[at] and not (tree / words[at]).exists() and (root / words[at]).is_file():
            words[at] = os.path.normpath(root / words[at])
    return tuple(words)


def _relative(argv: Sequence[str]) -> Iterator[int]:
    """Which words of the command may be paths. A program without a slash is searched in PATH."""
    if "/" in argv[0] and not argv[0].startswith("/"):
        yield 0
    if _runs_a_file(argv) and not argv[1].startswith("/"):
        yield 1
