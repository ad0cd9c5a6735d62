"""Change plans (CP): one group of patches, valid for one project state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ringi.errors import (
    ChangeRefused,
    NoBasis,
    NoDiagnostics,
    NoDiff,
    NotAnEdit,
    PartialChange,
    PathMismatch,
    RiskMismatch,
    ScopeMismatch,
    StateIncomplete,
    Superseded,
    UnknownDiagnostic,
)
from ringi.kernel.codec import blob_id
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.patch.parse import parse_patch
from ringi.patch.workspace_edit import EditedFile, workspace_edit
from ringi.plans.change_plan import (
    ChangeFacts,
    DiagnosticRef,
    FileDiff,
    PlanBasis,
    PlanExplanation,
    PlanRisk,
    PlanScope,
    PlanValidations,
    Trigger,
)
from ringi.plans.document import PLAN_MACHINE, PlanStatus, StoredPlan, with_state
from ringi.plans.effects import Effect, Invalid, content_of, effects_of, rendering, rules_of
from ringi.plans.merge import MergedSpecs
from ringi.plans.preview import paths_of
from ringi.plans.propose import NO_REMARKS, Remarks, new_plan, propose_whole, refuse_superseded
from ringi.plans.validate import validate
from ringi.policy.risk import change_risk
from ringi.policy.risk import words as risk_words
from ringi.policy.spec_kind import SpecKind
from ringi.project.state import Diagnostic, ProjectState, UnknownUsers, why_incomplete
from ringi.tree.action_spec import ActionSpec, ActionSpecExt, SpecSelection, select_specs
from ringi.tree.paths import normalise

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

GROUP: Final = "change"


class ChangeDraft(NamedTuple):
    """What is to become a change plan."""

    content: str
    diffs: Sequence[FileDiff]
    basis: PlanBasis
    explanation: PlanExplanation = PlanExplanation("", "")
    proposer: str = ""
    actor: Actor = Actor.AI
    remarks: Remarks = NO_REMARKS
    merged: MergedSpecs | None = None
    """If its diffs are those of an earlier plan, merged with the project as it is now."""
    forked_from: str | UnsetType = UNSET
    """That plan."""


class Explained(NamedTuple):
    words: PlanExplanation = PlanExplanation("", "")
    model: str = ""
    """Whose words they are, if not the proposer's."""


class Affected(NamedTuple):
    files: tuple[str, ...]
    """Which use the changed ones, directly or not."""
    unknown: UnknownUsers | None = None


def propose_change(
    workspace: Workspace,
    change: ChangeDraft,
    state: ProjectState,
    find_affected: Callable[[Sequence[str]], Affected],
    explain: Callable[[ChangeDraft], Explained] | None = None,
) -> str:
    """Applies rules CP-2 to CP-6, each with its own error; stores nothing if one is broken.

    `explain` is asked if the proposer says nothing, and last: an answer may cost money.
    """
    _require_basis(change.basis)
    if not state.complete:
        raise StateIncomplete(why=why_incomplete(state.gaps))
    _require_reported(change.basis, state)
    change = change._replace(diffs=_without_renames(workspace, change.diffs))
    effects = _effects(workspace, change.diffs)
    specs = [
        ActionSpec(SpecKind.PATCH, file, diff.diff, group=GROUP)
        for diff, (file, _) in sorted(zip(change.diffs, effects, strict=True), key=lambda pair: pair[1][0])
    ]
    _require_edit(workspace, [found for _, found in effects])
    _require_state([effect for _, found in effects for effect in found], state)
    merged = change.merged
    since = merged.since if merged else {}
    validated = validate(specs, workspace.tree, rules_of(workspace), {}, since, actor=change.actor)
    if validated.problems:
        raise ChangeRefused(why=validated.problems[0])
    _require_unchanged(validated.report.normalized, [found for _, found in effects])
    targets = paths_of(validated.report.normalized)
    affected = find_affected(targets)
    unknown = affected.unknown or UNSET
    said = Explained(change.explanation)
    if explain and not any(msgspec.structs.astuple(change.explanation)):
        said = explain(change)
    facts = ChangeFacts(
        snapshot_id=state.snapshot_id,
        basis=change.basis,
        scope=PlanScope(targets, affected.files),
        validations=PlanValidations(project_state_complete=True, no_conflict_files=targets),
        risk=_risk(workspace, targets, unknown),
        explanation=said.words,
        explained_by=said.model or UNSET,
        unknown_users=unknown,
    )
    plan = new_plan(workspace, change.content, proposer=change.proposer, **change.remarks._asdict())
    origin = msgspec.structs.replace(plan.plan, forked_from=change.forked_from)
    document = msgspec.structs.replace(plan, plan=origin, change=facts)
    if merged:
        document = with_state(document, merged_lines=merged.lines)
    return propose_whole(workspace, document, validated, actor=change.actor, reason=state.snapshot_id)


