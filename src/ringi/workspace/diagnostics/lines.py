"""`file:line:column: message` as compilers write it, and `file(line,column): message`."""

import re
from collections.abc import Iterator
from typing import Final

from ringi.domain.project_state import Severity
from ringi.workspace.diagnostics.found import SEVERITIES, Found

# One pass over all bytes, in time that grows with their number: nothing in it can match in two ways.
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
