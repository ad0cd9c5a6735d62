"""Runs a command in a work copy and leaves nothing of it behind.

The command gets a session of its own and never a descriptor of the person's terminal.
"""

import contextlib
import os
import select
import signal
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

from ringi.errors import Interrupted
from ringi.integrations.agent_socket import AgentSocket
from ringi.integrations.processes import adopting, exit_code_of
from ringi.integrations.signals import SignalPipe
from ringi.integrations.terminal import copy_size, dress, make_raw, raw, take_terminal

_TICK: Final = 0.05
_CHUNK: Final = 65536
_TIMED_OUT: Final = 124
_STOPPING: Final = frozenset([signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
_RESIZING: Final = frozenset([signal.SIGWINCH, signal.SIGCONT])
_NOTED: Final = (*_STOPPING, *_RESIZING, signal.SIGCHLD)

# What a full-screen program leaves on when it is ended half-way, switched off without moving the cursor:
# colours, character sets, margins, hidden cursor; alternate screen; mouse and focus reports; bracketed paste.
_SCREEN_RESET: Final = b"\x1b[!p\x1b[?47l\x1b[?1000;1002;1003;1004;1006l\x1b[?2004l\x1b[0m"


class Ended(NamedTuple):
    exit_code: int
    """128 + n after a death by signal n."""
    duration_sec: float
    leftovers: int
    """Processes of the command that had to be ended."""
    signal: int | None = None
    """The signal to this process that ended the command."""
    survivors: int = 0
    """Processes that could not be ended, as those of another user."""


class Captured(NamedTuple):
    exit_code: int
    duration_sec: float
    output: str
    timed_out: bool
    cut: bool
    """It printed more than was kept."""


class Collected(NamedTuple):
    exit_code: int
    duration_sec: float
    output: bytes
    errors: bytes
    timed_out: bool
    too_long: bool
    """It printed more than was allowed and was ended; what it had printed until then is there."""


def run_in_terminal(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    output: int = 1,
    door: AgentSocket | None = None,
    takes_terminal: bool = False,
) -> Ended:
    """Runs the command in a pseudo-terminal of its own and shows what it prints on `output`.

    If standard input is a terminal, what is typed there goes to the command; otherwise the command sees a
    terminal at which nobody types. SIGHUP, SIGINT and SIGTERM end the command and are reported, not raised.
    Servers that are let in by the `door` meanwhile are not the command's, and stay when it ends. A command
    that makes the terminal its own by itself says so by `takes_terminal`.
    Raises FileNotFoundError, PermissionError or another OSError if the command cannot be started.
    """
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        wakeups = stack.enter_context(_Wakeups())
        family = stack.enter_context(adopting())
        master, slave = os.openpty()
        os.set_blocking(master, False)
        stack.callback(os.close, master)
        # Held until the end, so that a command which closes its terminal does not hang it up.
        held = stack.enter_context(contextlib.ExitStack())
        held.callback(os.close, slave)
        keyboard = 0 if os.isatty(0) else None
        dress(slave, keyboard, output)
        before = None if takes_terminal else take_terminal
        command = family.start(argv, cwd, env, stdin=slave, output=slave, before=before)
        stack.enter_context(raw(keyboard))
        typed, shown = _Flow(keyboard, master), _Flow(master, output)
        while command.poll() is None and wakeups.stop is None:
            noted, knocked = _turn(wakeups, typed, shown, also=door.descriptors if door else ())
            if door and knocked:
                guest = door.accept()
                if guest is not None:
                    family.spare(guest)
            if noted & _RESIZING:
                make_raw(keyboard)  # a shell that had stopped us may have set it back
                copy_size((0, output), master)
            if signal.SIGCHLD in noted:
                family.alive()
                if door:
                    door.reap()
        duration = time.monotonic() - began
        leftovers, survivors = family.end()
        exit_code = exit_code_of(command)
        held.close()
        shown.finish(wakeups)
        if os.isatty(output) and env.get("TERM", "dumb") != "dumb":
            _Flow(None, output, _SCREEN_RESET).finish(wakeups)
        return Ended(exit_code, duration, leftovers, wakeups.stop, survivors)


def run_captured(
    command: str, *, cwd: Path, env: Mapping[str, str], timeout_sec: float, keep_bytes: int = 16384
) -> Captured:
    """Runs a shell command without a terminal and keeps the end of what it prints.

    Raises Interrupted after ending the command if SIGHUP, SIGINT or SIGTERM comes.
    """
    return run_program(_shell(command), cwd=cwd, env=env, timeout_sec=timeout_sec, keep_bytes=keep_bytes)


def run_program(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout_sec: float, keep_bytes: int
) -> Captured:
    """As `run_captured`, without a shell. Raises OSError if the program cannot be started."""
    kept = _Kept(keep_bytes, end_only=True)
    ran = _run(argv, cwd, env, timeout_sec, [kept])
    text = kept.data.decode("utf-8", errors="replace")
    return Captured(ran.exit_code, ran.duration_sec, text, ran.timed_out, kept.cut)


def run_collected(
    command: str, *, cwd: Path, env: Mapping[str, str], timeout_sec: float, most_bytes: int
) -> Collected:
    """As `run_captured`, but keeps all, output and errors apart; a command that prints more is ended."""
    output, errors = _Kept(most_bytes), _Kept(most_bytes)
    ran = _run(_shell(command), cwd, env, timeout_sec, [output, errors])
    return Collected(
        ran.exit_code,
        ran.duration_sec,
        bytes(output.data),
        bytes(errors.data),
        ran.timed_out,
        too_long=output.full or errors.full,
    )


class _Kept:
    """What a command printed: all of it up to a limit, or only the end."""

    def __init__(self, limit: int, *, end_only: bool = False) -> None:
        self.data = bytearray()
        self.full = False
        self.cut = False
        self._limit = limit
        self._end_only = end_only

    def take(self, data: bytes) -> None:
        self.data += data
        over = max(0, len(self.data) - self._limit)
        self.cut = self.cut or over > 0
        if self._end_only:
            del self.data[:over]
        elif over:
            del self.data[self._limit :]
            self.full = True

    def drain(self, reader: int) -> bool:
        """All there is now, within reason: whoever still writes could do so for ever. False at the end."""
        for _ in range(64):
            try:
                data = os.read(reader, _CHUNK)
            except BlockingIOError:
                break
            if not data:
                return False
            self.take(data)
        return True


class _Ran(NamedTuple):
    exit_code: int
    duration_sec: float
    timed_out: bool


def _shell(command: str) -> list[str]:
    return ["/bin/sh", "-c", command]


def _run(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout_sec: float, kept: Sequence[_Kept]
) -> _Ran:
    """One to keep: output and errors go there together. Two: each has its own."""
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        wakeups = stack.enter_context(_Wakeups())
        family = stack.enter_context(adopting())
        with contextlib.ExitStack() as ours:
            pipes = [os.pipe() for _ in kept]
            for reader, writer in pipes:
                os.set_blocking(reader, False)
                stack.callback(os.close, reader)
                ours.callback(os.close, writer)
            output, errors = pipes[0][1], pipes[-1][1]
            main = family.start(argv, cwd, env, stdin=subprocess.DEVNULL, output=output, errors=errors)
        keeps = {reader: keep for (reader, _), keep in zip(pipes, kept, strict=True)}
        reading = list(keeps)
        left = timeout_sec
        while main.poll() is None and wakeups.stop is None and not any(keep.full for keep in kept):
            left = began + timeout_sec - time.monotonic()
            if left <= 0:
                break
            ready, _ = wakeups.wait(reading, [], left)
            for reader in [reader for reader in reading if reader in ready]:
                if not keeps[reader].drain(reader):
                    reading.remove(reader)  # it closed its output and goes on
            if signal.SIGCHLD in wakeups.taken():
                family.alive()
        timed_out = left <= 0 and main.poll() is None and wakeups.stop is None
        duration = time.monotonic() - began
        family.end()
        exit_code = exit_code_of(main)
        for reader, keep in keeps.items():
            keep.drain(reader)
    if wakeups.stop is not None:
        raise Interrupted
    return _Ran(_TIMED_OUT if timed_out else exit_code, duration, timed_out)


def discard_pending_input(fd: int = 0) -> None:
    """Forgets what was typed and not yet read; does nothing where there is no terminal."""
    with contextlib.suppress(termios.error):
        termios.tcflush(fd, termios.TCIFLUSH)


class _Wakeups(SignalPipe):
    """Where no signal can be heard, it looks around at short intervals."""

    stop: int | None = None

    def __init__(self) -> None:
        super().__init__(_NOTED, leave_ignored=_STOPPING)

    def _note(self, number: int, frame: FrameType | None) -> None:
        super()._note(number, frame)
        if number in _STOPPING and self.stop is None:
            self.stop = number

    def taken(self) -> set[int]:
        noted, self._noted = self._noted, set()
        return noted

    def wait(
        self, reading: list[int], writing: list[int], seconds: float | None = None
    ) -> tuple[list[int], list[int]]:
        if signal.SIGCHLD not in self._before:
            seconds = _TICK if seconds is None else min(seconds, _TICK)
        ready, free, _ = select.select([*reading, self.reader], writing, [], seconds)
        if self.reader in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.reader, _CHUNK)
        return ready, free


class _Flow:
    """One direction: the next bytes are read when the last ones are written. Either end may go away."""

    def __init__(self, source: int | None, sink: int, pending: bytes = b"") -> None:
        self.source = source
        self.sink: int | None = sink
        self.pending = pending

    def fill(self) -> bool:
        if self.source is None:
            return False
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # Linux says so when the last one has closed a terminal
            data = b""
        if not data:
            self.source = None
        if self.sink is not None:
            self.pending = data
        return bool(data)

    def pour(self) -> None:
        if self.sink is None:
            return
        try:
            # No more than what a sink that was found free takes without making us wait.
            self.pending = self.pending[os.write(self.sink, self.pending[: select.PIPE_BUF]) :]
        except BlockingIOError:
            return
        except OSError:  # nobody looks any more; the command goes on
            self.sink, self.pending = None, b""

    def finish(self, wakeups: _Wakeups) -> None:
        """Moves what is still on its way; a signal ends waiting for a sink that takes nothing."""
        for _ in range(64):  # more than a terminal holds; a survivor could write for ever
            while self.pending and self.sink is not None:
                _, free = wakeups.wait([], [self.sink], None if wakeups.stop is None else 0)
                if free:
                    self.pour()
                elif wakeups.stop is not None:
                    return
            if not self.fill():
                return


def _turn(wakeups: _Wakeups, *flows: _Flow, also: Sequence[int]) -> tuple[set[int], bool]:
    """Waits until something can be moved, moves it, and says which signals came and if others can be read."""
    ready, free = wakeups.wait(
        [*also, *(flow.source for flow in flows if flow.source is not None and not flow.pending)],
        [flow.sink for flow in flows if flow.sink is not None and flow.pending],
    )
    for flow in flows:
        if flow.pending and flow.sink in free:
            flow.pour()
        elif not flow.pending and flow.source in ready:
            flow.fill()
    return wakeups.taken(), any(one in ready for one in also)
