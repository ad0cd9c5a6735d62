"""What forges have: projects, issues, pull and merge requests, reviews; and what a run may do there.

A *change* is a pull request on GitHub and a merge request on GitLab.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from ringi.approvals.forge import Item, ItemKind

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


class ChangeRequest(NamedTuple):
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


class NewChangeRequest(NamedTuple):
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
    """A comment on a line of a change."""

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


def mark_line(mark: str) -> str:
    """The last line of a text of ours, which a page does not show: by it the text is found again."""
    return f"{MARKED}{mark} -->"


def approval_command(what: str) -> str:
    """The words that approve what has this digest, or this commit."""
    return f"/ringi approve {what}"


def parse_approval(body: str) -> str:
    """The hex digits, 12 at least, that a comment approves in its first line; empty if there are none.

    Who says yes and no in one breath has approved nothing.
    """
    found = None if begins_with_code(body) else _APPROVES.fullmatch(_first_line(body).strip())
    return found[1].lower() if found and not rejects(body) else ""


def rejects(body: str) -> bool:
    """Whether it says `/ringi reject` anywhere outside of quotations and code."""
    return any(_REJECTS.search(_IN_LINE.sub("", line)) for line in own_lines(body))


def begins_with_code(body: str) -> bool:
    return _is_indented(_first_line(body))


def own_lines(body: str) -> Iterator[str]:
    """Without quotations and code: they repeat the words of others."""
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


def _first_line(body: str) -> str:
    return next(filter(str.strip, body.splitlines()), "")


def _is_indented(line: str) -> bool:
    """As code is; it does not interrupt a paragraph or an item of a list."""
    wide = line.expandtabs(_CODE_INDENT)
    return len(wide) - len(wide.lstrip()) >= _CODE_INDENT
