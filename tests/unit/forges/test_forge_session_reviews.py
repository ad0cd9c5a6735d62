"""The plan of a run is approved on a forge by a comment that names it: with its session, or alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.approvals.document import ProofKind, ProofRecord, ReviewAnswer, Strength
from ringi.approvals.forge import ForgeTerms, Item, ItemKind, ReviewHow, ReviewProof
from ringi.approvals.view import format_proof as shown_proof
from ringi.errors import NotProven, ReviewRefused, SignatureNeeded
from ringi.forges.document import ReviewVerdict, approval_command
from ringi.forges.review_lookup import ForgeReviews
from ringi.kernel import codec
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.audit import SubjectFacts, doubts
from ringi.plans.verify import Examination
from ringi.runs.revision import ReviewedRevision
from ringi.runs.start import ReviewedRun, covering, start_from_file
from ringi.sessions.document import ApprovedSession, DecisionPending, QuestionPending
from ringi.sessions.tool import PlanningTool
from tests.fakes.forges import ALICE, BOB, PROJECT, RINGI, ROBOT, MemoryForge
from tests.fakes.signing import MadeUpKeys
from tests.helpers import ledger_of, open_scratch, rewire
from tests.tables import each
from tests.unit.runs.test_revision import proposed
from tests.unit.runs.test_run_start import PLAN

pytestmark = pytest.mark.req("PP-10", "PP-19", "IP-9")
ISSUE = Item(ItemKind.ISSUE, 3)
TERMS = ForgeTerms(
    project=PROJECT, remote="origin", remote_url="https://forge.example/acme/app.git", item=ISSUE
)


@pytest.fixture
def forge() -> MemoryForge:
    return MemoryForge()


@pytest.fixture
def ws(tmp_path: Path, forge: MemoryForge) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as workspace:
        reviewing(workspace, ForgeReviews(lambda _: forge.host))
        yield workspace


def reviewing(workspace: Workspace, reviews: ForgeReviews | None, **more: object) -> None:
    rewire(workspace, reviews=reviews, **more)
    workspace = workspace.planning._workspace.replace(reviews=reviews, **more)
    workspace.planning = PlanningTool(workspace)


def at_review(ws: Workspace, terms: ForgeTerms | None = TERMS) -> str:
    tool = ws.planning
    session_id = tool.start("Add a login").session_id
    while True:
        match tool.go_on(session_id).pending:
            case QuestionPending():
                tool.skip(session_id)
            case DecisionPending():
                tool.decide(session_id, "1")
            case _:
                break
    stored = tool.get(session_id)
    with ws.store.transaction() as transaction:
        event = NewEvent(EventKind.SESSION_RESUMED, Actor.SYSTEM)
        transaction.sessions.save(stored, stored.session, replace(stored.facts, forge=terms), event)
    return session_id


def proof_of(forge: MemoryForge, item: Item = ISSUE, **changes: object) -> ReviewProof:
    said = forge.said[item][-1]
    made = ReviewProof(
        project=PROJECT, item=item, how=ReviewHow.COMMENT, id=said.id, login=said.author.login, commit="",
        at=said.created_at, url=said.url,
    )  # fmt: skip
    return replace(made, **changes)


def test_a_comment_that_names_the_plan_approves_it(ws: Workspace, forge: MemoryForge):
    session_id = at_review(ws)
    digest = ws.planning.request(session_id).digest
    forge.comments_on(ISSUE, approval_command(digest[:16]))
    proof = proof_of(forge)
    pending = ws.planning.approve(session_id, "whoever", ReviewAnswer(digest, proof)).pending
    assert isinstance(pending, ApprovedSession)
    assert ws.store.runs.get(pending.run_id).forge == TERMS
    given = covering(ws, pending.run_id)
    assert given
    assert (given.approver, given.proof.kind, given.proof.strength, given.proof.review) == (
        "alice@forge.example", ProofKind.REVIEW, Strength.MEDIUM, proof,
    )  # fmt: skip
    with ws.one_moment():
        verdict = Examination(ws).session(session_id)
    assert verdict.document.proven, verdict.problems
    reviewing(ws, None)
    with pytest.raises(NotProven):
        covering(ws, pending.run_id)


def test_what_does_not_count(ws: Workspace, forge: MemoryForge):
    session_id = at_review(ws)
    digest = ws.planning.request(session_id).digest

    def refused(why: str, proof: ReviewProof) -> None:
        with pytest.raises(ReviewRefused, match=why):
            ws.planning.approve(session_id, "x", ReviewAnswer(digest, proof))

    good = approval_command(digest)
    forge.comments_on(ISSUE, good, ROBOT)
    refused("not a person", proof_of(forge))
    forge.comments_on(ISSUE, good, RINGI)
    refused("account that runs use", proof_of(forge))
    forge.comments_on(ISSUE, good, created_at="2020-01-01T00:00:00Z", updated_at="2020-01-01T00:00:00Z")
    refused("older than", proof_of(forge))
    forge.comments_on(ISSUE, good, updated_at="2031-01-01T00:00:00Z")
    refused("edited", proof_of(forge))
    forge.comments_on(ISSUE, approval_command("0" * 64))
    refused("something else", proof_of(forge))
    other = Item(ItemKind.ISSUE, 4)
    forge.comments_on(other, good)
    refused("another page", proof_of(forge, other))
    forge.comments_on(ISSUE, good)
    refused("another commit", proof_of(forge, commit="f" * 40))
    refused("another commit", proof_of(forge, step_commit="f" * 40))
    refused("evil", proof_of(forge, project=replace(PROJECT, base_url="https://evil.example")))
    forge.opens(3, "main", ["f" * 40], BOB)
    forge.reviews_it(3, "f" * 40, ALICE, verdict=ReviewVerdict.APPROVED)
    refused("not by a review", proof_of(forge, how=ReviewHow.REVIEW, id="1000"))
    with pytest.raises(ReviewRefused, match="something else"):
        ws.planning.approve(session_id, "x", ReviewAnswer("0" * 64, proof_of(forge)))
    ws.planning.reject(session_id, "Otherwise, please.")
    assert ledger_of(ws).approvals.of(session_id) == ()


def test_a_plan_that_came_back_takes_new_words(ws: Workspace, forge: MemoryForge):
    session_id = at_review(ws)
    digest = ws.planning.request(session_id).digest
    forge.comments_on(ISSUE, approval_command(digest))
    ws.planning.reject(session_id, "Otherwise, please.")
    while isinstance(ws.planning.go_on(session_id).pending, DecisionPending):
        ws.planning.decide(session_id, "1")
    now = ws.planning.request(session_id).digest
    assert now != digest
    for claimed in (digest, now):
        with pytest.raises(ReviewRefused, match="something else"):
            ws.planning.approve(session_id, "x", ReviewAnswer(claimed, proof_of(forge)))


@pytest.mark.parametrize("terms", [None, replace(TERMS, item=Item(ItemKind.ISSUE, 5))], ids=["none", "other"])
def test_a_session_that_nobody_asked_for_there(ws: Workspace, forge: MemoryForge, terms: ForgeTerms | None):
    session_id = at_review(ws, terms)
    digest = ws.planning.request(session_id).digest
    forge.comments_on(ISSUE, approval_command(digest))
    with pytest.raises(ReviewRefused):
        ws.planning.approve(session_id, "x", ReviewAnswer(digest, proof_of(forge)))
    assert forge.asked == []


def test_only_signatures(ws: Workspace, forge: MemoryForge):
    session_id = at_review(ws)
    digest = ws.planning.request(session_id).digest
    forge.comments_on(ISSUE, approval_command(digest))
    keys = MadeUpKeys("hers")
    keys.only = True
    reviewing(ws, ForgeReviews(lambda _: forge.host), signatures=keys)
    with pytest.raises(SignatureNeeded):
        ws.planning.approve(session_id, "x", ReviewAnswer(digest, proof_of(forge)))


def test_a_run_that_is_approved_alone(ws: Workspace, forge: MemoryForge):
    run = start_from_file(ws, PLAN, "planning.json")
    with ws.store.transaction() as transaction:
        event = NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM)
        transaction.runs.save(replace(run, forge=TERMS), event)
    waiting = ReviewedRun(ws, run.run_id)
    forge.comments_on(ISSUE, approval_command(waiting.digest[:12]))
    with pytest.raises(ReviewRefused):
        waiting.approve(ReviewAnswer(codec.digest(b""), proof_of(forge)))
    waiting.approve(ReviewAnswer(waiting.digest, proof_of(forge)))
    given = covering(ws, run.run_id)
    assert given
    assert (given.approver, given.proof.kind) == ("alice@forge.example", ProofKind.REVIEW)


@pytest.mark.req("PP-20")
def test_a_revision_is_approved_by_its_own_digits(ws: Workspace, forge: MemoryForge):
    run_id = proposed(ws)
    run = ws.store.runs.get(run_id)
    with ws.store.transaction() as transaction:
        transaction.runs.save(replace(run, forge=TERMS), NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM))
    waiting = ReviewedRevision(ws, run_id, 3_600)
    first = ws.store.approvals.of(run_id)[0]
    forge.comments_on(ISSUE, approval_command(first.digest))
    with pytest.raises(ReviewRefused, match="something else"):
        waiting.approve(ReviewAnswer(waiting.digest, proof_of(forge)))
    forge.comments_on(ISSUE, approval_command(waiting.digest[:12]))
    waiting.approve(ReviewAnswer(waiting.digest, proof_of(forge)))
    given = ws.store.approvals.of(run_id)[-1]
    assert (given.approver, given.proof.kind) == ("alice@forge.example", ProofKind.REVIEW)
    events = {one.event.evidence: one.event for one in ws.store.events(run_id)}
    facts = SubjectFacts(ledger_of(ws), ws.signatures, subjects.run(run_id), events)
    assert list(doubts(facts, given)) == []


@each(("strength", "words"), [(Strength.MEDIUM, "(medium)"), (Strength.WEAK, "(weak: ")])
def test_it_is_shown_for_what_it_is(strength: Strength, words: str):
    forge = MemoryForge()
    forge.comments_on(ISSUE, approval_command("0" * 12))
    review = proof_of(forge)
    record = ProofRecord(
        ProofKind.REVIEW,
        strength,
        "hanako",
        "forge.example",
        "comment",
        principal=review.account,
        review=review,
    )
    shown = str(shown_proof(record))
    assert shown.startswith(f"by alice@forge.example in {review.url}")
    assert words in shown
