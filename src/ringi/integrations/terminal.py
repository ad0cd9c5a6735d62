"""The person's terminal and the one that a command gets: size, keys, and who reads them."""

import contextlib
import fcntl
import struct
import termios
import tty
from collections.abc import Iterator
from typing import Final

_USUAL_SIZE: Final = (24, 80)


def take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def dress(slave: int, keyboard: int | None, output: int) -> None:
    """The person's own keys for erasing, interrupting and so on, and the size of their window."""
    if keyboard is not None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(slave, termios.TCSANOW, termios.tcgetattr(keyboard))
    copy_size((0, output), slave)


def copy_size(sources: tuple[int, ...], target: int) -> None:
    size = (0, 0)
    for source in sources:
        with contextlib.suppress(OSError):
            size = struct.unpack("HHHH", fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(8)))[:2]
        if all(size):
            break
    rows, columns = size if all(size) else _USUAL_SIZE
    with contextlib.suppress(OSError):
        fcntl.ioctl(target, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextlib.contextmanager
def raw(keyboard: int | None) -> Iterator[None]:
    try:
        before = None if keyboard is None else termios.tcgetattr(keyboard)
    except termios.error:  # the window was closed just now
        before = None
    try:
        make_raw(keyboard)
        yield
    finally:
        if keyboard is not None and before is not None:
            # Not waiting for output to drain: a stopped terminal would hold us for ever.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(keyboard, termios.TCSANOW, before)


def make_raw(keyboard: int | None) -> None:
    if keyboard is not None:
        with contextlib.suppress(termios.error):
            tty.setraw(keyboard, termios.TCSANOW)
