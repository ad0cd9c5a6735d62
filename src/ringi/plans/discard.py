"""A plan that nobody wants any more: gone from the lists, kept in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ringi.approvals.who import require_settable
from ringi.errors import NoChannel, NotYours
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.document import PlanState, PlanStatus, StoredPlan, with_state
from ringi.plans.propose import proposed_by
from ringi.plans.status import advance

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

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
    """A person may discard any plan, an agent only its own, as long as nobody has decided."""
    name = f"p{stored.number}"
    why = workspace.person.agent()
    if own:
        require_settable(workspace.person, stored)
        if proposed_by(workspace, stored.document.plan.id) is Actor.USER:
            raise NotYours(plan=name, name=workspace.person.requester())
        decided = stored.document.state.status not in _UNDECIDED
        why = Text("only a person discards a plan that was decided.") if decided else None
    if why is not None:
        raise NoChannel(why=why, command=f"ringi discard {name}")
