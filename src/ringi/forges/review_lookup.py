"""Whether a yes on a forge counts: looked up there, at that moment, whatever a caller or a note says.

It counts if a person who may write there said it, of exactly what is offered, and still says so: not a bot,
not the account that runs use, not whoever opened the change, not on an older commit, not edited since.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.approvals.forge import CheckedReview, ItemKind, Project, ReviewHow, ReviewProof, WantedReview
from ringi.errors import ForgeMissing, ReviewRefused
from ringi.forges.document import (
    Account,
    ChangeRequest,
    ChangeState,
    ForgeReview,
    ReviewVerdict,
    parse_approval,
    rejects,
)
from ringi.forges.port import CodeHost
from ringi.kernel.text import COMMIT_SHOWN, Text

# Forges tell whole seconds.
_SECOND: Final = timedelta(seconds=1)


class Yes(NamedTuple):
    """A yes as the forge has it."""

    author: Account
    commit: str
    """What a review is about; empty for a comment."""
    named: str
    """The hex digits that it approves; empty if it is a review without words."""
    at: str
    url: str


class ForgeReviews:
    """`forge` gives the project with the token for it; `held` whose other credentials this machine has.

    None among those: a credential whose account is not known.
    """

    def __init__(
        self,
        forge: Callable[[Project], CodeHost],
        held: Callable[[Project], Iterable[Account | None]] = lambda _: (),
    ) -> None:
        self._forge = forge
        self._held = held

    def check(self, review: ReviewProof, wanted: WantedReview) -> CheckedReview:
        host = self._forge(wanted.terms.project)
        try:
            found = look_up_yes(host, review)
            change = host.changes.change(review.item.number) if review.item.kind is ItemKind.CHANGE else None
        except ForgeMissing:
            raise ReviewRefused(why=NO_SUCH_REVIEW) from None
        require(_why_other_words(found, wanted, review.how))
        if wanted.typed and review.how is ReviewHow.REVIEW:
            require(_why_rewritten(host, review, wanted.head))
        if change is not None:
            require(why_own_change(change, found.author))
        if _same(host.people.me(), found.author):
            why = Text("{login} is the account that runs use here", login=found.author.login)
            raise ReviewRefused(why=why)
        require(why_no_access(host, found.author))
        if wanted.head and change is not None:
            require(_why_other_change(host, change, wanted, found.at))
            require(why_objected(host, change.number, wanted.head))
            review = replace(review, base=change.base_branch)
        held = list(self._held(wanted.terms.project))
        weak = any(one is None or _same(one, found.author) for one in held)
        confirmed = replace(review, login=found.author.login, at=found.at, url=found.url)
        return CheckedReview(confirmed, weak)


NO_SUCH_REVIEW: Final = Text("there is no such review or comment")
SAYS_NO: Final = Text("it says /ringi reject, too, so it approves nothing: say one of the two")


def look_up_yes(host: CodeHost, review: ReviewProof) -> Yes:
    """Raises ReviewRefused if it is no yes of that person, ForgeMissing if it is not there."""
    if review.how is ReviewHow.REVIEW:
        found = _look_up_review(host, review)
    else:
        comment = host.items.comment(review.item, review.id)
        if comment.edited:
            raise ReviewRefused(why=Text("the comment was edited after it was written"))
        named = parse_approval(comment.body)
        if rejects(comment.body):
            raise ReviewRefused(why=SAYS_NO)
        if not named:
            raise ReviewRefused(why=Text("the comment does not say: /ringi approve DIGITS (12 or more)"))
        found = Yes(comment.author, "", named, comment.created_at, comment.url)
    if found.author.login.casefold() != review.login.casefold():
        raise ReviewRefused(
            why=Text("it is by {found}, not by {login}", found=found.author.login, login=review.login)
        )
    if found.author.bot or not found.author.id:
        raise ReviewRefused(why=Text("{login} is not a person", login=found.author.login))
    return found


def _look_up_review(host: CodeHost, review: ReviewProof) -> Yes:
    if review.item.kind is not ItemKind.CHANGE:
        raise ReviewRefused(why=NO_SUCH_REVIEW)
    listed = host.changes.reviews(review.item.number)  # a later one may have replaced it
    given = next((one for one in listed if one.id == review.id), None)
    if given is None:
        raise ReviewRefused(why=NO_SUCH_REVIEW)
    if given.verdict is ReviewVerdict.DISMISSED:
        raise ReviewRefused(why=Text("the review was dismissed"))
    if given.verdict is not ReviewVerdict.APPROVED:
        raise ReviewRefused(why=Text("the review does not approve"))
    if rejects(given.body):
        raise ReviewRefused(why=SAYS_NO)
    if not review.commit or given.commit != review.commit:
        shown = given.commit[:COMMIT_SHOWN] or "?"
        raise ReviewRefused(why=Text("the review is of commit {id}, not of what is offered", id=shown))
    return Yes(given.author, given.commit, parse_approval(given.body), given.at, given.url)


def why_own_change(change: ChangeRequest, author: Account) -> Text | None:
    if _same(change.author, author):
        return Text("{login} opened the change", login=author.login)
    return None


def why_other_base(host: CodeHost, change: ChangeRequest, base: str, said_at: str) -> Text | None:
    """What the other branch has already, the page of the change does not show."""
    if change.base_branch != base:
        return Text(
            "the change goes into {found}, not into {base}", found=change.base_branch, base=base or "?"
        )
    changed_at = host.changes.base_changed_at(change.number)
    if not changed_at:
        return None
    changed, said = _moment(changed_at), _moment(said_at)
    if changed is None or said is None or said <= changed:
        return Text("it is older than the last change of the branch that the change goes into ({at}): "
                    "approve it again", at=changed_at)  # fmt: skip
    return None


def why_no_access(host: CodeHost, author: Account) -> Text | None:
    if not host.people.access(author.login).writes:
        return Text("{login} may not write to {project}", login=author.login, project=host.project.path)
    return None


def _why_other_words(found: Yes, wanted: WantedReview, how: ReviewHow) -> Text | None:
    """Why these are not the words for this."""
    at = _moment(found.at)
    if at is None:
        return Text("the forge does not say when it was given")
    if wanted.refused_at and at + _SECOND <= _local(wanted.refused_at):
        return Text("somebody said no here since")
    if how is ReviewHow.COMMENT and at + _SECOND <= _local(wanted.since):
        return Text("the comment is older than what it would approve ({at}, by this machine's clock)",
                    at=wanted.since)  # fmt: skip
    if found.named and not any(one.startswith(found.named) for one in (wanted.digest, wanted.head) if one):
        return Text("it approves {digits}, which is something else", digits=found.named)
    if wanted.typed and not found.named:
        return Text(
            "the risk is high, so the approval has to name the commit: /ringi approve {commit}",
            commit=wanted.head,
        )
    return None


def _why_rewritten(host: CodeHost, review: ReviewProof, head: str) -> Text | None:
    """An account with write access can change the words of another's review."""
    if host.changes.is_edited(review.item.number, review.id):
        return Text("its words were edited, so name the commit in a comment: /ringi approve {commit}",
                    commit=head)  # fmt: skip
    return None


