"""A person is asked to approve a plan, and answers."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from ringi.approvals.cover import SubjectHistory, covering_approval
from ringi.approvals.document import (
    Approval,
    ApprovalOutcome,
    ApprovalRequest,
    ApprovalSubject,
    ApprovedPlan,
    Cancelled,
    Declined,
    ExpiredRequest,
    Proof,
    SignedAct,
    files_of,
)
from ringi.approvals.feedback import Feedback, FeedbackKind
from ringi.approvals.grant import Grants
from ringi.approvals.grant_document import Grant
from ringi.approvals.kinds import KINDS, of_plan, request_of
from ringi.approvals.permits import check_danger
from ringi.approvals.proof import StatementContext, approval_of, compose, prove, require_answer
from ringi.approvals.who import actor_at, asks_for_own, refuse_agent, require_own, require_settable
from ringi.errors import (
    Expired,
    GrantRefused,
    InvalidSpecs,
    LostRace,
    NoChannel,
    NotFound,
    NotRequested,
    NotYours,
    SignatureRefused,
    SignatureUnchecked,
    Stale,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor, Event, EventKind, NewEvent
from ringi.plans import attest
from ringi.plans.change import require_valid
from ringi.plans.commit import commit_subject
from ringi.plans.document import (
    PLAN_MACHINE,
    ApprovalEntry,
    PlanDocument,
    PlanState,
    PlanStatus,
    StoredPlan,
    with_state,
)
from ringi.plans.effects import content_of, rules_of
from ringi.plans.place import require_here
from ringi.plans.propose import find_proposer, refuse_rejected, require_as_seen
from ringi.plans.rows import PlanRecord
from ringi.plans.status import advance, refusal
from ringi.plans.validate import misfits
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpecExt, SpecSelection, select_specs
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

_WITH_CONTENT: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE])
"""Kinds with the file's whole content; the result of a patch is compared when it is carried out."""
_NAMED: Final = 20
"""At most this many specs left out are named; the selection has them all."""


def request(
    workspace: Workspace, plan_id: str, selection: SpecSelection, seen: PlanDocument | None = None
) -> ApprovalRequest:
    """Fixes what is to be approved; the digest identifies it. `seen` is what the person was shown.

    A standing approval that covers the whole plan approves at once.
    """
    # Files are read before the transaction: if the plan is changed meanwhile, the save fails.
    record = workspace.store.record(plan_id)
    stored, document = record.plan, record.plan.document
    if seen:
        require_as_seen(stored, seen)
    require_open(workspace, stored)
    _require_fit(workspace, stored, selection)
    expires_at = workspace.clock.after(workspace.config.approval.expires_sec)
    subject = subject_now(workspace, document, selection, expires_at)
    data = codec.canonical(subject)
    asked = request_of(
        subjects.plan(plan_id),
        document.plan.version,
        data,
        ids=workspace.ids,
        requested_at=workspace.clock.now(),
        expires_at=expires_at,
        selection=selection,
        requester=workspace.person.requester(),
    )
    document = msgspec.structs.replace(with_state(document, selection=selection), approval="approval.json")
    event = NewEvent(EventKind.APPROVAL_REQUESTED, actor_at(workspace.person), asked.digest)
    with workspace.store.transaction() as transaction:
        transaction.approvals.add_request(asked)
        stored = transaction.plans.save(stored, document, event)
    grants = Grants(workspace)
    may_use = record.granting and selection.all and asks_for_own(workspace.person, document, record.events)
    if may_use and (standing := grants.covering(stored, subject)):
        # It was used up, revoked or overtaken just now: the request stays open for a person.
        with contextlib.suppress(GrantRefused, LostRace, SignatureUnchecked):
            use_grant(workspace, stored, standing, asked, data)
    return asked


def use_grant(
    workspace: Workspace, stored: StoredPlan, grant: Grant, asked: ApprovalRequest, data: bytes
) -> None:
    """Approves by a standing approval; `data` is what would be approved now. Raises GrantRefused."""
    document = stored.document
    status = advance(document, f"p{stored.number}", PlanStatus.APPROVED)

    def save(transaction: Store, approval: Approval, event: NewEvent) -> None:
        entry = ApprovalEntry(approval.approver, approval.timestamp, ALL_SPECS)
        approvals = (*document.state.approvals, entry)
        approved = with_state(document, status=status, selection=ALL_SPECS, approvals=approvals)
        transaction.plans.save(stored, approved, event)

    workspace.grants.use(stored, grant, asked, data, save)


