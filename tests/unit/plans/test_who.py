"""Who asked and who acted: what the program saw, whatever anybody calls themselves."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.approvals.document import ApprovalSubject
from ringi.approvals.grant_document import GrantScope
from ringi.approvals.person import PersonChannel
from ringi.approvals.who import FROM_COPY, requester_of
from ringi.errors import ChangeRejected, GrantRefused, NoChannel, NotYours, TakenFromCopy
from ringi.kernel import codec
from ringi.ledger.event import Actor
from ringi.plans import from_patch as patches
from ringi.plans.change import ChangeDraft
from ringi.plans.change_plan import ChangeApproval, PlanBasis, Trigger
from ringi.plans.document import DropSpec, NewContent, PlanStatus, change_plan_of
from ringi.plans.propose import keep_specs, set_specs
from ringi.plans.verify import Examination
from ringi.plans.versions import Versions
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from tests.fakes.people import AgentAtWork
from tests.fakes.signing import MadeUpKeys
from tests.helpers import (
    Person,
    approved,
    assert_whole,
    create,
    delete,
    open_scratch,
    proposed,
    rewire,
    write,
)

HANAKO, CLAUDE = "user:hanako", "with:claude"
DIFF = b"--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Sample\n+# Changed\n"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as workspace:
        rewire(workspace, signatures=MadeUpKeys("hers"))
        yield workspace


def granted(ws: Workspace, requester: str) -> str:
    kinds = (SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH)
    scope = GrantScope(requester, ("**",), kinds, Risk.MEDIUM, 9, 900, 99, 9000)
    subject = ws.grants.draft(scope, ws.clock.after(1000))
    keys = ws.signatures
    assert isinstance(keys, MadeUpKeys)
    return ws.grants.add(subject, "hanako", keys.sign("hers", ws.grants.statement(subject, "hanako"))).id


def here(ws: Workspace, person: PersonChannel) -> None:
    rewire(ws, person=person)
    ws.versions = Versions(ws)


def of_claude(ws: Workspace, *paths: str) -> str:
    here(ws, AgentAtWork(CLAUDE))
    plan_id = proposed(ws, *(create(path, "x\n") for path in paths or ["a.txt"]))
    here(ws, Person())
    return plan_id


def status(ws: Workspace, plan_id: str) -> PlanStatus:
    return ws.plan.get_state(plan_id).status


def actors(ws: Workspace, plan_id: str) -> list[tuple[str, str]]:
    return [(str(one.event.event), str(one.event.actor)) for one in ws.store.events(plan_id)]


# --- who asked ------------------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_whoever_sets_the_specs_asks_for_them(ws: Workspace):
    """Over the agent's own version the person sets another one: the agent's standing approval is no use."""
    granted(ws, CLAUDE)
    plan_id = of_claude(ws)
    assert requester_of(ws.plan.get(plan_id)) == CLAUDE
    assert ws.plan.set_action_specs(plan_id, [create("b.txt", "mine\n")], actor=Actor.USER).ok
    document = ws.plan.get(plan_id)
    assert (document.plan.requester, requester_of(document)) == (CLAUDE, HANAKO)
    asked = ws.plan.ask(plan_id)
    assert asked.requester == HANAKO
    assert status(ws, plan_id) is PlanStatus.PENDING_REVIEW
    here(ws, AgentAtWork(CLAUDE))
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) is PlanStatus.PENDING_REVIEW
    assert ws.plan.set_action_specs(plan_id, [create("c.txt", "its own\n")]).ok
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) is PlanStatus.APPROVED
    assert_whole(ws)


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("how", ["amend", "revert", "keep", "merge", "fork"])
def test_every_way_to_a_version_says_who_took_it(ws: Workspace, how: str):
    granted(ws, CLAUDE)
    plan_id = of_claude(ws, "a.txt", "b.txt")
    if how == "amend":
        assert ws.plan.amend(plan_id, [DropSpec("s2")]).ok
    elif how == "revert":
        assert ws.versions.revert(plan_id, 1, actor=Actor.USER).ok
    elif how == "keep":
        keep_specs(ws, plan_id, ["s1"], seen=ws.plan.get(plan_id), actor=Actor.USER, reason="")
    elif how == "merge":
        specs = [create("a.txt", "y\n")]
        assert set_specs(ws, plan_id, specs, basis={}, actor=Actor.USER).report.ok
    else:
        plan_id = ws.versions.fork(plan_id, actor=Actor.USER)
    assert requester_of(ws.plan.get(plan_id)) == HANAKO
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) is PlanStatus.PENDING_REVIEW


@pytest.mark.req("PT-8")
def test_a_plan_of_a_copy_follows_its_files_and_nothing_else_that_the_agent_says(ws: Workspace):
    """The person is told what the files are, and would not be told of any other change."""
    mine = {"tags": (FROM_COPY,), "requester": CLAUDE}
    plan_id = ws.plan.propose("A change", **mine)
    first = [create("a.txt", "x\n"), create("b.txt", "x\n")]
    assert set_specs(ws, plan_id, first, basis={}, actor=Actor.AI, requester=CLAUDE).report.ok
    before = ws.plan.get(plan_id)
    here(ws, AgentAtWork(CLAUDE))
    for act in (
        lambda: ws.plan.set_action_specs(plan_id, [create("c.txt", "x\n")]),
        lambda: ws.plan.amend(plan_id, [DropSpec("s2")]),
        lambda: ws.versions.revert(plan_id, 1),
        lambda: ws.plan.discard(plan_id, own=True),
    ):
        with pytest.raises(TakenFromCopy, match="files in a work copy"):
            act()
    assert ws.plan.get(plan_id) == before
    # Whoever reads the copy sets the next version, and a plan of its own is the agent's.
    assert set_specs(ws, plan_id, first[:1], basis={}, actor=Actor.AI, requester=CLAUDE).report.ok
    assert ws.plan.set_action_specs(ws.plan.propose("Its own"), first).ok
    here(ws, Person())
    assert ws.plan.amend(plan_id, [NewContent("s1", "mine\n")]).ok


@pytest.mark.req("PT-8")
def test_an_agent_spends_nothing_of_the_persons(ws: Workspace):
    """Its plan, her edit, her standing approval: asked by the agent, nobody answers."""
    granted(ws, HANAKO)
    plan_id = of_claude(ws, "a.txt", "b.txt")
    assert ws.plan.amend(plan_id, [DropSpec("s2")]).ok
    here(ws, AgentAtWork(CLAUDE))
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) is PlanStatus.PENDING_REVIEW
    here(ws, Person())
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) is PlanStatus.APPROVED
    [approval] = ws.store.approvals.of(plan_id)
    assert codec.decode_own(approval.subject.encode(), ApprovalSubject, "").requester == HANAKO
    assert ws.plan.execute(plan_id).overall_success
    assert not Examination(ws).plan(plan_id).problems


@pytest.mark.req("PT-8")
def test_under_one_user_an_agent_spends_nothing_on_what_the_person_set(ws: Workspace):
    granted(ws, HANAKO)
    mine = ws.plan.propose_specs("Hers", [create("a.txt", "x\n")], actor=Actor.USER)
    here(ws, AgentAtWork(HANAKO))
    its = proposed(ws, create("b.txt", "x\n"))
    for plan_id in (mine, its):
        ws.plan.ask(plan_id)
    assert [status(ws, plan_id) for plan_id in (mine, its)] == [
        PlanStatus.PENDING_REVIEW,
        PlanStatus.APPROVED,
    ]


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("other", [HANAKO, "with:codex", "with:", "with:Claude"])
def test_another_agent_neither_changes_nor_asks_nor_spends(ws: Workspace, other: str):
    granted(ws, CLAUDE)
    granted(ws, HANAKO)
    plan_id = of_claude(ws)
    before = ws.plan.get(plan_id)
    here(ws, AgentAtWork(other))
    tool = ws.plan
    for act in (
        lambda: tool.set_action_specs(plan_id, [create("theirs.txt", "x\n")]),
        lambda: tool.ask(plan_id),
        lambda: tool.mark_pending(plan_id, pending=False),
        lambda: tool.amend(plan_id, [DropSpec("s1")]),
        lambda: ws.versions.revert(plan_id, 1),
        lambda: tool.discard(plan_id, own=True),
    ):
        with pytest.raises(NotYours, match=re.escape(f"is not a plan of {other};")):
            act()
    assert tool.get(plan_id) == before


@pytest.mark.req("PT-8")
def test_what_a_person_rejected_is_not_covered_any_more(ws: Workspace):
    plan_id = of_claude(ws)
    ws.plan.reject(plan_id, "no")
    granted(ws, CLAUDE)
    here(ws, AgentAtWork(CLAUDE))
    ws.plan.mark_pending(plan_id, pending=True)
    ws.plan.ask(plan_id)
    assert ws.plan.set_action_specs(plan_id, [create("a.txt", "again\n")]).ok
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) is PlanStatus.PENDING_REVIEW


# --- who acted ------------------------------------------------------------------------------------


@pytest.mark.req("PT-11")
def test_the_log_says_who_acted(ws: Workspace):
    here(ws, AgentAtWork(CLAUDE))
    plan_id = proposed(ws, create("a.txt", "x\n"), create("b.txt", "x\n"))
    ws.plan.mark_pending(plan_id, pending=False)
    ws.plan.mark_pending(plan_id, pending=True)
    ws.plan.ask(plan_id)
    here(ws, Person())
    ws.plan.mark_pending(plan_id, pending=False)
    ws.plan.mark_pending(plan_id, pending=True)
    ws.plan.ask(plan_id)
    ws.plan.reject(plan_id, "no")
    by_agent = ["plan_proposed", "specs_set", "sent_back", "marked_pending", "approval_requested"]
    by_person = ["sent_back", "marked_pending", "approval_requested", "declined"]
    assert actors(ws, plan_id) == [*((one, "ai") for one in by_agent), *((one, "user") for one in by_person)]


@pytest.mark.req("PT-11", "PT-8")
def test_an_agent_does_not_decide(ws: Workspace):
    open_, given = of_claude(ws), approved(ws, create("given.txt", "x\n"))
    here(ws, AgentAtWork(CLAUDE))
    with pytest.raises(NoChannel, match="an agent is at work"):
        ws.plan.reject(open_, "I would not")
    here(ws, AgentAtWork(HANAKO))
    for pending in (True, False):
        with pytest.raises(NoChannel, match="an agent is at work"):
            ws.plan.mark_pending(given, pending=pending)
    assert status(ws, given) is PlanStatus.APPROVED
    assert ws.plan.execute(given).overall_success


@pytest.mark.req("PT-11")
def test_an_agent_never_discards_what_a_person_proposed(ws: Workspace):
    """Under the same user, with the person's name as its own."""
    plan_id = ws.plan.propose_specs("Hers", [create("a.txt", "x\n")], proposer="hanako", actor=Actor.USER)
    here(ws, AgentAtWork(HANAKO))
    with pytest.raises(NotYours):
        ws.plan.discard(plan_id, own=True)


