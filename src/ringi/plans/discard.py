"""A plan that nobody wants any more: gone from the lists, kept in the log."""

from typing import Final

from ringi.approvals.who import require_settable
from ringi.errors import NoChannel, NotYours
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.document import PlanState, PlanStatus, StoredPlan, with_state
from ringi.plans.propose import proposed_by
from ringi.plans.services import Services
from ringi.plans.status import advance

_UNDECIDED: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW])


def discard(services: Services, plan_id: str, reason: str, *, own: bool) -> PlanState:
    with services.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        status = advance(stored.document, f"p{stored.number}", PlanStatus.DISCARDED)
        _require_permission(services, stored, own=own)
        document = with_state(stored.document, status=status)
        event = NewEvent(EventKind.DISCARDED, Actor.AI if own else Actor.USER, reason)
        return transaction.plans.save(stored, document, event).document.state


def _require_permission(services: Services, stored: StoredPlan, *, own: bool) -> None:
    """A person may discard any plan, an agent only its own, as long as nobody has decided."""
    name = f"p{stored.number}"
    why = services.person.agent()
    if own:
        require_settable(services.person, stored)
        if proposed_by(services, stored.document.plan.id) is Actor.USER:
            raise NotYours(plan=name, name=services.person.requester())
        decided = stored.document.state.status not in _UNDECIDED
        why = Text("only a person discards a plan that was decided.") if decided else None
    if why is not None:
        raise NoChannel(why=why, command=f"ringi discard {name}")
