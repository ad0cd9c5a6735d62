"""A program on a real terminal, and what a person would see there."""

import contextlib
import os
import re
import select
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pyte

from tests.functional.desk import RINGI, ended, spawned

KEYS = {
    "enter": "\r", "esc": "\x1b", "tab": "\t", "backtab": "\x1b[Z", "backspace": "\x7f", "delete": "\x1b[3~",
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
    "pgup": "\x1b[5~", "pgdn": "\x1b[6~",
    **{f"ctrl-{letter}": chr(ord(letter) - 0x60) for letter in "abcdefghijklmnopqrstuvwxyz"},
}  # fmt: skip


_QUIET_SEC = 0.15
"""Silence after which a program counts as ready if the system does not say what it waits for."""

_WAITING_FOR_LINE = re.compile("tty_read|woken")
_WAITING = re.compile(f"poll|select|{_WAITING_FOR_LINE.pattern}")
"""Where in the kernel a program sleeps that waits for a key."""


class Screen:
    """The program in a pseudo-terminal, its output on a screen of the given size.

    Keys go out one by one, each once the program waits for it: it forgets what was typed before a question
    stood there.
    """

    def __init__(
        self,
        argv: list[str],
        *,
        cwd: Path,
        columns: int = 80,
        rows: int = 24,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        """Every byte the program wrote."""
        environment = {"TERM": "xterm-256color", **(variables or {})}
        self.child = spawned(argv, cwd, environment, columns=columns, rows=rows)
        self._slept_before = ""

    @classmethod
    def ringi(cls, root: Path, *words: str, columns: int = 80, rows: int = 24, **variables: str) -> Self:
        return cls([*RINGI, *words], cwd=root, columns=columns, rows=rows, variables=variables)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def lines(self) -> list[str]:
        """Each row as it stands there, without the blanks at its end."""
        self._take(0)
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip("\n")

    @property
    def cursor(self) -> tuple[int, int] | None:
        """Row and column, or None while it is hidden."""
        self._take(0)
        cursor = self._screen.cursor
        return None if cursor.hidden else (cursor.y, cursor.x)

    def wait(self, pattern: str, timeout: float = 90) -> str:
        """Until the pattern stands on the screen; answers with the screen."""
        return self._until(lambda text: re.search(pattern, text, re.MULTILINE), f"no {pattern!r}", timeout)

    def wait_gone(self, pattern: str, timeout: float = 90) -> str:
        return self._until(
            lambda text: not re.search(pattern, text, re.MULTILINE), f"still {pattern!r}", timeout
        )

    def _until(self, holds: Any, complaint: str, timeout: float) -> str:
        until = time.monotonic() + timeout
        while not holds(text := self.text):
            if not self._take(0.05) and (time.monotonic() > until or not self.child.isalive()):
                self._take(0)
                if holds(text := self.text):
                    break
                raise AssertionError(f"{complaint} on the screen:\n{self.framed()}")
        return text

    def framed(self) -> str:
        edge = "+" + "-" * self._screen.columns + "+"
        return "\n".join([edge, *(f"|{line}" for line in self.lines), edge])

    def settle(self, timeout: float = 60) -> str:
        """Until the program has taken every key and waits for the next one; answers with the screen."""
        until, last, seen_waiting = time.monotonic() + timeout, time.monotonic(), False
        while time.monotonic() < until:
            if self._take(0.003):
                last, seen_waiting = time.monotonic(), False
                continue
            waits = self._waits()
            if waits is None and time.monotonic() > last + _QUIET_SEC:
                break
            # Twice: a key needs a moment through the kernel, in which another wake-up may have come.
            if waits and seen_waiting:
                break
            seen_waiting = bool(waits)
        return self.text

    def _waits(self) -> bool | None:
        """Whether it sleeps until somebody types, since the last key; None if that cannot be told."""
        process = Path("/proc", str(self.child.pid))
        try:
            place, children = (process / "wchan").read_text(), process / "task" / process.name / "children"
            if children.read_text() or self._state(process) not in {"R", "D", "S"}:
                return None  # another program may have the terminal
        except OSError:
            return None
        if self._slept(process) != self._slept_before:
            return bool(_WAITING.search(place))
        # A line that is not complete yet wakes nobody.
        return None if _WAITING_FOR_LINE.search(place) else False

    def _state(self, process: Path) -> str:
        return (process / "stat").read_text().rpartition(")")[2].split()[0]

    def _slept(self, process: Path | None = None) -> str:
        """How often it has gone to sleep."""
        process = process or Path("/proc", str(self.child.pid))
        try:
            return re.findall(
                r"^voluntary_ctxt_switches:\s*(\d+)", (process / "status").read_text(), re.MULTILINE
            )[0]
        except (OSError, IndexError):
            return ""

    def press(self, *keys: str) -> None:
        """Characters, or names of keys as the program has them."""
        for key in keys:
            self.settle()
            self.send(KEYS.get(key, key))

    def type(self, text: str, *, enter: bool = False) -> None:
        """All at once, as from a fast typist."""
        self.settle()
        self.send(text)
        if enter:
            self.press("enter")

    def paste(self, text: str) -> None:
        """As a terminal with bracketed paste does."""
        self.type(f"\x1b[200~{text}\x1b[201~")

    def send(self, text: str | bytes) -> None:
        """At once, without waiting."""
        self._slept_before = self._slept()
        self.child.send(text.encode() if isinstance(text, str) else text)

    def resize(self, columns: int, rows: int) -> None:
        self.settle()
        self._screen.resize(rows, columns)
        self._slept_before = self._slept()
        self.child.setwinsize(rows, columns)

    def styles(self, row: int) -> list[tuple[str, Any]]:
        """Each character of a row with its attributes: fg, bg, bold, underscore, reverse."""
        self._take(0)
        cells = self._screen.buffer[row]
        return [(cells[column].data, cells[column]) for column in range(self._screen.columns)]

    def colours(self, pattern: str) -> set[str]:
        """The foregrounds of what matches, first place on the screen."""
        for row, line in enumerate(self.lines):
            if found := re.search(pattern, line):
                # Where wide characters stand before it, columns and letters differ.
                cells = [cell for cell in self.styles(row) if cell[0]]
                return {cell.fg for _, cell in cells[found.start() : found.end()]}
        raise AssertionError(f"no {pattern!r} on the screen:\n{self.framed()}")

    @property
    def alive(self) -> bool:
        return bool(self.child.isalive())

    @property
    def exit_code(self) -> int:
        """After waiting for the end; 128 + n after a death by signal n."""
        until = time.monotonic() + 90
        while self.child.isalive() and time.monotonic() < until:
            self._take(0.05)
        assert not self.child.isalive(), f"it still runs:\n{self.framed()}"
        self._take(0)
        if self.child.exitstatus is not None:
            return int(self.child.exitstatus)
        return 128 + int(self.child.signalstatus or 0)

    def hang_up(self) -> None:
        """The window is closed, and the program ends by itself; on a busy machine that takes a while."""
        terminal = self.child.ptyproc
        terminal.fileobj.close()
        terminal.closed = self.child.closed = True
        until = time.monotonic() + 90
        while self.child.isalive():
            assert time.monotonic() < until, "it still runs"
            time.sleep(0.01)

    def end(self) -> None:
        """By force, if it still runs."""
        with contextlib.suppress(OSError):
            ended(self.child)

    def _take(self, wait: float) -> bool:
        """Puts on the screen what was written; waits for more at most so long."""
        descriptor = self.child.child_fd
        if self.child.closed or not select.select([descriptor], [], [], wait)[0]:
            return False
        try:
            data = os.read(descriptor, 1 << 16)
        except OSError:  # Linux says so when the program has closed its end
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)
