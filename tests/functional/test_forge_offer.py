"""What a run puts on a forge: exact commits, one draft, one status, one comment; and nothing of it twice."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from ringi.approvals.document import TypedAnswer
from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.plans.document import NewContent, PlanStatus
from ringi.runs.document import Review, StopCode
from ringi.runs.start import ReviewedRun, add_run
from ringi.runs.undo import undo_run
from tests.functional.forge_desk import ALIKE, BRANCH, KINDS, TWO, ForgeDesk, forge_desk
from tests.functional.run_desk import FIX, a_plan, a_step, by_step, git
from tests.helpers import approve

ADDS = "echo 'It adds.' >> README.md"
pytestmark = pytest.mark.req("PP-25")


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeDesk]:
    with forge_desk(monkeypatch, request.param) as desk:
        yield desk


alike = pytest.mark.parametrize("desk", ALIKE, indirect=True)


def test_finished_steps_are_offered_for_review(desk: ForgeDesk):
    desk.begin(TWO)
    before = git(desk.root, "for-each-ref"), git(desk.root, "status", "--porcelain", "--branch")
    run = desk.go()
    assert run.stop is not None
    assert run.stop.reason_code is StopCode.APPROVAL_NEEDED
    assert run.offer is not None
    place = "/pull/2" if desk.forge.kind is ForgeKind.GITHUB else "/-/merge_requests/1"
    assert run.offer.url == f"{desk.repo.url}{place}"
    assert (run.stop.message, run.stop.next_action) == ("the result waits for a review", "ringi watch")
    assert run.offer.head == run.offer.pushed == desk.repo.tip(BRANCH) == run.offer.steps[-1].commit
    # The commits have exactly the files of the plans, and no approval.
    log = desk.repo.git("log", "--reverse", "--format=%H %an %s", f"main..{BRANCH}").splitlines()
    assert log == [
        f"{run.offer.steps[0].commit} Hanako Add instead of subtracting",
        f"{run.offer.steps[1].commit} Hanako Say that it adds",
    ]
    assert desk.repo.git("show", f"{BRANCH}:calc.py") == "def add(a, b):\n    return a + b"
    assert desk.repo.git("show", f"{BRANCH}:README.md") == "# Calc\nIt adds."
    message = desk.repo.git("log", "-1", "--format=%B", BRANCH)
    assert "Ringi-Plan:" in message
    assert f"Ringi-Run: {desk.run_id}" in message
    assert "Ringi-Approv" not in message
    # What is there.
    change = desk.change
    assert (change.base, change.open) == ("main", True)
    assert change.draft or change.title.startswith("Draft: ")
    assert change.title.removeprefix("Draft: ") == "Make it add."
    body = change.body.splitlines()
    assert body[0] == f"Refs #{desk.issue.number}"
    assert "## How to verify" in body
    assert "python3 test_calc.py" in body
    assert f"git switch --detach {run.offer.head}" in body
    assert "# Report: Make it add." in body
    assert "## Acceptance criteria: 3, not checked (ran: `python3 test_calc.py`, exit code 0)" in body
    assert f"- commit `{run.offer.steps[0].commit}`" in body
    assert desk.statuses(run.offer.head) == [("pending", "waits for an approving review")]
    (comment,) = desk.issue.comments
    assert "### Ready for review" in comment.body
    assert desk.issue.labels == ["coding agent help needed"]
    # Nothing of it is in the person's repository, and nothing is approved.
    assert (git(desk.root, "for-each-ref"), git(desk.root, "status", "--porcelain", "--branch")) == before
    with desk.open() as workspace:
        for step, offered in zip(run.steps, run.offer.steps, strict=True):
            state = workspace.plan.get_state(step.plan_id)
            assert state.status is PlanStatus.PENDING_REVIEW
            assert state.commit
            assert state.commit.offered == offered.commit


@alike
def test_a_second_time_nothing_is_made_twice(desk: ForgeDesk):
    desk.begin()
    first = desk.go()
    assert desk.offered().offer == first.offer
    again = desk.go()
    assert again.offer == first.offer
    assert len(desk.repo.changes) == len(desk.issue.comments) == 1
    assert first.offer is not None
    assert len(desk.statuses(first.offer.head)) == 1


@alike
def test_what_is_sent_back_is_offered_anew(desk: ForgeDesk):
    desk.begin(TWO)
    first = desk.go()
    assert first.offer is not None
    with desk.open() as workspace:
        workspace.plan.reject(desk.plan_of("S01"), "Say why.")
    told = "grep -q 'Say why' $1 && echo '# It adds.' >> calc.py"
    (desk.scripts / "implementer").write_text(f"#!/bin/sh\n{by_step(told, ADDS)}\n")
    run = desk.go()
    assert run.offer is not None
    assert run.offer.head != first.offer.head
    assert run.offer.steps[0].commit != first.offer.steps[0].commit
    assert desk.repo.tip(BRANCH) == run.offer.head == desk.change.head_commit
    assert desk.repo.git("rev-parse", f"{BRANCH}^") == run.offer.steps[0].commit
    assert run.offer.head in desk.change.body
    assert len(desk.repo.changes) == len(desk.issue.comments) == 1


@alike
def test_approved_here_it_is_settled_there(desk: ForgeDesk):
    desk.begin(TWO)
    waiting = desk.go().offer
    assert waiting is not None
    run = desk.decide("S01", "S02")
    assert run.phase is RunPhase.COMPLETED
    offered = run.offer
    assert offered is not None
    assert [step.commit for step in run.steps] == [step.commit for step in waiting.steps]
    assert (offered.head, offered.told, offered.left) == (run.steps[-1].commit, "completed", "")
    assert git(desk.root, "rev-parse", BRANCH) == offered.head == desk.repo.tip(BRANCH)
    assert desk.repo.git("rev-parse", "refs/notes/ringi") == git(desk.root, "rev-parse", "refs/notes/ringi")
    assert ("success", "2 of 2 files are approved") in desk.statuses(offered.head)
    assert f"ringi verify {run.base_commit}..{offered.head}" in desk.change.body.splitlines()
    assert desk.issue.labels == []
    (comment,) = desk.issue.comments
    assert "### Done" in comment.body
    assert desk.offered() == run


@alike
def test_edited_here_it_is_another_commit_and_later_steps_wait(desk: ForgeDesk):
    """They were made from other bytes."""
    desk.begin(TWO)
    first = desk.go().offer
    assert first is not None
    plan_id = desk.plan_of("S01")
    edited = "def add(a, b):\n    return b + a\n"
    with desk.open() as workspace:
        there = workspace.of_plan(plan_id)
        there.plan.amend(plan_id, [NewContent(there.plan.get_state(plan_id).action_specs[0].id, edited)])
    offer = desk.go().offer
    assert offer is not None
    assert [one.step_id for one in offer.steps] == ["S01"]
    assert offer.head == offer.steps[0].commit == desk.repo.tip(BRANCH) != first.steps[0].commit
    assert desk.repo.git("show", f"{BRANCH}:calc.py") == edited.strip()
    # Nobody has tested these bytes, nor what was built on the others.
    (comment,) = desk.issue.comments
    assert comment.body.count("changed since it was tested") == 2
    assert "tests: exit code 0" not in comment.body
    assert "- S01 changed since it was tested" in desk.change.body.splitlines()
    assert "`python3 test_calc.py`: exit code 0" not in desk.change.body
    with desk.open() as workspace:
        left = workspace.plan.get_state(desk.plan_of("S02")).commit
    assert left
    assert not left.offered
    offer = desk.decide("S01").offer
    assert offer is not None
    assert [one.step_id for one in offer.steps] == ["S02"]
    log = desk.repo.git("log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines()
    assert log == ["Add instead of subtracting", "Say that it adds"]


@alike
def test_edited_and_approved_here_the_next_is_an_ordinary_commit(desk: ForgeDesk):
    """Nobody goes on with the run in between, so the next one is still offered upon the first as it was."""
    desk.begin(TWO)
    desk.go()
    first, second = desk.plan_of("S01"), desk.plan_of("S02")
    with desk.open() as workspace:
        there = workspace.of_plan(first)
        spec = there.plan.get_state(first).action_specs[0]
        there.plan.amend(first, [NewContent(spec.id, "def add(a, b):\n    return b + a\n")])
        for plan_id in (first, second):
            approve(there, plan_id)
            there.plan.execute(plan_id)
    assert desk.commits() == ["Add instead of subtracting", "Say that it adds"]
    assert "Ringi-Approved-By" in git(desk.root, "log", "-1", "--format=%B", BRANCH)


@alike
def test_cancelled_it_is_closed(desk: ForgeDesk):
    desk.begin()
    offer = desk.go().offer
    assert offer is not None
    done = desk.cli.run("cancel", desk.run_id)
    assert done.returncode == 0, done.stderr
    assert not desk.change.open
    assert "was cancelled" in desk.change.comments[-1].body
    assert desk.issue.labels == []
    assert "### Cancelled" in desk.issue.comments[0].body
    assert desk.run().offer.told == "cancelled"
    assert desk.repo.tip(BRANCH) == offer.head
    assert [step.status for step in desk.run().steps] == [StepStatus.PROPOSED]


@alike
def test_undone_it_is_closed_with_the_branch_gone_here(desk: ForgeDesk):
    desk.begin()
    desk.go()
    assert desk.decide("S01").phase is RunPhase.COMPLETED
    with desk.open() as workspace:
        undo_run(workspace, desk.run_id)
    run = desk.offered()
    assert run.offer is not None
    assert (run.undone, run.offer.told, desk.change.open) == (True, "undone", False)
    assert "was undone" in next(one.body for one in reversed(desk.change.comments) if not one.system)
    assert desk.repo.tip(BRANCH) == run.offer.head
    assert git(desk.root, "branch", "--list", BRANCH) == ""


@alike
def test_a_run_that_is_planned_anew_closes_what_the_first_one_opened(desk: ForgeDesk):
    desk.begin()
    first, desk.run_id = desk.go(), ""
    with desk.open() as workspace:
        plan = workspace.store.runs.plan(first.run_id)
        assert plan is not None
        again = replace(plan, run_id="20260102-000000-b1b2c3", work_branch=f"{BRANCH}-again")
        run = add_run(workspace, again, "", first.instruction, replaces=first.run_id)
        found = ReviewedRun(workspace, run.run_id)
        found.approve(TypedAnswer(found.digest, "yes"))
    desk.run_id = run.run_id
    run = desk.go()
    assert run.offer is not None
    assert (run.offer.left, run.review) == ("", Review.FORGE)
    assert [change.open for change in desk.repo.changes.values()] == [False, True]
    assert first.offer is not None
    assert desk.repo.tip(BRANCH) == first.offer.head


@pytest.mark.parametrize(
    ("script", "path", "why"),
    [
        ("printf 'AWS_SECRET_ACCESS_KEY = \"wJalrXUtnFEMI7K7MDENGbPxRfiCYz1aB2c3D4e5\"\\n' >> calc.py",
         "calc.py", "calc.py may contain a secret"),
        ("mkdir -p .github/workflows; echo 'on: push' > .github/workflows/a.yml",
         ".github/workflows/a.yml", ".github/workflows/a.yml is part of the continuous integration"),
        ("echo 'calc.py filter=up' > .gitattributes", ".gitattributes",
         "calc.py goes through the filter up, a program that runs only after an approval"),
    ],
    ids=["secret", "ci", "filter"],
)  # fmt: skip
def test_what_a_push_could_reveal_or_run_is_seen_here_first(
    monkeypatch: pytest.MonkeyPatch, script: str, path: str, why: str
):
    roles = {"implementer": by_step(f"{FIX}; {script}", ADDS)}
    plan = a_plan(
        a_step(1, scope={"target_paths": ["calc.py", path]}), a_step(2, scope={"target_paths": ["README.md"]})
    )
    with forge_desk(monkeypatch, ForgeKind.GITHUB, **roles) as desk:
        git(desk.root, "config", "filter.up.clean", "cat")
        desk.begin(plan)
        run = desk.go()
        assert run.stop is not None
        assert run.stop.message == f"S01 goes to no forge before somebody has looked at it here: {why}"
        assert run.stop.next_action == "ringi review p1"
        assert (desk.repo.tip(BRANCH), desk.repo.changes) == ("", {})
        assert "### A person is needed" in desk.issue.comments[0].body
        run = desk.decide("S01")
        assert run.offer is not None
        assert [one.step_id for one in run.offer.steps] == ["S02"]
        assert desk.repo.tip(BRANCH) == run.offer.head
