"""The status of a commit is set once: what it says is compared with what it should say."""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol, TypeVar

from ringi.forges.document import CommitStatus

_MOST_CHARACTERS: Final = 140
"""What both forges show."""


class StatusThere(Protocol):
    state: str
    context: str
    description: str | None
    target_url: str | None


S = TypeVar("S", bound=StatusThere)


def words_of(status: CommitStatus) -> Mapping[str, str]:
    told = {"description": status.description[:_MOST_CHARACTERS]}
    return told | {"target_url": status.url} if status.url else told


def newest(found: Iterable[S], status: CommitStatus) -> S | None:
    """The first one of its name: forges tell the newest first."""
    return next((one for one in found if one.context == status.context), None)


def says(one: StatusThere | None, told: Mapping[str, str]) -> bool:
    return (
        one is not None
        and one.state == told["state"]
        and (one.description or "") == told["description"]
        and (one.target_url or "") == told.get("target_url", "")
    )
