"""A full screen: drawing and keys. The person's own screen is restored however the program ends."""

import contextlib
import os
import select
import signal
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Self

from ringi.cli.screen.cells import Pieces, clip, sgr
from ringi.cli.screen.keyboard import KeyReader
from ringi.cli.ui import width
from ringi.kernel.process.signals import SignalPipe
from ringi.kernel.text import deceiving

_CHUNK: Final = 4096
_WAKE: Final = 0
_STOPPING: Final = frozenset([signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
_NOTED: Final = (*_STOPPING, signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP)


class Wakeups(SignalPipe):
    """`wake` works even if signals cannot be handled."""

    def __init__(self) -> None:
        super().__init__(_NOTED, leave_ignored=_NOTED)

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        super().__enter__()
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # `wake` must not write to a closed descriptor
            self._open = False
            super().__exit__()

    def wake(self) -> None:
        with self._lock, contextlib.suppress(BlockingIOError):
            if self._open:
                os.write(self._writer, bytes([_WAKE]))

    @property
    def stopped(self) -> bool:
        """Stays true once a stop signal came."""
        self._collect()
        return not _STOPPING.isdisjoint(self._noted)

    def take(self, *numbers: int) -> bool:
        """Whether one of these signals came since the last call."""
        self._collect()
        found = not self._noted.isdisjoint(numbers)
        self._noted.difference_update(numbers)
        return found

    def woken(self) -> bool:
        return self.take(_WAKE)

    def _collect(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._noted.update(os.read(self.reader, _CHUNK))

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Lets SIGTSTP stop us with the rest of the job: the shell waits for all of it."""
        noted = signal.SIGTSTP in self._before
        if noted:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            yield
        finally:
            if noted:
                signal.signal(signal.SIGTSTP, self._note)

    def stop_as_job(self) -> None:
        """As Ctrl-Z does: the shell takes over. Without a shell the system does not stop us."""
        if signal.SIGTSTP in self._before:
            with self.stoppable():
                os.kill(0, signal.SIGTSTP)


# Alternate screen, bracketed paste; no cursor, no wrapping at the right edge, plain letters, an empty screen.
_ENTER: Final = "\x1b[?1049h\x1b[?2004h\x1b[?25l\x1b[?7l\x1b(B\x1b[0m\x1b[2J"
_LEAVE: Final = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?2004l\x1b[?1049l"
_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
_LAST_WORDS_SEC: Final = 1.0


class Size(NamedTuple):
    columns: int
    rows: int


_USUAL_SIZE: Final = Size(80, 24)


class Terminal:
    def __init__(
        self, *, colour: bool, many_colours: bool = False, keyboard: int = 0, output: int = 1
    ) -> None:
        self._colour = colour
        self._many_colours = many_colours
        self._keyboard = keyboard
        self._output = output
        self._wakeups = Wakeups()
        self._reader = KeyReader()
        self._keys: deque[str] = deque()
        self._last_read = 0.0
        self._gone = False
        self._modes: list[Any] | None = None
        self._shown: list[Pieces] = []
        self._cursor: tuple[int, int] | None = None
        self._drawn_size: Size | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._wakeups)
            self._sink = _own_descriptor(self._output)
            stack.callback(self._close_sink)
            with contextlib.suppress(termios.error):  # the window was just closed; `key` will report it
                self._modes = termios.tcgetattr(self._keyboard)
            stack.callback(self._leave)
            self._known_size = self.size
            self._take_over()
            self._ways_out = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ways_out.close()

    @property
    def size(self) -> Size:
        for descriptor in (self._output, self._keyboard):
            with contextlib.suppress(OSError):
                found = Size(*os.get_terminal_size(descriptor))
                if all(found):
                    return found
        return _USUAL_SIZE

    def draw(self, lines: Sequence[Pieces], cursor: tuple[int, int] | None = None) -> None:
        """Draws these lines from the top and clears the rest. Writes only rows that changed."""
        size = self.size
        out = []
        if size != self._drawn_size:
            out.append("\x1b[0m\x1b[2J")
            self._shown = [()] * size.rows
        for row in range(size.rows):
            line = clip(lines[row], size.columns) if row < len(lines) else ()
            if line != self._shown[row]:
                self._shown[row] = line
                # Clear before writing: after a full row, clearing to the end would erase the last character.
                shown = _render(line, colour=self._colour, many=self._many_colours)
                out.append(f"\x1b[{row + 1};1H\x1b[2K{shown}")
        if out or cursor != self._cursor or self._drawn_size is None:
            out.append(_cursor_at(cursor, size))
            self._write("".join(out))
        self._drawn_size = size
        self._cursor = cursor

    def key(self, timeout: float | None = None) -> str:
        """The next key by name; "" on timeout.

        Also "resize", after which everything is redrawn; "wake"; "eof" when the terminal is gone;
        "stop" when a signal asks this process to end. The last two repeat on every call.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            if found := self._next_event():
                return found
            patience = self._reader.patience
            due = None if patience is None else self._last_read + patience
            ends = [moment for moment in (until, due) if moment is not None]
            wait = max(0.0, min(ends) - time.monotonic()) if ends else None
            ready, _, _ = select.select([self._keyboard, self._wakeups.reader], [], [], wait)
            now = time.monotonic()
            if self._keyboard in ready:
                self._read()
            elif due is not None and now >= due:
                self._keys.extend(self._reader.flush())
            elif until is not None and now >= until:
                return self._next_event()

    def wake(self) -> None:
        """Makes `key` answer "wake"; any thread may call it."""
        self._wakeups.wake()

    def discard_pending(self) -> None:
        """Drops unread input: an answer counts only once the question is on the screen."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._keyboard, termios.TCIFLUSH)
        self._keys.clear()
        self._reader.forget()

    @contextlib.contextmanager
    def suspend(self) -> Iterator[None]:
        """Gives the terminal back to the person, for example for an editor; redraws everything afterwards."""
        self._leave()
        try:
            with self._wakeups.stoppable():
                yield
        finally:
            # A Ctrl-C typed there was meant for the other program.
            self._wakeups.take(signal.SIGINT, signal.SIGCONT)
            self._take_over()
            self.discard_pending()

    def suspend_self(self) -> None:
        """Stops as a job of the shell; redraws everything on return."""
        self._leave()
        self._wakeups.stop_as_job()
        self._wakeups.take(signal.SIGCONT)
        self._take_over()

    def _next_event(self) -> str:
        if self._wakeups.stopped:
            return "stop"
        if self._gone:
            return "eof"
        if self._wakeups.take(signal.SIGTSTP):
            self.suspend_self()
            return "resize"
        if self._wakeups.take(signal.SIGCONT):
            self._take_over()  # the shell reset the modes while we were stopped
            return "resize"
        if self._wakeups.take(signal.SIGWINCH) or self.size != self._known_size:
            self._known_size = self.size
            self._drawn_size = None
            return "resize"
        if self._keys:
            return self._keys.popleft()
        return "wake" if self._wakeups.woken() else ""

    def _read(self) -> None:
        try:
            data = os.read(self._keyboard, _CHUNK)
        except OSError:  # Linux raises it when the other end has closed
            data = b""
        self._last_read = time.monotonic()
        self._gone = self._gone or not data
        self._keys.extend(self._reader.feed(data))

    def _take_over(self) -> None:
        self._drawn_size = None
        if self._modes is not None and self._in_foreground():
            with contextlib.suppress(termios.error):
                tty.setraw(self._keyboard, termios.TCSANOW)
        self._write(_ENTER)

    def _leave(self) -> None:
        self._write(_LEAVE, most_sec=_LAST_WORDS_SEC)
        if self._modes is not None and self._in_foreground():
            # Do not wait for output to drain: a stopped terminal would block us for ever.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._keyboard, termios.TCSANOW, self._modes)

    def _in_foreground(self) -> bool:
        """In the background the modes belong to the shell; changing them would stop us."""
        try:
            return os.tcgetpgrp(self._keyboard) == os.getpgrp()
        except OSError:  # not our controlling terminal, or gone
            return True

    def _write(self, words: str, *, most_sec: float | None = None) -> None:
        """Gives up if the terminal is gone, or if it accepts nothing while this process is ending."""
        data = words.encode("utf-8", "replace")
        until = None if most_sec is None else time.monotonic() + most_sec
        while data and not self._gone:
            if until is None and self._wakeups.stopped:
                until = time.monotonic() + _LAST_WORDS_SEC
            wait = None if until is None else max(0.0, until - time.monotonic())
            ready, free, _ = select.select([self._wakeups.reader], [self._sink], [], wait)
            if free:
                data = self._write_some(data)
            elif ready:
                self._wakeups.take()
            else:
                return

    def _write_some(self, data: bytes) -> bytes:
        try:
            return data[os.write(self._sink, data[: select.PIPE_BUF]) :]
        except BlockingIOError:
            return data
        except OSError:
            self._gone = True
            return b""

    def _close_sink(self) -> None:
        if self._sink != self._output:
            os.close(self._sink)


def _render(line: Pieces, *, colour: bool, many: bool) -> str:
    parts = []
    for text, style in line:
        codes = sgr(style, colour=colour, many=many)
        shown = harmless(text)
        parts.append(f"\x1b[{codes}m{shown}\x1b[0m" if codes else shown)
    return "".join(parts)


def harmless(text: str) -> str:
    """The last safeguard: never writes a control sequence, even if a caller forgot to filter it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_REPLACED * width(c) if deceiving(c) else c for c in text)


def _own_descriptor(output: int) -> int:
    """A non-blocking descriptor for the same terminal; the given one is shared with the shell."""
    try:
        return os.open(os.ttyname(output), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return output


def _cursor_at(cursor: tuple[int, int] | None, size: Size) -> str:
    if cursor is None:
        return "\x1b[?25l"
    row, column = min(cursor[0], size.rows - 1), min(cursor[1], size.columns - 1)
    return f"\x1b[{row + 1};{column + 1}H\x1b[?25h"
