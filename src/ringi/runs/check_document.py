"""What a file is, and everything that is wrong with it, without a workspace."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from ringi.engine.request import MOST_BYTES, looks_like_request, read_request
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_plan_rules import run_plan_problems
from ringi.errors import BadDocument, RingiError
from ringi.kernel import codec
from ringi.kernel.document import KNOWN_VERSION, prepare
from ringi.kernel.problems import Fault, Level, Problem, ReasonCode, below, problem, schema_problems
from ringi.kernel.text import Text
from ringi.patch.parse import parse_patch
from ringi.plans.change_plan import ChangePlan
from ringi.plans.document import PlanDocument
from ringi.plans.effects import Invalid
from ringi.plans.validate import normalise_spec, why_of
from ringi.sessions.document import PlanningSession
from ringi.sessions.import_session import session_faults
from ringi.tree.action_spec import ActionSpec

_TIMEOUT_SEC: Final = 600
"""For commands that name none; any valid one does."""


class DocumentKind(StrEnum):
    RUN_PLAN = "run-plan"
    CHANGE_PLAN = "change-plan"
    SESSION = "planning-session"
    PLAN = "plan"
    SPECS = "action-specs"
    REQUEST = "request"


class CheckedDocument(NamedTuple):
    kind: DocumentKind | None
    """What it was taken for; None if it is nothing that is known."""
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether there are warnings at most."""
        return all(one.level is Level.WARN for one in self.problems)


_K = DocumentKind
_KINDS: Final[Mapping[DocumentKind, type[msgspec.Struct]]] = {
    _K.RUN_PLAN: RunPlan,
    _K.CHANGE_PLAN: ChangePlan,
    _K.SESSION: PlanningSession,
    _K.PLAN: PlanDocument,
}


def check_document(data: bytes, name: str = "") -> CheckedDocument:
    """All problems at once, failures first. The name of the file helps if its contents say too little."""
    name = name.rpartition("/")[2].lower()
    if name.endswith((".md", ".markdown")) or (not name.endswith(".json") and _is_markdown(data)):
        return CheckedDocument(_K.REQUEST, tuple(_of_request(data)))
    try:
        raw = codec.parse_json(data, name)
    except BadDocument as error:
        message = Text("{why}", why=error.details["why"])
        return CheckedDocument(_by_name(name), (problem(ReasonCode.JSON_PARSE_ERROR, "$", message),))
    kind = _recognise(raw) or _by_name(name)
    if kind is None:
        message = Text("it is no document that is known here; ringi check --schema lists those with a schema")
        return CheckedDocument(None, (problem(ReasonCode.SCHEMA_INVALID, "$", message),))
    return CheckedDocument(kind, tuple(sorted(_CHECKS[kind](raw), key=lambda one: one.level is Level.WARN)))


def _is_markdown(data: bytes) -> bool:
    begin = data[:65_536].decode("utf-8", "replace").removeprefix("\ufeff").lstrip()
    return not begin.startswith(("{", "[")) and looks_like_request(begin)


def _by_name(name: str) -> DocumentKind | None:
    names = {"planning.json": _K.RUN_PLAN, "change-plan.json": _K.CHANGE_PLAN, "plan.json": _K.PLAN}
    if name.startswith("planning-") and name.endswith(".json"):
        return _K.SESSION
    return names.get(name)


def _recognise(raw: object) -> DocumentKind | None:
    """The kind that most of its fields belong to."""
    if isinstance(raw, list):
        return _K.SPECS
    if not isinstance(raw, dict):
        return None
    counts = {kind: len(raw.keys() & set(struct.__struct_encode_fields__)) for kind, struct in _KINDS.items()}
    best = max(counts, key=lambda kind: counts[kind])
    # version, scope or createdAt alone say nothing.
    return best if counts[best] > 1 else None


def _of_request(data: bytes) -> Iterator[Problem]:
    if len(data) > MOST_BYTES:
        why = Text("it has {size} bytes, {limit} are allowed", size=len(data), limit=MOST_BYTES)
        yield problem(ReasonCode.SCHEMA_INVALID, "$", why)
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        why = Text("it is not UTF-8 at byte {at}", at=error.start)
        yield problem(ReasonCode.SCHEMA_INVALID, "$", why)
        return
    yield from read_request(text).problems


def _check_version(raw: object, kind: Any) -> Iterator[Problem]:
    field = next(
        (name for name in ("schema_version", "schemaVersion") if name in kind.__struct_encode_fields__), ""
    )
    version = raw.get(field) if isinstance(raw, dict) else None
    if type(version) is int and version > KNOWN_VERSION:
        message = Text("version {found} is unknown, {known} is supported", found=version, known=KNOWN_VERSION)
        yield problem(ReasonCode.VERSION_UNSUPPORTED, f"$.{field}", message)
    else:
        yield from schema_problems(raw, kind)


def _of_plan(raw: object) -> Iterator[Problem]:
    yield from _check_version(raw, PlanDocument)


def _of_session(raw: object) -> Iterator[Problem]:
    found = list(_check_version(raw, PlanningSession))
    yield from found
    if not found:
        yield from _invalid(session_faults(msgspec.convert(raw, prepare(PlanningSession))))


def _of_change_plan(raw: object) -> Iterator[Problem]:
    version = raw.get("version") if isinstance(raw, dict) else None
    found = list(schema_problems(raw, ChangePlan))
    for one in found:
        if one.path == "$.version" and isinstance(version, str):
            yield problem(ReasonCode.VERSION_UNSUPPORTED, one.path, one.message)
        else:
            yield one
    if not found:
        yield from _invalid(_faults_of_changes(msgspec.convert(raw, prepare(ChangePlan))))


def _faults_of_changes(plan: ChangePlan) -> Iterator[Fault]:
    """Those that show without the project."""
    if not plan.changes:
        yield Fault("$.changes", Text("it changes nothing"))
    for at, change in enumerate(plan.changes):
        try:
            parse_patch(change.diff.encode())
        except RingiError as error:
            yield Fault(f"$.changes[{at}].diff", Text("{why}", why=Text(error.message, **error.details)))
    changed = {change.file for change in plan.changes}
    for at, file in enumerate(plan.scope.target_files):
        if file not in changed:
            yield Fault(f"$.scope.targetFiles[{at}]", Text("nothing in changes is about {path}", path=file))
    for file in sorted(changed - set(plan.scope.target_files)):
        yield Fault("$.scope.targetFiles", Text("{path} is missing here, but it is changed", path=file))


def _of_specs(raw: object) -> Iterator[Problem]:
    yield from schema_problems(raw, tuple[ActionSpec, ...])
    for at, one in enumerate(raw if isinstance(raw, list) else ()):
        try:
            normalise_spec(msgspec.convert(one, prepare(ActionSpec)), _TIMEOUT_SEC)
        except (Invalid, RingiError) as error:
            yield problem(ReasonCode.SCHEMA_INVALID, below("$", at), Text("{why}", why=why_of(error)))
        except msgspec.ValidationError:
            pass  # named above


def _invalid(faults: Iterator[Fault]) -> Iterator[Problem]:
    return (problem(ReasonCode.SCHEMA_INVALID, fault.path, fault.message) for fault in faults)


_CHECKS: Final[Mapping[DocumentKind, Callable[[object], Iterator[Problem]]]] = {
    _K.RUN_PLAN: lambda raw: iter(run_plan_problems(raw)),
    _K.CHANGE_PLAN: _of_change_plan,
    _K.SESSION: _of_session,
    _K.PLAN: _of_plan,
    _K.SPECS: _of_specs,
}