@pytest.mark.req("PT-15")
def test_a_persons_own_plan_is_not_said_to_be_edited_by_them(ws: Workspace):
    mine = ws.plan.propose_specs("Hers", [create("a.txt", "x\n")], actor=Actor.USER)
    theirs = of_claude(ws)
    for plan_id, amended in ((mine, 0), (theirs, 1)):
        assert ws.plan.set_action_specs(plan_id, [create("a.txt", "y\n")], actor=Actor.USER).ok
        assert (ws.plan.get_state(plan_id).amended_from or 0) == amended


@pytest.mark.req("PT-11")
def test_who_revoked_a_standing_approval_is_in_the_log(ws: Workspace):
    grant = granted(ws, CLAUDE)
    here(ws, AgentAtWork(CLAUDE))
    ws.grants.revoke(grant, "not needed")
    assert actors(ws, grant) == [("granted", "user"), ("grant_revoked", "ai")]


# --- change plans ---------------------------------------------------------------------------------


def change_plan(ws: Workspace) -> str:
    diffs, basis = patches.file_diffs(DIFF), PlanBasis(Trigger.USER_REQUEST, ())
    return patches.propose_change(ws, ChangeDraft("Change it", diffs, basis))


@pytest.mark.req("CP-8")
def test_no_standing_approval_covers_a_change_plan(ws: Workspace):
    granted(ws, HANAKO)
    plan_id = change_plan(ws)
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) is PlanStatus.PENDING_REVIEW
    [why] = ws.grants.refusals(plan_id)
    assert isinstance(why, GrantRefused)
    assert "a change plan is never covered" in str(why)
    ordinary = proposed(ws, write("README.md", "# Changed\n"))
    ws.plan.ask(ordinary)
    assert status(ws, ordinary) is PlanStatus.APPROVED


