"""What a person types at a terminal in its usual mode: answers of one line or several, pasted ones too."""

import contextlib
import errno
import fcntl
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Iterator
from typing import Final

from ringi.cli.ui import Ui, translated
from ringi.text import Text, visible
from ringi.views.lines import Style

_AT_ONCE_SEC: Final = 0.05
"""What comes so soon after a line was pasted with it."""
_CHUNK: Final = 65536
_LONGEST_LINE: Final = 4094
"""Bytes of one line that terminals keep; the rest of it they throw away."""
_SHOWN: Final = 60
_MORE: Final = "… "
PROMPT: Final = "> "
"""Where words are expected; a single letter is asked for in the line of its question."""


class Reminder:
    """Said once, if nothing was answered for so long."""

    def __init__(self, after_sec: float, words: Text) -> None:
        self.after_sec = after_sec
        self.words = words
        self.said = False


class TypedLines:
    def __init__(self, ui: Ui, descriptor: int = 0) -> None:
        self._ui = ui
        self._fd = descriptor
        self._kept = b""
        """Read and not yet used: the rest of a paste, or what stood in the line when something was said."""

    def ask(self, prompt: str, reminder: Reminder | None = None) -> str:
        """An answer as it was typed, its lines joined. EOFError if the terminal is closed.

        A line that ends with a backslash goes on in the next one; lines that were pasted belong together.
        """
        self._forget()
        self._write(prompt)
        with self._drawn_again(prompt):
            return self._asked(prompt, reminder)

    def _asked(self, prompt: str, reminder: Reminder | None) -> str:
        lines = [self._first(prompt, reminder) if reminder and not reminder.said else self._line()]
        pasted = False
        while True:
            if self._more_at_once():
                pasted = True
            elif pasted:
                return self._whole(lines)
            else:
                lines[-1], goes_on = _ending(lines[-1])
                if not goes_on:
                    return self._whole(lines)
                self._write(_MORE)
            lines.append(self._line())

    def _whole(self, lines: list[str]) -> str:
        if any(len(line.encode("utf-8", "replace")) >= _LONGEST_LINE for line in lines):
            self._tell(Text("The terminal cut a line off after {count} bytes; nothing was taken. "
                            "Make several lines of it.", count=_LONGEST_LINE))  # fmt: skip
            return ""
        return "\n".join(lines)

    def _first(self, prompt: str, reminder: Reminder) -> str:
        if not self._ready(reminder.after_sec):
            reminder.said = True
            self._kept += self._unfinished()
            self._ui.line()
            self._tell(reminder.words)
            self._write(prompt + visible(self._kept.decode("utf-8", "replace"), keep=""))
        return self._line()

    def _line(self) -> str:
        """Up to the next line end. Bytes that are no text are said to be none, and answer nothing."""
        while b"\n" not in self._kept:
            self._kept += self._read()
        line, _, self._kept = self._kept.partition(b"\n")
        try:
            return line.decode(sys.stdin.encoding or "utf-8").removesuffix("\r")
        except UnicodeDecodeError:
            self._tell(Text("That is no text in the terminal's encoding; nothing was taken."))
            return ""

    def _read(self) -> bytes:
        try:
            data = os.read(self._fd, _CHUNK)
        except OSError as error:
            if error.errno != errno.EIO:  # Linux says so when the terminal is gone
                raise
            data = b""
        if not data:
            self._ui.line()
            raise EOFError
        return data

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._fd], [], [], max(0.0, seconds))[0])

    def _more_at_once(self) -> bool:
        if not self._kept and not self._ready(_AT_ONCE_SEC):
            # The last line of a paste may have no end yet; the person sees it and presses Enter.
            self._kept = self._unfinished()
        return bool(self._kept) or self._ready(0)

    def _unfinished(self) -> bytes:
        """What is in the line so far; for a moment the terminal hands over what has no end yet."""
        try:
            usual = termios.tcgetattr(self._fd)
            at_once = [*usual[:3], usual[3] & ~termios.ICANON, *usual[4:]]
            termios.tcsetattr(self._fd, termios.TCSANOW, at_once)
        except termios.error:
            return b""
        try:
            waiting = fcntl.ioctl(self._fd, termios.FIONREAD, bytes(4))
            count = int.from_bytes(waiting, sys.byteorder)
            return os.read(self._fd, count) if count else b""
        except OSError:
            return b""
        finally:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSANOW, usual)

    def _forget(self) -> None:
        """What was typed before a question stood there does not answer it; that is told, not hidden."""
        early = self._kept + self._unfinished()
        self._kept = b""
        if words := early.decode("utf-8", "replace").strip():
            cut = words if len(words) <= _SHOWN else words[:_SHOWN] + "…"
            self._ui.line()
            self._tell(
                Text("Typed before this was asked, and not taken: {words}", words=visible(cut, keep=""))
            )

    def _tell(self, words: Text) -> None:
        self._ui.prose(words, Style.WARNING)

    @contextlib.contextmanager
    def _drawn_again(self, prompt: str) -> Iterator[None]:
        """Whoever stops the program and comes back sees the prompt; the terminal forgot the line itself."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGCONT, lambda *_: self._write(prompt))
        try:
            yield
        finally:
            signal.signal(signal.SIGCONT, before)

    def _write(self, prompt: str) -> None:
        # A closed terminal is noticed when it is read from.
        with contextlib.suppress(OSError):
            self._ui.out.write(prompt)
            self._ui.out.flush()


def prompt_of(ui: Ui, words: Text) -> str:
    return ui.styled(translated(words), "bold") + " "


def _ending(line: str) -> tuple[str, bool]:
    """Without the backslash that lets it go on; two of them are one that is meant."""
    if line.endswith("\\\\"):
        return line[:-1], False
    if line.endswith("\\"):
        return line[:-1], True
    return line, False
