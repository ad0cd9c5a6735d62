"""What the readers of the formats have in common."""

from typing import Final, NamedTuple, TypeVar

import msgspec

from ringi.domain.project_state import Severity
from ringi.text import Text

T = TypeVar("T")

MAX_OUTPUT_BYTES: Final = 50 * 1024 * 1024
MAX_DIAGNOSTICS: Final = 100_000
MAX_NAMED: Final = 1_000_000
"""With those that say the same again, or are about other files."""
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
    """Caught where the format was chosen."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def decoded(data: bytes, kind: type[T]) -> T:
    """JSON, of which only the fields of `kind` are built; the rest is skipped."""
    if data.count(b"{") + data.count(b"[") > _MAX_OBJECTS:
        raise UnreadableOutput(Text("it has more than {limit} values", limit=_MAX_OBJECTS))
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise UnreadableOutput(Text("it is nested too deeply")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableOutput(Text("it is not the JSON that was expected: {why}", why=str(error))) from None
