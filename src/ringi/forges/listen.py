"""What people said on a forge, and whose words count there.

A bot's words never do, nor do our own comments, which have a mark. Whoever holds the account of the token may
speak in words of their own, but decides and answers nothing.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

from ringi.approvals.forge import ForgeTerms, Item, ItemKind, ReviewHow, ReviewProof
from ringi.forges.document import (
    MARKED,
    Account,
    ChangeRequest,
    Comment,
    ForgeReview,
    Remark,
    begins_with_code,
    mark_line,
    parse_approval,
)
from ringi.forges.markdown import read_visible
from ringi.forges.port import CodeHost
from ringi.forges.review_lookup import last_decisions
from ringi.kernel.text import lazy_pattern
from ringi.runs.document import Run
from ringi.runs.feedback import LONGEST

_REJECT: Final = lazy_pattern(r"/ringi\s+reject\b(.*)", re.IGNORECASE | re.DOTALL)
_OTHER: Final = lazy_pattern(r"/ringi\b", re.IGNORECASE)


class Verb(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    OTHER = "other"
    """Anything else that begins with /ringi."""


class ForgeCommand(NamedTuple):
    verb: Verb
    words: str = ""
    """Digits of what is approved, or what should be different."""


def command_in(body: str) -> ForgeCommand | None:
    """A comment is a command if it begins with one; None if it is words."""
    if digits := parse_approval(body):
        return ForgeCommand(Verb.APPROVE, digits)
    text = "" if begins_with_code(body) else body.strip()
    if found := _REJECT.match(text):
        return ForgeCommand(Verb.REJECT, found[1].strip())
    return ForgeCommand(Verb.OTHER) if _OTHER.match(text) else None


class Spoken(NamedTuple):
    """A comment, a review, or a remark on a line."""

    ref: str
    """By which it is taken once."""
    author: Account
    body: str
    at: str
    url: str
    item: Item
    comment: Comment | None = None
    remark: Remark | None = None
    review: ForgeReview | None = None

    @property
    def id(self) -> str:
        return self.ref.partition(":")[2]

    @property
    def text(self) -> str:
        """As the page shows it."""
        shown = read_visible(self.body).text.strip()
        return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"

    @property
    def command(self) -> ForgeCommand | None:
        return command_in(self.body) if self.comment else None


class ForgePage(NamedTuple):
    """What a forge shows of a run, as it was read now."""

    change: ChangeRequest | None
    comments: tuple[Spoken, ...] = ()
    reviews: tuple[Spoken, ...] = ()
    remarks: tuple[Spoken, ...] = ()

    @property
    def all(self) -> tuple[Spoken, ...]:
        return (*self.comments, *self.reviews, *self.remarks)


class ForgeListener:
    """One project, for one round: what an account may do is asked once."""

    def __init__(self, host: CodeHost) -> None:
        self.host = host
        self._counted: dict[str, bool] = {}

    @cached_property
    def me(self) -> Account:
        return self.host.people.me()

    def page(self, run: Run, terms: ForgeTerms) -> ForgePage:
        """Reviews are read before remarks: those of a review are there once it is."""
        items = [terms.item] if terms.item else []
        change, reviews, remarks = None, list[Spoken](), list[Spoken]()
        if run.offer and run.offer.number:
            change = self.host.changes.change(run.offer.number)
            reviews, remarks = self.reviews(change.item), self.remarks(change.item)
            items = [*(one for one in items if one != change.item), change.item]
        comments = [one for item in items for one in self.comments(item)]
        return ForgePage(change, tuple(comments), tuple(reviews), tuple(remarks))

    def list_spoken(self, item: Item) -> list[Spoken]:
        """All that was said in it, by kind."""
        if item.kind is ItemKind.ISSUE:
            return self.comments(item)
        return [*self.comments(item), *self.reviews(item), *self.remarks(item)]

    def comments(self, item: Item) -> list[Spoken]:
        return [
            Spoken(f"comment:{one.id}", one.author, one.body, one.created_at, one.url, item, comment=one)
            for one in self.host.items.comments(item)
        ]

    def reviews(self, change: Item) -> list[Spoken]:
        return [
            Spoken(f"review:{one.id}", one.author, one.body, one.at, one.url, change, review=one)
            for one in self.host.changes.reviews(change.number)
        ]

    def remarks(self, change: Item) -> list[Spoken]:
        return [
            Spoken(f"remark:{one.id}", one.author, one.body, one.created_at, one.url, change, remark=one)
            for one in self.host.changes.remarks(change.number)
        ]

    def is_ours(self, said: Spoken) -> bool:
        """By its last line: a quotation above it does not count."""
        last = said.body.rstrip().rpartition("\n")[2]
        return last.startswith(MARKED) and said.author.id == self.me.id

    def find_start(self, spoken: Iterable[Spoken], mark: str) -> str:
        """When our comment with this mark was made, by the clock of the forge; empty if there is none.

        Older words were in the request.
        """
        end = mark_line(mark)
        ours = (one for one in spoken if one.body.rstrip().endswith(end) and self.is_ours(one))
        return next((one.at for one in ours), "")

    def is_person(self, said: Spoken) -> bool:
        """Who is not the machine that asks."""
        return not said.author.bot and not self.is_ours(said)

    def counts(self, author: Account) -> bool:
        """Whether it is a person who may write to the project."""
        return bool(author.login) and not author.bot and self.writes(author.login)

    def writes(self, login: str) -> bool:
        if login not in self._counted:
            self._counted[login] = self.host.people.access(login).writes
        return self._counted[login]

    def is_own(self, author: Account) -> bool:
        """Whether it is the account of the token, which decides and answers nothing."""
        return author.id == self.me.id or author.login.casefold() == self.me.login.casefold()


def newest_verdicts(reviews: Sequence[Spoken]) -> Sequence[Spoken]:
    """See `decisions`."""
    last = {one.id for one in last_decisions(said.review for said in reviews if said.review)}
    return [said for said in reviews if said.id in last]


def proof_of(host: CodeHost, said: Spoken, commit: str, step_commit: str = "") -> ReviewProof:
    how = ReviewHow.REVIEW if said.review else ReviewHow.COMMENT
    return ReviewProof(
        project=host.project,
        item=said.item,
        how=how,
        id=said.id,
        login=said.author.login,
        commit=commit,
        step_commit=step_commit,
        at=said.at,
        url=said.url,
    )
