"""The person's terminal, and the separate one that a command runs in: size, keys, and who reads them.

The command never gets a descriptor of the person's terminal.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from ringi.kernel.process.signals import HasDescriptor, StopSignals
from ringi.kernel.process.start import CHECK_EVERY, RunningCommand, start_command
from ringi.kernel.process.supervisor import read_stat

_CHUNK: Final = 65536
_USUAL_SIZE: Final = (24, 80)
_SOON: Final = 2.0  # seconds after a key in which the command may stop because of it
_LOOK_SOON: Final = 0.1
_GET_SESSION: Final = 0x5429  # TIOCGSID of Linux; elsewhere we cannot see whether a process has stopped
_RESIZING: Final = frozenset([signal.SIGWINCH, signal.SIGCONT])
# Turns off what a killed full-screen program leaves on, without moving the cursor:
# colours, character sets, margins, hidden cursor; alternate screen; mouse and focus reports; bracketed paste.
_SCREEN_RESET: Final = b"\x1b[!p\x1b[?47l\x1b[?1000;1002;1003;1004;1006l\x1b[?2004l\x1b[0m"


class Ended(NamedTuple):
    exit_code: int
    """128 + n if signal n killed it."""
    duration_sec: float
    leftovers: int
    """Processes of the command that had to be ended."""
    signal: int | None = None
    """The signal to this process that ended the command."""
    survivors: int = 0
    """Processes that could not be ended, for instance another user's."""


class Listener(Protocol):
    """Serves others while the command runs."""

    @property
    def descriptors(self) -> tuple[int, ...]: ...
    def serve(self) -> bool:
        """Called when one of `descriptors` is readable."""


def terminal_opening_time(descriptor: int) -> float:
    """When the terminal was opened, or later: nobody can make it look older than it is.

    The kernel sets both times, and no program can set them back: when the device was made or changed
    hands, and when the leader of its session started. One that is not the terminal of our session is new.
    """
    made = os.fstat(descriptor).st_ctime
    if sys.platform != "linux":
        return made
    try:
        session = fcntl.ioctl(descriptor, _GET_SESSION, b"\0" * 4)
    except OSError:
        return time.time()
    leader = read_stat(int.from_bytes(session, sys.byteorder))
    if leader is None:
        return time.time()
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - leader.start / os.sysconf("SC_CLK_TCK")
    return max(made, time.time() - age)


def run_in_terminal(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    output: int = 1,
    listener: Listener | None = None,
    takes_terminal: bool = False,
    confined: int = 0,
    mark: str = "",
) -> Ended:
    """Runs the command in a pseudo-terminal of its own and shows what it prints on `output`.

    If standard input is a terminal, what is typed there goes to the command. Otherwise the command can read
    nothing, and its terminal is only for what it prints: it must not wait for keys that nobody types. SIGHUP,
    SIGINT and SIGTERM end it and are reported, not raised. For the rest see `started` and `Invocation`.
    """
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(StopSignals(*_RESIZING))
        master, slave = os.openpty()
        os.set_blocking(master, False)
        stack.callback(os.close, master)
        # Kept open until the end, so that a command that closes its terminal does not hang it up.
        held = stack.enter_context(contextlib.ExitStack())
        held.callback(os.close, slave)
        keyboard = 0 if somebody_types() else None
        _dress(slave, keyboard, output)
        command = stack.enter_context(
            start_command(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL if keyboard is None else slave,
                stdout=slave,
                stderr=slave,
                at_terminal=keyboard is not None and not takes_terminal,
                confined=confined,
                mark=mark,
            )
        )
        person = stack.enter_context(_raw(keyboard))
        job = _TerminalJob(master)
        typed, shown = _Flow(keyboard, master), _Flow(master, output)
        while not command.over and signals.stop is None:
            _turn(command, signals, (typed, shown), listener, job.look_again)
            if job.has_stopped(typed):
                _stop_with(job, person, output)
                signals.take()
                _copy_size((0, output), master)
            if signals.take() & _RESIZING:
                _make_raw(keyboard)  # a shell that had stopped us may have reset it
                _copy_size((0, output), master)
        duration = time.monotonic() - began
        leftovers, survivors = command.end(also=[signals.reader], in_a_hurry=lambda: signals.again)
        held.close()
        shown.finish(signals)
        if os.isatty(output) and env.get("TERM", "dumb") != "dumb":
            _Flow(None, output, _SCREEN_RESET).finish(signals)
        return Ended(command.exit_code or 0, duration, leftovers, signals.stop, survivors)


def somebody_types() -> bool:
    return os.isatty(0)


def discard_pending_input(fd: int = 0) -> None:
    """Discards what was typed but not yet read; does nothing if there is no terminal."""
    with contextlib.suppress(termios.error):
        termios.tcflush(fd, termios.TCIFLUSH)


def _dress(slave: int, keyboard: int | None, output: int) -> None:
    """Copies the person's keys for erasing, interrupting and so on, and the size of their window."""
    if keyboard is not None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(slave, termios.TCSANOW, termios.tcgetattr(keyboard))
    _copy_size((0, output), slave)


