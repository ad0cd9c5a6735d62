"""Edit a copy of a file in the person's own editor."""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from ringi.errors import NoSuchProgram, StorageFailed
from ringi.kernel.process.environment import find_program
from ringi.kernel.text import Text, why_failed
from ringi.plans.edits import LONGEST_NAME

_USUAL: Final = "vi"
_AFTER_PLUS: Final = frozenset(
    [
        "vi",
        "vim",
        "nvim",
        "gvim",
        "view",
        "nano",
        "pico",
        "emacs",
        "emacsclient",
        "mg",
        "kak",
        "micro",
        "joe",
        "ne",
    ]
)
_GOING: Final = frozenset(["code", "code-insiders", "codium", "cursor", "windsurf"])
_AFTER_COLON: Final = frozenset(["hx", "helix", "subl", "zed"])


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command) or [_USUAL]
    except ValueError:  # an unclosed quote
        return [command]


def _at_line(editor: str, file: str, line: int) -> list[str]:
    """How the editor is told where to begin; an unknown one gets only the file."""
    name = PurePosixPath(editor).name
    if line and name in _AFTER_PLUS:
        return [f"+{line}", file]
    if line and name in _GOING:
        return ["-g", f"{file}:{line}"]
    return [f"{file}:{line}"] if line and name in _AFTER_COLON else [file]


def edit(path: str, new: bytes, environment: Mapping[str, str], line: int = 0) -> tuple[bytes, int]:
    """Returns the edited content and the editor's exit code; a line counts from 1."""
    words = _words(environment.get("VISUAL") or environment.get("EDITOR") or _USUAL)
    program = find_program(words[0], environment)
    if program is None:
        raise NoSuchProgram(name=words[0])
    try:
        # In a folder of its own the copy keeps the file's name, from which editors tell the language.
        with tempfile.TemporaryDirectory(prefix="ringi-review-") as folder:
            copy = Path(folder, PurePosixPath(path).name[-LONGEST_NAME:] or "file")
            copy.write_bytes(new)
            ended = subprocess.run(
                [program, *words[1:], *_at_line(words[0], str(copy), line)],
                env=dict(environment),
                check=False,
            )
            if not copy.exists():
                raise StorageFailed(what=path, why=Text("the editor left no file"))
            return copy.read_bytes(), ended.returncode
    except OSError as error:
        raise StorageFailed(what=path, why=why_failed(error)) from None
