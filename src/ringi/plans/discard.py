"""A plan that nobody wants any more: gone from the lists, kept in the log."""

from typing import Final

from ringi.domain.events import Actor, EventKind
from ringi.domain.plan import PLAN_MACHINE, PlanState, PlanStatus, with_state
from ringi.errors import NoChannel
from ringi.plans.services import Services
from ringi.ports import NewEvent, StoredPlan
from ringi.text import Text

_UNDECIDED: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW])


def discard(services: Services, plan_id: str, reason: str, *, own: bool) -> PlanState:
    with services.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        status = PLAN_MACHINE.advance(stored.document.state.status, PlanStatus.DISCARDED)
        _require_permission(services, stored, own=own)
        document = with_state(stored.document, status=status)
        event = NewEvent(EventKind.DISCARDED, Actor.AI if own else Actor.USER, reason)
        return transaction.save_plan(stored, document, event).document.state


def _require_permission(services: Services, stored: StoredPlan, *, own: bool) -> None:
    """A person may discard any plan, an agent only its own, as long as nobody has decided."""
    name = f"p{stored.number}"
    if own and stored.document.state.status in _UNDECIDED:
        return
    why = Text("only a person discards a plan that was decided.") if own else services.person.agent()
    if why is not None:
        raise NoChannel(why=why, command=f"ringi discard {name}")
