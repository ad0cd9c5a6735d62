"""No command of a run uses gh, which acts in the person's name where nothing is approved or undone."""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

_NAMES: Final = frozenset(["gh", "gh.exe"])
# What can stand between two words of a command line, of code in it, or of a list in that code.
_BETWEEN: Final = re.compile(r"[\s;|&()<>{}\[\]`$\"',=:!]+")
_DEEPEST: Final = 4


def runs_gh(command: str) -> bool:
    """Whether gh is anywhere in a shell command, also in a script that is one of its words.

    Rather too often than not: a person can rename a test, but nobody sees a pull request that was merged.
    """
    return any(_is_gh(word, first=at == 0) for at, word in enumerate(_words(command)))


def _is_gh(word: str, *, first: bool) -> bool:
    path = PurePosixPath(word)
    # tests/gh is a file of the project; at the beginning it would be a program.
    program = word.startswith(("/", "~", "./", "../")) or path.parent.name == "bin"
    anywhere = first or program or "/" not in word
    return anywhere and path.name in _NAMES


def _words(command: str, depth: int = 0) -> Iterator[str]:
    yield from filter(None, _BETWEEN.split(command))
    try:
        # As the shell reads it: g"h" and g\h are gh.
        read = shlex.split(command, comments=False)
    except ValueError:  # quotes that do not end
        read = command.replace("\\", "").replace('"', "").replace("'", "").split()
    for word in read:
        if word != command and depth < _DEEPEST:
            yield from _words(word, depth + 1)
