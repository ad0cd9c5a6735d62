"""Asks a child process to parse, and lives on when the child does not."""

import contextlib
import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Final, cast

import msgspec

from ringi.text import Text
from ringi.workspace.dependencies.found import GIVEN_UP, MISSING_EXTRA, Extract, Found, Source, why

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from ringi.workspace.dependencies.child import main; main()"
)
_MOST_LOST: Final = 8
_LATE: Final = Text("it takes too long to parse")
_CRASHED: Final = Text("its parser crashed on it")


def extractor(language: str) -> Extract:
    return partial(_extract, language)


def _extract(language: str, sources: Iterable[Source]) -> Iterator[tuple[str, Found]]:
    if importlib.util.find_spec("tree_sitter_language_pack") is None:
        yield from ((key, why(MISSING_EXTRA)) for key, _ in sources)
        return
    child: _Child | None = None
    lost = 0
    try:
        for key, data in sources:
            if lost == _MOST_LOST:
                yield key, why(GIVEN_UP)
                continue
            child = child or _Child()
            found = child.ask(language, data)
            if found is None:
                found = why(_LATE if child.ended() == -signal.SIGPROF else _CRASHED)
                child = None
                lost += 1
            yield key, found
    finally:
        if child:
            child.ended()


class _Child:
    def __init__(self) -> None:
        # Nothing is looked for where the program was started: that may be the workspace.
        here = Path.cwd()
        path = [entry for entry in sys.path if entry and Path(entry).resolve() != here]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, json.dumps(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._asked = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)

    def ask(self, language: str, data: bytes) -> Found | None:
        """What was found; nothing where the child ended over it."""
        try:
            self._asked.write(b"%s %d\n" % (language.encode(), len(data)) + data)
            self._asked.flush()
        except BrokenPipeError:
            return None
        size = self._answers.readline()
        answer = self._answers.read(int(size)) if size.endswith(b"\n") else b""
        try:
            return msgspec.msgpack.decode(answer, type=Found)
        except msgspec.DecodeError:
            return None

    def ended(self) -> int:
        with contextlib.suppress(BrokenPipeError):
            self._asked.close()
        self._answers.close()
        return self._process.wait()
