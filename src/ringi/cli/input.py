"""Files that a command reads because the person named them."""

import sys
from pathlib import Path
from typing import Final

from ringi.errors import NotFound, Unreadable
from ringi.text import Text

STDIN: Final = "-"


def read_named(name: str) -> bytes:
    """A dash is standard input."""
    if name == STDIN:
        if sys.stdin is None:  # closed by whoever started us
            raise Unreadable(what=Text("standard input"), why=Text("it is closed"))
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise NotFound(what=Text("file"), name=name, see="ls") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Unreadable(what=name, why=why or str(error)) from None
