"""A person drops hunks or edits lines: a new version, validated and scored again."""

from __future__ import annotations

import shlex
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

import msgspec
from msgspec import UNSET

from ringi.approvals.document import files_of
from ringi.approvals.feedback import Amended, Feedback, FeedbackKind
from ringi.approvals.who import actor_at, require_settable
from ringi.errors import InvalidSpecs, NotFound, Refused, Stale, StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.patch.apply import apply_hunks
from ringi.patch.render import Rendered
from ringi.plans.document import (
    Amendment,
    DropHunks,
    DropSpec,
    NewContent,
    PlanDocument,
    StoredPlan,
    ValidationReport,
    with_state,
)
from ringi.plans.effects import Effect, Invalid, content_of, difference, pack, rendering, rules_of
from ringi.plans.preview import effects_now, render_now
from ringi.plans.propose import by_person, next_version, refuse_fixed, require_as_seen, save_version, since_of
from ringi.plans.validate import Validated, misfits, validate, why_of
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt
from ringi.tree.file_state import FileState
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_IN_PARTS: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH])
"""Kinds that have hunks; the others can only be dropped whole."""
_NOTHING: Final = Amended(0)
_FILE_DROPPED: Final = Amended(0, files=1)
_WHOLE: Final = Text("it can only be dropped whole")


class _Amended(NamedTuple):
    spec: ActionSpecExt | None
    """None if nothing of it is left."""
    words: str
    """What the person did to it, for the proposer; empty if nothing."""
    did: Amended = _NOTHING
    grown: int = 0
    """How many more hunks it has because it was edited."""
    diff: Rendered | None = None


def amend(
    workspace: Workspace,
    plan_id: str,
    amendments: Sequence[Amendment],
    *,
    seen: PlanDocument | None,
    reason: str,
) -> ValidationReport:
    """Leaves the plan unchanged if the result would be invalid or the same."""
    stored = workspace.store.plans.get(plan_id)
    if seen:
        require_as_seen(stored, seen)
    refuse_fixed(stored)
    require_settable(workspace.person, stored)
    name = f"p{stored.number}"
    document = next_version(stored.document, workspace.person.requester(), name)
    wanted = _by_spec(stored, amendments)
    specs = stored.document.state.action_specs
    done = {
        spec.id: _apply_amendment(workspace, name, spec, wanted[spec.id])
        for spec in specs
        if spec.id in wanted
    }
    words = "; ".join(amended.words for amended in done.values() if amended.words)
    pairs = [_outcome(workspace, spec, done.get(spec.id)) for spec in specs]
    kept = tuple(pair for pair in pairs if pair is not None)
    validated = _together(workspace, name, kept, done)
    if not validated.report.ok or not words:
        return validated.report
    told = f"{reason}: {words}" if reason else words
    did = _sum([amended for amended in done.values() if amended.words], document.plan.version)
    did = _count_hunks(did, stored.document, validated, sum(amended.grown for amended in done.values()))
    feedback = Feedback(workspace.clock.now(), told, FeedbackKind.AMENDED, did)
    actor = actor_at(workspace.person)
    if actor is Actor.USER:
        document = by_person(stored.document, document)
    document = with_state(document, feedback=(*document.state.feedback, feedback))
    events = (NewEvent(kind, actor, told) for kind in (EventKind.AMENDED, EventKind.SPECS_SET))
    save_version(workspace, stored, document, validated, *events)
    return validated.report


def _by_spec(stored: StoredPlan, amendments: Sequence[Amendment]) -> Mapping[str, Amendment]:
    see = f"ringi show p{stored.number}"
    known = {spec.id for spec in stored.document.state.action_specs}
    found: dict[str, Amendment] = {}
    for amendment in amendments:
        if amendment.spec_id not in known:
            raise NotFound(what=Text("spec"), name=amendment.spec_id, see=see)
        if amendment.spec_id in found:
            raise NotFound(what=Text("second spec"), name=amendment.spec_id, see=see)
        found[amendment.spec_id] = amendment
    return found


