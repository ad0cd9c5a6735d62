"""Writes `.agent/` a moment after a commit, so that a burst of calls is written once."""

import contextlib
import threading
from pathlib import Path
from typing import Final

from ringi.errors import RingiError
from ringi.store.events import Changed
from ringi.store.ledger import LedgerReader
from ringi.store.projection import Projection

_MOMENT_SEC: Final = 0.1


class Later:
    """If a process dies before it has written, the next one that commits does it."""

    def __init__(
        self, projection: Projection, folder: Path, wait_sec: float, *, moment_sec: float = _MOMENT_SEC
    ) -> None:
        self._projection = projection
        self._folder = folder
        self._wait_sec = wait_sec
        self._moment_sec = moment_sec
        self._changing = threading.Lock()
        self._writing = threading.Lock()
        self._waiting: Changed | None = None
        self._timer: threading.Timer | None = None

    def __call__(self, _: LedgerReader, changed: Changed) -> None:
        if not changed.has_files:
            return
        with self._changing:
            if self._waiting is None:
                self._waiting = Changed()
            self._waiting.take(changed)
            if self._timer is None:
                self._timer = threading.Timer(self._moment_sec, self.flush)
                self._timer.start()

    def flush(self) -> None:
        """Writes what is pending. Afterwards nothing is in progress."""
        with self._writing:
            with self._changing:
                waiting, self._waiting = self._waiting, None
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            if waiting is not None:
                try:
                    # A connection of its own: this may run in another thread.
                    with contextlib.closing(LedgerReader(self._folder, self._wait_sec)) as reader:
                        self._projection(reader, waiting)
                except RingiError as error:
                    # The next process that commits sees from the mark what is missing.
                    self._projection.problem = error
