"""A person is asked, and answers."""

from collections.abc import Sequence

import msgspec

from ringi.domain import codec
from ringi.domain.approval import Approval, ApprovalRequest, ApprovedPlan, Declined, TypedAnswer
from ringi.domain.events import Actor, EventKind
from ringi.domain.plan import (
    PLAN_MACHINE,
    ActionSpecExt,
    ApprovalEntry,
    Feedback,
    PlanDocument,
    PlanStatus,
    SpecSelection,
    risk_of,
    selected,
    with_state,
)
from ringi.errors import Expired, InvalidSpecs, NotFound, NotRequested, Stale
from ringi.plans.approving import (
    differing,
    files_of,
    grant,
    require_person,
    subject_of,
    unlike_their_hashes,
)
from ringi.plans.changing import refuse_superseded, require_valid
from ringi.plans.parts import Parts
from ringi.plans.proposing import require_as_seen
from ringi.plans.validation import misfits
from ringi.ports import NewEvent, StoredPlan
from ringi.text import Text


def request(
    parts: Parts, plan_id: str, selection: SpecSelection, seen: PlanDocument | None = None
) -> ApprovalRequest:
    """Fix what is to be approved; the digest names it. `seen` is what the person was shown."""
    # The files are read before the transaction: whoever changes the plan meanwhile makes the save fail.
    stored = parts.store.plan(plan_id)
    document = stored.document
    if seen:
        require_as_seen(stored, seen)
    refuse_superseded(stored)
    PLAN_MACHINE.advance(document.state.status, PlanStatus.APPROVED)
    _require_fit(parts, stored, selection)
    expires_at = parts.clock.after(parts.rules.expires_sec)
    subject = subject_of(document, selection, parts.store.workspace_id(), expires_at)
    asked = ApprovalRequest(
        id=parts.ids(),
        plan_id=plan_id,
        plan_version=document.plan.version,
        selection=selection,
        digest=codec.digest(codec.canonical(subject)),
        requested_at=parts.clock.now(),
        expires_at=expires_at,
    )
    document = msgspec.structs.replace(with_state(document, selection=selection), approval="approval.json")
    event = NewEvent(EventKind.APPROVAL_REQUESTED, Actor.SYSTEM, asked.digest)
    with parts.store.transaction() as transaction:
        transaction.add_request(asked)
        transaction.save_plan(stored, document, event)
    return asked


def _require_fit(parts: Parts, stored: StoredPlan, selection: SpecSelection) -> None:
    name = f"p{stored.number}"
    require_valid(parts, stored, selection)
    specs = selected(stored.document.state.action_specs, selection)
    unknown = set(selection.ids) - {spec.id for spec in specs}
    if unknown:
        raise NotFound(what=Text("spec"), name=", ".join(sorted(unknown)))
    if problems := misfits(specs, len(specs), parts.rules):
        raise InvalidSpecs(plan=name, issues=problems[0])
    if torn := _torn_group(stored.document.state.action_specs, specs):
        raise InvalidSpecs(plan=name, issues=Text("the specs of group {group} go together", group=torn))
    invalid = [f"{spec.id} {spec.base.path}: {spec.notes}" for spec in specs if not spec.validated]
    if invalid:
        raise InvalidSpecs(plan=name, issues="; ".join(invalid))
    if changed := unlike_their_hashes(specs):
        why = Text("the content of {path} is not what its hash says", path=changed[0].base.path)
        raise InvalidSpecs(plan=name, issues=why)
    if wrong := differing(parts.tree, files_of(specs)):
        raise Stale(plan=name, paths=", ".join(wrong))


def _torn_group(specs: Sequence[ActionSpecExt], chosen: Sequence[ActionSpecExt]) -> str | None:
    """A group of which only a part was selected: it is applied whole or not at all."""
    ids = {spec.id for spec in chosen}
    left_out = {spec.base.group for spec in specs if spec.id not in ids}
    return next((spec.base.group for spec in chosen if spec.base.group and spec.base.group in left_out), None)


def approve(
    parts: Parts,
    plan_id: str,
    approver: str,
    selection: SpecSelection,
    answer: TypedAnswer | None,
    note: str,
) -> ApprovedPlan:
    stored = parts.store.plan(plan_id)
    document, name = stored.document, f"p{stored.number}"
    answer = require_person(parts, name, answer)
    refuse_superseded(stored)
    status = PLAN_MACHINE.advance(document.state.status, PlanStatus.APPROVED)
    asked = _open_request(parts, document, selection, name)
    _require_fit(parts, stored, selection)
    subject = subject_of(document, selection, parts.store.workspace_id(), asked.expires_at)
    risk = risk_of(document, selection)
    with parts.store.transaction() as transaction:
        after = transaction.last_hash()
        approval = grant(
            parts, asked, subject, answer, approver=approver, risk=risk, after_event=after, note=note
        )
        transaction.add_approval(approval)
        entry = ApprovalEntry(approver, approval.timestamp, selection)
        document = with_state(
            document, status=status, selection=selection, approvals=(*document.state.approvals, entry)
        )
        event = NewEvent(EventKind.APPROVED, Actor.USER, note, approval)
        transaction.save_plan(stored, document, event)
    return ApprovedPlan(approval)


def _open_request(
    parts: Parts, document: PlanDocument, selection: SpecSelection, name: str
) -> ApprovalRequest:
    for asked in reversed(parts.store.requests(document.plan.id)):
        if (asked.plan_version, asked.selection) == (document.plan.version, selection):
            if asked.expires_at < parts.clock.now():
                raise Expired(plan=name, when=asked.expires_at)
            return asked
    raise NotRequested(plan=name)


def reject(parts: Parts, plan_id: str, feedback: str) -> Declined:
    """Feedback is never approval: the plan goes back to whoever proposed it."""
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        status = PLAN_MACHINE.advance(stored.document.state.status, PlanStatus.PROPOSED)
        given = Feedback(parts.clock.now(), feedback)
        document = with_state(
            stored.document, status=status, feedback=(*stored.document.state.feedback, given)
        )
        transaction.save_plan(stored, document, NewEvent(EventKind.DECLINED, Actor.USER, feedback))
    return Declined(feedback)


def covering_approval(parts: Parts, document: PlanDocument, name: str) -> Approval | None:
    """The newest approval whose stored bytes are exactly what the plan says now."""
    for approval in reversed(parts.store.approvals(document.plan.id)):
        subject = subject_of(document, approval.selection, parts.store.workspace_id(), approval.expires_at)
        data = codec.canonical(subject)
        if approval.subject.encode() == data and approval.digest == codec.digest(data):
            if unlike_their_hashes(selected(document.state.action_specs, approval.selection)):
                return None
            if approval.expires_at < parts.clock.now():
                raise Expired(plan=name, when=approval.expires_at)
            return approval
    return None
