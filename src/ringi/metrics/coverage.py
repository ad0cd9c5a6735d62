"""Test coverage from a report that the project names, in Cobertura's XML.

The file is the project's: it may be huge, wrong or hostile. Nothing in it is followed, expanded or run.
"""

from pathlib import Path
from typing import Final, NamedTuple
from xml.parsers import expat

from ringi.kernel.fs import read_bounded
from ringi.kernel.text import Text, why_failed

LARGEST: Final = 64 * 1024 * 1024
_NOT_A_REPORT: Final = Text("it is not a coverage report in Cobertura's XML")
_MOST_LINES: Final = 10**9


class Coverage(NamedTuple):
    covered: int
    lines: int
    seconds: float
    """When the file was written, since the epoch."""


class NoCoverage(NamedTuple):
    why: Text


class _Wrong(Exception):
    def __init__(self, why: Text = _NOT_A_REPORT) -> None:
        super().__init__(str(why))
        self.why = why


def read_report(root: Path, name: str) -> Coverage | NoCoverage:
    """A link that leads out of the workspace is not followed."""
    path = root / name
    try:
        if not path.resolve(strict=True).is_relative_to(root.resolve()):
            return NoCoverage(Text("it leads out of the workspace"))
        data = read_bounded(path, LARGEST)
        covered, lines = _cobertura(data)
        if not 0 <= covered <= lines or not 0 < lines <= _MOST_LINES:
            return NoCoverage(Text("its line counts cannot be right"))
        return Coverage(covered, lines, path.stat().st_mtime)
    except _Wrong as wrong:
        return NoCoverage(wrong.why)
    except FileNotFoundError:
        return NoCoverage(Text("the file is not there"))
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        return NoCoverage(Text("{why}", why=why_failed(error) if isinstance(error, OSError) else str(error)))


class _Cobertura:
    """The totals of the root, or its lines counted. No entity is expanded: a report needs none."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.EntityDeclHandler = self._refuse
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.root: dict[str, str] | None = None
        self._in_methods = 0
        self.covered = self.lines = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self.root is None:
            if name != "coverage":
                raise _Wrong
            self.root = attributes
        elif name == "methods":  # their lines come again in their class
            self._in_methods += 1
        elif name == "line" and not self._in_methods:
            self.lines += 1
            self.covered += attributes.get("hits", "0").strip() not in {"", "0"}

    def _end(self, name: str) -> None:
        self._in_methods -= name == "methods"

    def _refuse(self, *_: object) -> None:
        raise _Wrong(Text("it declares entities, which no coverage report needs"))


def _cobertura(data: bytes) -> tuple[int, int]:
    found = _Cobertura()
    try:
        found.parser.Parse(data, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise _Wrong(Text("the XML cannot be read: {why}", why=str(error))) from None
    root = found.root or {}
    totals = (root.get("lines-covered", ""), root.get("lines-valid", ""))
    if all(one.isascii() and one.isdigit() and len(one) < len(str(_MOST_LINES)) for one in totals):
        return int(totals[0]), int(totals[1])
    if not found.lines:
        raise _Wrong
    return found.covered, found.lines
