"""A person is asked, and answers."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from ringi.domain import codec
from ringi.domain.approval import (
    Approval,
    ApprovalOutcome,
    ApprovalRequest,
    ApprovedPlan,
    Cancelled,
    Declined,
    ExpiredRequest,
    Proof,
    ProofKind,
    SignedAct,
)
from ringi.domain.events import Actor, Event, EventKind
from ringi.domain.feedback import Feedback, FeedbackKind
from ringi.domain.plan import (
    PLAN_MACHINE,
    ActionSpecExt,
    ApprovalEntry,
    PlanDocument,
    PlanState,
    PlanStatus,
    SpecSelection,
    risk_of,
    selected,
    with_state,
)
from ringi.errors import (
    Expired,
    GrantRefused,
    InvalidSpecs,
    LostRace,
    NotFound,
    NotProven,
    NotRequested,
    SignatureRefused,
    Stale,
)
from ringi.plans import granting
from ringi.plans.approving import (
    decide,
    files_of,
    require_person,
    subject_now,
    unlike_their_hashes,
)
from ringi.plans.change import refuse_superseded, require_valid
from ringi.plans.proofs import compose, signer_now
from ringi.plans.propose import require_as_seen
from ringi.plans.services import Services as Parts
from ringi.plans.validate import misfits
from ringi.ports import NewEvent, StoredPlan
from ringi.text import Text
from ringi.workspace.tree import differing

_GIVEN: Final = frozenset([EventKind.APPROVED, EventKind.UNDO_APPROVED])
_OVERTAKEN: Final = frozenset(
    [EventKind.SPECS_SET, EventKind.AMENDED, EventKind.REVERTED, EventKind.SUPERSEDED, EventKind.SENT_BACK]
)
"""What ends a request without an answer."""
_REFUSED: Final = frozenset([EventKind.DECLINED, EventKind.SENT_BACK])
_NAMED: Final = 20
"""So many of what was left out are named; the selection has them all."""


def request(
    parts: Parts, plan_id: str, selection: SpecSelection, seen: PlanDocument | None = None
) -> ApprovalRequest:
    """Fix what is to be approved; the digest names it. `seen` is what the person was shown.

    A standing approval that covers the whole plan answers at once.
    """
    # The files are read before the transaction: whoever changes the plan meanwhile makes the save fail.
    stored = parts.store.plan(plan_id)
    document = stored.document
    if seen:
        require_as_seen(stored, seen)
    refuse_superseded(stored)
    PLAN_MACHINE.advance(document.state.status, PlanStatus.APPROVED)
    _require_fit(parts, stored, selection)
    expires_at = parts.clock.after(parts.rules.expires_sec)
    subject = subject_now(parts, document, selection, expires_at)
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
        stored = transaction.save_plan(stored, document, event)
    if selection.all and (standing := granting.covering(parts, stored)):
        # Used up, revoked or overtaken in this very moment: the request stays open for a person.
        with contextlib.suppress(GrantRefused, LostRace):
            granting.approve(parts, stored, standing, asked)
    return asked


def _require_fit(parts: Parts, stored: StoredPlan, selection: SpecSelection) -> None:
    name = f"p{stored.number}"
    if selection.all and selection.ids:
        raise InvalidSpecs(plan=name, issues=Text("it is all of them or these, not both"))
    require_valid(parts, stored, selection)
    specs = selected(stored.document.state.action_specs, selection)
    _require_ids(stored, selection)
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


def _require_ids(stored: StoredPlan, selection: SpecSelection) -> None:
    name = f"p{stored.number}"
    if not selection.all and not selection.ids:
        raise InvalidSpecs(plan=name, issues=Text("no spec was selected"))
    unknown = set(selection.ids) - {spec.id for spec in stored.document.state.action_specs}
    if unknown:
        raise NotFound(what=Text("spec"), name=", ".join(sorted(unknown)), see=f"ringi show {name}")
    if twice := sorted(spec_id for spec_id, count in Counter(selection.ids).items() if count > 1):
        raise InvalidSpecs(plan=name, issues=Text("{specs} is selected twice", specs=", ".join(twice)))


def _torn_group(specs: Sequence[ActionSpecExt], chosen: Sequence[ActionSpecExt]) -> str | None:
    """A group of which only a part was selected: it is applied whole or not at all."""
    ids = {spec.id for spec in chosen}
    left_out = {spec.base.group for spec in specs if spec.id not in ids}
    return next((spec.base.group for spec in chosen if spec.base.group and spec.base.group in left_out), None)


def statement(
    parts: Parts,
    request: ApprovalRequest,
    approver: str,
    note: str = "",
    act: SignedAct = SignedAct.APPROVE,
) -> str:
    """What a key signs to say yes to the request."""
    return compose(parts, act, request.digest, approver, note)


def approve(
    parts: Parts,
    plan_id: str,
    approver: str,
    selection: SpecSelection,
    proof: Proof | None,
    note: str,
) -> ApprovedPlan:
    stored = parts.store.plan(plan_id)
    document, name = stored.document, f"p{stored.number}"
    proof = require_person(parts, name, proof)
    refuse_superseded(stored)
    status = PLAN_MACHINE.advance(document.state.status, PlanStatus.APPROVED)
    asked = _open_request(parts, document, selection, name)
    _require_fit(parts, stored, selection)
    subject = subject_now(parts, document, selection, asked.expires_at)
    risk = risk_of(document, selection)
    with parts.store.transaction() as transaction:
        approval = decide(
            parts,
            asked,
            subject,
            proof,
            act=SignedAct.APPROVE,
            approver=approver,
            risk=risk,
            after_event=transaction.last_hash(),
            note=note,
        )
        transaction.add_approval(approval)
        left_out = _left_out(document, selection)
        told = (Feedback(approval.timestamp, left_out, FeedbackKind.NOT_APPROVED),) if left_out else ()
        document = with_state(
            document,
            status=status,
            selection=selection,
            approvals=(*document.state.approvals, ApprovalEntry(approver, approval.timestamp, selection)),
            feedback=(*document.state.feedback, *told),
        )
        reason = "; ".join(filter(None, [note, left_out]))
        transaction.save_plan(stored, document, NewEvent(EventKind.APPROVED, Actor.USER, reason, approval))
    return ApprovedPlan(approval)


def _left_out(document: PlanDocument, selection: SpecSelection) -> str:
    """For the proposer: what the person did not say yes to."""
    specs = document.state.action_specs
    chosen = {spec.id for spec in selected(specs, selection)}
    left = [spec for spec in specs if spec.id not in chosen]
    if not left:
        return ""
    named = [f"{spec.id} {spec.base.kind} {spec.base.path or ' '.join(spec.base.argv)}" for spec in left]
    more = [str(Text("and {count} more", count=len(named) - _NAMED))] if len(named) > _NAMED else []
    return str(Text("not approved: {specs}", specs=", ".join([*named[:_NAMED], *more])))


def _open_request(
    parts: Parts, document: PlanDocument, selection: SpecSelection, name: str
) -> ApprovalRequest:
    wanted = (document.plan.version, selection, UNSET)
    for asked in reversed(parts.store.requests(document.plan.id)):
        if (asked.plan_version, asked.selection, asked.kind) == wanted:
            if _answered(parts, asked):
                break
            if asked.expires_at < parts.clock.now():
                raise Expired(plan=name, when=asked.expires_at)
            return asked
    raise NotRequested(plan=name)


def _answered(parts: Parts, asked: ApprovalRequest) -> Event | None:
    """What decided the request or ended it, the first of its kind: a request is answered once."""
    found: Event | None = None
    for logged in parts.store.events(asked.plan_id):
        event = logged.event
        if event.event is EventKind.APPROVAL_REQUESTED and event.reason == asked.digest:
            found = None
        elif found is None and (event.event in _GIVEN | _OVERTAKEN or event.event is EventKind.DECLINED):
            found = event
    return found


def outcome(parts: Parts, plan_id: str) -> ApprovalOutcome | None:
    """What became of the newest request; None while it is open."""
    requests = parts.store.requests(plan_id)
    if not requests:
        return None
    asked = requests[-1]
    event = _answered(parts, asked)
    if event is None:
        expired = asked.expires_at < parts.clock.now()
        return ExpiredRequest(asked.expires_at) if expired else None
    if event.event in _GIVEN:
        approvals = parts.store.approvals(plan_id)
        given = next((approval for approval in approvals if approval.evidence == event.evidence), None)
        if given and given.request_id == asked.id:
            return ApprovedPlan(given)
        return Cancelled(str(Text("another request for the plan was answered")))
    if event.event is EventKind.DECLINED:
        return Declined(event.reason, parts.store.plan(plan_id).document.state.comments)
    if event.event is EventKind.SENT_BACK:
        return Cancelled(event.reason)
    return Cancelled(str(Text("the plan was changed since: {event}", event=str(event.event))))


def reject(parts: Parts, plan_id: str, feedback: str) -> Declined:
    """Feedback is never approval: the plan goes back to whoever proposed it.

    A person may also think again: what was approved goes back too, and that approval ends.
    """
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        status = stored.document.state.status
        if status in {PlanStatus.APPROVED, PlanStatus.ABORTED}:
            status = PLAN_MACHINE.advance(status, PlanStatus.PENDING_REVIEW)
        status = PLAN_MACHINE.advance(status, PlanStatus.PROPOSED)
        given = Feedback(parts.clock.now(), feedback, FeedbackKind.DECLINED)
        document = with_state(
            stored.document, status=status, feedback=(*stored.document.state.feedback, given)
        )
        transaction.save_plan(stored, document, NewEvent(EventKind.DECLINED, Actor.USER, feedback))
    return Declined(feedback, document.state.comments)


def send_back(parts: Parts, plan_id: str, reason: str) -> PlanState:
    """Nobody decided: the plan goes back, and whoever was asked need not answer any more."""
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        refuse_superseded(stored)
        status = PLAN_MACHINE.advance(stored.document.state.status, PlanStatus.PROPOSED)
        document = with_state(stored.document, status=status)
        event = NewEvent(EventKind.SENT_BACK, Actor.USER, reason)
        return transaction.save_plan(stored, document, event).document.state


def covering_approval(parts: Parts, document: PlanDocument, name: str) -> Approval | None:
    """The newest approval, if its stored bytes are exactly what the plan says now.

    What a person said last counts: no earlier approval comes back because a later one ended, nor one from
    before the plan was declined or sent back. Only a standing approval that ended leaves theirs in place.
    Raises where one would cover it, but its time is over, or what proved it no longer does.
    """
    ended: GrantRefused | SignatureRefused | None = None
    for approval in _last_said(parts, document, name):
        if unlike_their_hashes(selected(document.state.action_specs, approval.selection)):
            return None
        if approval.expires_at < parts.clock.now():
            raise Expired(plan=name, when=approval.expires_at)
        try:
            _require_proven(parts, approval, name)
        except (GrantRefused, SignatureRefused) as error:
            if approval.proof.kind is not ProofKind.GRANT:
                raise
            ended = ended or error
        else:
            return approval
    if ended:
        raise ended
    return None


def _last_said(parts: Parts, document: PlanDocument, name: str) -> Iterator[Approval]:
    """Those that say what the plan says, newest first, up to the last one of a person."""
    events = [logged.event for logged in parts.store.events(document.plan.id)]
    given = {event.evidence: n for n, event in enumerate(events) if event.event is EventKind.APPROVED}
    known = {event.evidence for event in events}
    refused = max((n for n, event in enumerate(events) if event.event in _REFUSED), default=-1)
    for approval in reversed(parts.store.approvals(document.plan.id)):
        if approval.evidence not in known:
            why = Text("an approval in the ledger was put in or changed: the log knows nothing of it")
            raise NotProven(plan=name, why=why)
        if (place := given.get(approval.evidence)) is None:
            continue  # an undo's
        if place < refused:
            return
        if _says(parts, approval, document):
            yield approval
        if approval.proof.kind is not ProofKind.GRANT:
            return


def _says(parts: Parts, approval: Approval, document: PlanDocument) -> bool:
    data = codec.canonical(subject_now(parts, document, approval.selection, approval.expires_at))
    return approval.subject.encode() == data and approval.digest == codec.digest(data)


def _require_proven(parts: Parts, approval: Approval, name: str) -> None:
    if approval.proof.kind is ProofKind.GRANT:
        granting.require_standing(parts, approval, name)
    elif approval.proof.kind is ProofKind.SIGNED:
        signer_now(parts, approval.proof, approval.digest)
