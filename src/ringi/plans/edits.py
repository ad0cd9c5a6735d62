"""Replace, add or delete one line of a file; every other byte stays unchanged."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Final

from ringi.errors import NotTaken, RingiError
from ringi.kernel.text import Text
from ringi.plans.diff_view import Row, RowKind

LONGEST_NAME: Final = 100
"""Characters of a file's name kept in the name of its copy."""


def line_text(row: Row) -> str:
    """The text to edit; bytes that are not UTF-8 survive the round trip."""
    return row.data.removesuffix(b"\r").decode("utf-8", "surrogateescape")


def _with_end(row: Row, text: str) -> bytes:
    """With the line ending of the file."""
    return text.encode("utf-8", "surrogateescape") + (b"\r" if row.data.endswith(b"\r") else b"")


def replace_line(new: bytes, row: Row, text: str) -> bytes:
    lines = new.split(b"\n")
    lines[row.new - 1] = _with_end(row, text)
    return b"\n".join(lines)


def add_line_below(new: bytes, row: Row, text: str) -> bytes:
    """Below a line of the new file, or where the plan removes a line."""
    lines = new.split(b"\n")
    if row.new == len(lines):  # below a last line without newline
        return new + b"\n" + _with_end(row, text)
    lines.insert(row.new, _with_end(row, text))
    return b"\n".join(lines)


def delete_line(new: bytes, row: Row) -> bytes:
    """Deletes the line; one that the plan removes is kept instead."""
    lines = new.split(b"\n")
    if row.kind is RowKind.REMOVED:
        lines.insert(row.new, row.data)
        return b"\n".join(lines)
    last = row.new == len(lines)
    del lines[row.new - 1]
    # If the last line had no newline, the one before it keeps its own.
    return b"\n".join([*lines, b""] if last and lines else lines)


@contextmanager
def keep_on_error(path: str, made: bytes) -> Iterator[None]:
    """If the plan cannot take the edit, keeps what the person wrote in a file that the error names."""
    try:
        yield
    except RingiError as error:
        suffix = "-" + PurePosixPath(path).name[-LONGEST_NAME:]
        with tempfile.NamedTemporaryFile(prefix="ringi-edit-", suffix=suffix, delete=False) as file:
            file.write(made)
        why = Text(error.message, **error.details)
        raise NotTaken(why=why, file=file.name) from None
