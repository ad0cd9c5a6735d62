"""What a person gives to a command: files to read, texts, ids to look for."""

import os
import sys
from gettext import gettext as _
from typing import Final

import click

from ringi.domain.subject import SESSION_PREFIX
from ringi.errors import NotFound, Unreadable
from ringi.text import Text, visible

STDIN: Final = "-"
MOST_BYTES: Final = 256 * 1024 * 1024
LEAST: Final = 4
"""Fewer characters of an id could match anything."""


def read_named(name: str, *, most_bytes: int = MOST_BYTES) -> bytes:
    """A dash is standard input, which has no limit."""
    if name == STDIN:
        if sys.stdin is None:  # the parent process closed it
            raise Unreadable(what=Text("standard input"), why=Text("it is closed"))
        return sys.stdin.buffer.read()
    try:
        data = _bytes(name, most_bytes + 1)
    except FileNotFoundError:
        raise NotFound(what=Text("file"), name=name, see="ls") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Unreadable(what=name, why=why or str(error)) from None
    if len(data) > most_bytes:
        raise Unreadable(what=name, why=Text("it has more than {limit} bytes", limit=most_bytes))
    return data


def _bytes(name: str, count: int) -> bytes:
    """Does not block on a pipe without a writer, nor read a device without end."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # it is open already
        os.set_blocking(descriptor, True)
        return file.read(count)


def require_text(*given: str | None) -> None:
    """Raises if the command line held bytes that are not UTF-8."""
    if any("\ud800" <= c <= "\udfff" for text in given for c in text or ""):
        raise click.UsageError(_("A text on the command line is not UTF-8"))


def require_long(name: str) -> None:
    """Raises if it is too short to look up."""
    if len(name.lower().removeprefix(SESSION_PREFIX)) < LEAST:
        words = _("{name} is too short for an id: it needs at least {count} characters")
        raise click.UsageError(words.format(name=visible(name), count=LEAST))
