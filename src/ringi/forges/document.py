"""What forges have: projects, issues, pull and merge requests, reviews; and what a run may do there.

A *change* is a pull request on GitHub and a merge request on GitLab.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from ringi.config.keys import HELP_LABEL
from ringi.kernel.document import Document
from ringi.kernel.text import Text
from ringi.kernel.words import KeptText, told

STATUS: Final = "ringi/verify"
"""The name of the commit status."""
MARKED: Final = "<!-- ringi:"
"""How the last line of a text of ours begins."""
_APPROVES: Final = re.compile(r"/ringi[ \t]+approve[ \t]+([0-9a-f]{12,64})[ \t]*", re.IGNORECASE)
_REJECTS: Final = re.compile(r"/ringi\s+reject\b", re.IGNORECASE)
_LINES: Final = re.compile(r"\r\n?|\n")
_FENCE: Final = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_IN_LINE: Final = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_LISTED: Final = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_CODE_INDENT: Final = 4


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


class Account(NamedTuple):
    login: str
    id: int
    bot: bool = False


class Access(StrEnum):
    """What an account may do with a project, the least first."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    @property
    def writes(self) -> bool:
        return self in {Access.WRITE, Access.ADMIN}


class Issue(NamedTuple):
    item: Item
    title: str
    body: str
    author: Account
    labels: tuple[str, ...]
    open: bool
    url: str


class ChangeState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


class Change(NamedTuple):
    number: int
    title: str
    body: str
    author: Account
    state: ChangeState
    draft: bool
    head_branch: str
    head_commit: str
    head_project: str
    """The path of the project that the branch is in; empty if that is gone."""
    base_branch: str
    url: str
    labels: tuple[str, ...] = ()

    @property
    def item(self) -> Item:
        return Item(ItemKind.CHANGE, self.number)


class NewChange(NamedTuple):
    branch: str
    base: str
    title: str
    body: str
    draft: bool = True


class Comment(NamedTuple):
    id: str
    author: Account
    body: str
    created_at: str
    updated_at: str
    url: str
    rewritten: bool = False
    """In the second in which it was made; only looked up for one comment."""

    @property
    def edited(self) -> bool:
        return self.rewritten or self.created_at != self.updated_at


class ReviewVerdict(StrEnum):
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    COMMENTED = "commented"
    DISMISSED = "dismissed"


class ForgeReview(NamedTuple):
    id: str
    author: Account
    verdict: ReviewVerdict
    body: str
    commit: str
    """What it is about: the head when it was given; empty if the forge does not know."""
    at: str
    url: str


class Remark(NamedTuple):
    """What somebody said about a line of a change."""

    id: str
    thread: str
    """What an answer goes to."""
    author: Account
    path: str
    line: int
    """From 1, in the file of `commit`; 0: the file as a whole."""
    old_side: bool
    """The line is of the file before the change."""
    body: str
    commit: str
    created_at: str
    url: str
    answers: str = ""
    """The remark that it answers, if it is not the first of its thread."""

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class StatusState(StrEnum):
    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


class CommitStatus(NamedTuple):
    state: StatusState
    description: str
    """At most 140 characters."""
    url: str = ""
    context: str = STATUS


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
        return told(self.left_told, self.left)


def mark_line(mark: str) -> str:
    """The last line of a text of ours, which a page does not show: by it the text is found again."""
    return f"{MARKED}{mark} -->"


def approving(what: str) -> str:
    """The words that approve what has this digest, or this commit."""
    return f"/ringi approve {what}"


def approved_in(body: str) -> str:
    """The hex digits, 12 at least, that a comment approves in its first line; empty if there are none.

    Who says yes and no in one breath has approved nothing.
    """
    found = None if begins_with_code(body) else _APPROVES.fullmatch(_first(body).strip())
    return found[1].lower() if found and not rejects(body) else ""


def rejects(body: str) -> bool:
    """Whether it says `/ringi reject` anywhere outside of quotations and code."""
    return any(_REJECTS.search(_IN_LINE.sub("", line)) for line in own_lines(body))


def begins_with_code(body: str) -> bool:
    return _is_indented(_first(body))


def own_lines(body: str) -> Iterator[str]:
    """Without quotations and code: somebody may quote what others said, or what can be said."""
    fence, after_blank, in_list = "", True, False
    for line in _LINES.split(body):
        before, fence = fence, fence_after(fence, line)
        if before or fence or line.lstrip().startswith(">"):
            after_blank = True
        elif not line.strip():
            after_blank = True
            yield line
        elif not (_is_indented(line) and after_blank and not in_list):
            in_list = _LISTED.match(line) is not None or (in_list and line[0].isspace())
            after_blank = False
            yield line


def fence_after(fence: str, line: str) -> str:
    """What a block of code is fenced with after this line; empty: there is none, as before the first."""
    mark = _FENCE.match(line)
    if mark is None or not fence:
        return mark[1] if mark else fence
    return "" if mark[1].startswith(fence) and line.strip() == mark[1] else fence


def _first(body: str) -> str:
    return next(filter(str.strip, body.splitlines()), "")


def _is_indented(line: str) -> bool:
    """As code is; it does not interrupt a paragraph or an item of a list."""
    wide = line.expandtabs(_CODE_INDENT)
    return len(wide) - len(wide.lstrip()) >= _CODE_INDENT


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
