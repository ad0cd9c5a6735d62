"""What a person changes in a plan, which makes a new version of it; two versions compared (PT-15)."""

from enum import StrEnum

from ringi.domain.base import Document
from ringi.domain.plan import Encoding


class DropSpec(Document, frozen=True, tag="drop_spec"):
    spec_id: str


class DropHunks(Document, frozen=True, tag="drop_hunks"):
    spec_id: str
    hunks: tuple[int, ...]
    """From 1, as the preview shows them."""


class NewContent(Document, frozen=True, tag="new_content"):
    """The new content of the spec's file."""

    spec_id: str
    content: str
    encoding: Encoding = Encoding.UTF8


Amendment = DropSpec | DropHunks | NewContent


class Difference(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class SpecDifference(Document, frozen=True):
    """What one spec does in one version and not in the other."""

    path: str
    """For a command, its command line."""
    what: Difference
    diff: str
    """From the earlier version's result to the later one's."""


class PlanComparison(Document, frozen=True):
    plan_id: str
    version: int
    other_plan_id: str
    other_version: int
    differences: tuple[SpecDifference, ...]
