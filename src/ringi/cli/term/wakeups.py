"""What ends waiting for a key: signals and other threads, as bytes in a pipe."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Final, Self

_CHUNK: Final = 4096
_WAKE: Final = 0
_STOPPING: Final = frozenset([signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
_NOTED: Final = (*_STOPPING, signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP)


class Wakeups:
    """Only the main thread can listen to signals; elsewhere only `wake` is heard."""

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        self.reader, self._writer = os.pipe()
        self._open = True
        for end in (self.reader, self._writer):
            os.set_blocking(end, False)
        self._noted: set[int] = set()
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            # Written by the interpreter at once: a handler of ours may have to wait until `select` returns.
            self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
            for number in _NOTED:
                before = signal.getsignal(number)
                if before is not None and before != signal.SIG_IGN:  # ignored, as nohup does, is meant so
                    self._before[number] = before
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._before:
            signal.set_wakeup_fd(self._wakeup)
        with self._lock:
            self._open = False
            os.close(self.reader)
            os.close(self._writer)

    def wake(self) -> None:
        with self._lock, contextlib.suppress(BlockingIOError):
            if self._open:
                os.write(self._writer, bytes([_WAKE]))

    @property
    def stopped(self) -> bool:
        """Stays so: whoever asks again is told again."""
        self._collect()
        return not _STOPPING.isdisjoint(self._noted)

    def taken(self, *numbers: int) -> bool:
        """Whether one of these signals came since it was asked last."""
        self._collect()
        found = not self._noted.isdisjoint(numbers)
        self._noted.difference_update(numbers)
        return found

    def woken(self) -> bool:
        return self.taken(_WAKE)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        # Also when another listener had the pipe for a while, as one that runs a command.
        self._noted.add(number)

    def _collect(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._noted.update(os.read(self.reader, _CHUNK))

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """What stops the whole job stops us too: a shell waits for all of it."""
        noted = signal.SIGTSTP in self._before
        if noted:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        try:
            yield
        finally:
            if noted:
                signal.signal(signal.SIGTSTP, self._note)

    def stop_as_job(self) -> None:
        """As Ctrl-Z does: the shell takes over. Where there is none, the system does not stop us."""
        if signal.SIGTSTP in self._before:
            with self.stoppable():
                os.kill(0, signal.SIGTSTP)
