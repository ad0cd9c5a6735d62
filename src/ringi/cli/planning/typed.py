"""What a person types at a terminal in line mode: answers, typed or pasted, and commands."""

import contextlib
import errno
import fcntl
import os
import re
import select
import signal
import sys
import termios
import threading
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Final
from unicodedata import normalize

from ringi.cli.ui import Ui
from ringi.kernel.lines import Style
from ringi.kernel.text import Text, translate, visible

_AT_ONCE_SEC: Final = 0.05
"""Input that follows a line this quickly was pasted with it."""
_CHUNK: Final = 65536
_LONGEST_LINE: Final = 4094
"""A terminal drops what exceeds this many bytes in one line."""
_SHOWN: Final = 60
_MORE: Final = "… "
PROMPT: Final = "> "
"""For free text; a single letter is asked for in the line of its question."""
_STROKED: Final = re.compile(r"/[a-z]+", re.IGNORECASE | re.ASCII)


class Reminder:
    """Shown once, after this long without an answer."""

    def __init__(self, after_sec: float, words: Text) -> None:
        self.after_sec = after_sec
        self.words = words
        self.said = False


class TypedLines:
    def __init__(self, ui: Ui, descriptor: int = 0) -> None:
        self._ui = ui
        self._fd = descriptor
        self._kept = b""
        """Read but not yet used: the rest of a paste, or the unfinished line that a message interrupted."""

    def ask(self, prompt: str, reminder: Reminder | None = None) -> str:
        """The answer as typed, its lines joined. Raises EOFError if the terminal is closed.

        A line that ends with a backslash continues on the next one; pasted lines belong together.
        """
        self._forget()
        self._write(prompt)
        with self._redrawing(prompt):
            return self._read_answer(prompt, reminder)

    def answer(self, question: Text) -> str:
        """In the line of the question."""
        return self.ask(self._ui.style_text(translate(question), "bold") + " ").strip()

    def _read_answer(self, prompt: str, reminder: Reminder | None) -> str:
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
            self._kept += self._read_unfinished()
            self._ui.line()
            self._tell(reminder.words)
            self._write(prompt + visible(self._kept.decode("utf-8", "replace"), keep=""))
        return self._line()

    def _line(self) -> str:
        """Up to the next newline. Bytes that are not text are reported and dropped."""
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
            # The last line of a paste may lack its newline; the person sees it and presses Enter.
            self._kept = self._read_unfinished()
        return bool(self._kept) or self._ready(0)

    def _read_unfinished(self) -> bytes:
        """The unfinished line: the terminal is switched for a moment so that it hands it over."""
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
        """Discards what was typed before the question appeared, and says so."""
        early = self._kept + self._read_unfinished()
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
    def _redrawing(self, prompt: str) -> Iterator[None]:
        """After Ctrl-Z and fg, shows the prompt again; the terminal has dropped the line itself."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGCONT, lambda *_: self._write(prompt))
        try:
            yield
        finally:
            signal.signal(signal.SIGCONT, before)

    def _write(self, prompt: str) -> None:
        # The next read notices a closed terminal.
        with contextlib.suppress(OSError):
            self._ui.out.write(prompt)
            self._ui.out.flush()


def _ending(line: str) -> tuple[str, bool]:
    """The line without a trailing backslash, and whether it continues; two backslashes mean a literal one."""
    if line.endswith("\\\\"):
        return line[:-1], False
    if line.endswith("\\"):
        return line[:-1], True
    return line, False


def plain(text: str) -> str:
    """Normalises full-width characters from a Japanese input method; keeps a leading space."""
    return normalize("NFKC", text.rstrip()).lower()


def slip(text: str, commands: Iterable[str], options: Iterable[str] = ()) -> Text | None:
    """Why it is not accepted; None if it can be an answer, such as an option's text or a path."""
    word = plain(text)
    known = [command for command in commands if command.startswith("/")]
    if word in known or word in {option.strip().lower() for option in options}:
        return None
    if f"/{word}" in known:
        return _suggest(f"/{word}", word)
    if not _STROKED.fullmatch(word):
        return None
    if near := get_close_matches(word, known, n=1, cutoff=0.7):
        return _suggest(near[0], word)
    return Text("There is no command {word}; with a space before it, it is an answer.", word=word)


def _suggest(command: str, word: str) -> Text:
    return Text(
        "Did you mean {command}? With a space before it, {word} is an answer.", command=command, word=word
    )