def _require_basis(basis: PlanBasis) -> None:
    if not isinstance(basis.trigger, Trigger):
        raise NoBasis(found=str(basis.trigger))
    if basis.trigger is Trigger.ERROR and not basis.related_diagnostics:
        raise NoDiagnostics


def _require_reported(basis: PlanBasis, state: ProjectState) -> None:
    """Requires that a trusted checker or an editor reports what the basis names."""
    files = {file.path for file in state.files}
    for diagnostic in basis.related_diagnostics:
        if diagnostic.file not in files:
            why = Text("{path}, which a diagnostic names, is not a file of the project", path=diagnostic.file)
            raise ChangeRefused(why=why)
        if basis.trigger is Trigger.ERROR and not any(says(found, diagnostic) for found in state.diagnostics):
            raise UnknownDiagnostic(file=diagnostic.file, message=diagnostic.message)


def says(found: Diagnostic, named: DiagnosticRef) -> bool:
    """Whether this is the one that is named, with or without its code, however it is spaced."""
    message, code = found.message, found.code
    forms = {message} | (
        {f"{code} {message}", f"{code}: {message}", f"{message} [{code}]"} if code else set()
    )
    return (
        found.file == named.file
        and named.line in {None, found.line}
        and " ".join(named.message.split()) in {" ".join(form.split()) for form in forms}
    )


def _without_renames(workspace: Workspace, diffs: Sequence[FileDiff]) -> list[FileDiff]:
    """A rename as a deletion and a new file, a copy as a new file: one diff for every file that changes."""
    plain = []
    for diff, (file, effects) in zip(diffs, _effects(workspace, diffs), strict=True):
        if len(effects) == 1:
            plain.append(FileDiff(file, diff.diff))
            continue
        for effect in effects:
            if effect.before != effect.after:
                try:
                    plain.append(FileDiff(effect.path, rendering([effect]).diff.decode()))
                except UnicodeDecodeError:
                    raise NotAnEdit(path=effect.path, why=Text("it is not UTF-8")) from None
    return plain


def _effects(workspace: Workspace, diffs: Sequence[FileDiff]) -> list[tuple[str, tuple[Effect, ...]]]:
    """Each diff with its file; raises if a diff does not apply."""
    if not diffs:
        raise NoDiff
    found = []
    for diff in diffs:
        file = "/".join(normalise(diff.file))
        _require_path(file, diff.diff)
        spec = ActionSpec(SpecKind.PATCH, file, diff.diff, group=GROUP)
        try:
            effects = effects_of(spec, workspace.tree.look, rules_of(workspace))
        except Invalid as error:
            raise ChangeRefused(why=error.why) from None
        if all(effect.before == effect.after for effect in effects):
            raise NoDiff
        found.append((file, effects))
    return found


def _require_path(file: str, diff: str) -> None:
    if not diff.strip():
        raise NoDiff
    data = content_of(ActionSpec(SpecKind.PATCH, file, diff)) or b""
    named = ["/".join(normalise(patch.path)) for patch in parse_patch(data).files]
    if named != [file]:
        raise PathMismatch(path=file, found=", ".join(named))


def _require_edit(workspace: Workspace, effects: Sequence[tuple[Effect, ...]]) -> None:
    """Requires that a WorkspaceEdit can express everything; it has no permission bits."""
    usual = f"{workspace.new_file_mode:04o}"
    for own, *others in effects:
        source = own.before or next((other.before for other in others), None)
        if own.after and own.after.mode != (source.mode if source else usual):
            raise NotAnEdit(path=own.path, why=Text("its permission bits change"))
    workspace_edit([as_edited_file(found) for found in effects], "file:///")


def as_edited_file(effects: Sequence[Effect]) -> EditedFile:
    """What one spec does, as an editor sees it."""
    own, *others = effects
    if others and others[0].after is None:
        return EditedFile(own.path, others[0].path, others[0].old, own.new)
    return EditedFile(own.path, None, own.old, own.new)


