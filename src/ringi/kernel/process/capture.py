"""Runs a command without a terminal, limits its time and output, and leaves no process behind."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from ringi.errors import Interrupted
from ringi.kernel.process.signals import StopSignals
from ringi.kernel.process.start import CHECK_EVERY, RunningCommand, start_command

TIMED_OUT: Final = 124
_BEAT: Final = 0.25  # seconds between two progress reports
_CHUNK: Final = 65536
_FULL_PIPE: Final = 64  # chunks: more than a pipe holds


class OutputLimit(NamedTuple):
    most_bytes: int
    end_only: bool
    """Drops the beginning of a longer output. Otherwise a command that prints more is ended."""


def at_most(most_bytes: int) -> OutputLimit:
    return OutputLimit(most_bytes, end_only=False)


def last(most_bytes: int) -> OutputLimit:
    return OutputLimit(most_bytes, end_only=True)


class CommandResult(NamedTuple):
    exit_code: int
    """128 + n if signal n killed it; 124 if its time was up."""
    duration_sec: float
    output: bytes
    errors: bytes = b""
    """Empty if errors were sent to the output."""
    timed_out: bool = False
    cut: bool = False
    """It printed more than was kept."""
    too_long: bool = False
    """It was ended because of that."""
    survivors: int = 0
    """Processes it left that could not be ended."""

    @property
    def text(self) -> str:
        return self.output.decode("utf-8", errors="replace")


def _unheard(_: bytes) -> None:
    pass


def shell(command: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", command)


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_sec: float,
    output: OutputLimit,
    errors: OutputLimit | None = None,
    given: bytes | None = None,
    confined: int = 0,
    mark: str = "",
    on_beat: Callable[[int], None] | None = None,
    on_output: Callable[[bytes], None] = _unheard,
) -> CommandResult:
    """Without a limit for `errors`, they go to the output. `given` is its standard input.

    `on_output` gets all of the output as it comes, whatever the limit keeps of it.

    `on_beat` is called several times a second with the number of bytes printed so far; whatever it raises
    ends the command and is passed on. `confined` and `mark` are those of `started`.
    Raises Interrupted after ending the command if SIGHUP, SIGINT or SIGTERM comes, OSError if the command
    cannot be started, and ValueError for characters that no system accepts.
    """
    began = time.monotonic()
    until = began + timeout_sec
    outputs = [_KeptOutput(output, on_output), *([_KeptOutput(errors)] if errors else [])]
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(StopSignals())
        stdin = stack.enter_context(_Given(given))
        with contextlib.ExitStack() as theirs:
            writers = [kept.open(stack, theirs) for kept in outputs]
            command = stack.enter_context(
                start_command(
                    argv,
                    cwd=cwd,
                    env=env,
                    stdin=stdin.reader,
                    stdout=writers[0],
                    stderr=writers[-1],
                    confined=confined,
                    mark=mark,
                )
            )
        stdin.close_far_end()
        _listen(command, signals, stdin, outputs, until, on_beat)
        duration = time.monotonic() - began
        timed_out = not command.over and signals.stop is None and time.monotonic() >= until
        left = command.end(also=[signals.reader], in_a_hurry=lambda: signals.again)
        for kept in outputs:
            kept.drain()
    if signals.stop is not None:
        raise Interrupted(survivors=left.survivors)
    code = TIMED_OUT if timed_out else command.exit_code or 0
    said = bytes(outputs[1].data) if errors else b""
    cut, full = any(kept.cut for kept in outputs), any(kept.full for kept in outputs)
    return CommandResult(code, duration, bytes(outputs[0].data), said, timed_out, cut, full, left.survivors)


def _listen(
    command: RunningCommand,
    signals: StopSignals,
    stdin: "_Given",
    outputs: Sequence["_KeptOutput"],
    until: float,
    on_beat: Callable[[int], None] | None,
) -> None:
    """Reads until the command ends, must be ended, or has printed too much."""
    open_outputs = list(outputs)
    beat = 0.0
    while not command.over and signals.stop is None and not any(kept.full for kept in outputs):
        now = time.monotonic()
        if now >= until:
            return
        if on_beat and now >= beat:
            on_beat(len(outputs[0].data))
            beat = now + _BEAT
        command.keep_alive()
        wake = min(until, now + CHECK_EVERY, beat if on_beat else until)
        ready, free = signals.wait([command, *open_outputs], stdin.waiting, max(0.0, wake - now))
        # A command that closed its output may still run.
        open_outputs = [kept for kept in open_outputs if kept not in ready or kept.drain()]
        if free:
            stdin.pour()
        if command in ready:
            command.hear()


class _KeptOutput:
    """What a command printed, within a limit."""

    def __init__(self, limit: OutputLimit, hear: Callable[[bytes], None] = _unheard) -> None:
        self.data = bytearray()
        self._hear = hear
        self.full = False
        self.cut = False
        self._limit = limit
        self._reader = -1

    def fileno(self) -> int:
        return self._reader

    def open(self, ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> int:
        self._reader, writer = os.pipe()
        ours.callback(os.close, self._reader)
        theirs.callback(os.close, writer)
        os.set_blocking(self._reader, False)
        return writer

    def drain(self) -> bool:
        """Reads what is there now, but not forever: something may keep writing. False at end of file."""
        for _ in range(_FULL_PIPE):
            try:
                data = os.read(self._reader, _CHUNK)
            except BlockingIOError:
                break
            if not data:
                return False
            self._take(data)
        return True

    def _take(self, data: bytes) -> None:
        self._hear(data)
        self.data += data
        over = max(0, len(self.data) - self._limit.most_bytes)
        self.cut = self.cut or over > 0
        if self._limit.end_only:
            del self.data[:over]
        elif over:
            del self.data[self._limit.most_bytes :]
            self.full = True


class _Given:
    """What the command can read; it may ignore it."""

    def __init__(self, data: bytes | None) -> None:
        self.reader = subprocess.DEVNULL
        self._data = memoryview(data or b"")
        self._has_pipe = data is not None
        self._open: list[int] = []

    def __enter__(self) -> Self:
        if self._has_pipe:
            self.reader, writer = os.pipe()
            os.set_blocking(writer, False)
            self._open = [self.reader, writer]
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._open:
            os.close(descriptor)
        self._open = []

    def close_far_end(self) -> None:
        """The command has its own end of the pipe now."""
        if self._open:
            os.close(self._open.pop(0))
            self._finish_if_done()

    @property
    def waiting(self) -> list[int]:
        return self._open

    def pour(self) -> None:
        try:
            self._data = self._data[os.write(self._open[0], self._data[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it did not read all of it
            self._data = self._data[:0]
        self._finish_if_done()

    def _finish_if_done(self) -> None:
        if not self._data:
            self.__exit__()
