"""`ruff check --output-format json`."""

from collections.abc import Iterator

import msgspec

from ringi.domain.project_state import Severity
from ringi.workspace.diagnostics.found import SEVERITIES, Found, decoded


class _Position(msgspec.Struct):
    row: int | None = None
    column: int | None = None


class _Violation(msgspec.Struct):
    filename: str
    message: str
    code: str | None = None
    location: _Position | None = None
    severity: str | None = None


def violations(data: bytes) -> Iterator[Found]:
    for one in decoded(data, list[_Violation]):
        at = one.location or _Position()
        # Older versions name no severity, and no code for what they cannot read.
        usual = Severity.ERROR if one.code in {None, "invalid-syntax"} else Severity.WARNING
        severity = SEVERITIES.get((one.severity or "").lower(), usual)
        yield Found(one.filename, one.message, at.row, at.column, severity, one.code or "", "ruff")
