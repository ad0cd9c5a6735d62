"""A person's answer to a plan, summarised for whoever proposed it."""

from enum import StrEnum

from ringi.domain.base import Document
from ringi.domain.feedback import Feedback, LineComment
from ringi.domain.plan import PlanStatus
from ringi.domain.versions import SpecDifference


class OutcomeKind(StrEnum):
    """What became of a request for approval (rule 3)."""

    APPROVED = "approved"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    NO_CHANNEL = "no_channel"


class PlanAnswer(Document, frozen=True):
    plan_id: str
    name: str
    version: int
    status: PlanStatus
    outcome: OutcomeKind | None
    """None while a person can still answer, or if nobody was asked."""
    note: str = ""
    """What the person wrote with an approval."""
    feedback: tuple[Feedback, ...] = ()
    comments: tuple[LineComment, ...] = ()
    changed: tuple[SpecDifference, ...] = ()
    """What the person dropped or edited in the proposed version."""