def _outcome(
    workspace: Workspace, spec: ActionSpecExt, amended: _Amended | None
) -> tuple[ActionSpecExt, Rendered] | None:
    if amended is None:
        return spec, render_now(workspace, spec)
    if amended.spec is None:
        return None
    return amended.spec, amended.diff or render_now(workspace, amended.spec)


def _together(
    workspace: Workspace, plan: str, kept: Sequence[tuple[ActionSpecExt, Rendered]], amended: Container[str]
) -> Validated:
    if not kept:
        why = Text("nothing is left of it; reject it instead: ringi reject {plan} --feedback …", plan=plan)
        raise InvalidSpecs(plan=plan, issues=why)
    specs = tuple(spec for spec, _ in kept)
    problems = [
        Text("{id} {path}: {why}", id=spec.id, path=spec.base.path, why=spec.notes)
        for spec in specs
        if spec.id in amended and not spec.validated
    ]
    problems += misfits(
        [spec for spec in specs if spec.validated], len(specs), rules_of(workspace), workspace.tree
    )
    issues = tuple(str(problem) for problem in problems)
    report = ValidationReport(ok=not problems, issues=issues, normalized=specs)
    return Validated(report, tuple(problems), tuple(rendered for _, rendered in kept))


def _apply_amendment(workspace: Workspace, plan: str, spec: ActionSpecExt, amendment: Amendment) -> _Amended:
    label = _label(spec.base)
    if isinstance(amendment, DropSpec):
        return _Amended(None, f"dropped {label}", _FILE_DROPPED)
    if isinstance(amendment, DropHunks) and not amendment.hunks:
        return _Amended(spec, "")
    if spec.base.kind not in _IN_PARTS or not spec.validated:
        _refuse(plan, spec, _WHOLE)
    effects = _effects(workspace, plan, spec)
    if isinstance(amendment, DropHunks):
        new = _without_hunks(plan, spec, effects, amendment.hunks)
        words = f"dropped {_hunks(amendment.hunks)} of {label}"
        did = Amended(0, hunks=len(set(amendment.hunks)))
        before = 0
    else:
        new = _new_content(plan, spec, effects, amendment)
        words, did = _describe_edit(label, effects[0], new)
        before = len(rendering(effects).hunks)
    if new is not None and new == effects[0].new:
        return _Amended(spec, "")
    base = None if new is None else _with_bytes(plan, spec, effects, new)
    if base is None:
        return _Amended(None, f"dropped {label}", _FILE_DROPPED)
    found = _validate_new(workspace, plan, spec, base)
    grown = len(found.diff.hunks) - before if before and found.diff else 0
    return found._replace(words=words, did=did, grown=grown)


def _label(spec: ActionSpec) -> str:
    return shlex.join(spec.argv) or spec.tool or spec.path


def _hunks(numbers: Sequence[int]) -> str:
    wanted = sorted(set(numbers))
    return f"hunk{'s' if len(wanted) > 1 else ''} {', '.join(map(str, wanted))}"


def _describe_edit(label: str, own: Effect, new: bytes) -> tuple[str, Amended]:
    rendered = difference(own.path, own.new, own.after, new, own.after)
    lines = max(rendered.added, rendered.removed)
    if rendered.binary:
        return f"replaced the content of {label}", Amended(0, contents=1)
    did = Amended(0, lines=lines, edited=len(rendered.hunks))
    return f"edited {lines} line{'' if lines == 1 else 's'} of {label}", did


def _count_hunks(did: Amended, before: PlanDocument, validated: Validated, grown: int) -> Amended:
    """With how many hunks there were, and how many of them are gone."""
    totals = before.state.previews
    if totals is None or totals.hunks is UNSET:
        return did
    left = sum(len(rendered.hunks) for rendered in validated.diffs) - grown
    return msgspec.structs.replace(did, of=totals.hunks, dropped=max(0, totals.hunks - left))