def require_open(workspace: Workspace, stored: StoredPlan) -> None:
    """Raises if no person can be asked about it now."""
    require_here(workspace, stored)
    require_own(workspace.person, stored)
    refuse_rejected(stored)
    advance(stored.document, f"p{stored.number}", PlanStatus.APPROVED)


def _require_fit(workspace: Workspace, stored: StoredPlan, selection: SpecSelection) -> None:
    name = f"p{stored.number}"
    if selection.all and selection.ids:
        raise InvalidSpecs(plan=name, issues=Text("it is all of them or these, not both"))
    require_valid(workspace, stored, selection)
    specs = select_specs(stored.document.state.action_specs, selection)
    _require_ids(stored, selection)
    if problems := misfits(specs, len(specs), rules_of(workspace), workspace.tree):
        raise InvalidSpecs(plan=name, issues=problems[0])
    if torn := _find_torn_group(stored.document.state.action_specs, specs):
        raise InvalidSpecs(plan=name, issues=Text("the specs of group {group} go together", group=torn))
    invalid = [f"{spec.id} {spec.base.path}: {spec.notes}" for spec in specs if not spec.validated]
    if invalid:
        raise InvalidSpecs(plan=name, issues="; ".join(invalid))
    if changed := unlike_their_hashes(specs):
        why = Text("the content of {path} is not what its hash says", path=changed[0].base.path)
        raise InvalidSpecs(plan=name, issues=why)
    if danger := check_danger(workspace, lambda: stored.document, specs):
        raise InvalidSpecs(plan=name, issues=danger)
    if wrong := find_differing(workspace.tree, files_of(specs)):
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


def _find_torn_group(specs: Sequence[ActionSpecExt], chosen: Sequence[ActionSpecExt]) -> str | None:
    """A group of which only a part was selected; a group is applied whole or not at all."""
    ids = {spec.id for spec in chosen}
    left_out = {spec.base.group for spec in specs if spec.id not in ids}
    return next((spec.base.group for spec in chosen if spec.base.group and spec.base.group in left_out), None)


def statement(workspace: Workspace, asked: ApprovalRequest, approver: str, note: str = "") -> str:
    """What a key signs to approve the request."""
    stored = workspace.store.plans.get(asked.subject_id)
    require_here(workspace, stored)
    subject = subject_now(workspace, stored.document, asked.selection, asked.expires_at)
    about = _about(workspace, stored.document, subject)
    return compose(workspace, SignedAct.APPROVE, asked.digest, approver, note, about)


def _about(workspace: Workspace, document: PlanDocument, subject: ApprovalSubject) -> StatementContext | None:
    return attest.about(workspace, document, subject, attest.collect_bytes(workspace, document, subject))


def approve(
    workspace: Workspace,
    plan_id: str,
    approver: str,
    selection: SpecSelection,
    proof: Proof | None,
    note: str,
) -> ApprovedPlan:
    record = workspace.store.record(plan_id)
    stored = record.plan
    document, name = stored.document, f"p{stored.number}"
    signing = f"ringi approve {name} --seen {document.plan.version} --sign KEY"
    proof = require_answer(workspace, proof, f"ringi review {name}", signing)
    require_here(workspace, stored)
    refuse_rejected(stored)
    status = advance(document, name, PlanStatus.APPROVED)
    asked = open_request(workspace, record, selection)
    _require_fit(workspace, stored, selection)
    subject = subject_now(workspace, document, selection, asked.expires_at)
    data = codec.canonical(subject)
    proven = prove(
        workspace,
        asked,
        data,
        proof,
        act=SignedAct.APPROVE,
        approver=approver,
        made_at=document.plan.created_at,
        risk=document.risk(selection),
        note=note,
        about=partial(_about, workspace, document, subject),
    )
    with workspace.store.transaction() as transaction:
        last = transaction.last_hash()
        approval = approval_of(workspace, asked, data, proven, approver=approver, after_event=last, note=note)
        transaction.approvals.add(approval)
        left_out = _describe_left_out(document, selection)
        told = (Feedback(approval.timestamp, left_out, FeedbackKind.NOT_APPROVED),) if left_out else ()
        document = with_state(
            document,
            status=status,
            selection=selection,
            approvals=(
                *document.state.approvals,
                ApprovalEntry(approval.approver, approval.timestamp, selection),
            ),
            feedback=(*document.state.feedback, *told),
        )
        reason = "; ".join(filter(None, [note, left_out]))
        transaction.plans.save(stored, document, NewEvent(EventKind.APPROVED, Actor.USER, reason, approval))
    return ApprovedPlan(approval)


