"""Standard input and output as the wire of a protocol."""

import fcntl
import os
from typing import Final, NamedTuple

_FIRST_FREE: Final = 3


class Wire(NamedTuple):
    incoming: int
    outgoing: int


def claim_wire() -> Wire:
    """Claims the standard streams: what anything else prints goes to standard error.

    Commands that we start get neither.
    """
    wire = Wire(*(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE) for number in (0, 1)))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
