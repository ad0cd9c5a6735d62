"""What ends waiting for a key: signals and other threads, as bytes in a pipe."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Final, Self

from ringi.process.signals import SignalPipe

_CHUNK: Final = 4096
_WAKE: Final = 0
_STOPPING: Final = frozenset([signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
_NOTED: Final = (*_STOPPING, signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP)


class Wakeups(SignalPipe):
    """Where no signal can be heard, `wake` still is."""

    def __init__(self) -> None:
        super().__init__(_NOTED, leave_ignored=_NOTED)

    def __enter__(self) -> Self:
        self._lock = threading.Lock()
        super().__enter__()
        self._open = True
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:  # whoever wakes us must not write into what is closed
            self._open = False
            super().__exit__()

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
