"""The commits of a run that were put on a forge for review."""

from msgspec import UNSET, UnsetType

from ringi.kernel.document import Document
from ringi.kernel.text import Text
from ringi.kernel.words import KeptText, restore_kept


class OfferedStep(Document, frozen=True):
    """A step of a run as a commit that nobody has approved yet."""

    step_id: str
    plan_id: str
    plan_version: int
    commit: str


class Offer(Document, frozen=True, kw_only=True, omit_defaults=True):
    """What of a run is on the forge."""

    head: str
    """The commit that was made to be pushed; the newest of the steps."""
    steps: tuple[OfferedStep, ...] = ()
    pushed: str = ""
    """The commit that the branch there has, as far as we know."""
    pushing: str = ""
    """A commit that the branch there has if a push came through whose end nobody saw."""
    number: int = 0
    """Of the pull or merge request; 0: there is none yet."""
    url: str = ""
    left: str = ""
    """Why something is still to be done there; empty if nothing is, or nobody knows."""
    left_told: KeptText | UnsetType = UNSET
    """The same with its details, if it has some."""
    told: str = ""
    """The end of the run that all of it there says: completed, cancelled or undone."""

    @property
    def why_left(self) -> Text:
        return restore_kept(self.left_told, self.left)
