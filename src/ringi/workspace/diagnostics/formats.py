"""What checkers print: ruff's JSON, `file:line:column: message`, and what SARIF shares with them."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeVar

import msgspec

from ringi.domain.project_state import Severity
from ringi.text import Text

T = TypeVar("T")

MAX_LINE: Final = 2**31 - 1
# An empty object costs two bytes in a file and a hundred in memory.
_MAX_OBJECTS: Final = 2_000_000

SEVERITIES: Final = {
    "error": Severity.ERROR,
    "fatal error": Severity.ERROR,
    "internal compiler error": Severity.ERROR,
    "fatal": Severity.ERROR,
    "warning": Severity.WARNING,
    "note": Severity.NOTE,
    "none": Severity.NOTE,
    "info": Severity.NOTE,
    "information": Severity.NOTE,
    "remark": Severity.NOTE,
    "hint": Severity.NOTE,
    "help": Severity.NOTE,
}


class Found(NamedTuple):
    file: str | None
    """As the tool names it."""
    message: str
    line: int | None = None
    column: int | None = None
    severity: Severity = Severity.WARNING
    code: str = ""
    source: str = ""


class UnreadableOutput(Exception):
    """Caught by the code that chooses the format."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def decoded(data: bytes, kind: type[T]) -> T:
    """JSON decoded into `kind`; other fields are skipped."""
    if data.count(b"{") + data.count(b"[") > _MAX_OBJECTS:
        raise UnreadableOutput(Text("it has more than {limit} values", limit=_MAX_OBJECTS))
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise UnreadableOutput(Text("it is nested too deeply")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableOutput(Text("it is not the JSON that was expected: {why}", why=str(error))) from None


# One pass in linear time: nothing in it can match in two ways.
_LINE: Final = re.compile(
    rb"^(?P<file>[^\s:][^:\n]*?)"
    rb"(?::(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?(?::|[ \t]-[ \t])"
    rb"|\((?P<row>\d{1,9})(?:,(?P<place>\d{1,9}))?\)[ \t]?:)"
    rb"(?P<message>[^\n]+)",
    re.MULTILINE,
)
_LABELLED: Final = re.compile(
    r"(?P<severity>(?:fatal |internal compiler )?error|fatal|warning|note|info|information|remark|hint|help)"
    r"(?: ?\[?(?P<code>[A-Za-z]{1,12}[0-9]{1,6})\]?)? ?: ?(?P<message>.+)",
    re.IGNORECASE | re.DOTALL,
)
_CODED: Final = re.compile(r"(?P<code>[A-Z]{1,12}[0-9]{1,6}):? (?P<message>.+)", re.DOTALL)
# mypy writes two spaces before the name of its rule, gcc the option that asked for the warning.
_BEHIND: Final = re.compile(r"(?:  \[(?P<rule>[a-z][a-z-]{0,60})\]| \[(?P<option>-W[^\]\s]{1,80})\])$")
_TAIL: Final = 100


def lines(data: bytes, source: str) -> Iterator[Found]:
    for line in _LINE.finditer(data):
        file = line["file"].decode("utf-8", "replace")
        number, column = line["line"] or line["row"], line["column"] or line["place"]
        severity, code, message = _read(line["message"].decode("utf-8", "replace").strip())
        yield Found(file, message, int(number), int(column) if column else None, severity, code, source)


def _read(text: str) -> tuple[Severity, str, str]:
    severity, code = Severity.WARNING, ""
    if labelled := _LABELLED.match(text):
        severity = SEVERITIES[labelled["severity"].lower()]
        code, text = labelled["code"] or "", labelled["message"]
    elif coded := _CODED.match(text):
        code, text = coded["code"], coded["message"]
    if not code and (behind := _BEHIND.search(text, max(0, len(text) - _TAIL))):
        code, text = behind["rule"] or behind["option"], text[: behind.start()]
    return severity, code, text


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
        # Older versions give no severity, and no code for files they cannot read.
        usual = Severity.ERROR if one.code in {None, "invalid-syntax"} else Severity.WARNING
        severity = SEVERITIES.get((one.severity or "").lower(), usual)
        yield Found(one.filename, one.message, at.row, at.column, severity, one.code or "", "ruff")
