"""Lines of a file changed one by one, or the whole of it in the person's own editor."""

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from ringi.cli.reviewing.rows import Kind, Row
from ringi.errors import NoSuchProgram, NotTaken, RingiError, StorageFailed
from ringi.text import Text, why_failed

_USUAL: Final = "vi"
_LONGEST_NAME: Final = 100
LONGEST_LINE: Final = 2000
"""Bytes that can be edited in place."""


def line_text(row: Row) -> str:
    """What is typed into; bytes that are not UTF-8 come back as they were."""
    return row.data.removesuffix(b"\r").decode("utf-8", "surrogateescape")


def _with_end(row: Row, text: str) -> bytes:
    """A line ends as its file's lines do."""
    return text.encode("utf-8", "surrogateescape") + (b"\r" if row.data.endswith(b"\r") else b"")


def replaced(new: bytes, row: Row, text: str) -> bytes:
    lines = new.split(b"\n")
    lines[row.new - 1] = _with_end(row, text)
    return b"\n".join(lines)


def added_below(new: bytes, row: Row, text: str) -> bytes:
    """A line more, below one of the new file or in the place of one that goes."""
    lines = new.split(b"\n")
    if row.new == len(lines):  # below a last line without newline
        return new + b"\n" + _with_end(row, text)
    lines.insert(row.new, _with_end(row, text))
    return b"\n".join(lines)


def without(new: bytes, row: Row) -> bytes:
    """The line goes; one that was to go stays."""
    lines = new.split(b"\n")
    if row.kind is Kind.REMOVED:
        lines.insert(row.new, row.data)
        return b"\n".join(lines)
    last = row.new == len(lines)
    del lines[row.new - 1]
    # Where the last line had no newline, the one before it keeps its own.
    return b"\n".join([*lines, b""] if last and lines else lines)


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command) or [_USUAL]
    except ValueError:  # quotes that do not end
        return [command]


@contextmanager
def kept(path: str, made: bytes) -> Iterator[None]:
    """What the person wrote is not lost where the plan cannot take it: the error says where it lies."""
    try:
        yield
    except RingiError as error:
        with tempfile.NamedTemporaryFile(
            prefix="ringi-edit-", suffix="-" + PurePosixPath(path).name[-_LONGEST_NAME:], delete=False
        ) as file:
            file.write(made)
        why = Text(error.message, **error.details)
        raise NotTaken(why=why, file=file.name) from None


def in_editor(path: str, new: bytes, environment: Mapping[str, str]) -> tuple[bytes, int]:
    """What the person's editor made of a copy of the file, and its exit code."""
    words = _words(environment.get("VISUAL") or environment.get("EDITOR") or _USUAL)
    if shutil.which(words[0], path=environment.get("PATH")) is None:
        raise NoSuchProgram(name=words[0])
    try:
        # A folder of its own, so that the copy can have the file's own name, by which editors know its
        # language.
        with tempfile.TemporaryDirectory(prefix="ringi-review-") as folder:
            copy = Path(folder, PurePosixPath(path).name[-_LONGEST_NAME:] or "file")
            copy.write_bytes(new)
            ended = subprocess.run([*words, str(copy)], env=dict(environment), check=False)
            if not copy.exists():
                raise StorageFailed(what=path, why=Text("the editor left no file"))
            return copy.read_bytes(), ended.returncode
    except OSError as error:
        raise StorageFailed(what=path, why=why_failed(error)) from None
