"""Signals as bytes in a pipe, so that a signal ends a wait for descriptors."""

import contextlib
import os
import select
import signal
import threading
from collections.abc import Container, Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, Final, Protocol, Self

STOPPING: Final = frozenset([signal.SIGHUP, signal.SIGINT, signal.SIGTERM])


@contextlib.contextmanager
def hold_back(numbers: Iterable[int]) -> Iterator[None]:
    """Delivers these signals to this thread only after the block; what is started in it inherits that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class HasDescriptor(Protocol):
    def fileno(self) -> int: ...


class SignalPipe:
    """Only the main thread receives signals; in another thread nothing arrives."""

    def __init__(self, listening: Iterable[int], *, leave_ignored: Container[int]) -> None:
        """A signal in `leave_ignored` that was ignored stays ignored: nohup does that on purpose."""
        self._listening = tuple(listening)
        self._leave_ignored = leave_ignored

    def __enter__(self) -> Self:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)
        self._noted: set[int] = set()
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            # The interpreter writes it at once: our own handler may have to wait until `select` returns,
            # forever if the signal came just before the call.
            self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            for number in self._listening:
                before = signal.getsignal(number)
                left = before == signal.SIG_IGN and number in self._leave_ignored
                if before is not None and not left:
                    self._before[number] = before
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._before:
            signal.set_wakeup_fd(self._wakeup)
        os.close(self.reader)
        os.close(self._writer)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        # Even if another listener had the pipe for a while, such as one that runs a command.
        self._noted.add(number)


class StopSignals(SignalPipe):
    """Records signals to stop while we wait for something else."""

    stop: int | None = None
    """The first one."""
    again: bool = False
    """There was another one: somebody is in a hurry."""

    def __init__(self, *more: int) -> None:
        super().__init__((*STOPPING, *more), leave_ignored=STOPPING)

    def _note(self, number: int, frame: FrameType | None) -> None:
        super()._note(number, frame)
        if number in STOPPING:
            self.again = self.stop is not None
            self.stop = self.stop or number

    def take(self) -> set[int]:
        """The signals since the last call."""
        noted, self._noted = self._noted, set()
        return noted

    def wait(
        self,
        reading: Sequence[int | HasDescriptor],
        writing: Sequence[int | HasDescriptor] = (),
        seconds: float | None = None,
    ) -> tuple[list[int | HasDescriptor], list[int | HasDescriptor]]:
        """The readable and writable ones; none if a signal came or the time is up."""
        ready, free, _ = select.select([*reading, self.reader], writing, [], seconds)
        if self.reader in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.reader, 4096)
        return ready, free
