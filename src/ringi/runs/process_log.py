"""`.agent/logs/process.log`: what is going on, a line for each thing, as in chapter 16.4 (PP-22).

Several processes append to it at once. Nothing reads it back, and no fault of it stops
anything: a full disk, a link in its place, a folder that cannot be written.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from ringi.config.keys import Config
from ringi.errors import InTheWay
from ringi.kernel.fs import open_own
from ringi.kernel.system import Clock
from ringi.kernel.telemetry.port import Component, LogLevel
from ringi.kernel.text import visible
from ringi.ledger.agentfolder import AGENT_FOLDER, AgentFolder

FILE: Final = "process.log"
_LEVELS: Final = {
    "DEBUG": LogLevel.DEBUG,
    "INFO": LogLevel.INFO,
    "WARNING": LogLevel.WARN,
    "ERROR": LogLevel.ERROR,
}
_PLACE: Final = (AGENT_FOLDER, "logs")
_MOST_BYTES: Final = 1024 * 1024
_OLDER: Final = 2
"""process.log.1 and process.log.2"""
_TRIES_TO_OPEN: Final = 3
_TRIES: Final = 100
_PAUSE_SEC: Final = 0.002
_LONGEST: Final = 2_000
_LONGEST_SECRET: Final = 8_192


class ProcessLogFile:
    """Implements `ProcessLog`."""

    def __init__(self, root: Path, clock: Clock, mask: Callable[[str], str], config: Config) -> None:
        self._agent = AgentFolder(root)
        self._clock = clock
        self._mask = mask
        self._level = _LEVELS[config.planning.logging.level]
        self._logs = config.logs

    def __call__(self, component: Component, level: LogLevel, message: str, detail: str = "") -> None:
        if level < self._level:
            return
        known = "" if self._logs.confidential else detail
        line = self._line(component, level, self._plain(message), self._plain(known))
        data = line.encode("utf-8", "backslashreplace")
        for _ in range(_TRIES_TO_OPEN):  # another process may be making the folder
            with contextlib.suppress(OSError, InTheWay):
                self._write(data)
                return

    def _write(self, data: bytes) -> None:
        """Opened anew for each line: another process may have renamed the file meanwhile."""
        with self._agent.folder(*_PLACE) as folder, _open_log(folder) as descriptor:
            alone = _lock_log(descriptor)
            _append(descriptor, data, alone=alone)
            # The line is written: nothing that goes wrong from here on may write it once more.
            with contextlib.suppress(OSError):
                full = os.fstat(descriptor).st_size >= _MOST_BYTES
                if full and alone and _is_named(folder, descriptor):
                    _put_aside(folder)

    def _line(self, component: Component, level: LogLevel, message: str, detail: str) -> str:
        now = self._clock.now()
        if self._logs.format == "json":
            record = {"time": now, "level": level.name, "component": component, "message": message}
            return json.dumps(record | ({"detail": detail} if detail else {}), ensure_ascii=False) + "\n"
        words = f"{message}: {detail}" if detail else message
        return f"[{now[:10]} {now[11:19]}] [{level.name}] [{component}] {words}\n"

    def _plain(self, text: str) -> str:
        """On one line, and no secret in it; masked before it is cut, or half of one would remain."""
        words = visible(self._mask(text[: _LONGEST + _LONGEST_SECRET]), keep="")
        return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


@contextlib.contextmanager
def _open_log(folder: int) -> Iterator[int]:
    descriptor = open_own(folder, FILE, os.O_RDWR | os.O_APPEND)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _append(descriptor: int, line: bytes, *, alone: bool) -> None:
    """In one write: lines of two processes do not mix. What a full disk left of a line is ended first."""
    size = os.fstat(descriptor).st_size if alone else 0  # or another process may be writing that line
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    os.write(descriptor, b"\n" + line if torn else line)


def _lock_log(descriptor: int) -> bool:
    """The lock goes with the descriptor. Its holder may have been stopped: then it is done without."""
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(_PAUSE_SEC)
    return False


def _is_named(folder: int, descriptor: int) -> bool:
    """Whether it still has the name: it was not put aside since it was opened."""
    named = os.stat(FILE, dir_fd=folder, follow_symlinks=False)
    return os.path.samestat(named, os.fstat(descriptor))


def _put_aside(folder: int) -> None:
    names = [FILE, *(f"{FILE}.{number}" for number in range(1, _OLDER + 1))]
    for newer, older in reversed(list(pairwise(names))):
        with contextlib.suppress(FileNotFoundError):
            os.rename(newer, older, src_dir_fd=folder, dst_dir_fd=folder)
