"""Who acts and who asks, as the program itself sees it. What they call themselves does not count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ringi.approvals.person import PersonChannel
from ringi.errors import NoChannel, NotYours, TakenFromCopy
from ringi.ledger.event import Actor, Event, EventKind

if TYPE_CHECKING:
    from ringi.plans.document import PlanDocument, StoredPlan

FROM_COPY: Final = "with"
"""The tag of a plan that was made of the files in an agent's work copy."""


def requester_of(document: PlanDocument) -> str:
    """Who set the specs of this version, and so asks for what they do; empty if unknown."""
    return document.state.requester or document.plan.requester or ""


def actor_at(person: PersonChannel) -> Actor:
    """An agent if one is known to be at work, else the person."""
    return Actor.USER if person.agent() is None else Actor.AI


def refuse_agent(person: PersonChannel, command: str) -> None:
    """Raises NoChannel if an agent does what only a person may; `command` is what the person types."""
    if (why := person.agent()) is not None:
        raise NoChannel(why=why, command=command)


def require_own(person: PersonChannel, stored: StoredPlan) -> None:
    """Raises NotYours if an agent touches a plan that another requester proposed. A person may touch any."""
    theirs, asking = stored.document.plan.requester, person.requester()
    # A plan that names no requester refuses none; no standing approval covers it.
    if theirs and asking != theirs and person.agent() is not None:
        raise NotYours(plan=f"p{stored.number}", name=asking)


def require_settable(person: PersonChannel, stored: StoredPlan) -> None:
    """Raises NotYours, or TakenFromCopy if an agent changes a plan other than by changing its files.

    The person was told what the files are, at the end of the agent's turn, and would hear of nothing else.
    """
    require_own(person, stored)
    if FROM_COPY in stored.document.plan.tags and person.agent() is not None:
        raise TakenFromCopy(plan=f"p{stored.number}")


def asks_for_own(person: PersonChannel, document: PlanDocument, events: Sequence[Event]) -> bool:
    """Whether a standing approval may answer: an agent uses none for what a person or another agent set."""
    if person.agent() is None:
        return True
    set_by = next((event.actor for event in reversed(events) if event.event is EventKind.SPECS_SET), None)
    return set_by is Actor.AI and person.requester() == requester_of(document)
