"""Which commands are no high risk."""

import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

_REST: Final = "*"


def allowed(argv: Sequence[str], globs: Sequence[str]) -> bool:
    """Word by word, so that no glob reaches further than it seems; a last * stands for any further words."""
    return any(_matches(argv, glob) for glob in globs)


def _matches(argv: Sequence[str], glob: str) -> bool:
    try:
        wanted = shlex.split(glob)
    except ValueError:
        return False
    if wanted and wanted[-1] == _REST:
        wanted = wanted[:-1]
        argv = argv[: len(wanted)]
    return (
        bool(wanted)
        and len(argv) == len(wanted)
        and all(fnmatchcase(word, pattern) for word, pattern in zip(argv, wanted, strict=True))
    )
