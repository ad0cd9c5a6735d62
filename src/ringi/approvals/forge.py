"""Where a request lives on a forge, the terms a run has there, and a review as proof of an approval."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from ringi.config import HELP_LABEL
from ringi.kernel.document import Document

if TYPE_CHECKING:
    from ringi.approvals.statement import PathChange


class ForgeKind(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"


class Project(Document, frozen=True):
    """A repository on a forge."""

    kind: ForgeKind
    base_url: str
    """Of its pages: https://github.com, without a slash at the end."""
    path: str
    """owner/name; on GitLab the groups may be several."""

    @property
    def host(self) -> str:
        """With the port, if it is not the usual one."""
        return urlsplit(self.base_url).netloc

    def account(self, login: str) -> str:
        """With its forge: alice@github.com"""
        return f"{login}@{self.host}"


class ItemKind(StrEnum):
    ISSUE = "issue"
    CHANGE = "change"


class Item(Document, frozen=True):
    """What can be commented on and labelled."""

    kind: ItemKind
    number: int


_PAGES: Final = {
    (ForgeKind.GITHUB, ItemKind.ISSUE): "issues",
    (ForgeKind.GITHUB, ItemKind.CHANGE): "pull",
    (ForgeKind.GITLAB, ItemKind.ISSUE): "-/issues",
    (ForgeKind.GITLAB, ItemKind.CHANGE): "-/merge_requests",
}


def page_of(project: Project, item: Item) -> str:
    """The address that people open."""
    return f"{project.base_url}/{project.path}/{_PAGES[project.kind, item.kind]}/{item.number}"


class ForgeTerms(Document, frozen=True, kw_only=True):
    """What a run does on a forge. It is part of what is approved with the plan of the run.

    The branch that it pushes, and the one that it asks to be merged into, are those of the plan.
    """

    project: Project
    remote: str
    """The name of the remote in the person's repository."""
    remote_url: str
    """Its address, without a name or a password."""
    item: Item | UnsetType = UNSET
    """The issue or the change that asked for it."""
    opens_change: bool = True
    """It opens a pull or merge request, as a draft."""
    approved_here: bool | UnsetType = UNSET
    """A review there approves nothing: a person does here."""
    comments: bool = True
    """It writes one comment on the item, and edits it."""
    label: str = HELP_LABEL
    """Set on the item if a person is needed; empty: none."""


_TASKS: Final = {
    (ForgeKind.GITHUB, ItemKind.ISSUE): "github_issue",
    (ForgeKind.GITHUB, ItemKind.CHANGE): "github_pr",
}


def task_of(terms: ForgeTerms | None) -> str:
    """The kind of task whose settings count; empty if it comes from no forge."""
    if terms is None or not terms.item:
        return ""
    return _TASKS.get((terms.project.kind, terms.item.kind), "gitlab")


class ReviewHow(StrEnum):
    REVIEW = "review"
    COMMENT = "comment"
    """The words `/ringi approve`, with what is approved."""


class ReviewProof(Document, frozen=True, kw_only=True):
    """Where on a forge a person said yes, so that anybody who can read there can look."""

    project: Project
    item: Item
    how: ReviewHow
    id: str
    login: str
    commit: str
    """The commit that was approved; empty for the plan of a run."""
    step_commit: str = ""
    """The commit of the step, which the approved one contains."""
    base: str = ""
    """The branch that the change was to be merged into: it decides which lines a reviewer is shown."""
    at: str
    url: str

    @property
    def account(self) -> str:
        return self.project.account(self.login)


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
    """When a person said no to it last; empty if none did."""
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
    net: "Mapping[str, PathChange]"
    """By path, what the approved commit changes against the one that the change begins from."""


class ReviewWitness(Protocol):
    """In a clone: whether a yes on a forge is what a note says. Called from several threads."""

    def confirm(self, review: ReviewProof, steps: "Sequence[PathChange]") -> ConfirmedReview | None:
        """`steps` are what the note says that the commit of the step changes.

        None if the forge neither confirms nor denies it. Raises ReviewRefused, ForgeFailed.
        """
