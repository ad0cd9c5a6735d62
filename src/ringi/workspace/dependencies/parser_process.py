"""The child process that parses, started by `parser.py`.

It reads a line with the language and the number of bytes, then the bytes, and answers with a number of bytes
and those bytes. If the input crashes a grammar or keeps it busy forever, only the child dies.
"""

import contextlib
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec

from ringi.workspace.dependencies import c, golang, java, javascript, rust
from ringi.workspace.dependencies.references import Found

SECONDS: Final = 5.0
"""Seconds of processor time for one file. Two megabytes of real code take one."""
_MEMORY: Final = 4 * 1024**3

EXTRACTS: Final[Mapping[str, Callable[[bytes], Found]]] = {
    **{name: partial(javascript.facts, name) for name in javascript.SUFFIXES.values()},
    **{name: partial(c.facts, name) for name in c.SUFFIXES.values()},
    "go": golang.facts,
    "java": java.facts,
    "rust": rust.facts,
}


def main() -> None:
    with contextlib.suppress(ValueError, OSError):  # not every system has every limit
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent closes the pipe
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := asked.readline():
        language, size = line.split()
        data = asked.read(int(size))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        answer = msgspec.msgpack.encode(EXTRACTS[language.decode()](data))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(b"%d\n" % len(answer) + answer)
        answers.flush()
