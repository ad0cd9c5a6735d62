"""What GitHub answers, as far as it is read, and what it means."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ringi.forges.document import (
    Account,
    ChangeRequest,
    ChangeState,
    Comment,
    ForgeReview,
    Remark,
    ReviewVerdict,
)
from ringi.forges.http import utc

OPEN: Final = "open"
VERDICTS: Final = {
    "APPROVED": ReviewVerdict.APPROVED,
    "CHANGES_REQUESTED": ReviewVerdict.CHANGES_REQUESTED,
    "COMMENTED": ReviewVerdict.COMMENTED,
    "DISMISSED": ReviewVerdict.DISMISSED,
}

# It changes by hand, and by itself if the branch is deleted after its own merge.
BASE_CHANGED: Final = frozenset(["base_ref_changed", "automatic_base_change_succeeded"])


class GithubUser(msgspec.Struct):
    login: str
    id: int
    type: str = "User"


class Label(msgspec.Struct):
    name: str = ""


class Pointer(msgspec.Struct):
    """Only whether it is there counts."""


class GithubIssue(msgspec.Struct):
    number: int
    title: str
    state: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None
    labels: list[Label | str] = []
    pull_request: Pointer | None = None


class CommentShape(msgspec.Struct):
    id: int
    node_id: str
    issue_url: str
    created_at: str
    updated_at: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None


class GithubRepository(msgspec.Struct):
    full_name: str


class GithubSide(msgspec.Struct):
    ref: str
    sha: str
    repo: GithubRepository | None = None


class Pull(GithubIssue):
    head: GithubSide = msgspec.field(default_factory=lambda: GithubSide("", ""))
    base: GithubSide = msgspec.field(default_factory=lambda: GithubSide("", ""))
    draft: bool = False
    merged_at: str | None = None
    node_id: str = ""


class ReviewShape(msgspec.Struct):
    id: int
    node_id: str
    state: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None
    commit_id: str | None = None
    submitted_at: str | None = None


class EventShape(msgspec.Struct):
    event: str
    created_at: str


class RemarkShape(msgspec.Struct):
    id: int
    path: str
    created_at: str
    html_url: str
    body: str | None = None
    user: GithubUser | None = None
    line: int | None = None
    original_line: int | None = None
    side: str | None = None
    subject_type: str | None = None
    commit_id: str | None = None
    original_commit_id: str | None = None
    in_reply_to_id: int | None = None


class GithubCommit(msgspec.Struct):
    sha: str


class GithubStatus(msgspec.Struct):
    state: str
    context: str = ""
    description: str | None = None
    target_url: str | None = None


class GithubEntry(msgspec.Struct):
    path: str
    mode: str
    type: str
    sha: str


class GithubTree(msgspec.Struct):
    tree: list[GithubEntry]
    truncated: bool = False


class ParentShape(msgspec.Struct):
    sha: str


class GitCommitShape(msgspec.Struct):
    parents: list[ParentShape]


class Permission(msgspec.Struct):
    permission: str
    role_name: str = ""


class Membership(msgspec.Struct):
    state: str


class Viewer(msgspec.Struct):
    login: str
    databaseId: int = 0  # noqa: N815  # its name there


class GithubEdit(msgspec.Struct):
    lastEditedAt: str | None  # noqa: N815


class GraphData(msgspec.Struct):
    viewer: Viewer | None = None
    node: GithubEdit | None = None


class GraphError(msgspec.Struct):
    message: str = ""


class GraphAnswer(msgspec.Struct):
    data: GraphData | None = None
    errors: list[GraphError] = []


def account_of(user: GithubUser | None) -> Account:
    if user is None:  # the account is gone
        return Account("ghost", 0, bot=False)
    return Account(user.login, user.id, bot=user.type != "User" or user.login.endswith("[bot]"))


def labels_of(found: GithubIssue) -> tuple[str, ...]:
    return tuple(one if isinstance(one, str) else one.name for one in found.labels)


def comment_of(found: CommentShape) -> Comment:
    return Comment(
        str(found.id),
        account_of(found.user),
        found.body or "",
        utc(found.created_at),
        utc(found.updated_at),
        found.html_url,
    )


def change_of(found: Pull) -> ChangeRequest:
    closed = ChangeState.MERGED if found.merged_at else ChangeState.CLOSED
    return ChangeRequest(
        found.number,
        found.title,
        found.body or "",
        account_of(found.user),
        ChangeState.OPEN if found.state == OPEN else closed,
        found.draft,
        found.head.ref,
        found.head.sha,
        found.head.repo.full_name if found.head.repo else "",
        found.base.ref,
        found.html_url,
        labels_of(found),
    )


def review_of(found: ReviewShape) -> ForgeReview:
    return ForgeReview(
        str(found.id),
        account_of(found.user),
        VERDICTS[found.state],
        found.body or "",
        found.commit_id or "",
        utc(found.submitted_at or ""),
        found.html_url,
    )


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


def remark_of(found: RemarkShape) -> Remark:
    answers = str(found.in_reply_to_id) if found.in_reply_to_id else ""
    return Remark(
        str(found.id),
        answers or str(found.id),
        account_of(found.user),
        found.path,
        0 if found.subject_type == "file" else found.original_line or found.line or 0,
        found.side == "LEFT",
        found.body or "",
        found.original_commit_id or found.commit_id or "",
        utc(found.created_at),
        found.html_url,
        answers,
    )
