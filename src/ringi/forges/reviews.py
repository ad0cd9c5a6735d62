"""What a review is worth beside the others."""

from collections.abc import Sequence

from ringi.domain.forge import ForgeReview, ReviewVerdict
from ringi.errors import ForgeMissing


def settled(reviews: Sequence[ForgeReview]) -> Sequence[ForgeReview]:
    """Oldest first. An approval is dismissed once the same person asks for changes."""
    ordered = sorted(reviews, key=lambda one: one.at)
    asking = {
        one.author.id: at for at, one in enumerate(ordered) if one.verdict is ReviewVerdict.CHANGES_REQUESTED
    }
    return [
        one._replace(verdict=ReviewVerdict.DISMISSED)
        if one.verdict is ReviewVerdict.APPROVED and asking.get(one.author.id, -1) > at
        else one
        for at, one in enumerate(ordered)
    ]


def one_of(reviews: Sequence[ForgeReview], review_id: str, host: str, change: str) -> ForgeReview:
    """Raises ForgeMissing."""
    for review in reviews:
        if review.id == review_id:
            return review
    raise ForgeMissing(host=host, what=f"{change} ({review_id})")
