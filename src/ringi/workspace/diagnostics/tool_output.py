"""Detects the format and maps the paths to files of the project."""

import posixpath
import re
from collections.abc import Container, Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from ringi.domain.project_state import Diagnostic
from ringi.text import Text
from ringi.workspace.diagnostics.formats import MAX_LINE, Found, UnreadableOutput, lines, violations
from ringi.workspace.diagnostics.sarif import results

_BOM = b"\xef\xbb\xbf"


class Format(StrEnum):
    AUTO = "auto"
    SARIF = "sarif"
    RUFF = "ruff"
    LINES = "lines"


class Limits(NamedTuple):
    output_bytes: int = 50 * 1024 * 1024
    diagnostics: int = 100_000
    named: int = 1_000_000
    """Including duplicates and those about other files."""


LIMITS: Final = Limits()


class Place(NamedTuple):
    """Where the command ran."""

    roots: tuple[str, ...]
    """The folder's absolute paths: more than one if links give it several names."""
    files: Container[str]
    """The project's files, relative to that folder."""

    def relative(self, path: str) -> str | None:
        """The file's name in the project; None if it is not one of its files."""
        plain = posixpath.normpath(path)
        if plain.startswith("/"):
            plain = "/" + plain.lstrip("/")
            inside = (root.rstrip("/") + "/" for root in self.roots)
            plain = next((plain[len(root) :] for root in inside if plain.startswith(root)), "")
        return plain if plain in self.files else None


class Parsed(NamedTuple):
    diagnostics: tuple[Diagnostic, ...]
    """Sorted, each once."""
    outside: int = 0
    """How many were not about a file of the project."""


class Unparsed(NamedTuple):
    why: Text


def parse(
    output: bytes,
    place: Place,
    form: Format = Format.AUTO,
    *,
    errors: bytes = b"",
    source: str = "",
    limits: Limits = LIMITS,
) -> Parsed | Unparsed:
    """`errors` is what went to standard error: compilers write their lines there. `source` names the tool."""
    if max(len(output), len(errors)) > limits.output_bytes:
        return Unparsed(Text("it printed more than {limit} bytes", limit=limits.output_bytes))
    try:
        return _placed(_found(output.removeprefix(_BOM), errors, form, source), place, limits)
    except UnreadableOutput as error:
        return Unparsed(error.why)


def merged(parts: Iterable[Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
    """All of them, each once, in a fixed order."""
    return tuple(sorted({one for part in parts for one in part}, key=_order))


def _order(one: Diagnostic) -> tuple[object, ...]:
    return one.file, one.line or 0, one.column or 0, one.severity, one.code, one.message, one.source


def _found(output: bytes, errors: bytes, form: Format, source: str) -> Iterator[Found]:
    # gcc writes its SARIF to standard error.
    document = output if output.strip() else errors
    match _guess(document) if form is Format.AUTO else form:
        case Format.SARIF:
            yield from results(document)
        case Format.RUFF:
            yield from violations(document)
        case _:
            yield from lines(output, source)
            yield from lines(errors, source)


def _guess(output: bytes) -> Format:
    """By how it begins: truncated JSON must not pass for lines without diagnostics."""
    if re.match(rb"\s*\[\s*[{\]]", output):
        return Format.RUFF
    if re.match(rb"\s*\{", output) and re.search(rb'"runs"\s{0,100}:', output):
        return Format.SARIF
    return Format.LINES


def _placed(found: Iterable[Found], place: Place, limits: Limits) -> Parsed:
    diagnostics: set[Diagnostic] = set()
    outside = 0
    for count, one in enumerate(found):
        for reached, limit in ((count, limits.named), (len(diagnostics), limits.diagnostics)):
            if reached >= limit:
                raise UnreadableOutput(Text("it names more than {limit} places", limit=limit))
        file = place.relative(one.file) if one.file else None
        if file is None:
            outside += 1
            continue
        line, column = _counted(one.line), _counted(one.column)
        message = one.message.strip() or one.code
        diagnostics.add(Diagnostic(file, message, line, column, one.severity, one.code, one.source))
    return Parsed(merged([diagnostics]), outside)


def _counted(number: int | None) -> int | None:
    return number if number is not None and 0 < number <= MAX_LINE else None
