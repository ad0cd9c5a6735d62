"""What GitLab answers, as far as it is read, and what it means."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from ringi.forges.document import Account, ChangeState, ForgeReview, ReviewVerdict
from ringi.forges.http import utc
from ringi.kernel.text import lazy_pattern

DIFF_NOTE: Final = "DiffNote"
DEVELOPER: Final = 30
MAINTAINER: Final = 40
ACTIVE: Final = "active"
STATES: Final = {
    "opened": ChangeState.OPEN,
    "locked": ChangeState.OPEN,  # it is being merged
    "closed": ChangeState.CLOSED,
    "merged": ChangeState.MERGED,
}
_DRAFT: Final = lazy_pattern(r"\s*(?:(?:\[draft\]|\(draft\)|draft:)\s*)+", re.IGNORECASE)
# What the forge writes into the history of a change; it is not translated.
_SAID: Final = {
    "approved this merge request": ReviewVerdict.APPROVED,
    "unapproved this merge request": ReviewVerdict.DISMISSED,
    "requested changes": ReviewVerdict.CHANGES_REQUESTED,
}
BASE_CHANGED: Final = lazy_pattern(
    r"changed target branch from `|deleted the `[^\n]+ branch\. This merge request now targets the `"
)
"""Likewise: by hand, or because the branch is gone."""


class GitlabUser(msgspec.Struct):
    id: int
    username: str
    bot: bool | None = None
    """Not told everywhere."""


class Job(msgspec.Struct):
    user: GitlabUser


class Member(msgspec.Struct):
    username: str
    access_level: int
    state: str = ACTIVE
    """Of the account."""
    membership_state: str = ACTIVE
    """It can wait for a seat."""


class ProjectShape(msgspec.Struct):
    id: int
    path_with_namespace: str


class GitlabIssue(msgspec.Struct):
    iid: int
    title: str
    state: str
    web_url: str
    author: GitlabUser
    description: str | None = None
    labels: list[str] = []


class MergeRequest(GitlabIssue):
    source_branch: str = ""
    target_branch: str = ""
    source_project_id: int | None = None
    target_project_id: int = 0
    sha: str | None = None
    draft: bool = False


class GitlabPosition(msgspec.Struct):
    head_sha: str | None = None
    old_path: str | None = None
    new_path: str | None = None
    old_line: int | None = None
    new_line: int | None = None


class Note(msgspec.Struct):
    id: int
    author: GitlabUser
    created_at: str
    updated_at: str
    body: str = ""
    system: bool = False
    type: str | None = None
    position: GitlabPosition | None = None


class Discussion(msgspec.Struct):
    id: str
    notes: list[Note] = []


class Version(msgspec.Struct):
    created_at: str
    head_commit_sha: str | None = None
    """None if it was not collected, or not yet."""


class Approver(msgspec.Struct):
    user: GitlabUser
    approved_at: str | None = None
    """Newer ones tell it."""


class GitlabApprovals(msgspec.Struct):
    approved_by: list[Approver] = []


class GitlabCommit(msgspec.Struct):
    id: str
    parent_ids: list[str] = []


class GitlabStatus(msgspec.Struct):
    state: str = msgspec.field(name="status")
    context: str = msgspec.field(name="name", default="")
    description: str | None = None
    target_url: str | None = None


class GitlabEntry(msgspec.Struct):
    id: str
    type: str
    path: str
    mode: str


def bare(title: str) -> str:
    """Without what makes it a draft."""
    found = _DRAFT.match(title)
    return title[found.end() :] if found else title


def reviews_of(
    notes: Iterable[tuple[Note, Account]], approvers: Iterable[tuple[Approver, Account]],
    versions: Sequence[Version], page: str,
) -> Sequence[ForgeReview]:  # fmt: skip
    """From the history: it says who approved when, and the versions say what was the head then.

    An approval counts while its author is among those who approve; the forge takes them off after a push,
    if it is told to. The history is written later, by a worker that may be busy: newer servers tell when it
    was given, and the earlier moment is the one whose head was seen. Until it is in the history it does not
    count, because it has no name by which it is found again.
    """
    approving = {account.id: told.approved_at or "" for told, account in approvers}
    said = [(_SAID[note.body.strip()], note, account) for note, account in notes
            if note.system and note.body.strip() in _SAID]  # fmt: skip
    last = {account.id: note.id for _, note, account in said}
    found = []
    for verdict, note, account in said:
        given, at = verdict, utc(note.created_at)
        if verdict is ReviewVerdict.APPROVED:
            if account.id in approving and last[account.id] == note.id:
                at = min(at, utc(approving[account.id] or note.created_at))
            else:
                given = ReviewVerdict.DISMISSED
        if verdict is not ReviewVerdict.DISMISSED:
            url = f"{page}#note_{note.id}"
            found.append(ForgeReview(str(note.id), account, given, "", _head_at(versions, at), at, url))
    return sorted(found, key=lambda one: one.at)


def _head_at(versions: Sequence[Version], at: str) -> str:
    """Empty if none is older, or nobody knows. One of the very same moment is not taken: it is unseen."""
    older = [one for one in versions if utc(one.created_at) < at]
    return max(older, key=lambda one: utc(one.created_at)).head_commit_sha or "" if older else ""