def _require_state(effects: Sequence[Effect], state: ProjectState) -> None:
    """Requires that the diffs were applied to the bytes of the project state, not to later ones."""
    known = {file.path: file.oid for file in state.files}
    for effect in effects:
        expected = known.get(effect.path)
        found = blob_id(effect.old, like=expected) if effect.old is not None and expected else None
        if expected is None and effect.old is not None:
            raise ChangeRefused(
                why=Text("{path} is no file of the project; git ignores it", path=effect.path)
            )
        if (expected is None) != (effect.old is None) or found != expected:
            raise ChangeRefused(why=Text("{path} changed while the plan was made", path=effect.path))


def _require_unchanged(specs: Sequence[ActionSpecExt], effects: Sequence[tuple[Effect, ...]]) -> None:
    """Requires that the files did not change between the comparison with the project state and validation."""
    seen = {effect.path: effect.before for found in effects for effect in found}
    for spec in specs:
        for file in spec.touched:
            if file.before != seen.get(file.path):
                raise ChangeRefused(why=Text("{path} changed while the plan was made", path=file.path))


def _risk(workspace: Workspace, targets: Sequence[str], unknown: UnknownUsers | UnsetType) -> PlanRisk:
    risk = workspace.config.risk
    count = unknown.count if unknown else 0
    level, reasons = change_risk(targets, risk.critical, risk.mutable, count)
    return PlanRisk(level, tuple(risk_words(reason) for reason in reasons))


def require_valid(workspace: Workspace, stored: StoredPlan, selection: SpecSelection) -> None:
    """Checks the rules again whenever a change plan is used; an ordinary plan passes."""
    facts, name = stored.document.change, f"p{stored.number}"
    if not facts:
        return
    refuse_superseded(stored)
    specs = stored.document.state.action_specs
    if select_specs(specs, selection) != specs:
        raise PartialChange(plan=name)
    _require_basis(facts.basis)
    _require_diffs(specs)
    if (targets := paths_of(specs)) != facts.scope.target_files:
        raise ScopeMismatch(why=", ".join(sorted({*targets} ^ {*facts.scope.target_files})))
    if facts.validations.no_conflict_files != targets:
        raise ScopeMismatch(why=", ".join(facts.validations.no_conflict_files))
    if _risk(workspace, targets, facts.unknown_users) != facts.risk:
        raise RiskMismatch(plan=name)
    snapshot_id = workspace.snapshot_id()
    if snapshot_id != facts.snapshot_id:
        with workspace.store.transaction() as transaction:
            _supersede(workspace, transaction, stored, snapshot_id)
        raise Superseded(plan=name)


def _require_diffs(specs: Sequence[ActionSpecExt]) -> None:
    if not specs:
        raise NoDiff
    for spec in specs:
        if spec.base.kind is not SpecKind.PATCH or spec.base.group != GROUP:
            raise ScopeMismatch(why=spec.base.path)
        if spec.base.mode is not None:
            raise NotAnEdit(path=spec.base.path, why=Text("its permission bits change"))
        _require_path(spec.base.path, spec.base.content or "")


def take_state(workspace: Workspace, state: ProjectState) -> list[str]:
    """Stores the newest project state; returns the short names of the change plans it supersedes."""
    with workspace.store.transaction() as transaction:
        found = [transaction.plans.get(plan_id) for plan_id in transaction.states.set(state)]
        found.sort(key=lambda stored: stored.number)
        for stored in found:
            _supersede(workspace, transaction, stored, state.snapshot_id)
    return [f"p{stored.number}" for stored in found]


def _supersede(workspace: Workspace, transaction: Store, stored: StoredPlan, snapshot_id: str) -> None:
    """Rejects it for good, even if approved: its files may be the same, but the project has changed."""
    document = stored.document
    if not document.change:
        return
    status = document.state.status
    if status in {PlanStatus.APPROVED, PlanStatus.ABORTED}:
        status = PLAN_MACHINE.advance(status, PlanStatus.PENDING_REVIEW)
    if status is PlanStatus.PENDING_REVIEW:
        status = PLAN_MACHINE.advance(status, PlanStatus.PROPOSED)
    facts = msgspec.structs.replace(document.change, superseded_at=workspace.clock.now())
    document = msgspec.structs.replace(with_state(document, status=status), change=facts)
    transaction.plans.save(stored, document, NewEvent(EventKind.SUPERSEDED, Actor.SYSTEM, snapshot_id))
