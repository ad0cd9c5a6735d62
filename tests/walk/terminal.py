"""One program at a pseudo-terminal, and the moments at which it waits for a person.

Nothing here knows the program from inside: a moment is known by what stands on the screen.
"""

import os
import re
import select
import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pexpect
import pyte

ROWS, COLUMNS = 60, 120
_QUIET_SEC = 0.12
_AGAIN_SEC = 3
_LONGEST_SEC = 120
"""Of silence."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x08")
_IN, _OUT = "\x1b[?1049h", "\x1b[?1049l"


class Asks(StrEnum):
    """What the program waits for."""

    KEY = "a key of a menu"
    YES = "yes or no"
    WORDS = "a line of words"


_PROMPTS = (
    (Asks.KEY, re.compile(r"\[q\]uit\s*$")),
    (Asks.YES, re.compile(r"\[y/n\]\s*$")),
    (Asks.WORDS, re.compile(r"^>( |$)|type [0-9a-f]{6}:\s*$")),
)


class Ended(NamedTuple):
    code: int
    seen: str
    """All that stood on the screen, from the first line to the last."""


class Stuck(Exception):  # it says what happened
    """The program neither ends nor asks anything that a person could recognise."""


class Terminal:
    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._child = pexpect.spawn(
            argv[0], list(argv[1:]), cwd=str(cwd), env=dict(environment), dimensions=(ROWS, COLUMNS)
        )
        self._child.delaybeforesend = None
        self._raw = b""
        self._pages: list[str] = []
        self._fresh = True

    @property
    def page(self) -> str:
        """What the person sees now."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip("\n")

    @property
    def whole_screen(self) -> bool:
        text = self._raw.decode("utf-8", "replace")
        return text.rfind(_IN) > text.rfind(_OUT)

    @property
    def seen(self) -> str:
        """Lines as they were printed, and each page at which a person was asked something."""
        plain = _ESCAPES.sub("", self._raw.decode("utf-8", "replace")).replace("\r\n", "\n")
        return "\n".join([plain.replace("\r", "\n"), *self._pages])

    def wait(self) -> Asks | Ended:
        """Until it asks something or has ended."""
        quiet = time.monotonic()
        while time.monotonic() < quiet + _LONGEST_SEC:
            if self._take(0.03):
                quiet, self._fresh = time.monotonic(), True
                continue
            if not self._child.isalive():
                while self._take(0):
                    pass
                return Ended(self._code(), self.seen)
            # A key that came too early is forgotten; a person who sees nothing happen presses it again.
            enough = _QUIET_SEC if self._fresh else _AGAIN_SEC
            asked = self._asked() if time.monotonic() > quiet + enough else None
            if asked and self._sleeps():
                self._pages.append(self.page)
                return asked
        raise Stuck(f"it waits for something, and nobody knows what for:\n{self.page}")

    def answer(self, words: str, *, enter: bool) -> None:
        self._fresh = False
        self._child.send(words.encode() + (b"\r" if enter else b""))

    def close(self) -> None:
        self._child.close(force=True)

    def _asked(self) -> Asks | None:
        lines = [line.rstrip() for line in self._screen.display]
        last = next((line for line in reversed(lines) if line), "")
        here = lines[self._screen.cursor.y]
        for kind, pattern in _PROMPTS:
            # The whole screen asks at its foot, wherever the cursor is hidden; lines ask where it is.
            if pattern.search(here) or (self.whole_screen and pattern.search(last)):
                return kind
        return None

    def _sleeps(self) -> bool:
        """Whether it waits for a key rather than for a moment to go on; True if the system does not say."""
        try:
            place = Path("/proc", str(self._child.pid), "wchan").read_text()
        except OSError:
            return True
        return place in {"", "0"} or bool(re.search("poll|select|tty_read|woken", place))

    def _take(self, wait: float) -> bool:
        if not select.select([self._child.child_fd], [], [], wait)[0]:
            return False
        try:
            data = os.read(self._child.child_fd, 1 << 16)
        except OSError:  # Linux says so when the program has closed its end
            return False
        self._raw += data
        # The whole screen is another page, which the lines before and after are not on.
        for part in re.split(rb"(?=\x1b\[\?1049[hl])", data):
            if part.startswith((_IN.encode(), _OUT.encode())):
                self._screen.reset()
            self._stream.feed(part)
        return bool(data)

    def _code(self) -> int:
        self._child.close()
        if self._child.exitstatus is not None:
            return int(self._child.exitstatus)
        return 128 + int(self._child.signalstatus or 0)
