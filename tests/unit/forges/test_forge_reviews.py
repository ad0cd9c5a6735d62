"""A yes on a forge counts for exactly what it was given for, if a person who may write there gave it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.approvals.document import ProofKind, ReviewAnswer, Strength
from ringi.approvals.forge import ForgeKind, ForgeTerms, Item, ItemKind, Project, ReviewHow, ReviewProof
from ringi.errors import ForgeBusy, NoChannel, NotProven, ReviewRefused, SignatureNeeded
from ringi.forges.document import (
    Access,
    Account,
    ChangeState,
    ReviewVerdict,
    approval_command,
    parse_approval,
)
from ringi.forges.review_lookup import ForgeReviews
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.approve import covering
from ringi.plans.audit import SubjectFacts, doubts
from ringi.plans.document import PlanStatus
from ringi.plans.verify import Examination
from ringi.runs.document import Offer, OfferedStep
from ringi.runs.step_plan import step_end
from ringi.tree.action_spec import ALL_SPECS
from tests.fakes.forges import ALICE, BOB, PROJECT, RINGI, ROBOT, MemoryForge
from tests.fakes.people import AgentAtWork
from tests.fakes.signing import MadeUpKeys
from tests.helpers import assert_whole, ledger_of, rewire
from tests.tables import each
from tests.unit.runs.offered import offer_on_forge, offered_step
from tests.unit.runs.steps import MORE, README, RUN, WORK, begun, git, opened, proposed_step

pytestmark = pytest.mark.req("PP-19", "PP-20")
MOST = {"README.md": b"# Sample\n\nMost.\n"}
TERMS = ForgeTerms(
    project=PROJECT,
    remote="origin",
    remote_url="https://forge.example/acme/app.git",
    item=Item(ItemKind.ISSUE, 3),
)
CHANGE = Item(ItemKind.CHANGE, 7)


class Offered(NamedTuple):
    """Two steps on a forge: the first is what is approved here, the second the head."""

    ws: Workspace
    """On the branch of the run."""
    forge: MemoryForge
    plan_id: str
    step: str
    head: str

    def proof(self, **changes: object) -> ReviewProof:
        given = self.forge.given[CHANGE.number][-1]
        made = ReviewProof(
            project=PROJECT,
            item=CHANGE,
            how=ReviewHow.REVIEW,
            id=given.id,
            login=given.author.login,
            commit=self.head,
            step_commit=self.step,
            base="main",
            at=given.at,
            url=given.url,
        )
        return replace(made, **changes)

    def commented(self, **changes: object) -> ReviewProof:
        said = self.forge.said[CHANGE][-1]
        return self.proof(how=ReviewHow.COMMENT, id=said.id, login=said.author.login, **changes)

    def again(self) -> "Offered":
        """On a forge where nothing else happened."""
        fresh = self._replace(forge=MemoryForge())
        rewire(self.ws, reviews=ForgeReviews(lambda _: fresh.forge.host))
        fresh.forge.opens(CHANGE.number, WORK, [self.step, self.head])
        fresh.forge.reviews_it(CHANGE.number, self.head)
        return fresh

    def asks_again(self) -> None:
        self.ws.plan.reject(self.plan_id, "No.")
        self.ws.plan.mark_pending(self.plan_id, pending=True)

    def approve(self, proof: ReviewProof):
        asked = self.ws.plan.ask(self.plan_id)
        answer = ReviewAnswer(asked.digest, proof)
        return self.ws.plan.approve(self.plan_id, "whoever", ALL_SPECS, answer).approval


def offered(workspace: Workspace, forge: MemoryForge, after=MORE, *, in_place: bool = False) -> Offered:
    begun(workspace, in_place=in_place)
    plan_id = proposed_step(workspace, README, after, "S01")
    second = proposed_step(workspace, after, MOST, "S02")
    step = offered_step(workspace, plan_id, after)
    head = offered_step(workspace, second, MOST, parent=step)
    offer_on_forge(workspace, TERMS, CHANGE.number, S01=(plan_id, step), S02=(second, head))
    there = workspace.of_plan(plan_id)
    rewire(there, reviews=ForgeReviews(lambda _: forge.host))
    forge.opens(CHANGE.number, WORK, [step, head])
    forge.reviews_it(CHANGE.number, head)
    return Offered(there, forge, plan_id, step, head)


@pytest.fixture
def forge() -> MemoryForge:
    return MemoryForge()


@pytest.fixture
def desk(repo: Path, forge: MemoryForge) -> Iterator[Offered]:
    with opened(repo) as workspace:
        yield offered(workspace, forge)


def test_a_review_of_the_head_approves_each_step_it_contains(desk: Offered, repo: Path):
    given = desk.approve(desk.proof())
    assert (given.approver, given.proof.kind, given.proof.strength) == (
        "alice@forge.example", ProofKind.REVIEW, Strength.MEDIUM,
    )  # fmt: skip
    assert given.proof.review == desk.proof()
    assert (given.proof.principal, given.proof.channel) == ("alice@forge.example", "forge.example")
    assert desk.ws.plan.get_state(desk.plan_id).approvals[-1].approver == "alice@forge.example"
    desk.ws.plan.execute(desk.plan_id)
    end = step_end(desk.ws, desk.plan_id)
    assert end
    assert end.commit == desk.step == git(repo, "rev-parse", WORK).strip()
    with desk.ws.one_moment():
        verdict = Examination(desk.ws, only=desk.plan_id).plan(desk.plan_id)
    assert verdict.document.proven, verdict.problems
    assert verdict.document.executions[0].approval
    assert verdict.document.executions[0].approval.proof.url == desk.proof().url
    assert_whole(desk.ws)


def test_what_is_recorded_is_what_the_forge_says(desk: Offered):
    given = desk.approve(
        desk.proof(at="1999-01-01T00:00:00Z", url="https://elsewhere.example", login="ALICE")
    )
    assert given.proof.review == desk.proof()


def test_a_comment_with_the_commit_approves_it(desk: Offered):
    desk.forge.comments_on(CHANGE, f"{approval_command(desk.head)}\n\nFine.")
    given = desk.approve(desk.commented())
    assert given.proof.review
    assert (given.proof.review.how, given.proof.strength) == (ReviewHow.COMMENT, Strength.MEDIUM)


def test_so_does_one_with_twelve_digits_of_what_is_asked(desk: Offered):
    asked = desk.ws.plan.ask(desk.plan_id)
    desk.forge.comments_on(CHANGE, f"/ringi approve {asked.digest[:12].upper()}")
    answer = ReviewAnswer(asked.digest, desk.commented())
    approval = desk.ws.plan.approve(desk.plan_id, "x", ALL_SPECS, answer).approval
    assert approval.digest == asked.digest


def test_a_merged_change_was_approved_before(desk: Offered):
    desk.forge.edits(CHANGE.number, state=ChangeState.MERGED)
    assert desk.approve(desk.proof()).approver == "alice@forge.example"


# Reviews that do not count.


def by_bot(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, desk.head, ROBOT)
    return desk.proof()


def by_a_deleted_account(desk: Offered) -> ReviewProof:
    desk.forge.members["ghost"] = Access.WRITE
    desk.forge.reviews_it(CHANGE.number, desk.head, Account("ghost", 0))
    return desk.proof()


def by_own_account(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, author=BOB)
    desk.forge.reviews_it(CHANGE.number, desk.head, RINGI)
    return desk.proof()


def by_own_account_renamed(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, author=BOB)
    desk.forge.members["honest"] = Access.WRITE
    desk.forge.reviews_it(CHANGE.number, desk.head, Account("honest", RINGI.id))
    return desk.proof()


def by_author(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, author=ALICE)
    return desk.proof()


def by_reader(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, desk.head, Account("eve", 66))
    desk.forge.members["eve"] = Access.READ
    return desk.proof()


def by_somebody_who_left(desk: Offered) -> ReviewProof:
    del desk.forge.members["alice"]
    return desk.proof()


def by_somebody_else_than_claimed(desk: Offered) -> ReviewProof:
    return desk.proof(login="bob")


def dismissed(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, desk.head, verdict=ReviewVerdict.DISMISSED)
    return desk.proof()


def only_a_remark(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, desk.head, verdict=ReviewVerdict.COMMENTED)
    return desk.proof()


def asks_for_changes(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, desk.head, verdict=ReviewVerdict.CHANGES_REQUESTED)
    return desk.proof()


def changed_their_mind(desk: Offered) -> ReviewProof:
    proof = desk.proof()
    desk.forge.reviews_it(CHANGE.number, desk.head, verdict=ReviewVerdict.CHANGES_REQUESTED)
    return proof


def another_objects(desk: Offered) -> ReviewProof:
    proof = desk.proof()
    desk.forge.reviews_it(CHANGE.number, desk.head, BOB, verdict=ReviewVerdict.CHANGES_REQUESTED)
    return proof


def on_an_older_commit(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, desk.step)
    return desk.proof()


def on_no_known_commit(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, "")
    return desk.proof()


def claims_an_older_head(desk: Offered) -> ReviewProof:
    desk.forge.reviews_it(CHANGE.number, desk.step)
    return desk.proof(commit=desk.step)


def pushed_since(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, head_commit="f" * 40)
    return desk.proof()


def closed(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, state=ChangeState.CLOSED)
    return desk.proof()


def from_a_fork(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, head_project="eve/app")
    return desk.proof()


def from_another_branch(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, head_branch="eve")
    return desk.proof()


def into_another_branch(desk: Offered) -> ReviewProof:
    """That branch may have the commits already: then the page shows nothing."""
    desk.forge.edits(CHANGE.number, base_branch="hide")
    return desk.proof()


def into_another_branch_as_claimed(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, base_branch="hide")
    return desk.proof(base="hide")


def hidden_when_it_was_given(desk: Offered) -> ReviewProof:
    """It went into another branch, was approved, and was set back before anybody looked."""
    desk.forge.retargeted = "2030-01-02T03:04:06Z"
    return desk.proof()


def in_the_same_second(desk: Offered) -> ReviewProof:
    desk.forge.retargeted = desk.proof().at
    return desk.proof()


def hidden_when_it_was_commented(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, approval_command(desk.head))
    desk.forge.retargeted = "2030-01-02T03:04:06Z"
    return desk.commented()


def hidden_at_an_unknown_time(desk: Offered) -> ReviewProof:
    desk.forge.retargeted = "yesterday"
    return desk.proof()


def no_ancestor(desk: Offered) -> ReviewProof:
    desk.forge.listed[CHANGE.number] = ["e" * 40, desk.head]
    return desk.proof()


def for_another_step(desk: Offered) -> ReviewProof:
    return desk.proof(step_commit=desk.head)


def on_another_change(desk: Offered) -> ReviewProof:
    desk.forge.opens(8, WORK, [desk.step, desk.head])
    desk.forge.reviews_it(8, desk.head)
    return desk.proof(item=Item(ItemKind.CHANGE, 8), id=desk.forge.given[8][-1].id)


def of_another_project(desk: Offered) -> ReviewProof:
    return desk.proof(project=replace(PROJECT, path="eve/app"))


def of_another_host(desk: Offered) -> ReviewProof:
    return desk.proof(project=replace(PROJECT, base_url="https://evil.example"))


def of_another_kind(desk: Offered) -> ReviewProof:
    return desk.proof(project=Project(ForgeKind.GITLAB, PROJECT.base_url, PROJECT.path))


def nowhere(desk: Offered) -> ReviewProof:
    return desk.proof(id="424242")


def a_review_as_a_comment(desk: Offered) -> ReviewProof:
    return desk.proof(how=ReviewHow.COMMENT)


def an_edited_comment(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, approval_command(desk.head), updated_at="2030-01-02T03:04:06Z")
    return desk.commented()


def a_comment_edited_at_once(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, approval_command(desk.head), rewritten=True)
    return desk.commented()


def too_few_digits(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, approval_command(desk.head[:11]))
    return desk.commented()


def other_digits(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, approval_command("0" * 12))
    return desk.commented()


def a_quotation(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, f"> {approval_command(desk.head)}\n\nReally?")
    return desk.commented()


def not_in_the_first_line(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, f"Whoever wants it could say\n{approval_command(desk.head)}")
    return desk.commented()


def an_old_comment(desk: Offered) -> ReviewProof:
    old = "2020-01-01T00:00:00Z"
    desk.forge.comments_on(CHANGE, approval_command(desk.head), created_at=old, updated_at=old)
    return desk.commented()


def a_comment_without_a_time(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, approval_command(desk.head), created_at="", updated_at="")
    return desk.commented()


def a_comment_on_the_issue(desk: Offered) -> ReviewProof:
    said = desk.forge.comments_on(TERMS.item, approval_command(desk.head))
    return desk.proof(how=ReviewHow.COMMENT, id=said.id, item=TERMS.item)


def a_comment_by_the_author(desk: Offered) -> ReviewProof:
    desk.forge.edits(CHANGE.number, author=ALICE)
    desk.forge.comments_on(CHANGE, approval_command(desk.head))
    return desk.commented()


def a_comment_by_a_bot(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, approval_command(desk.head), ROBOT)
    return desk.commented()


def a_comment_that_also_rejects(desk: Offered) -> ReviewProof:
    desk.forge.comments_on(CHANGE, f"{approval_command(desk.head)}\n/ringi reject it")
    return desk.commented()


def a_review_that_also_rejects(desk: Offered) -> ReviewProof:
    desk.forge.given[CHANGE.number].clear()
    desk.forge.reviews_it(CHANGE.number, desk.head, body="Fine.\n/ringi reject it")
    return desk.proof()


ATTACKS: list[tuple[Callable[[Offered], ReviewProof], str]] = [
    (by_bot, "not a person"),
    (by_a_deleted_account, "not a person"),
    (by_own_account, "account that runs use"),
    (by_own_account_renamed, "account that runs use"),
    (by_author, "opened the change"),
    (by_reader, "may not write"),
    (by_somebody_who_left, "may not write"),
    (by_somebody_else_than_claimed, "by alice, not by bob"),
    (dismissed, "dismissed"),
    (only_a_remark, "does not approve"),
    (asks_for_changes, "does not approve"),
    (changed_their_mind, "alice asks for changes"),
    (another_objects, "bob asks for changes"),
    (on_an_older_commit, "not of what is offered"),
    (on_no_known_commit, "not of what is offered"),
    (claims_an_older_head, "another commit"),
    (pushed_since, "pushed to"),
    (closed, "closed"),
    (from_a_fork, "another branch"),
    (from_another_branch, "another branch"),
    (into_another_branch, "goes into hide, not into main"),
    (into_another_branch_as_claimed, "goes into hide, not into main"),
    (hidden_when_it_was_given, "older than the last change of the branch"),
    (in_the_same_second, "older than the last change of the branch"),
    (hidden_when_it_was_commented, "older than the last change of the branch"),
    (hidden_at_an_unknown_time, "older than the last change of the branch"),
    (no_ancestor, "does not have commit"),
    (for_another_step, "another commit"),
    (on_another_change, "another page"),
    (of_another_project, "eve/app"),
    (of_another_host, "evil.example"),
    (of_another_kind, "acme/app"),
    (nowhere, "no such review"),
    (a_review_as_a_comment, "no such review"),
    (an_edited_comment, "edited"),
    (a_comment_edited_at_once, "edited"),
    (too_few_digits, "12 or more"),
    (other_digits, "something else"),
    (a_quotation, "12 or more"),
    (not_in_the_first_line, "12 or more"),
    (an_old_comment, "older than"),
    (a_comment_without_a_time, "does not say when"),
    (a_comment_on_the_issue, "another page"),
    (a_comment_by_the_author, "opened the change"),
    (a_comment_by_a_bot, "not a person"),
    (a_comment_that_also_rejects, "/ringi reject, too"),
    (a_review_that_also_rejects, "/ringi reject, too"),
]


def test_what_does_not_count(desk: Offered):
    for attack, why in ATTACKS:
        fresh = desk.again()
        with pytest.raises(ReviewRefused) as refused:
            fresh.approve(attack(fresh))
        assert why in str(refused.value), attack.__name__
        assert desk.ws.plan.get_state(desk.plan_id).status is PlanStatus.PENDING_REVIEW
    assert not ledger_of(desk.ws).approvals.of(desk.plan_id)


def test_nobody_is_asked_about_a_review_elsewhere(desk: Offered):
    for attack in (of_another_host, of_another_project, of_another_kind, on_another_change):
        fresh = desk.again()
        with pytest.raises(ReviewRefused):
            fresh.approve(attack(fresh))
        assert fresh.forge.asked == []


def test_the_same_person_may_object_and_approve_later(desk: Offered):
    desk.forge.given[CHANGE.number].clear()
    desk.forge.reviews_it(CHANGE.number, desk.head, verdict=ReviewVerdict.CHANGES_REQUESTED)
    desk.forge.reviews_it(CHANGE.number, desk.head)
    assert desk.approve(desk.proof()).approver == "alice@forge.example"


@pytest.mark.parametrize("author", [ROBOT, Account("passer-by", 77)])
def test_only_people_who_may_write_can_object(desk: Offered, author: Account):
    proof = desk.proof()
    desk.forge.reviews_it(CHANGE.number, desk.head, author, verdict=ReviewVerdict.CHANGES_REQUESTED)
    assert desk.approve(proof)


def test_a_new_version_takes_a_new_review(desk: Offered):
    proof = desk.proof()
    asked = desk.ws.plan.ask(desk.plan_id)
    desk.ws.plan.reject(desk.plan_id, "No.")
    desk.ws.plan.set_action_specs(
        desk.plan_id, [one.base for one in desk.ws.plan.get_state(desk.plan_id).action_specs]
    )
    again = desk.ws.plan.ask(desk.plan_id)
    for digest in (asked.digest, again.digest):
        with pytest.raises(ReviewRefused):
            desk.ws.plan.approve(desk.plan_id, "x", ALL_SPECS, ReviewAnswer(digest, proof))


def test_a_no_here_is_later_than_a_yes_there(desk: Offered):
    desk.forge.reviews_it(CHANGE.number, desk.head, at="2020-01-01T00:00:00Z")
    desk.asks_again()
    with pytest.raises(ReviewRefused, match="said no here"):
        desk.approve(desk.proof())
    desk.forge.reviews_it(CHANGE.number, desk.head)
    assert desk.approve(desk.proof())


def test_an_approval_after_the_base_was_set_back_counts(desk: Offered):
    desk.forge.retargeted = "2030-01-02T03:04:04Z"
    assert desk.approve(desk.proof())


def test_a_forge_that_fails_approves_nothing(desk: Offered):
    for call in ("change", "me", "access", "commits", "reviews", "base_changed_at"):
        desk.forge.failing = {call: ForgeBusy(host="forge.example", why="503")}
        with pytest.raises(ForgeBusy):
            desk.approve(desk.proof())
    assert not ledger_of(desk.ws).approvals.of(desk.plan_id)


# How much it is worth.


def test_credentials_of_the_reviewer_make_it_weak(desk: Offered):
    for held, strength in (((BOB,), "medium"), ((BOB, ALICE), "weak"), ((None,), "weak")):
        rewire(desk.ws, reviews=ForgeReviews(lambda _: desk.forge.host, lambda _, held=held: held))
        assert desk.approve(desk.proof()).proof.strength == strength
        desk.asks_again()


def test_an_agent_that_could_have_said_it_does_not_approve(desk: Offered):
    asked = desk.ws.plan.ask(desk.plan_id)
    answer = ReviewAnswer(asked.digest, desk.proof())
    rewire(desk.ws, person=AgentAtWork(), reviews=ForgeReviews(lambda _: desk.forge.host, lambda _: (ALICE,)))
    with pytest.raises(NoChannel):
        desk.ws.plan.approve(desk.plan_id, "x", ALL_SPECS, answer)
    rewire(desk.ws, reviews=ForgeReviews(lambda _: desk.forge.host))
    assert desk.ws.plan.approve(desk.plan_id, "x", ALL_SPECS, answer)


def test_reviews_that_are_switched_off_count_no_more(desk: Offered):
    reviews = desk.ws.reviews
    rewire(desk.ws, reviews=None)
    with pytest.raises(ReviewRefused, match="do not count here"):
        desk.approve(desk.proof())
    rewire(desk.ws, reviews=reviews)
    desk.approve(desk.proof())
    rewire(desk.ws, reviews=None)
    with pytest.raises(NotProven, match="any more"):
        desk.ws.plan.execute(desk.plan_id)
    rewire(desk.ws, reviews=reviews)
    assert covering(desk.ws, ledger_of(desk.ws).record(desk.plan_id))


def test_where_only_signatures_count_no_review_does(desk: Offered):
    desk.approve(desk.proof())
    keys = MadeUpKeys("hers")
    keys.only = True
    rewire(desk.ws, signatures=keys)
    with pytest.raises(SignatureNeeded):
        desk.ws.plan.execute(desk.plan_id)
    with pytest.raises(SignatureNeeded):
        desk.approve(desk.proof())


def test_a_high_risk_takes_the_words(repo: Path, forge: MemoryForge):
    after = {"README.md": b"# Sample\n\nMore.\n", "app/hello.py": None}
    with opened(repo) as workspace:
        begun(workspace)
        before = {"README.md": b"# Sample\n", "app/hello.py": (repo / "app/hello.py").read_bytes()}
        plan_id = proposed_step(workspace, before, after)
        step = offered_step(workspace, plan_id, after)
        ledger = ledger_of(workspace)
        version = workspace.plan.get(plan_id).plan.version
        with ledger.transaction() as transaction:
            offer = Offer(
                head=step, steps=(OfferedStep("S01", plan_id, version, step),), number=CHANGE.number
            )
            run = replace(ledger.runs.get(RUN), forge=TERMS, offer=offer)
            transaction.runs.save(run, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM))
        there = workspace.of_plan(plan_id)
        rewire(there, reviews=ForgeReviews(lambda _: forge.host))
        desk = Offered(there, forge, plan_id, step, step)
        forge.opens(CHANGE.number, WORK, [step])
        forge.reviews_it(CHANGE.number, step)
        with pytest.raises(ReviewRefused, match=approval_command(step)):
            desk.approve(desk.proof())
        words = f"{approval_command(step)}\nI looked at it."
        forge.rewritten.add(forge.reviews_it(CHANGE.number, step, body=words).id)
        with pytest.raises(ReviewRefused, match="its words were edited"):
            desk.approve(desk.proof())
        forge.reviews_it(CHANGE.number, step, body=words)
        assert desk.approve(desk.proof())
        desk.asks_again()
        forge.comments_on(CHANGE, approval_command(step))
        assert desk.approve(desk.commented())


# What is no offer.


def test_what_was_not_offered_is_not_approved_there(desk: Offered):
    ledger = ledger_of(desk.ws)
    run = ledger.runs.get(RUN)
    assert run.offer
    others = [
        replace(run, offer=None),
        replace(run, forge=None),
        replace(run, offer=replace(run.offer, number=0)),
        replace(run, offer=replace(run.offer, steps=run.offer.steps[1:])),
        replace(run, offer=replace(run.offer, head="f" * 40)),
    ]
    for other in others:
        with ledger.transaction() as transaction:
            transaction.runs.save(other, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM))
        with pytest.raises(ReviewRefused):
            desk.approve(desk.proof())


def test_an_undo_is_not_approved_on_a_forge(repo: Path, forge: MemoryForge):
    with opened(repo) as workspace:
        desk = offered(workspace, forge, in_place=True)
        desk.approve(desk.proof())
        desk.ws.plan.execute(desk.plan_id)
        asked, _ = desk.ws.plan.ask_undo(desk.plan_id)
        with pytest.raises(ReviewRefused, match="not offered"):
            desk.ws.plan.undo(desk.plan_id, "x", ReviewAnswer(asked.digest, desk.proof()))


FORGED = [
    {"review": {"step_commit": "f" * 40}},
    {"review": {"commit": ""}},
    {"review": {"item": Item(ItemKind.ISSUE, 7)}},
    {"review": {"project": replace(PROJECT, path="eve/app")}},
    {"review": {"login": "bob"}},
    {"strength": Strength.STRONG},
    {"principal": "bob@forge.example"},
    {"kind": ProofKind.TYPED},
]


def test_a_forged_record_is_seen(desk: Offered):
    approval = desk.approve(desk.proof())
    store, about = ledger_of(desk.ws), subjects.plan(desk.plan_id)
    events = {one.event.evidence: one.event for one in store.events(desk.plan_id)}
    facts = SubjectFacts(store, desk.ws.signatures, about, events)
    assert list(doubts(facts, approval)) == []
    assert approval.proof.review
    for changes in FORGED:
        inner = changes.get("review", {})
        rest = {name: value for name, value in changes.items() if name != "review"}
        record = replace(approval.proof, review=replace(approval.proof.review, **inner), **rest)
        forged = replace(approval, proof=record)
        seen = facts._replace(events={forged.evidence: events[approval.evidence]})
        assert list(doubts(seen, forged)), changes
    nowhere_ = replace(approval, proof=replace(approval.proof, review=UNSET))
    assert list(doubts(facts._replace(events={nowhere_.evidence: events[approval.evidence]}), nowhere_))


@each(
    ("body", "digits"),
    [
        ("/ringi approve 0123456789ab", "0123456789ab"),
        ("\n  /ringi   approve\t0123456789AB  \nwords", "0123456789ab"),
        ("/ringi approve 0123456789a", ""),
        ("/ringi approve 0123456789ab and more", ""),
        ("/ringi approve " + "0" * 65, ""),
        ("please /ringi approve 0123456789ab", ""),
        ("> /ringi approve 0123456789ab", ""),
        ("`/ringi approve 0123456789ab`", ""),
        ("/ringi approve 0123456789ag", ""),
        ("    /ringi approve 0123456789ab", ""),
        ("\t/ringi approve 0123456789ab", ""),
        ("\n \t/ringi approve 0123456789ab", ""),
        ("/ringi approve 0123456789ab\n/ringi reject …", ""),
        ("/ringi approve 0123456789ab\r\n\r\nNo: /RINGI  reject it", ""),
        ("/ringi approve 0123456789ab\n```a```\n/ringi reject it", ""),
        ("/ringi approve 0123456789ab\n````\n```\n````\n/ringi reject it", ""),
        ("/ringi approve 0123456789ab\n    /ringi reject it", ""),
        ("/ringi approve 0123456789ab\n- so\n\n    /ringi reject it", ""),
        ("/ringi approve 0123456789ab\n> /ringi reject it", "0123456789ab"),
        ("/ringi approve 0123456789ab\n```\n/ringi reject it\n```", "0123456789ab"),
        ("/ringi approve 0123456789ab\n\n    /ringi reject it", "0123456789ab"),
        ("/ringi approve 0123456789ab\nno need to `/ringi reject` it", "0123456789ab"),
        ("", ""),
    ],
)
def test_the_words(body: str, digits: str):
    assert parse_approval(body) == digits
