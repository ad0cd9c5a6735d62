"""Requests for the approval of a plan, and how they end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import UNSET

from ringi.approvals.document import (
    ApprovalOutcome,
    ApprovalRequest,
    ApprovedPlan,
    Cancelled,
    Declined,
    ExpiredRequest,
)
from ringi.approvals.kinds import KINDS
from ringi.errors import Expired, NotRequested
from ringi.kernel.text import Text
from ringi.ledger.event import Event, EventKind
from ringi.plans.store import PlanRecord
from ringi.tree.action_spec import SpecSelection

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def open_request(workspace: Workspace, record: PlanRecord, selection: SpecSelection) -> ApprovalRequest:
    """The newest request for exactly this, if it is still open. Raises NotRequested, Expired."""
    name, version = f"p{record.plan.number}", record.plan.document.plan.version
    for asked in reversed(record.requests):
        if (asked.version, asked.selection, asked.act) == (version, selection, UNSET):
            if _ended_by(asked, record.events):
                break
            return require_time(workspace, asked, name)
    raise NotRequested(plan=name)


def require_time(workspace: Workspace, asked: ApprovalRequest, name: str) -> ApprovalRequest:
    if asked.expires_at < workspace.clock.now():
        raise Expired(plan=name, when=asked.expires_at)
    return asked


def _ended_by(asked: ApprovalRequest, events: Iterable[Event]) -> Event | None:
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
    event = _ended_by(asked, record.events)
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
