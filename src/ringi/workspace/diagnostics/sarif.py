"""SARIF 2.1: only the places and messages. Everything else in it is skipped."""

import posixpath
import re
from collections.abc import Iterator
from typing import Annotated, Final
from urllib.parse import unquote

import msgspec

from ringi.domain.project_state import Severity
from ringi.text import Text
from ringi.workspace.diagnostics.formats import SEVERITIES, Found, UnreadableOutput, decoded

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


class _Log(_Node):
    runs: list[_Run]
    version: Annotated[str, msgspec.Meta(pattern=r"^2\.1\.")] = "2.1.0"


def results(data: bytes) -> Iterator[Found]:
    for run in decoded(data, _Log).runs:
        failed = any(one.execution_successful is False for one in run.invocations or ())
        if failed and not run.results:
            # Compilers also report failure if they found errors, but then the errors are in the output.
            raise UnreadableOutput(Text("{tool} says that it failed", tool=run.tool.driver.name))
        rules = {rule.id: rule for rule in run.tool.driver.rules or () if rule.id}
        for outcome in run.results or ():
            yield from _outcome(run, rules, outcome)


def _outcome(run: _Run, rules: dict[str, _Rule], outcome: _Outcome) -> Iterator[Found]:
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
        yield Found(file, message, line, column, severity, code, run.tool.driver.name)


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
    return SEVERITIES.get(level or "", Severity.WARNING)


def _message(rule: _Rule, words: _Words) -> str:
    text = words.text or words.markdown
    if text is None and words.id is not None:
        text = ((rule.message_strings or {}).get(words.id) or _Words()).text or words.id
        text = text[:_MAX_TEMPLATE]
    if text and words.arguments:
        given = [argument[:_MAX_ARGUMENT] for argument in words.arguments[:_MAX_ARGUMENTS]]

        def filled(at: re.Match[str]) -> str:
            number = int(at[1])
            return given[number] if number < len(given) else at[0]

        text = re.sub(r"\{([0-9]{1,2})\}", filled, text, count=_MAX_ARGUMENTS)
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
