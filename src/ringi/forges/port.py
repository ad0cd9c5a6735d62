"""A forge, as the rest of the program sees it.

Every method raises ForgeFailed or one of its kinds. Reading is repeated where the forge is busy; writing
finds again what it wrote before, by a mark in the text, a branch or a name, so that nothing is made twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ringi.approvals.forge import Item, Project
    from ringi.forges.document import (
        Access,
        Account,
        ChangeRequest,
        ChangeState,
        Comment,
        CommitStatus,
        ForgeReview,
        Issue,
        NewChangeRequest,
        Remark,
    )


class People(Protocol):
    def me(self) -> Account:
        """Whose token it is."""

    def access(self, login: str) -> Access:
        """What the account may do with the project."""

    def is_member(self, login: str, group: str) -> bool:
        """`group` is org/team on GitHub, the path of a group on GitLab."""


class Items(Protocol):
    def issue(self, number: int) -> Issue: ...

    def comments(self, item: Item) -> Sequence[Comment]:
        """All of them, oldest first, without those that the forge itself writes."""

    def comment(self, item: Item, comment_id: str) -> Comment:
        """With whether it was ever edited: every account with write access can."""

    def write(self, item: Item, mark: str, body: str) -> Comment:
        """The one comment of ours with this mark: made, or edited if it says something else.

        The mark is written invisibly by the adapter; a comment by another account does not count.
        """

    def label(self, item: Item, name: str, *, on: bool) -> None:
        """Makes the label if the project does not have it."""


class ChangeRequests(Protocol):
    def change(self, number: int) -> ChangeRequest: ...

    def from_branch(self, branch: str) -> ChangeRequest | None:
        """The open one from this branch of the project, or the newest."""

    def open(self, wanted: NewChangeRequest) -> ChangeRequest:
        """The open one from this branch if there is one, edited if it says something else.

        Raises ChangeTaken, with nothing edited, if that is by another account or has another base.
        """

    def edit(
        self,
        number: int,
        *,
        title: str = "",
        body: str = "",
        state: ChangeState | None = None,
        draft: bool | None = None,
    ) -> ChangeRequest:
        """What is empty stays. `state` is OPEN or CLOSED."""

    def reviews(self, number: int) -> Sequence[ForgeReview]:
        """Oldest first, dismissed ones as such; so is an approval whose author asked for changes since."""

    def is_edited(self, number: int, review_id: str) -> bool:
        """Whether its words are other ones than when it was given."""

    def remarks(self, number: int) -> Sequence[Remark]:
        """On lines and files, oldest first."""

    def answer(self, number: int, remark: Remark, mark: str, body: str) -> None:
        """In the thread of the remark; once for each mark."""

    def base_changed_at(self, number: int) -> str:
        """When it was last made to go into another branch; empty if it never was."""

    def commits(self, number: int) -> Sequence[str]:
        """Ids of its commits, oldest first, as far as the forge tells them."""


class FileOnForge(NamedTuple):
    mode: str
    blob: str


class ForgeCommits(Protocol):
    def set_status(self, commit: str, status: CommitStatus) -> None: ...

    def files(self, commit: str) -> Mapping[str, FileOnForge]:
        """Every file of its tree by path."""

    def parents(self, commit: str) -> tuple[str, ...]: ...


class CodeHost(NamedTuple):
    """One project on one forge, with one token."""

    project: Project
    people: People
    items: Items
    changes: ChangeRequests
    commits: ForgeCommits


class ForgePlace(NamedTuple):
    """A remote of the person's repository that leads to a forge."""

    project: Project
    remote: str
    remote_url: str
    """Without a name or a password."""


class Forges(Protocol):
    """The forges that are known here. Raises NoForge."""

    def here(self, remote: str = "") -> ForgePlace:
        """Where the remote leads; without a name the configured one, the one of the branch, or origin."""

    def at(self, address: str) -> tuple[Project, Item | None]:
        """From the address of a page or a remote; #3 and !3 are of the project that `here` leads to."""

    def host(self, project: Project | None = None) -> CodeHost:
        """The same one for the same project; without one, that of `here`. Nothing is asked before it is used.

        Raises NoForgeToken, NoExtra.
        """