@pytest.mark.req("CP-8")
def test_a_rejected_change_plan_stays_rejected(ws: Workspace):
    plan_id = change_plan(ws)
    ws.plan.reject(plan_id, "no")
    for person in (Person(), AgentAtWork()):
        here(ws, person)
        for act in (
            lambda: ws.plan.mark_pending(plan_id, pending=True),
            lambda: ws.plan.ask(plan_id),
            lambda: ws.plan.execute(plan_id),
            lambda: ws.plan.wish_commit(plan_id, "Change it"),
        ):
            with pytest.raises(ChangeRejected, match="was rejected, and stays rejected"):
                act()
    here(ws, Person())
    found = change_plan_of(ws.plan.get(plan_id))
    assert found
    assert (found.approval.status, found.approval.decided_by) == (ChangeApproval.REJECTED, "user")
    ws.plan.discard(plan_id)
    assert change_plan_of(ws.plan.get(plan_id)).approval == found.approval
    again = patches.propose_again(ws, plan_id)
    assert change_plan_of(ws.plan.get(again)).approval.status is ChangeApproval.PENDING


def test_an_ordinary_plan_may_be_taken_up_again(ws: Workspace):
    plan_id = proposed(ws, delete("README.md"))
    ws.plan.reject(plan_id, "no")
    assert ws.plan.mark_pending(plan_id, pending=True).status is PlanStatus.PENDING_REVIEW
