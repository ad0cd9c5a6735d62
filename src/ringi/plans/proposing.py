"""Plans come in, get their specs, are validated and shown."""

from collections.abc import Mapping, Sequence

import msgspec

from ringi.domain.events import Actor, EventKind
from ringi.domain.plan import (
    PLAN_MACHINE,
    ActionSpec,
    ActionSpecExt,
    CheckResult,
    DiffSummary,
    DiffTotals,
    MessageRef,
    Plan,
    PlanDocument,
    PlanPreview,
    PlanState,
    PlanStatus,
    title_of,
    with_state,
)
from ringi.errors import EmptyPlan, PathRefused, StorageFailed, Unreadable
from ringi.patching.render import Rendered
from ringi.plans.approving import changes_of, differing
from ringi.plans.parts import Parts
from ringi.plans.validation import Basis, Validated, content_of, difference, validate
from ringi.policy.risk import score
from ringi.ports import NewEvent, StoredPlan

_NAME_LENGTH = 50
"""In characters, of which one may take four bytes."""


def propose(
    parts: Parts,
    content: str,
    sources: Sequence[MessageRef],
    rationale: str,
    tags: Sequence[str],
    *,
    proposer: str,
    left_out: Sequence[str],
    actor: Actor,
) -> str:
    title = title_of(content)
    if not title:
        raise EmptyPlan
    plan = Plan(
        id=parts.ids(),
        title=title,
        content=content,
        sources=tuple(sources),
        rationale=rationale,
        tags=tuple(tags),
        created_at=parts.clock.now(),
        version=1,
        proposer=proposer,
        left_out=tuple(left_out),
    )
    document = PlanDocument(plan=plan, state=PlanState(status=PlanStatus.PROPOSED))
    with parts.store.transaction() as transaction:
        transaction.add_plan(document, NewEvent(EventKind.PLAN_PROPOSED, actor, proposer))
        transaction.set_current(plan.id)
    return plan.id


def set_specs(
    parts: Parts,
    plan_id: str,
    specs: Sequence[ActionSpec],
    *,
    basis: Basis,
    actor: Actor,
    reason: str = "",
    keep_good: bool = False,
) -> Validated:
    validated = validate(specs, parts.tree, parts.rules, basis)
    if keep_good and not validated.report.ok and parts.store.plan(plan_id).document.state.action_specs:
        return validated
    normalized = validated.report.normalized
    totals = DiffTotals(
        files=tuple(sorted({spec.base.path for spec in normalized})),
        added=sum(rendered.added for rendered in validated.diffs),
        removed=sum(rendered.removed for rendered in validated.diffs),
        risk_score=score(normalized),
    )
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        document = _next_version(stored)
        status = document.state.status
        if status is not PlanStatus.PENDING_REVIEW:
            status = PLAN_MACHINE.advance(status, PlanStatus.PENDING_REVIEW)
        document = with_state(document, status=status, action_specs=normalized, previews=totals, checks=())
        transaction.save_plan(stored, document, NewEvent(EventKind.SPECS_SET, actor, reason))
        transaction.show_diffs(plan_id, diff_files(normalized, validated.diffs))
    return validated


def _next_version(stored: StoredPlan) -> PlanDocument:
    """Specs that replace others make a new version, which no earlier approval covers."""
    document = stored.document
    if not document.state.action_specs:
        return document
    plan = msgspec.structs.replace(document.plan, version=document.plan.version + 1)
    return msgspec.structs.replace(document, plan=plan)


def diff_files(specs: Sequence[ActionSpecExt], diffs: Sequence[Rendered]) -> Mapping[str, bytes]:
    return {
        # Cut, because a file's own name may be as long as a name can be.
        f"{spec.id}-{spec.base.path.rsplit('/', 1)[-1][:_NAME_LENGTH]}.diff": rendered.diff
        for spec, rendered in zip(specs, diffs, strict=True)
        if spec.validated
    }


def preview(parts: Parts, document: PlanDocument) -> PlanPreview:
    """The plan against the workspace as it is now; one that was carried out, as it was then."""
    specs = document.state.action_specs
    done = document.state.status is PlanStatus.COMPLETED
    pairs = [(spec, render_done(parts, spec) if done else render_now(parts, spec)) for spec in specs]
    return PlanPreview(
        files=tuple(sorted({spec.base.path for spec in specs})),
        diffs=tuple(
            DiffSummary(
                spec_id=spec.id,
                path=spec.base.path,
                kind=spec.base.kind,
                added=rendered.added,
                removed=rendered.removed,
                binary=rendered.binary,
                risk=spec.risk,
                reasons=spec.risk_reasons,
                diff=rendered.diff.decode("utf-8", "backslashreplace"),
            )
            for spec, rendered in pairs
        ),
        risk_score=score(specs),
        stale=() if done else tuple(differing(parts.tree, changes_of(specs))),
    )


def render_now(parts: Parts, spec: ActionSpecExt) -> Rendered:
    if not spec.validated:
        return Rendered(b"", 0, 0, binary=False)
    try:
        found = parts.tree.look(spec.base.path)
        data = after_bytes(parts, spec)
    except (PathRefused, StorageFailed, Unreadable, OSError):
        found, data = None, content_of(spec.base)
    return difference(spec.base.path, found and found.data, found and found.state, data, spec.after)


def render_done(parts: Parts, spec: ActionSpecExt) -> Rendered:
    """From the bytes the ledger keeps; where they are gone, nothing can be shown."""
    before = parts.store.get_bytes(spec.before.sha256) if spec.before else None
    after = parts.store.get_bytes(spec.after.sha256) if spec.after else None
    if (spec.before and before is None) or (spec.after and after is None):
        return Rendered(b"", 0, 0, binary=False)
    return difference(spec.base.path, before, spec.before, after, spec.after)


def after_bytes(parts: Parts, spec: ActionSpecExt) -> bytes | None:
    """What the file will hold; a spec that only changes the mode keeps the bytes that are there."""
    if spec.after is None:
        return None
    data = content_of(spec.base)
    if data is None:
        found = parts.tree.look(spec.base.path)
        return found.data if found else b""
    return data


def add_checks(parts: Parts, plan_id: str, results: Sequence[CheckResult]) -> None:
    passed = sum(result.exit_code == 0 for result in results)
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        document = with_state(stored.document, checks=(*stored.document.state.checks, *results))
        reason = f"{passed} of {len(results)} checks passed"
        transaction.save_plan(stored, document, NewEvent(EventKind.CHECKED, Actor.SYSTEM, reason))


def mark_pending(parts: Parts, plan_id: str, *, pending: bool) -> PlanState:
    target = PlanStatus.PENDING_REVIEW if pending else PlanStatus.PROPOSED
    kind = EventKind.MARKED_PENDING if pending else EventKind.SENT_BACK
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        status = PLAN_MACHINE.advance(stored.document.state.status, target)
        document = with_state(stored.document, status=status)
        return transaction.save_plan(stored, document, NewEvent(kind, Actor.USER)).document.state
