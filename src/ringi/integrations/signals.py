"""Signals as bytes in a pipe, so that waiting for a descriptor ends when one comes."""

import os
import signal
import threading
from collections.abc import Container, Iterable
from types import FrameType
from typing import Any, Self


class SignalPipe:
    """Only the main thread can listen to signals; in another one nothing comes."""

    def __init__(self, listening: Iterable[int], *, leave_ignored: Container[int]) -> None:
        """Of `leave_ignored`, one that was ignored stays so: nohup does that, and it is meant."""
        self._listening = tuple(listening)
        self._leave_ignored = leave_ignored

    def __enter__(self) -> Self:
        self.reader, self._writer = os.pipe()
        os.set_blocking(self.reader, False)
        os.set_blocking(self._writer, False)
        self._noted: set[int] = set()
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            # Written by the interpreter at once: our own handler may have to wait until `select` returns,
            # for ever if the signal came just before it was called.
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
        # Also when another listener had the pipe for a while, as one that runs a command.
        self._noted.add(number)
