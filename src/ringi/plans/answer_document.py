"""What a person answers to a plan: changes, which make a new version of it (PT-15), and words."""

from enum import StrEnum

from ringi.approvals.feedback import Feedback, LineComment
from ringi.kernel.document import Document
from ringi.plans.document import PlanStatus
from ringi.tree.action_spec import Encoding


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
    BASIS = "basis"
    """The file that it replaces is another one."""


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


class OutcomeKind(StrEnum):
    """What became of a request for approval (rule 3)."""

    APPROVED = "approved"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    NO_CHANNEL = "no_channel"


class PlanAnswer(Document, frozen=True):
    """Summarised for whoever proposed the plan."""

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
