"""What the proposer of a plan is told."""

from enum import StrEnum

from msgspec import UNSET, UnsetType

from ringi.domain.base import Document


class FeedbackKind(StrEnum):
    DECLINED = "declined"
    AMENDED = "amended"
    """The person dropped or edited parts of it."""
    NOT_APPROVED = "not_approved"
    """Some specs were approved, these were not."""


class Feedback(Document, frozen=True):
    """What the proposer is told."""

    timestamp: str
    text: str
    kind: FeedbackKind | UnsetType = UNSET


class Side(StrEnum):
    OLD = "old"
    NEW = "new"


class LineComment(Document, frozen=True):
    """What a person says about one line of a plan."""

    timestamp: str
    path: str
    line: int
    """From 1, in the file as it is (old) or as the plan would leave it (new)."""
    side: Side
    text: str
    quote: str
    """The line itself, as it was when they said it."""
    version: int
    """The plan's, of which they spoke."""