def find_approval(workspace: Workspace, plan_id: str, selection: SpecSelection) -> ApprovedPlan | None:
    """None if it is not approved, for another selection, or not any more."""
    record = workspace.store.record(plan_id)
    if record.plan.document.state.status is not PlanStatus.APPROVED:
        return None
    with contextlib.suppress(Expired, GrantRefused, SignatureRefused):
        found = covering(workspace, record)
        return ApprovedPlan(found) if found and found.selection == selection else None
    return None


def _describe_left_out(document: PlanDocument, selection: SpecSelection) -> str:
    """For the proposer: what the person did not approve."""
    specs = document.state.action_specs
    chosen = {spec.id for spec in select_specs(specs, selection)}
    left = [spec for spec in specs if spec.id not in chosen]
    if not left:
        return ""
    named = [f"{spec.id} {spec.base.kind} {spec.base.path or ' '.join(spec.base.argv)}" for spec in left]
    more = [str(Text("and {count} more", count=len(named) - _NAMED))] if len(named) > _NAMED else []
    return str(Text("not approved: {specs}", specs=", ".join([*named[:_NAMED], *more])))


def reject(workspace: Workspace, plan_id: str, feedback: str) -> Declined:
    """Feedback is never approval: the plan goes back to its proposer.

    A person may also change their mind: an approved plan goes back too, and its approval ends.
    """
    refuse_agent(workspace.person, f"ringi reject p{workspace.store.plans.get(plan_id).number} --feedback …")
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        status = stored.document.state.status
        if status in {PlanStatus.APPROVED, PlanStatus.ABORTED}:
            status = PLAN_MACHINE.advance(status, PlanStatus.PENDING_REVIEW)
        elif status is not PlanStatus.PENDING_REVIEW:
            refuse_rejected(stored)
            raise refusal(stored.document, f"p{stored.number}", PlanStatus.PROPOSED)
        status = PLAN_MACHINE.advance(status, PlanStatus.PROPOSED)
        given = Feedback(workspace.clock.now(), feedback, FeedbackKind.DECLINED)
        document = with_state(
            stored.document, status=status, feedback=(*stored.document.state.feedback, given)
        )
        transaction.plans.save(stored, document, NewEvent(EventKind.DECLINED, Actor.USER, feedback))
    return Declined(feedback, document.state.comments)


def covering(workspace: Workspace, record: PlanRecord) -> Approval | None:
    """The approval that still covers the plan as it is now. Raises like `covering_approval`."""
    document, name = record.plan.document, f"p{record.plan.number}"
    history = SubjectHistory(subjects.plan(document.plan.id), name, record.approvals, record.events)
    grants = Grants(workspace)
    grants.refuse_newest(record.plan, record.approvals)
    standing = partial(grants.require_standing, name)
    return covering_approval(workspace, history, partial(_bytes_now, workspace, document), standing)


def _bytes_now(workspace: Workspace, document: PlanDocument, approval: Approval) -> bytes | None:
    if unlike_their_hashes(select_specs(document.state.action_specs, approval.selection)):
        return None
    return codec.canonical(subject_now(workspace, document, approval.selection, approval.expires_at))


