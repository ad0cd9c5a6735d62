"""What checkers say, as diagnostics (CP-10): SARIF 2.1, ruff's JSON, or `file:line:column: message`.

Bytes in, values out. The output is untrusted. If it cannot be read, the answer says why; nothing is raised.
Nothing in it is obeyed, and nothing is escaped here: the view does that.
"""

import posixpath
import re
from collections.abc import Container, Iterable, Iterator
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeVar
from urllib.parse import unquote

import msgspec

from ringi.kernel.document import prepare
from ringi.kernel.text import Text
from ringi.project.state import Diagnostic, Severity

T = TypeVar("T")

_BOM: Final = b"\xef\xbb\xbf"
_MAX_LINE: Final = 2**31 - 1
# An empty object costs two bytes in a file and a hundred in memory.
_MAX_OBJECTS: Final = 2_000_000

_SEVERITIES: Final = {
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


class Format(StrEnum):
    AUTO = "auto"
    SARIF = "sarif"
    RUFF = "ruff"
    LINES = "lines"


class DiagnosticLimits(NamedTuple):
    output_bytes: int = 50 * 1024 * 1024
    diagnostics: int = 100_000
    named: int = 1_000_000
    """Including duplicates and those about other files."""


LIMITS: Final = DiagnosticLimits()


class CheckPlace(NamedTuple):
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


class ParsedDiagnostics(NamedTuple):
    diagnostics: tuple[Diagnostic, ...]
    """Sorted, each once."""
    outside: int = 0
    """How many were not about a file of the project."""


class Unparsed(NamedTuple):
    why: Text


class _Found(NamedTuple):
    file: str | None
    """As the tool names it."""
    message: str
    line: int | None = None
    column: int | None = None
    severity: Severity = Severity.WARNING
    code: str = ""
    source: str = ""


class _UnreadableOutput(Exception):
    """Caught by the code that chooses the format."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def _decode(data: bytes, kind: type[T]) -> T:
    """JSON decoded into `kind`; other fields are skipped."""
    if data.count(b"{") + data.count(b"[") > _MAX_OBJECTS:
        raise _UnreadableOutput(Text("it has more than {limit} values", limit=_MAX_OBJECTS))
    try:
        return msgspec.json.decode(data, type=prepare(kind))
    except RecursionError:
        raise _UnreadableOutput(Text("it is nested too deeply")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _UnreadableOutput(Text("it is not the JSON that was expected: {why}", why=str(error))) from None


def parse(
    output: bytes,
    place: CheckPlace,
    form: Format = Format.AUTO,
    *,
    errors: bytes = b"",
    source: str = "",
    limits: DiagnosticLimits = LIMITS,
) -> ParsedDiagnostics | Unparsed:
    """`errors` is what went to standard error: compilers write their lines there. `source` names the tool."""
    if max(len(output), len(errors)) > limits.output_bytes:
        return Unparsed(Text("it printed more than {limit} bytes", limit=limits.output_bytes))
    try:
        return _place(_read_places(output.removeprefix(_BOM), errors, form, source), place, limits)
    except _UnreadableOutput as error:
        return Unparsed(error.why)


def merge(parts: Iterable[Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
    """All of them, each once, in a fixed order."""
    return tuple(sorted({one for part in parts for one in part}, key=_order))


def _order(one: Diagnostic) -> tuple[object, ...]:
    place = one.line or 0, one.column or 0, one.end_line or 0, one.end_column or 0
    return one.file, *place, one.severity, one.code, one.message, one.source


def _read_places(output: bytes, errors: bytes, form: Format, source: str) -> Iterator[_Found]:
    # gcc writes its SARIF to standard error.
    document = output if output.strip() else errors
    match _guess(document) if form is Format.AUTO else form:
        case Format.SARIF:
            yield from _results(document)
        case Format.RUFF:
            yield from _violations(document)
        case _:
            yield from _lines(output, source)
            yield from _lines(errors, source)


def _guess(output: bytes) -> Format:
    """By how it begins: truncated JSON must not pass for lines without diagnostics."""
    if re.match(rb"\s*\[\s*[{\]]", output):
        return Format.RUFF
    if re.match(rb"\s*\{", output) and re.search(rb'"runs"\s{0,100}:', output):
        return Format.SARIF
    return Format.LINES


def _place(found: Iterable[_Found], place: CheckPlace, limits: DiagnosticLimits) -> ParsedDiagnostics:
    diagnostics: set[Diagnostic] = set()
    outside = 0
    for count, one in enumerate(found):
        for reached, limit in ((count, limits.named), (len(diagnostics), limits.diagnostics)):
            if reached >= limit:
                raise _UnreadableOutput(Text("it names more than {limit} places", limit=limit))
        file = place.relative(one.file) if one.file else None
        if file is None:
            outside += 1
            continue
        line, column = _limit(one.line), _limit(one.column)
        message = one.message.strip() or one.code
        diagnostics.add(Diagnostic(file, message, line, column, one.severity, one.code, one.source))
    return ParsedDiagnostics(merge([diagnostics]), outside)


def _limit(number: int | None) -> int | None:
    return number if number is not None and 0 < number <= _MAX_LINE else None


# Lines: `file:line:column: message`.


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


def _lines(data: bytes, source: str) -> Iterator[_Found]:
    for line in _LINE.finditer(data):
        file = line["file"].decode("utf-8", "replace")
        number, column = line["line"] or line["row"], line["column"] or line["place"]
        severity, code, message = _split_message(line["message"].decode("utf-8", "replace").strip())
        yield _Found(file, message, int(number), int(column) if column else None, severity, code, source)


def _split_message(text: str) -> tuple[Severity, str, str]:
    severity, code = Severity.WARNING, ""
    if labelled := _LABELLED.match(text):
        severity = _SEVERITIES[labelled["severity"].lower()]
        code, text = labelled["code"] or "", labelled["message"]
    elif coded := _CODED.match(text):
        code, text = coded["code"], coded["message"]
    if not code and (behind := _BEHIND.search(text, max(0, len(text) - _TAIL))):
        code, text = behind["rule"] or behind["option"], text[: behind.start()]
    return severity, code, text


# Ruff's JSON.


class _Position(msgspec.Struct):
    row: int | None = None
    column: int | None = None


class _Violation(msgspec.Struct):
    filename: str
    message: str
    code: str | None = None
    location: _Position | None = None
    severity: str | None = None


def _violations(data: bytes) -> Iterator[_Found]:
    for one in _decode(data, list[_Violation]):
        at = one.location or _Position()
        # Older versions give no severity, and no code for files they cannot read.
        usual = Severity.ERROR if one.code in {None, "invalid-syntax"} else Severity.WARNING
        severity = _SEVERITIES.get((one.severity or "").lower(), usual)
        yield _Found(one.filename, one.message, at.row, at.column, severity, one.code or "", "ruff")


# SARIF 2.1: only the places and messages. Everything else in it is skipped.


_MAX_BASES: Final = 8
# One long template used by every result must not multiply the size of the output.
_MAX_ARGUMENTS: Final = 20
_MAX_ARGUMENT: Final = 500
_MAX_TEMPLATE: Final = 4000
_MAX_URI: Final = 8192


class _Node(msgspec.Struct, rename="camel"):
    """Every field may be missing or null: tools take the standard lightly."""


class _Words(_Node):
    text: str | None = None
    markdown: str | None = None
    id: str | None = None
    arguments: list[str] | None = None


class _Artifact(_Node):
    uri: str | None = None
    uri_base_id: str | None = None
    index: int | None = None


class _Listed(_Node):
    location: _Artifact | None = None


class _Region(_Node):
    start_line: int | None = None
    start_column: int | None = None


class _Physical(_Node):
    artifact_location: _Artifact | None = None
    region: _Region | None = None


class _Location(_Node):
    physical_location: _Physical | None = None


class _Defaults(_Node):
    level: str | None = None


class _Rule(_Node):
    id: str | None = None
    default_configuration: _Defaults | None = None
    message_strings: dict[str, _Words] | None = None


class _Reference(_Node):
    id: str | None = None
    index: int | None = None


class _Suppression(_Node):
    status: str | None = None


class _Outcome(_Node):
    message: _Words | None = None
    rule_id: str | None = None
    rule_index: int | None = None
    rule: _Reference | None = None
    level: str | None = None
    kind: str | None = None
    locations: list[_Location] | None = None
    suppressions: list[_Suppression] | None = None
    baseline_state: str | None = None


class _Driver(_Node):
    name: str = ""
    rules: list[_Rule] | None = None


class _Tool(_Node):
    driver: _Driver


class _Invocation(_Node):
    execution_successful: bool | None = None


class _Run(_Node):
    tool: _Tool
    results: list[_Outcome] | None = None
    artifacts: list[_Listed] | None = None
    invocations: list[_Invocation] | None = None
    original_uri_base_ids: dict[str, _Artifact] | None = None


class _SarifLog(_Node):
    runs: list[_Run]
    version: Annotated[str, msgspec.Meta(pattern=r"^2\.1\.")] = "2.1.0"


def _results(data: bytes) -> Iterator[_Found]:
    for run in _decode(data, _SarifLog).runs:
        failed = any(one.execution_successful is False for one in run.invocations or ())
        if failed and not run.results:
            # Compilers also report failure if they found errors, but then the errors are in the output.
            raise _UnreadableOutput(Text("{tool} says that it failed", tool=run.tool.driver.name))
        rules = {rule.id: rule for rule in run.tool.driver.rules or () if rule.id}
        for outcome in run.results or ():
            yield from _outcome(run, rules, outcome)


def _outcome(run: _Run, rules: dict[str, _Rule], outcome: _Outcome) -> Iterator[_Found]:
    hushed = any(one.status in {None, "accepted"} for one in outcome.suppressions or ())
    if hushed or outcome.kind in {"pass", "notApplicable"} or outcome.baseline_state == "absent":
        return
    rule, code = _rule(run, rules, outcome)
    severity = _severity(rule, outcome)
    message = _message(rule, outcome.message or _Words())
    for location in outcome.locations or [_Location()]:
        physical = location.physical_location or _Physical()
        region = physical.region or _Region()
        file = _path(run, physical.artifact_location or _Artifact())
        line, column = region.start_line, region.start_column
        yield _Found(file, message, line, column, severity, code, run.tool.driver.name)


def _rule(run: _Run, rules: dict[str, _Rule], outcome: _Outcome) -> tuple[_Rule, str]:
    named = outcome.rule or _Reference()
    index = outcome.rule_index if outcome.rule_index is not None else named.index
    listed = run.tool.driver.rules or []
    by_index = listed[index] if index is not None and 0 <= index < len(listed) else _Rule()
    code = outcome.rule_id or named.id or by_index.id or ""
    # A hierarchical id such as CA1000/1 means the rule CA1000.
    return rules.get(code) or rules.get(code.rpartition("/")[0]) or by_index, code


def _severity(rule: _Rule, outcome: _Outcome) -> Severity:
    level = outcome.level
    if level is None and outcome.kind not in {None, "fail"}:
        level = "none"
    if level is None and rule.default_configuration is not None:
        level = rule.default_configuration.level
    return _SEVERITIES.get(level or "", Severity.WARNING)


def _message(rule: _Rule, words: _Words) -> str:
    text = words.text or words.markdown
    if text is None and words.id is not None:
        text = ((rule.message_strings or {}).get(words.id) or _Words()).text or words.id
        text = text[:_MAX_TEMPLATE]
    if text and words.arguments:
        given = [argument[:_MAX_ARGUMENT] for argument in words.arguments[:_MAX_ARGUMENTS]]

        def fill(at: re.Match[str]) -> str:
            number = int(at[1])
            return given[number] if number < len(given) else at[0]

        text = re.sub(r"\{([0-9]{1,2})\}", fill, text, count=_MAX_ARGUMENTS)
    return text or ""


def _path(run: _Run, artifact: _Artifact) -> str | None:
    listed = run.artifacts or []
    if artifact.uri is None and artifact.index is not None and 0 <= artifact.index < len(listed):
        artifact = listed[artifact.index].location or _Artifact()
    bases = run.original_uri_base_ids or {}
    path: str | None = None
    at: _Artifact | None = artifact
    for _ in range(_MAX_BASES):
        if at is None:
            break
        if at.uri is not None:
            part = _local(at.uri)
            if part is None:
                return None
            path = part if path is None else posixpath.join(part, path)
        # A base without a URI is the folder that the tool ran in.
        at = bases.get(at.uri_base_id) if at.uri_base_id is not None else None
    return path


def _local(uri: str) -> str | None:
    """None if it is not a local file. Some tools write a plain path instead of a URI."""
    if len(uri) > _MAX_URI:
        return None
    scheme, colon, rest = uri.partition(":")
    if not (colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme)):
        return unquote(uri)
    if scheme.lower() != "file":
        return None
    if not rest.startswith("//"):
        return unquote(rest)
    host, _, below = rest[2:].partition("/")
    return unquote("/" + below) if host in {"", "localhost"} else None
