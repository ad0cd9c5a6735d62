"""The only module that uses tree-sitter, which comes with the extra `graph`.

A child process does the parsing: if an input crashes a grammar or keeps it busy forever, only the child dies.
It reads a line with the language and the number of bytes, then the bytes, and answers with a number of bytes
and those bytes.
"""

import contextlib
import importlib.util
import json
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import msgspec

from ringi.kernel.document import prepare
from ringi.kernel.text import Text
from ringi.project.dependencies.references import (
    GIVEN_UP,
    Extract,
    FoundReferences,
    SourceContent,
    missing_extra,
    why,
)


class ParsedSource(NamedTuple):
    nodes: dict[str, list[Any]]
    """By the capture names of the query."""
    why: str

    def texts(self, name: str) -> list[str]:
        return [node.text.decode("utf-8", "replace") for node in self.nodes.get(name, ())]


def parse(language: str, query: str, data: bytes) -> ParsedSource:
    """The nodes that the query asks for."""
    from tree_sitter import QueryCursor  # noqa: PLC0415  # an extra

    parser, asked = _tools(language, query)
    # Some grammars need a newline at the end.
    root = parser.parse(data + b"\n").root_node
    why = str(_partly(_error_line(root, data))) if root.has_error else ""
    return ParsedSource(QueryCursor(asked).captures(root), why)


@cache
def _tools(language: str, query: str) -> tuple[Any, Any]:
    from tree_sitter import Parser, Query  # noqa: PLC0415  # an extra
    from tree_sitter_language_pack import get_language  # noqa: PLC0415  # an extra

    grammar = get_language(language)  # type: ignore[arg-type,unused-ignore]
    return Parser(grammar), Query(grammar, query)


def _partly(line: int | str) -> Text:
    return Text("only in part: line {line} is not understood", line=line)


def is_partial(found: FoundReferences) -> bool:
    """Whether it could be read only in part: its syntax is wrong."""
    return found.why.startswith(str(_partly("")).partition("  ")[0])


def _error_line(root: Any, data: bytes) -> int:
    node = root
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None:
            break
        node = inner
    # Not node.start_point: tree-sitter 0.26.0 frees points that are still in use.
    return data.count(b"\n", 0, node.start_byte) + 1


_WORD: Final = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"?|`[^`]*`?|'(?:[^'\\\n]|\\.){1,8}'"""
    r"""|(?<![\w.])([^\W\d]\w*)""",
    re.DOTALL,
)


def words(source: str) -> set[str]:
    """Without those after a dot: they belong to something else."""
    return {found[1] for found in _WORD.finditer(source) if found[1]}


_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    "from ringi.project.dependencies import definitions, grammars, parser;"
    "parser.serve(grammars.PARSED | definitions.PARSED)"
)
SECONDS: Final = 5.0
"""Seconds of processor time for one file. Two megabytes of real code take one."""
_MEMORY: Final = 4 * 1024**3
_MOST_LOST: Final = 8
_LATE: Final = Text("it takes too long to parse")
_CRASHED: Final = Text("its parser crashed on it")


def extractor(language: str) -> Extract:
    return partial(_extract, language)


def is_installed() -> bool:
    return importlib.util.find_spec("tree_sitter_language_pack") is not None


def _extract(language: str, sources: Iterable[SourceContent]) -> Iterator[tuple[str, FoundReferences]]:
    if not is_installed():
        yield from ((key, missing_extra()) for key, _ in sources)
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
                found = why(_LATE if child.wait() == -signal.SIGPROF else _CRASHED)
                child = None
                lost += 1
            yield key, found
    finally:
        if child:
            child.wait()


class _Child:
    def __init__(self) -> None:
        # Never import from the current folder: that may be the workspace.
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

    def ask(self, language: str, data: bytes) -> FoundReferences | None:
        """What was found; None if the child died."""
        try:
            self._asked.write(b"%s %d\n" % (language.encode(), len(data)) + data)
            self._asked.flush()
        except BrokenPipeError:
            return None
        size = self._answers.readline()
        answer = self._answers.read(int(size)) if size.endswith(b"\n") else b""
        try:
            return msgspec.msgpack.decode(answer, type=prepare(FoundReferences))
        except msgspec.DecodeError:
            return None

    def wait(self) -> int:
        with contextlib.suppress(BrokenPipeError):
            self._asked.close()
        self._answers.close()
        return self._process.wait()


def serve(facts: Mapping[str, Callable[[bytes], FoundReferences]]) -> None:
    """Runs in the child: answers until its input ends."""
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
        answer = msgspec.msgpack.encode(facts[language.decode()](data))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(b"%d\n" % len(answer) + answer)
        answers.flush()
