"""The buttons that people press on a forge, whichever it is."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from ringi.approvals.forge import Item, ItemKind
from tests.support.forge_server import Repo, Thing


class Hands(Protocol):
    repo: Repo
    """With the git repository of the project."""

    def issue(self, author: str, title: str, body: str) -> int: ...

    def comment(self, item: Item, author: str, body: str) -> str: ...

    def said(self, item: Item, author: str) -> Sequence[str]:
        """The comments of somebody."""

    def push(self, branch: str, files: dict[str, str]) -> str: ...

    def review(
        self, number: int, author: str, state: str, body: str = "", lines: Iterable[tuple[str, int, str]] = ()
    ) -> None:
        """`state` is approve or request_changes; `lines` have path, line and words."""

    def retarget(self, number: int, author: str, *bases: str) -> None:
        """Into one branch after the other."""

    def head(self, number: int) -> str:
        """Of a change."""

    def statuses(self, commit: str) -> Sequence[str]:
        """The newest first."""

    def squash(self, number: int, author: str) -> str:
        """The new tip of main."""


class FakeHands:
    """On the small forge of the tests."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo

    def issue(self, author: str, title: str, body: str) -> int:
        return self.repo.issue(author, title, body).number

    def comment(self, item: Item, author: str, body: str) -> str:
        return str(self.repo.comment(self._thing(item), author, body).id)

    def said(self, item: Item, author: str) -> Sequence[str]:
        return [one.body for one in self._thing(item).comments if one.author.login == author]

    def push(self, branch: str, files: dict[str, str]) -> str:
        return self.repo.commit(branch, files)

    def review(
        self, number: int, author: str, state: str, body: str = "", lines: Iterable[tuple[str, int, str]] = ()
    ) -> None:
        self.repo.review(number, author, state, body, lines)

    def retarget(self, number: int, author: str, *bases: str) -> None:
        for base in bases:
            self.repo.retarget(number, base, author)

    def head(self, number: int) -> str:
        return self.repo.changes[number].head_commit

    def statuses(self, commit: str) -> Sequence[str]:
        return [one["state"] for one in self.repo.statuses.get(commit, ())]

    def squash(self, number: int, author: str) -> str:
        return self.repo.merge(number, squash=True, author=author)

    def _thing(self, item: Item) -> Thing:
        return (
            self.repo.issues[item.number] if item.kind is ItemKind.ISSUE else self.repo.changes[item.number]
        )
