"""People's buttons on the small forge of the tests."""

from collections.abc import Iterable

from ringi.domain.forge import Item, ItemKind
from tests.support.forge_server import Repo


class FakeHands:
    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.path = repo.path

    def issue(self, author: str, title: str, body: str) -> int:
        return self._repo.issue(author, title, body).number

    def comment(self, item: Item, author: str, body: str) -> str:
        things = self._repo.issues if item.kind is ItemKind.ISSUE else self._repo.changes
        return str(self._repo.comment(things[item.number], author, body).id)

    def push(self, branch: str, files: dict[str, str]) -> str:
        return self._repo.commit(branch, files)

    def review(
        self, number: int, author: str, state: str, body: str = "", lines: Iterable[tuple[str, int, str]] = ()
    ) -> None:
        self._repo.review(number, author, state, body, lines)

    def squash(self, number: int, author: str) -> str:
        return self._repo.merge(number, squash=True, author=author)
