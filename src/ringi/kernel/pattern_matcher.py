"""Configured regular expressions, matched in a child process that can be killed.

Python's `re` can take forever and cannot be interrupted. The child runs this very file, without the rest of
the program, so only the standard library may be imported here.
"""

import atexit
import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import threading
import time
import warnings
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

Spans = list[tuple[int, int]]
SECONDS: Final = 2.0
"""Seconds of processor time for one text."""
_PATIENCE: Final = 30.0
"""Wall-clock seconds: a machine may be busy, and a child may be stopped."""
_WINDOW: Final = 2_000
"""In characters: an expression may take quadratic time."""


def spans(text: str, patterns: Sequence[re.Pattern[str]]) -> Spans:
    """Line by line: group 1 if there is one, otherwise the whole match."""
    return [span for pattern in patterns for span in _matches(text, pattern)]


def _matches(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    group = 1 if pattern.groups else 0
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        # Each window starts in the middle of the one before: what one cuts off is whole in the other.
        for at in range(start, max(start + 1, end - _WINDOW // 2), _WINDOW // 2):
            for match in pattern.finditer(text, at, min(at + _WINDOW, end)):
                if match.end(group) > match.start(group) >= 0:
                    yield match.span(group)
        start = end + 1


class PatternMatcher:
    """Starts its child on first use, and again after it was killed."""

    def __init__(self, patterns: Sequence[str], *, seconds: float = SECONDS) -> None:
        self._patterns = tuple(patterns)
        self._seconds = seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def __call__(self, text: str) -> Spans | None:
        """None if there is no answer: the child took too long, or could not be started."""
        if not self._patterns:
            return []
        with self._lock:
            try:
                return [(start, end) for start, end in json.loads(self._ask(text))]
            except (OSError, ValueError):
                self.close()
                return None
            except BaseException:  # interrupted: its answer must not be mistaken for the next text's
                self.close()
                raise

    def close(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            atexit.unregister(self.close)
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):  # nobody needs what could not be sent
                    if pipe is not None:
                        pipe.close()

    def _ask(self, text: str) -> bytes:
        child = self._child or self._start()
        assert child.stdin is not None  # noqa: S101  # both are pipes
        assert child.stdout is not None  # noqa: S101  # as above
        child.stdin.write(json.dumps(text).encode() + b"\n")
        child.stdin.flush()
        return _line(child.stdout.fileno())

    def _start(self) -> subprocess.Popen[bytes]:
        # -I, -S: no variable and no folder of the project affects its imports.
        self._child = child = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us; the child ends when its input closes
        )
        atexit.register(self.close)
        assert child.stdin is not None  # noqa: S101  # a pipe
        child.stdin.write(json.dumps([self._seconds, *self._patterns]).encode() + b"\n")
        return child


def first_invalid(patterns: Sequence[str]) -> int | None:
    """The index of the first pattern that does not compile in time; None if all do."""

    def compile_together(count: int) -> bool:
        matcher = PatternMatcher(patterns[:count])
        try:
            return matcher("") is not None
        finally:
            matcher.close()

    if compile_together(len(patterns)):
        return None
    # Halve the list instead of starting a child for each pattern.
    return bisect_left(range(1, len(patterns)), True, key=lambda count: not compile_together(count))


def _line(descriptor: int) -> bytes:
    """Raises ValueError or OSError if there is none."""
    until = time.monotonic() + _PATIENCE
    pieces: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while not (pieces and pieces[-1].endswith(b"\n")):
            if not selector.select(max(until - time.monotonic(), 0)):
                raise TimeoutError
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                raise ValueError
            pieces.append(piece)
    return b"".join(pieces)


def serve() -> None:
    """Runs in the child: reads the patterns first, then one text per line."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # the default kills the process, whatever it computes
    lines = iter(sys.stdin.buffer.readline, b"")
    seconds, *given = json.loads(next(lines))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    patterns = [re.compile(pattern) for pattern in given]
    for line in lines:
        text = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        found = spans(text, patterns)
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(json.dumps(found).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
