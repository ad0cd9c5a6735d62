"""`ringi watch` and reviews: a change is asked for, made, and approved on a forge."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from ringi.approvals.document import ProofKind, Strength
from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import RunPhase
from ringi.forges.watch_project import Standing
from ringi.runs.document import Run
from tests.functional.run_desk import FIX, a_plan, a_step, by_step
from tests.functional.watch_desk import WatchDesk, alike, each_forge, gitlab, state, watch_desk
from tests.support.forge_server import ChangeThing

pytestmark = [pytest.mark.req("PP-20"), pytest.mark.req("PP-25")]
MORE = "if grep -q 'Say more' \"$1\"; then echo 'It adds numbers.' >> README.md; fi; echo End >> README.md"
ONE = a_plan(a_step(1))
TWO = a_plan(a_step(1), a_step(2, scope={"target_paths": ["README.md"]}))


@pytest.fixture
def desk(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchDesk]:
    with watch_desk(kind, monkeypatch, implementer=by_step(FIX, MORE)) as made:
        yield made


def offered(desk: WatchDesk, plan: Mapping[str, Any] = ONE) -> ChangeThing:
    desk.begin(plan)
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    run = desk.run()
    assert state(run) == ["proposed"] * len(run.steps)
    assert run.offer
    desk.said()
    return desk.repo.changes[run.offer.number]


def head(run: Run) -> str:
    assert run.offer
    assert run.offer.pushed == run.offer.head
    return run.offer.head


@each_forge
def test_a_change_is_asked_for_made_and_approved(desk: WatchDesk):
    change, host = offered(desk, TWO), desk.terms.project.host
    first = desk.run()
    desk.repo.review(change.number, "alice", "request_changes", "Nearly.",
                     lines=[("README.md", 2, "Say more here")])  # fmt: skip
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    said, second = desk.said(), desk.run()
    assert f"heard: alice@{host} on README.md:2: Say more here" in said
    assert f"sent_back: S02 sent back by alice@{host}" in said
    # Only the step that the remark is about is made again.
    assert [len(step.attempts) for step in second.steps] == [1, 2]
    told = next((desk.root / ".agent/runs").rglob("S02-implementer-2.md")).read_text()
    assert "README.md:2: alice: Say more here" in told
    assert "the line: End" in told
    assert "Nearly." in told
    assert head(second) == change.head_commit != head(first)
    assert "It adds numbers." in desk.repo.git("show", f"{change.head_commit}:README.md")
    # The thread has the answer, once.
    answers = [one.body for one in change.remarks if one.author.login == "ringi"]
    assert len(answers) == 1
    assert answers[0].startswith(f"Made again with this: {head(second)}\n")
    desk.round()
    assert desk.said() == []
    assert len(change.remarks) == 2

    desk.repo.review(change.number, "bob", "approve")
    assert desk.round().standing == {desk.run_id: Standing.OVER}
    assert f"approved: S01, S02 approved by bob@{host}" in desk.said()
    run = desk.run()
    assert run.phase is RunPhase.COMPLETED
    assert [step.commit for step in run.steps][-1] == head(second)
    assert desk.repo.tip(run.work_branch) == head(second)
    with desk.open() as workspace:
        proofs = [one.proof for step in run.steps for one in workspace.store.approvals.of(step.plan_id)]
    assert [(one.kind, one.strength) for one in proofs] == [(ProofKind.REVIEW, Strength.MEDIUM)] * 2
    assert desk.round().standing == {}
    assert desk.repo.statuses[head(second)][0]["state"] == "success"


@alike
def test_an_approval_of_an_older_commit_does_nothing_and_it_is_said_once(desk: WatchDesk):
    change = offered(desk, TWO)
    first = head(desk.run())
    desk.repo.review(change.number, "bob", "approve")
    desk.repo.review(change.number, "alice", "request_changes", "Say more")
    desk.round()  # who asks for changes comes first
    desk.said()
    assert head(desk.run()) != first
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    [said] = desk.said()
    assert said.startswith("refused: bob@")
    assert first[:7] in said
    assert head(desk.run())[:7] in said
    assert sum(first[:7] in body for body in desk.comments(change)) == 1
    # Not by the next watcher, either.
    desk.round()
    assert desk.said() == []
    assert sum(first[:7] in body for body in desk.comments(change)) == 1
    assert state(desk.run()) == ["proposed", "proposed"]


@each_forge
def test_an_approval_of_a_change_into_another_branch_does_nothing_and_it_is_said_once(desk: WatchDesk):
    """That branch has the commits already, so the reviewer sees no lines."""
    change = offered(desk)
    desk.repo.git("branch", "hide", change.head_commit)
    desk.repo.commit("hide", {"README.md": "# Other\n"})
    desk.repo.retarget(change.number, "hide", "bob")
    desk.round()
    [told] = desk.said()
    assert told.startswith("stands: ")
    assert told.endswith("goes into hide there: set it back to main, then approve it again")
    desk.repo.review(change.number, "bob", "approve")
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    [refused] = desk.said()
    assert refused.startswith("refused: bob@")
    assert "goes into hide, not into main" in refused
    assert state(desk.run()) == ["proposed"]
    # What bob said then stays without effect.
    desk.repo.retarget(change.number, "main", "bob")
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    assert desk.said() == []
    # Nor is it otherwise if nobody looked meanwhile; alice sees the lines only then.
    desk.repo.retarget(change.number, "hide", "bob")
    hidden = desk.repo.review(change.number, "alice", "approve")
    desk.repo.retarget(change.number, "main", "bob")
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    [refused] = desk.said()
    assert refused.startswith("refused: alice@")
    assert "older than the last change of the branch" in refused
    desk.repo.dismiss(change.number, hidden)
    desk.repo.review(change.number, "alice", "approve")
    assert desk.round().standing == {desk.run_id: Standing.OVER}
    run = desk.run()
    with desk.open() as workspace:
        proofs = [
            one.proof.review for step in run.steps for one in workspace.store.approvals.of(step.plan_id)
        ]
    assert [(one.login, one.base) for one in proofs if one] == [("alice", "main")]


@each_forge
def test_neither_bots_nor_the_own_account_nor_strangers_approve(desk: WatchDesk):
    change = offered(desk)
    commit = head(desk.run())
    for login in ("robot[bot]", "ringi", "reader", "stranger"):
        desk.repo.comment(change, login, f"/ringi approve {commit}")
    desk.repo.review(change.number, "robot[bot]", "approve")
    desk.repo.review(change.number, "stranger", "approve")
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    said = desk.said()
    assert {line.partition("@")[0] for line in said} == {
        "ignored: ringi",
        "ignored: reader",
        "ignored: stranger",
    }
    # Once for each, with its own reason.
    assert len(said) == 4
    assert all(("works with" in line) is ("ringi@" in line) for line in said)
    assert all(("may not write" in line) is ("ringi@" not in line) for line in said)
    desk.round()
    assert desk.said() == []
    assert state(desk.run()) == ["proposed"]


@gitlab
def test_a_request_by_somebody_without_write_access_sends_nothing_back(desk: WatchDesk):
    change = offered(desk)
    desk.repo.review(change.number, "stranger", "request_changes", "Say more")
    desk.repo.comment(change, "reader", "/ringi reject Say more")
    desk.round()
    assert [len(step.attempts) for step in desk.run().steps] == [1]


@alike
def test_a_comment_that_approves_and_rejects_approves_nothing_and_it_is_said_once(desk: WatchDesk):
    change = offered(desk)
    desk.repo.comment(change, "bob", f"/ringi approve {head(desk.run())}\n/ringi reject Say more")
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    [said] = desk.said()
    assert said.startswith("ignored: not understood: /ringi approve ")
    assert state(desk.run()) == ["proposed"]
    [progress] = desk.comments()
    assert progress.count("not understood: ") == 1
    assert progress.rstrip().endswith(" progress -->")
    desk.round()
    assert desk.said() == []
    assert desk.comments() == [progress]