def _why_other_change(
    host: CodeHost, change: ChangeRequest, wanted: WantedReview, said_at: str
) -> Text | None:
    if change.state is ChangeState.CLOSED:
        return Text("the change was closed")
    if change.head_commit != wanted.head:
        return Text("somebody pushed to {branch} since", branch=change.head_branch)
    place = change.head_project.casefold(), change.head_branch
    if place != (host.project.path.casefold(), wanted.branch):
        return Text("the change is from another branch: {branch}", branch=change.head_branch)
    if why := why_other_base(host, change, wanted.base, said_at):
        return why
    if wanted.step_commit != wanted.head and wanted.step_commit not in host.changes.commits(change.number):
        return Text("the change does not have commit {id}", id=wanted.step_commit[:COMMIT_SHOWN])
    return None


def why_objected(host: CodeHost, number: int, head: str) -> Text | None:
    """An account with write access asks for changes in the same commit."""
    for one in last_decisions(host.changes.reviews(number)):
        asks = one.verdict is ReviewVerdict.CHANGES_REQUESTED and one.commit == head
        if asks and not one.author.bot and not why_no_access(host, one.author):
            return Text("{login} asks for changes in it", login=one.author.login)
    return None


def last_decisions(reviews: Iterable[ForgeReview]) -> Collection[ForgeReview]:
    """The last one of each person; a comment decides nothing, a dismissed review ends one."""
    decided = (one for one in reviews if one.verdict is not ReviewVerdict.COMMENTED)
    return {one.author.id: one for one in decided}.values()


def require(why: Text | None) -> None:
    if why is not None:
        raise ReviewRefused(why=why)


def _same(one: Account, other: Account) -> bool:
    """Either suffices: an account can be renamed, and a name can be taken over."""
    return one.id == other.id or one.login.casefold() == other.login.casefold()


def _moment(written: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(written)
        return found.astimezone(UTC) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _local(written: str) -> datetime:
    """A time of this machine; the beginning of time if there is none."""
    return _moment(written) or datetime.min.replace(tzinfo=UTC)
