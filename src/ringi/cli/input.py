"""Files that a command reads because the person named them."""

import os
import sys
from typing import Final

from ringi.errors import NotFound, Unreadable
from ringi.text import Text

STDIN: Final = "-"
MOST_BYTES: Final = 256 * 1024 * 1024


def read_named(name: str) -> bytes:
    """A dash is standard input."""
    if name == STDIN:
        if sys.stdin is None:  # closed by whoever started us
            raise Unreadable(what=Text("standard input"), why=Text("it is closed"))
        return sys.stdin.buffer.read()
    try:
        data = _bytes(name)
    except FileNotFoundError:
        raise NotFound(what=Text("file"), name=name, see="ls") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Unreadable(what=name, why=why or str(error)) from None
    if len(data) > MOST_BYTES:
        raise Unreadable(what=name, why=Text("it has more than {limit} bytes", limit=MOST_BYTES))
    return data


def _bytes(name: str) -> bytes:
    """Not waiting for somebody to write into a pipe where nobody is; a device may have no end."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # it is open already
        os.set_blocking(descriptor, True)
        return file.read(MOST_BYTES + 1)
