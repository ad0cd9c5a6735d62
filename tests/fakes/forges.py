"""One project on a forge, in memory: what people did there is set, and nothing is called over a network."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringi.approvals.forge import ForgeKind, Item, ItemKind, Project
from ringi.errors import ForgeMissing
from ringi.forges.document import (
    Access,
    Account,
    ChangeRequest,
    ChangeState,
    Comment,
    ForgeReview,
    Issue,
    ReviewVerdict,
)
from ringi.forges.port import CodeHost, FileOnForge

PROJECT = Project(ForgeKind.GITHUB, "https://forge.example", "acme/app")
AT = "2030-01-02T03:04:05Z"
ALICE, BOB, ROBOT, RINGI = (
    Account("alice", 1),
    Account("bob", 2),
    Account("robot[bot]", 3, True),
    Account("ringi", 9),
)


class MemoryForge:
    """`asked` has the names of what was called."""

    def __init__(self, project: Project = PROJECT) -> None:
        self.project = project
        self.own = RINGI
        self.members = {
            "alice": Access.WRITE,
            "bob": Access.ADMIN,
            "ringi": Access.WRITE,
            "robot[bot]": Access.WRITE,
        }
        self.found: dict[int, ChangeRequest] = {}
        self.retargeted = ""
        self.rewritten: set[str] = set()
        self.given: dict[int, list[ForgeReview]] = {}
        self.said: dict[Item, list[Comment]] = {}
        self.listed: dict[int, list[str]] = {}
        self.trees: dict[str, Mapping[str, FileOnForge]] = {}
        self.before: dict[str, tuple[str, ...]] = {}
        self.asked: list[str] = []
        self.failing: dict[str, Exception] = {}

    @property
    def host(self) -> CodeHost:
        part: Any = _Counted(self)
        return CodeHost(self.project, part, part, part, part)

    # What people do there.

    def opens(self, number: int, branch: str, commits: Sequence[str], author: Account = RINGI) -> None:
        self.listed[number] = list(commits)
        self.found[number] = ChangeRequest(
            number, "A change", "", author, ChangeState.OPEN, True, branch, commits[-1], self.project.path,
            "main", f"{self.project.base_url}/{self.project.path}/pull/{number}",
        )  # fmt: skip

    def edits(self, number: int, **changes: object) -> None:
        self.found[number] = self.found[number]._replace(**changes)

    def reviews_it(self, number: int, commit: str, author: Account = ALICE, **more: object) -> ForgeReview:
        given = self.given.setdefault(number, [])
        name = str(1000 + len(given))
        made = ForgeReview(
            name, author, ReviewVerdict.APPROVED, "", commit, AT, f"{self.found[number].url}#review-{name}"
        )._replace(**more)
        given.append(made)
        return made

    def comments_on(self, item: Item, body: str, author: Account = ALICE, **more: object) -> Comment:
        said = self.said.setdefault(item, [])
        name = str(5000 + len(said))
        page = "issues" if item.kind is ItemKind.ISSUE else "pull"
        url = f"{self.project.base_url}/{self.project.path}/{page}/{item.number}#comment-{name}"
        made = Comment(name, author, body, AT, AT, url)._replace(**more)
        said.append(made)
        return made

    # What is asked.

    def me(self) -> Account:
        return self.own

    def access(self, login: str) -> Access:
        return self.members.get(login, Access.NONE)

    def is_member(self, login: str, group: str) -> bool:
        return False

    def issue(self, number: int) -> Issue:
        raise self.missing(f"#{number}")

    def comment(self, item: Item, comment_id: str) -> Comment:
        for one in self.said.get(item, ()):
            if one.id == comment_id:
                return one
        raise self.missing(comment_id)

    def change(self, number: int) -> ChangeRequest:
        if number not in self.found:
            raise self.missing(f"#{number}")
        return self.found[number]

    def reviews(self, number: int) -> Sequence[ForgeReview]:
        return self.given.get(number, [])

    def is_edited(self, number: int, review_id: str) -> bool:
        return review_id in self.rewritten

    def base_changed_at(self, number: int) -> str:
        return self.retargeted

    def commits(self, number: int) -> Sequence[str]:
        return self.listed[number]

    def files(self, commit: str) -> Mapping[str, FileOnForge]:
        if commit not in self.trees:
            raise self.missing(commit)
        return self.trees[commit]

    def parents(self, commit: str) -> tuple[str, ...]:
        if commit not in self.before:
            raise self.missing(commit)
        return self.before[commit]

    def missing(self, what: str) -> ForgeMissing:
        return ForgeMissing(host=self.project.host, what=what)


class _Counted:
    def __init__(self, forge: MemoryForge) -> None:
        self._forge = forge

    def __getattr__(self, name: str) -> Callable[..., object]:
        self._forge.asked.append(name)
        if name in self._forge.failing:
            raise self._forge.failing[name]
        found = getattr(self._forge, name)
        assert callable(found)
        return found
