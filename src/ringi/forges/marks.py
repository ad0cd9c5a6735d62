"""What we made is found again, so that nothing is made twice: comments by an invisible last line, a change by
its branch and author, a commit's status by its name.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol, TypeVar

from ringi.approvals.forge import Project
from ringi.errors import ChangeTaken
from ringi.forges.document import (
    Account,
    ChangeRequest,
    ChangeState,
    CommitStatus,
    NewChangeRequest,
    mark_line,
)
from ringi.forges.port import ChangeRequests, People
from ringi.kernel.text import Text, lazy_pattern

MOST_CHARACTERS: Final = 65_000
"""A few less than GitHub takes; GitLab takes more."""

_COMMAND: Final = lazy_pattern(r"(?m)^(?=/)")


class Written(Protocol):
    @property
    def author(self) -> Account: ...
    @property
    def body(self) -> str: ...


W = TypeVar("W", bound=Written)


def add_mark(body: str, mark: str) -> str:
    end = f"\n\n{mark_line(mark)}"
    return clean_body(body, MOST_CHARACTERS - len(end)) + end


def clean_body(body: str, most: int = MOST_CHARACTERS) -> str:
    """Not too long, and without commands: what begins with a slash is carried out by GitLab, and by the bots
    of many projects, in the name of whoever wrote it. Words of others may be in our text. Behind a space it
    is no command.
    """
    text = _COMMAND.sub(" ", body.replace("\r", "")).rstrip()
    return text if len(text) <= most else text[: most - 2].rstrip() + "\n…"


def find_ours(written: Iterable[W], mark: str, me: Account) -> W | None:
    """Only a last line counts: a quotation above it may have another's mark."""
    end = mark_line(mark)
    return next((one for one in written if one.author.id == me.id and one.body.rstrip().endswith(end)), None)


def reads_same(one: str, other: str) -> bool:
    """As a forge keeps it: line ends and spaces at the end may differ."""
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()


def adopt_open(
    changes: ChangeRequests, wanted: NewChangeRequest, project: Project, people: People
) -> ChangeRequest | None:
    """None if none is open. Raises ChangeTaken."""
    found = changes.from_branch(wanted.branch)
    if found is None or found.state is not ChangeState.OPEN:
        return None
    why = None
    if found.author.id != people.me().id:
        why = Text("{login} opened it", login=found.author.login)
    elif found.base_branch != wanted.base:
        why = Text("it goes into {found}, not into {base}", found=found.base_branch, base=wanted.base)
    if why is not None:
        raise ChangeTaken(change=found.url, host=project.host, why=why)
    return found


# The status of a commit.


_MOST_OF_STATUS: Final = 140
"""What both forges show."""


class StatusThere(Protocol):
    state: str
    context: str
    description: str | None
    target_url: str | None


S = TypeVar("S", bound=StatusThere)


def status_fields(status: CommitStatus) -> Mapping[str, str]:
    told = {"description": status.description[:_MOST_OF_STATUS]}
    return told | {"target_url": status.url} if status.url else told


def newest_status(found: Iterable[S], status: CommitStatus) -> S | None:
    """The first one of its name: forges tell the newest first."""
    return next((one for one in found if one.context == status.context), None)


def status_says(one: StatusThere | None, told: Mapping[str, str]) -> bool:
    return (
        one is not None
        and one.state == told["state"]
        and (one.description or "") == told["description"]
        and (one.target_url or "") == told.get("target_url", "")
    )