def _sum(amended: Sequence[_Amended], version: int) -> Amended:
    did = [one.did for one in amended]
    return Amended(
        version,
        files=sum(one.files for one in did),
        hunks=sum(one.hunks for one in did),
        lines=sum(one.lines for one in did),
        contents=sum(one.contents for one in did),
        edited=sum(one.edited for one in did),
    )


def _effects(workspace: Workspace, plan: str, spec: ActionSpecExt) -> tuple[Effect, ...]:
    """What the spec does to its files, which must still be those that the proposer saw."""
    if wrong := find_differing(workspace.tree, files_of([spec])):
        raise Stale(plan=plan, paths=", ".join(wrong))
    try:
        return effects_now(workspace, spec)
    except (Invalid, Refused, StorageFailed, OSError) as error:
        _refuse(plan, spec, why_of(error))


def _without_hunks(
    plan: str, spec: ActionSpecExt, effects: Sequence[Effect], numbers: Sequence[int]
) -> bytes | None:
    """None if all hunks of a new or deleted file are dropped."""
    rendered = rendering(effects)
    if rendered.binary:
        _refuse(plan, spec, Text("it is not text, so it has no hunks"))
    if unknown := sorted(set(numbers).difference(range(1, len(rendered.hunks) + 1))):
        name = f"{spec.base.path}: {', '.join(map(str, unknown))}"
        raise NotFound(what=Text("hunk"), name=name, see=f"ringi show {plan} --diff")
    left = tuple(hunk for number, hunk in enumerate(rendered.hunks, 1) if number not in numbers)
    source = effects[-1].old
    if not left and (source is None or effects[0].after is None):
        return None
    return apply_hunks(spec.base.path, left, source or b"")


def _new_content(plan: str, spec: ActionSpecExt, effects: Sequence[Effect], wanted: NewContent) -> bytes:
    if effects[0].after is None:
        _refuse(plan, spec, _WHOLE)
    try:
        data = content_of(
            ActionSpec(SpecKind.WRITE, spec.base.path, wanted.content, encoding=wanted.encoding)
        )
    except (Invalid, Refused) as error:
        _refuse(plan, spec, why_of(error))
    return data or b""


def _with_bytes(plan: str, spec: ActionSpecExt, effects: Sequence[Effect], new: bytes) -> ActionSpec | None:
    """The spec that produces these bytes; None if its files would not change."""
    own, *others = effects
    after = FileState(digest(new), own.after.mode) if own.after else None
    own = own._replace(after=after, new=new)
    if all(effect.before == effect.after for effect in (own, *others)):
        return None
    if spec.base.kind is SpecKind.PATCH:
        rendered = rendering((own, *others))
        if rendered.binary:
            _refuse(plan, spec, Text("it is not text, so no patch can say it"))
        new = rendered.diff
    content, encoding = pack(new)
    return msgspec.structs.replace(spec.base, content=content, encoding=encoding)


def _validate_new(workspace: Workspace, plan: str, spec: ActionSpecExt, base: ActionSpec) -> _Amended:
    since = since_of(workspace, [spec])
    validated = validate([base], workspace.tree, rules_of(workspace), {}, since, actor=Actor.USER)
    found = msgspec.structs.replace(validated.report.normalized[0], id=spec.id)
    # It may have been written to in the meantime.
    seen = {file.path: file.before for file in spec.touched}
    wrong = [file.path for file in found.touched if file.before != seen.get(file.path)]
    if found.validated and wrong:
        raise Stale(plan=plan, paths=", ".join(wrong))
    return _Amended(found, "", diff=validated.diffs[0])


def _refuse(plan: str, spec: ActionSpecExt, why: object) -> NoReturn:
    issue = Text("{id} {path}: {why}", id=spec.id, path=_label(spec.base), why=why)
    raise InvalidSpecs(plan=plan, issues=issue)
