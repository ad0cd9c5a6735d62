"""What an approval needs to know of a forge to accept a review there as proof."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ringi.approvals.forge import ForgeTerms, Item, ReviewProof
from ringi.approvals.statement import Step


class WantedReview(NamedTuple):
    """What a yes on a forge has to be about."""

    terms: ForgeTerms
    item: Item
    """Where it has to be."""
    digest: str
    """Of what is approved."""
    since: str
    """When that came about: an earlier comment was about something else."""
    refused_at: str = ""
    """When a person said no to it last; empty if nobody did."""
    head: str = ""
    """The commit that is offered; empty if a plan of a run is approved, and not its commits."""
    step_commit: str = ""
    branch: str = ""
    base: str = ""
    """What the change has to be merged into: it decides which lines a reviewer is shown."""
    typed: bool = False
    """The risk is high: the words have to be there, a button is not enough."""


class CheckedReview(NamedTuple):
    review: ReviewProof
    """As the forge has it."""
    weak: bool
    """This machine could have said it itself: it holds credentials of that account."""


class ReviewChecks(Protocol):
    """Whether a yes on a forge is one, looked up there at that moment."""

    def check(self, review: ReviewProof, wanted: WantedReview) -> CheckedReview:
        """Raises ReviewRefused, ForgeFailed."""


class ConfirmedReview(NamedTuple):
    review: ReviewProof
    """As the forge has it."""
    net: Mapping[str, Step]
    """By path, what the approved commit changes against the one that the change begins from."""


class ReviewWitness(Protocol):
    """In a clone: whether a yes on a forge is what a note says. Called from several threads."""

    def confirm(self, review: ReviewProof, steps: Sequence[Step]) -> ConfirmedReview | None:
        """`steps` are what the note says that the commit of the step changes.

        None if the forge neither confirms nor denies it. Raises ReviewRefused, ForgeFailed.
        """