def unlike_their_hashes(specs: Sequence[ActionSpecExt]) -> list[ActionSpecExt]:
    """Specs whose content does not match the hash that the person approves."""
    return [
        spec
        for spec in specs
        if spec.base.kind in _WITH_CONTENT
        and spec.after is not None
        and (data := content_of(spec.base)) is not None
        and codec.digest(data) != spec.after.sha256
    ]


def subject_now(
    workspace: Workspace, document: PlanDocument, selection: SpecSelection, expires_at: str
) -> ApprovalSubject:
    """What an approval of the plan would cover right now."""
    specs = select_specs(document.state.action_specs, selection)
    runs = any(spec.base.kind is SpecKind.RUN for spec in specs)
    return of_plan(
        document,
        selection,
        workspace.store.workspace_id(),
        expires_at,
        sandboxed=workspace.commands.uses_sandbox() if runs else UNSET,
        commit=commit_subject(workspace, document, specs),
    )


_UNDECIDED: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW])


def discard(workspace: Workspace, plan_id: str, reason: str, *, own: bool) -> PlanState:
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        status = advance(stored.document, f"p{stored.number}", PlanStatus.DISCARDED)
        _require_permission(workspace, stored, own=own)
        document = with_state(stored.document, status=status)
        event = NewEvent(EventKind.DISCARDED, Actor.AI if own else Actor.USER, reason)
        return transaction.plans.save(stored, document, event).document.state


def _require_permission(workspace: Workspace, stored: StoredPlan, *, own: bool) -> None:
    """A person may discard any plan, an agent only its own, until a person decides."""
    name = f"p{stored.number}"
    why = workspace.person.agent()
    if own:
        require_settable(workspace.person, stored)
        if find_proposer(workspace, stored.document.plan.id) is Actor.USER:
            raise NotYours(plan=name, name=workspace.person.requester())
        decided = stored.document.state.status not in _UNDECIDED
        why = Text("only a person discards a plan that was decided.") if decided else None
    if why is not None:
        raise NoChannel(why=why, command=f"ringi discard {name}")


def open_request(workspace: Workspace, record: PlanRecord, selection: SpecSelection) -> ApprovalRequest:
    """The newest request for exactly this, if it is still open. Raises NotRequested, Expired."""
    name, version = f"p{record.plan.number}", record.plan.document.plan.version
    for asked in reversed(record.requests):
        if (asked.version, asked.selection, asked.act) == (version, selection, UNSET):
            if _find_end(asked, record.events):
                break
            return require_time(workspace, asked, name)
    raise NotRequested(plan=name)


def require_time(workspace: Workspace, asked: ApprovalRequest, name: str) -> ApprovalRequest:
    if asked.expires_at < workspace.clock.now():
        raise Expired(plan=name, when=asked.expires_at)
    return asked


def _find_end(asked: ApprovalRequest, events: Iterable[Event]) -> Event | None:
    """The first event that decided or ended the request: it is answered once."""
    kind = KINDS[asked.about.kind]
    ending = kind.given | kind.refused | kind.overtaken
    found: Event | None = None
    for event in events:
        if event.event is EventKind.APPROVAL_REQUESTED and event.reason == asked.digest:
            found = None
        elif found is None and event.event in ending:
            found = event
    return found


def outcome(workspace: Workspace, plan_id: str) -> ApprovalOutcome | None:
    """How the newest request ended; None while it is open."""
    record = workspace.store.record(plan_id)
    if not record.requests:
        return None
    asked = record.requests[-1]
    event = _find_end(asked, record.events)
    if event is None:
        expired = asked.expires_at < workspace.clock.now()
        return ExpiredRequest(asked.expires_at) if expired else None
    if event.event in KINDS[asked.about.kind].given:
        given = next((one for one in record.approvals if one.evidence == event.evidence), None)
        if given and given.request_id == asked.id:
            return ApprovedPlan(given)
        return Cancelled(str(Text("another request for the plan was answered")))
    if event.event is EventKind.DECLINED:
        return Declined(event.reason, record.plan.document.state.comments)
    if event.event is EventKind.SENT_BACK:
        return Cancelled(event.reason)
    if event.event is EventKind.DISCARDED:
        return Cancelled(str(Text("the plan was discarded")))
    return Cancelled(str(Text("the plan was changed since: {event}", event=str(event.event))))
