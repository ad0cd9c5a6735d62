"""A yes on a forge: what it has to be about. Whether it is there, the forge says at that moment.

A commit is reviewed as a whole, so a yes to the newest one covers the steps that it contains. The plan of a
run has no commit yet: there a comment names its digest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi.approvals.document import (
    Act,
    ApprovalRequest,
    ApprovalSubject,
    ProofKind,
    ProofRecord,
    ReviewAnswer,
    RevisionSubject,
    RunSubject,
    SessionSubject,
    Strength,
)
from ringi.approvals.forge import (
    ForgeTerms,
    Item,
    ItemKind,
    ReviewHow,
    ReviewProof,
    WantedReview,
)
from ringi.approvals.kinds import KINDS, Bound
from ringi.errors import NoChannel, NotFound, ReviewRefused
from ringi.kernel.text import Text
from ringi.policy.risk_level import Risk

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace


def prove_by_review(
    workspace: Workspace, answer: ReviewAnswer, asked: ApprovalRequest, data: bytes, made_at: str, risk: Risk
) -> ProofRecord:
    """Raises ReviewRefused, ForgeFailed; NoChannel if an agent could have said it."""
    review = answer.review
    if workspace.reviews is None:
        raise ReviewRefused(why=Text("reviews on a forge do not count here"))
    if answer.digest != asked.digest:
        raise ReviewRefused(why=Text("it was given for something else than what is there now"))
    bound = KINDS[asked.about.kind].read(data.decode())
    wanted = _describe_review(workspace.store, asked, bound, made_at)
    wanted = wanted._replace(typed=risk is Risk.HIGH)
    if why := find_misplacement(review, wanted):
        raise ReviewRefused(why=why)
    found, weak = workspace.reviews.check(review, wanted)
    # What this machine could have said itself is worth no more than what is typed at it.
    if weak and (agent := workspace.person.agent()):
        raise NoChannel(why=agent, command=f"ringi review {asked.subject_id}")
    return ProofRecord(
        kind=ProofKind.REVIEW,
        strength=Strength.WEAK if weak else Strength.MEDIUM,
        user=workspace.person.user(),
        channel=found.project.host,
        answer=str(found.how),
        principal=found.account,
        review=found,
    )


def find_misplacement(review: ReviewProof, wanted: WantedReview) -> Text | None:
    """Why it is not about this, whatever the forge says of it."""
    if review.project != wanted.terms.project:
        return Text("it is about {project} on {host}", project=review.project.path, host=review.project.host)
    if review.item != wanted.item:
        return Text("it is on another page: {url}", url=review.url)
    if (review.commit, review.step_commit) != (wanted.head, wanted.step_commit):
        return Text("it is about another commit than the one that is offered")
    if review.how is ReviewHow.REVIEW and not wanted.head:
        return Text("a plan is approved by a comment that names it, not by a review")
    return None


def _describe_review(store: Store, asked: ApprovalRequest, bound: Bound | None, made_at: str) -> WantedReview:
    document = bound.document if bound else None
    common = (asked.digest, _since(store, asked, made_at), _last_refusal(store, asked))
    if isinstance(document, SessionSubject | RunSubject) and document.forge:
        return WantedReview(document.forge, _item(document.forge), *common)
    if isinstance(document, RevisionSubject) and (terms := store.runs.get(document.run_id).forge):
        return WantedReview(terms, _item(terms), *common)
    if isinstance(document, ApprovalSubject):
        return _of_step(store, document, common)
    raise ReviewRefused(why=Text("such a thing is not approved on a forge"))


def _of_step(store: Store, subject: ApprovalSubject, common: tuple[str, str, str]) -> WantedReview:
    offered = subject.commit.offered if subject.commit else ""
    if subject.kind is not Act.EXECUTE or not subject.step or not offered:
        raise ReviewRefused(why=Text("it was not offered for review on a forge"))
    try:
        run = store.runs.get(subject.step.run_id)
    except NotFound:
        raise ReviewRefused(why=Text("it was not offered for review on a forge")) from None
    made = run.offer
    if run.forge is None or made is None or not made.number:
        raise ReviewRefused(why=Text("it was not offered for review on a forge"))
    step = (subject.step.step_id, subject.plan_id, subject.plan_version, offered)
    if step not in [(one.step_id, one.plan_id, one.plan_version, one.commit) for one in made.steps]:
        raise ReviewRefused(why=Text("another version of it was offered for review"))
    return WantedReview(
        run.forge,
        Item(ItemKind.CHANGE, made.number),
        *common,
        head=made.head,
        step_commit=offered,
        branch=run.work_branch,
        base=run.base_branch,
    )


def _item(terms: ForgeTerms) -> Item:
    if not terms.item:
        raise ReviewRefused(why=Text("the run came from no page on a forge"))
    return terms.item


def _since(store: Store, asked: ApprovalRequest, made_at: str) -> str:
    """When it became what it is. A stored request may be younger than the yes that it waits for."""
    kind = KINDS[asked.about.kind]
    if not kind.asked:
        return max(made_at, asked.requested_at)
    changed = (one.event.at for one in store.events(asked.subject_id) if one.event.event in kind.overtaken)
    return max([made_at, *changed])


def _last_refusal(store: Store, asked: ApprovalRequest) -> str:
    refused = KINDS[asked.about.kind].refused
    return max(
        (one.event.at for one in store.events(asked.subject_id) if one.event.event in refused), default=""
    )
