"""Two versions of a plan, side by side (PT-15)."""

from enum import StrEnum

from ringi.domain.base import Document


class Difference(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class SpecDifference(Document, frozen=True):
    """What one spec does in one version and not in the other."""

    path: str
    """For a command, what is run."""
    what: Difference
    diff: str
    """From what the earlier version would write to what the later one would."""


class PlanComparison(Document, frozen=True):
    plan_id: str
    version: int
    other_plan_id: str
    other_version: int
    differences: tuple[SpecDifference, ...]
