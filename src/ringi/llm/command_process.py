"""Runs a command-line agent for one answer and leaves nothing of it behind.

It gets a session of its own without a terminal. What it started is found by that session or, where a process
has left it, by a path in its environment that no other process has; elsewhere than on Linux its process group
is ended.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Final, NamedTuple

_TICK: Final = 0.05
_BEAT: Final = 0.25  # seconds between two reports to those who wait
_GRACE: Final = 0.5  # seconds between SIGTERM and SIGKILL
_PATIENCE: Final = 5.0  # seconds of SIGKILL
_PAUSE: Final = 0.01
_CHUNK: Final = 65536
_LAST_ROUNDS: Final = 64  # more than a pipe holds
_KEPT_ERRORS: Final = 16384
_PROCESSES: Final = Path("/proc")


class Ended(NamedTuple):
    exit_code: int
    """128 + n after a death by signal n."""
    output: bytes
    errors: bytes
    """The end of them."""
    timed_out: bool
    too_long: bool
    """It printed more than was allowed and was ended."""


class NotStarted(Exception):
    """The program is there and cannot be executed, or with so many words."""


def run(
    argv: Sequence[str],
    text: bytes | None,
    *,
    cwd: Path,
    env: Mapping[str, str],
    mark: Path,
    seconds: float,
    most_bytes: int,
    on_beat: Callable[[int], None],
) -> Ended:
    """`text` goes to standard input; `mark` stands in the environment. Raises NotStarted.

    `on_beat` is called several times a second with the number of bytes so far; whatever it raises ends the
    agent and is passed on, as an interrupt is.
    """
    began = time.monotonic()
    stdin = subprocess.DEVNULL if text is None else subprocess.PIPE
    with _stopped_by_signals():
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # the second: of characters that no system takes
            raise NotStarted(error.strerror if isinstance(error, OSError) else str(error)) from None
        streams = [stream for stream in (process.stdin, process.stdout, process.stderr) if stream]
        try:
            heard = _Heard(process, text or b"", most_bytes)
            timed_out = not heard.listen(began + seconds, on_beat)
        finally:
            _end(process, os.fsencode(mark))
            for stream in streams:
                with contextlib.suppress(OSError):  # what it did not read is of no use to anybody
                    stream.close()
    code = process.returncode
    code = 128 + signal.SIGKILL if code is None else code  # a process that nobody may end
    return Ended(
        code if code >= 0 else 128 - code,
        bytes(heard.output),
        bytes(heard.errors[-_KEPT_ERRORS:]),
        timed_out,
        heard.full,
    )


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """A closed terminal interrupts as Ctrl-C does: an agent that goes on alone costs money for nothing."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGHUP, signal.SIGTERM):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Heard:
    """What the agent prints, while it is told what it was asked."""

    def __init__(self, process: "subprocess.Popen[bytes]", text: bytes, most_bytes: int) -> None:
        self.output = bytearray()
        self.errors = bytearray()
        self.full = False
        self._process = process
        self._text = memoryview(text)
        self._most_bytes = most_bytes
        self._selector = selectors.DefaultSelector()

    def listen(self, until: float, on_beat: Callable[[int], None]) -> bool:
        """Until it ends or has said too much; False if its time is up before."""
        process = self._process
        with self._selector:
            self._watch(process.stdin, selectors.EVENT_WRITE, self._tell)
            self._watch(process.stdout, selectors.EVENT_READ, self._take_output)
            self._watch(process.stderr, selectors.EVENT_READ, self._take_errors)
            beat, rounds = 0.0, 0
            while not self.full:
                now = time.monotonic()
                if now >= until:
                    return False
                if now >= beat:
                    on_beat(len(self.output))
                    beat = now + _BEAT
                over = process.poll() is not None
                ready = self._selector.select(0 if over else min(_TICK, until - now))
                for key, _ in ready:
                    key.data(key.fd)
                rounds += over
                # What it left behind may hold the pipes, or fill them, for ever.
                if over and (not ready or rounds > _LAST_ROUNDS):
                    return True
        return True

    def _watch(self, stream: IO[bytes] | None, event: int, then: Callable[[int], None]) -> None:
        if stream is not None:
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream.fileno(), event, then)

    def _tell(self, fd: int) -> None:
        try:
            self._text = self._text[os.write(fd, self._text[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it answers without having read all of it
            self._text = self._text[:0]
        if not self._text and self._process.stdin:
            self._selector.unregister(fd)
            self._process.stdin.close()

    def _take_output(self, fd: int) -> None:
        data = self._read(fd)
        room = self._most_bytes - len(self.output)
        self.output += data[:room]
        self.full = len(data) > room

    def _take_errors(self, fd: int) -> None:
        self.errors += self._read(fd)
        del self.errors[: -2 * _KEPT_ERRORS]

    def _read(self, fd: int) -> bytes:
        with contextlib.suppress(BlockingIOError):
            data = os.read(fd, _CHUNK)
            if not data:
                self._selector.unregister(fd)
            return data
        return b""


def _end(process: "subprocess.Popen[bytes]", mark: bytes) -> None:
    try:
        _end_all(process, mark, _GRACE)
    except KeyboardInterrupt:  # whoever is in a hurry does not want it to go on either
        _end_all(process, mark, 0.0)
        raise


def _end_all(process: "subprocess.Popen[bytes]", mark: bytes, grace: float) -> None:
    began = time.monotonic()
    told: set[int] = set()
    while time.monotonic() < began + grace + _PATIENCE:
        process.poll()
        alive = _alive(process, mark)
        if not alive and process.returncode is not None:
            return
        late = time.monotonic() >= began + grace
        for pid in alive:
            # A group has a negative number.
            if late or pid not in told:
                _signal(pid, signal.SIGKILL if late else signal.SIGTERM)
            told.add(pid)
        time.sleep(_PAUSE)


def _signal(pid: int, number: int) -> bool:
    try:
        if pid < 0:
            os.killpg(-pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):  # the second: on macOS, a group of zombies
        return False
    return True


def _alive(process: "subprocess.Popen[bytes]", mark: bytes) -> list[int]:
    if not (_PROCESSES / "self" / "environ").exists():
        return [-process.pid] if _signal(-process.pid, 0) else []
    names = os.listdir(_PROCESSES)  # noqa: PTH208  # names, many times over
    return [int(name) for name in names if name.isdigit() and _belongs(int(name), process.pid, mark)]


def _belongs(pid: int, session: int, mark: bytes) -> bool:
    try:
        # The name may hold spaces and brackets; whatever follows its last bracket holds none.
        state, _parent, group, its_session, *_ = (
            (_PROCESSES / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        )
        if state in {b"Z", b"X"}:
            return False
        if session in {int(group), int(its_session)}:
            return True
        return mark in (_PROCESSES / str(pid) / "environ").read_bytes()
    except OSError:  # gone meanwhile, or another user's
        return False
