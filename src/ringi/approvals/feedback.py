"""Feedback to the proposer of a plan."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import UNSET, UnsetType

from ringi.kernel.document import Document


class FeedbackKind(StrEnum):
    DECLINED = "declined"
    AMENDED = "amended"
    """The person dropped or edited parts of it."""
    NOT_APPROVED = "not_approved"
    """Some specs were approved, but not these."""


class Amended(Document, frozen=True, omit_defaults=True):
    """How much a person dropped or edited of a plan."""

    version: int
    """The new version."""
    files: int = 0
    hunks: int = 0
    lines: int = 0
    contents: int = 0
    """Files that are not text and changed."""
    dropped: int = 0
    """All hunks that are gone, those of dropped files included."""
    edited: int = 0
    """Places that were edited."""
    of: int = 0
    """How many hunks the plan had before."""


class Feedback(Document, frozen=True):
    timestamp: str
    text: str
    kind: FeedbackKind
    amended: Amended | UnsetType = UNSET

    @property
    def is_rejection(self) -> bool:
        return self.kind is FeedbackKind.DECLINED


def rejections(feedback: Iterable[Feedback], since: str) -> list[Feedback]:
    return [one for one in feedback if one.is_rejection and one.timestamp > since]


class Side(StrEnum):
    OLD = "old"
    NEW = "new"


class LineComment(Document, frozen=True):
    """What a person says about one line of a plan."""

    timestamp: str
    path: str
    line: int
    """From 1, in the current file (old) or in the file as the plan would leave it (new)."""
    side: Side
    text: str
    quote: str
    """The line itself, as it was at that time."""
    version: int
    """The version of the plan that the comment is about."""