def _copy_size(sources: tuple[int, ...], target: int) -> None:
    size = (0, 0)
    for source in sources:
        with contextlib.suppress(OSError):
            size = struct.unpack("HHHH", fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(8)))[:2]
        if all(size):
            break
    rows, columns = size if all(size) else _USUAL_SIZE
    with contextlib.suppress(OSError):
        fcntl.ioctl(target, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class _Keyboard:
    """The person's, if there is one, in the mode of a full-screen program or as it was."""

    def __init__(self, keyboard: int | None) -> None:
        self._keyboard = keyboard
        try:
            self._before = None if keyboard is None else termios.tcgetattr(keyboard)
        except termios.error:  # the window was closed just now
            self._before = None

    def take(self) -> None:
        _make_raw(self._keyboard)

    def give_back(self) -> None:
        if self._keyboard is not None and self._before is not None:
            # Do not wait for output to drain: a stopped terminal would block us forever.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._keyboard, termios.TCSANOW, self._before)


@contextlib.contextmanager
def _raw(keyboard: int | None) -> Iterator[_Keyboard]:
    person = _Keyboard(keyboard)
    try:
        person.take()
        yield person
    finally:
        person.give_back()


class _TerminalJob:
    """The command as a job that can stop: Ctrl-Z at its terminal, or by itself."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._quick_until = 0.0

    @property
    def look_again(self) -> float:
        """Seconds until somebody should look; soon after a key, which may have been Ctrl-Z."""
        return _LOOK_SOON if time.monotonic() < self._quick_until else CHECK_EVERY

    def has_stopped(self, typed: "_Flow") -> bool:
        if typed.moved:
            typed.moved, self._quick_until = False, time.monotonic() + _SOON
        leader = read_stat(self._leader)
        return leader is not None and leader.stopped

    def go_on(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self._leader, signal.SIGCONT)

    @property
    def _leader(self) -> int:
        """Of the terminal's session, by the number it has for us; no process has -1."""
        try:
            return int(struct.unpack("i", fcntl.ioctl(self._master, _GET_SESSION, bytes(4)))[0])
        except OSError:
            return -1


def _stop_with(job: _TerminalJob, person: _Keyboard, output: int) -> None:
    """Stops as a job of the person's shell and goes on with it; at once if no shell waits for that."""
    if os.isatty(output):
        with contextlib.suppress(OSError):
            os.write(output, _SCREEN_RESET)
    person.give_back()
    os.kill(0, signal.SIGTSTP)
    person.take()
    job.go_on()


def _make_raw(keyboard: int | None) -> None:
    if keyboard is not None:
        with contextlib.suppress(termios.error):
            tty.setraw(keyboard, termios.TCSANOW)


class _Flow:
    """One direction: reads the next bytes when the last ones are written. Either end may go away."""

    def __init__(self, source: int | None, sink: int, pending: bytes = b"") -> None:
        self.source = source
        self.sink: int | None = sink
        self.pending = pending
        self.moved = False

    def fill(self) -> bool:
        if self.source is None:
            return False
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # what Linux raises once nobody has the terminal open
            data = b""
        if not data:
            self.source = None
        if self.sink is not None:
            self.pending = data
        self.moved = self.moved or bool(data)
        return bool(data)

    def pour(self) -> None:
        if self.sink is None:
            return
        try:
            # No more than a ready sink accepts without blocking.
            self.pending = self.pending[os.write(self.sink, self.pending[: select.PIPE_BUF]) :]
        except BlockingIOError:
            return
        except OSError:  # nobody reads any more; the command continues
            self.sink, self.pending = None, b""

    def finish(self, signals: StopSignals) -> None:
        """Moves what is left; a signal ends the wait for a blocked sink."""
        for _ in range(64):  # more than a terminal buffers; a survivor could write forever
            while self.pending and self.sink is not None:
                _, free = signals.wait([], [self.sink], None if signals.stop is None else 0)
                if free:
                    self.pour()
                elif signals.stop is not None:
                    return
            if not self.fill():
                return


def _turn(
    command: RunningCommand,
    signals: StopSignals,
    flows: Sequence[_Flow],
    listener: Listener | None,
    seconds: float,
) -> None:
    """Waits until a flow or a listener is ready, and serves it."""
    knocking = listener.descriptors if listener else ()
    sources = [flow.source for flow in flows if flow.source is not None and not flow.pending]
    command.keep_alive()
    waiting: list[int | HasDescriptor] = [command, *knocking, *sources]
    ready, free = signals.wait(
        waiting, [flow.sink for flow in flows if flow.sink is not None and flow.pending], seconds
    )
    for flow in flows:
        if flow.pending and flow.sink in free:
            flow.pour()
        elif not flow.pending and flow.source in ready:
            flow.fill()
    if listener and any(one in ready for one in knocking):
        listener.serve()
    if command in ready:
        command.hear()
