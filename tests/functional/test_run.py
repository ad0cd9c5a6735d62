"""From an approved planning.json to commits on a branch, step by step."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ringi.approvals.document import TypedAnswer
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import BranchRefused, CheckFailed, MainBranch, RunOver, StepNotCommitted
from ringi.plans.document import NewContent, PlanStatus
from ringi.runs.document import Review, StopCode
from ringi.runs.drive import cancel_run
from ringi.runs.grant import GrantOptions, draft_for_run
from tests.functional.beside_desk import walled
from tests.functional.run_desk import CALC, FIX, RunDesk, a_plan, a_step, at_home, by_step, git, project
from tests.helpers import approve

DOCS = "echo 'It adds.' >> README.md"
BOTH = by_step(FIX, DOCS)
TWO = a_plan(a_step(1), a_step(2, scope={"target_paths": ["README.md"]}))


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project")


def state(root: Path) -> tuple[str, ...]:
    return (
        git(root, "rev-parse", "HEAD"),
        git(root, "symbolic-ref", "HEAD"),
        git(root, "status", "--porcelain"),
        git(root, "stash", "list"),
    )


@pytest.mark.req("RN-4", "RN-5", "RN-9")
@walled
def test_a_step_becomes_a_commit_on_a_branch_and_nothing_else_changes(root: Path):
    desk, before = RunDesk(root, implementer=FIX), state(root)
    desk.start(a_plan(a_step(1, title="Add instead of subtracting")))
    run = desk.go()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code) == (RunPhase.NEEDS_INPUT, StopCode.APPROVAL_NEEDED)
    assert run.steps[0].status is StepStatus.PROPOSED
    assert [(one.command, one.exit_code) for one in run.steps[0].evidence] == [("python3 test_calc.py", 0)]
    assert git(root, "branch", "--list", "aiflow/*") == ""
    run = desk.decide("S01")
    assert (run.phase, run.stop) == (RunPhase.COMPLETED, None)
    assert desk.commits() == ["Add instead of subtracting"]
    assert desk.file("calc.py") == CALC.replace("-", "+").strip()
    assert (root / "calc.py").read_text() == CALC
    assert state(root) == before


@pytest.mark.req("RN-3", "RN-7", "RN-16")
@walled
def test_the_steps_of_a_session_become_commits_with_one_approval(root: Path):
    desk = RunDesk(root, implementer=BOTH)
    design = {
        "summary": "It adds.",
        "acceptance_criteria": [{"given": "2 and 3", "when": "added", "then": "it is 5"}],
        "target_paths": [{"path": "calc.py"}, {"path": "README.md"}],
        "test_commands": ["python3 test_calc.py"],
        "steps": [
            {"title": "Add instead of subtracting", "target_paths": ["calc.py"], "criteria": [1]},
            {"title": "Say that it adds", "target_paths": ["README.md"], "test_commands": ["git status"]},
        ],
    }
    with desk.open() as workspace:
        planning = workspace.planning
        session = planning.start("Make it add", agent_brings=True).session_id
        planning.bring(session, {"questions": [], "decisions": [], "design": design})
        answer = TypedAnswer(planning.request(session).digest, "y")
        desk.run_id = planning.approve(session, "hanako", answer).pending.run_id
    run = desk.go()
    assert [step.status for step in run.steps] == [StepStatus.PROPOSED, StepStatus.PROPOSED]
    assert [[one.command for one in step.evidence] for step in run.steps] == [
        ["python3 test_calc.py"], ["git status", "python3 test_calc.py"]
    ]  # fmt: skip
    assert desk.decide("S01", "S02").phase is RunPhase.COMPLETED
    assert desk.commits(run.work_branch) == [one["title"] for one in design["steps"]]
    with desk.open() as workspace:
        plan = workspace.store.runs.plan(run.run_id)
    assert plan is not None
    for step in plan.steps:
        assert (root / ".agent" / step.inputs.request_path).read_text() == f"{run.instruction}\n"


@pytest.mark.req("RN-5", "PT-16")
def test_a_step_that_cannot_be_carried_out_does_not_wait_for_another_approval(root: Path):
    ready = root.parent / "ready"
    desk = RunDesk(root, implementer=FIX)
    config = Path(os.environ["HOME"]) / ".config/ringi/config.yaml"
    config.write_text(f"{config.read_text()}checks:\n  before: [test -e {ready}]\n")
    desk.start(a_plan(a_step(1)))
    desk.go()
    with desk.open() as workspace:
        approve(workspace.of_plan(desk.plan_of("S01")), desk.plan_of("S01"))
    run = desk.go()
    assert run.stop is not None
    assert (run.stop.reason_code, run.stop.next_action) == (
        StopCode.COMMIT_FAILED, f"ringi continue {run.run_id}"
    )  # fmt: skip
    assert f"test -e {ready}" in run.stop.detail
    ready.touch()
    assert desk.go().phase is RunPhase.COMPLETED, "the approval still counts"


@pytest.mark.req("RN-10")
@walled
def test_tests_that_keep_failing_stop_it_with_what_to_do_next(root: Path):
    desk = RunDesk(root, implementer="echo '# no' >> calc.py")
    desk.start(a_plan(a_step(1), limits={"max_autofix_cycles": 2}))
    run = desk.go()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code, run.stop.step_id) == (
        RunPhase.FAILED,
        StopCode.UNIT_TEST_FAILED,
        "S01",
    )
    assert run.stop.next_action == f"ringi continue {run.run_id} --retry"
    assert "AssertionError" in run.stop.detail
    assert len(run.steps[0].attempts) == 3
    # With another role it goes on in the same run.
    again = RunDesk(root, implementer=FIX)
    again.run_id = desk.run_id
    run = again.go(retry=True)
    assert run.steps[0].status is StepStatus.PROPOSED
    assert again.file_in_copy(run, "calc.py") == CALC.replace("-", "+")


@pytest.mark.req("RN-6")
@pytest.mark.parametrize(
    ("script", "code", "phase"),
    [
        ("seq 200 >> calc.py", StopCode.STEP_TOO_LARGE, RunPhase.FAILED),
        (FIX + "; echo x > other.py", StopCode.OUT_OF_SCOPE, RunPhase.NEEDS_INPUT),
        (FIX + "; ln -sf /etc/passwd calc_link.py", StopCode.UNFIT_CHANGES, RunPhase.NEEDS_INPUT),
        ("true", StopCode.NO_CHANGES, RunPhase.NEEDS_INPUT),
        ("exit 3", StopCode.ROLE_FAILED, RunPhase.FAILED),
    ],
)
def test_what_a_role_does_wrong(root: Path, script: str, code: StopCode, phase: RunPhase):
    desk = RunDesk(root, implementer=script)
    desk.start(a_plan(a_step(1)))
    run = desk.go()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code) == (phase, code), run.stop
    assert git(root, "branch", "--list", "aiflow/*") == ""


@pytest.mark.req("RN-8")
@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        ("echo x >> calc.py", StopCode.DIRTY_WORKTREE),
        ("git checkout -q --detach", StopCode.DETACHED_HEAD),
        ("git checkout -q --orphan new && git rm -rfq .", StopCode.UNBORN_BRANCH),
        ("rm -rf .git", StopCode.NO_GIT),
        ("git branch aiflow/RQ-20260101-001/20260101-000000", StopCode.WORK_BRANCH_EXISTS),
        ("git branch -m other", StopCode.BASE_BRANCH_MISSING),
    ],
)
def test_a_repository_that_is_not_ready(root: Path, spoil: str, code: StopCode):
    desk = RunDesk(root, implementer=FIX)
    desk.start(a_plan(a_step(1)))
    subprocess.run(["sh", "-c", spoil], cwd=root, check=True)
    run = desk.go()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code) == (RunPhase.NEEDS_INPUT, code), run.stop
    assert run.stop.next_action


@pytest.mark.req("RN-8", "RN-13")
def test_a_request_that_is_not_committed_does_not_stop_it(root: Path):
    desk = RunDesk(root, implementer=FIX)
    desk.start(a_plan(a_step(1)))
    (root / "requests").mkdir()
    (root / "requests" / "RQ-20260101-001.md").write_text("# Add\n")
    assert desk.go().steps[0].status is StepStatus.PROPOSED
    (root / "requests" / "api.py").write_text("x = 1\n")
    git(root, "add", "requests/api.py")
    assert desk.decide("S01").phase is RunPhase.COMPLETED


@pytest.mark.req("RN-5")
@walled
def test_a_project_that_commits_its_list_of_signers(root: Path):
    """And its settings: they are in no copy's tree, and stay on the branch as they are."""
    names = (".agent/allowed_signers", ".agent/config.yaml", "part/.agent/notes.txt")
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("# ours\n")
    git(root, "add", "-f", *names)
    git(root, "commit", "-q", "-m", "Ours")
    desk = RunDesk(root, implementer=BOTH)
    desk.start(TWO)
    desk.go()
    assert desk.decide("S01", "S02").phase is RunPhase.COMPLETED
    assert desk.commits() == ["Step 1", "Step 2"]
    assert [desk.file(name) for name in names] == ["# ours"] * 3


@pytest.mark.req("RN-3", "IP-9")
def test_nothing_runs_that_nobody_approved(root: Path):
    desk = RunDesk(root, implementer=FIX)
    desk.start(a_plan(a_step(1)), approved=False)
    run = desk.go()
    assert run.stop is not None
    assert run.stop.reason_code is StopCode.APPROVAL_NEEDED
    assert run.steps[0].attempts == ()


@pytest.mark.req("RN-9")
def test_a_reviewer_sends_it_back_and_the_person_sees_what_is_left(root: Path):
    judge = (
        'if grep -q checked calc.py; then echo \'{"passed": true, "findings": [{"path": "calc.py",'
        ' "line": 1, "severity": "note", "message": "short"}]}\'; else echo \'{"passed": false,'
        ' "findings": [{"path": "calc.py", "line": 2, "severity": "error", "message": "say checked"}]}\'; fi'
    )
    role = FIX + "; if grep -q 'say checked' $1; then echo '# checked' >> calc.py; fi"
    desk = RunDesk(root, implementer=role, reviewer=judge)
    desk.start(a_plan(a_step(1)))
    run = desk.go()
    step = run.steps[0]
    assert step.status is StepStatus.PROPOSED, run.stop
    assert [(one.severity, one.message) for one in step.findings] == [("note", "short")]
    assert [str(one.role) for one in step.attempts] == ["implementer", "reviewer", "implementer", "reviewer"]
    assert "# checked" in desk.file_in_copy(run, "calc.py")


@pytest.mark.req("RN-4")
@walled
def test_what_a_person_drops_of_a_step_is_not_in_the_later_ones(root: Path):
    first = FIX + "; echo '# extra' >> calc.py"
    second = "echo 'def sub(a, b):' >> calc.py; echo '    return a - b' >> calc.py"
    desk = RunDesk(root, implementer=by_step(first, second))
    desk.start(a_plan(a_step(1), a_step(2)))
    desk.go()
    plan_id = desk.plan_of("S01")
    with desk.open() as workspace:
        there = workspace.of_plan(plan_id)
        text = CALC.replace("-", "+")
        [spec] = there.plan.get_state(plan_id).action_specs
        there.plan.amend(plan_id, [NewContent(spec.id, text)])
    run = desk.decide("S01")
    assert run.steps[0].evidence[0].tree == run.steps[0].tree
    assert run.steps[1].status is StepStatus.PROPOSED, run.stop
    assert run.steps[1].evidence[0].tree == run.steps[1].tree
    assert desk.decide("S02").phase is RunPhase.COMPLETED
    assert "# extra" not in desk.file("calc.py")
    assert "def sub" in desk.file("calc.py")


@pytest.mark.req("RN-6")
def test_a_fallback_takes_over(root: Path):
    desk = RunDesk(root, implementer="exit 1")
    (desk.scripts / "other").write_text(f"#!/bin/sh\n{FIX}\n")
    (desk.scripts / "other").chmod(0o755)
    fallback = {"how": "command", "command": f"{desk.scripts}/other {{brief}}"}
    desk.start(a_plan(a_step(1, fallback=fallback)))
    run = desk.go()
    assert run.steps[0].status is StepStatus.PROPOSED, run.stop
    assert [attempt.exit_code for attempt in run.steps[0].attempts] == [1, 0]


@pytest.mark.req("RN-6")
@walled
def test_a_step_says_where_it_stops(root: Path):
    desk = RunDesk(root, implementer="echo '# no' >> calc.py")
    desk.start(a_plan(a_step(1, stop_conditions=["UNIT_TEST_FAILED"])))
    run = desk.go()
    assert run.stop is not None
    assert run.stop.reason_code is StopCode.STOP_CONDITION
    assert len(run.steps[0].attempts) == 1


def test_a_cancelled_run_leaves_what_was_committed(root: Path):
    desk = RunDesk(root, implementer=BOTH)
    desk.start(TWO)
    desk.go(review=Review.EACH)
    desk.decide("S01")
    with desk.open() as workspace:
        run = cancel_run(workspace, desk.run_id)
        assert workspace.plan.get_state(run.steps[1].plan_id).status is PlanStatus.DISCARDED
    assert run.phase is RunPhase.CANCELLED
    assert desk.commits() == ["Step 1"]
    assert not desk.copies()
    with pytest.raises(RunOver):
        desk.go()


NO_WALLS = "with:\n  sandbox: 'off'\nroles:\n  implementer:\n    command: {script}\n"


def stopped(desk: RunDesk, **options: object) -> StopCode:
    run = desk.go(**options)
    assert run.stop is not None, run.phase
    assert run.stop.message
    assert run.stop.next_action
    return run.stop.reason_code


@pytest.mark.req("PT-16", "RN-9")
def test_without_a_sandbox_tests_run_once_somebody_has_approved(root: Path):
    desk = RunDesk(root, implementer=FIX)
    desk.configure(NO_WALLS.format(script=desk.scripts / "implementer"))
    desk.start(a_plan(a_step(1)))
    run = desk.go()
    assert (run.review, run.steps[0].evidence) == (Review.EACH, ())
    run = desk.decide("S01")
    assert run.phase is RunPhase.COMPLETED
    assert [(one.exit_code, one.sandboxed) for one in run.steps[0].evidence] == [(0, False)]


@pytest.mark.req("PT-16", "RN-10")
def test_without_a_sandbox_a_failing_test_takes_the_step_back(root: Path):
    desk = RunDesk(root, implementer="echo '# no' >> calc.py")
    desk.configure(NO_WALLS.format(script=desk.scripts / "implementer"))
    desk.start(a_plan(a_step(1), limits={"max_autofix_cycles": 0}))
    desk.go()
    with pytest.raises(CheckFailed):
        desk.decide("S01")
    assert stopped(desk) is StopCode.UNIT_TEST_FAILED
    assert git(root, "branch", "--list", "aiflow/*") == ""


@pytest.mark.req("PT-16", "RN-10")
@walled
def test_configured_checks_run_before_anybody_is_asked_and_again_for_real(root: Path):
    check = "sh -c '! grep FIXME calc.py'"
    first, then = f"{FIX}; echo '# FIXME' >> calc.py", "sed -i /FIXME/d calc.py"
    desk = RunDesk(root, implementer=f'if grep -q "grep FIXME" "$1"; then {then}; else {first}; fi')
    config = Path(os.environ["HOME"]) / ".config/ringi/config.yaml"
    config.write_text(f'{config.read_text()}checks:\n  after: ["{check}"]\n')
    desk.start(a_plan(a_step(1)))
    run = desk.go()
    assert run.steps[0].status is StepStatus.PROPOSED
    assert len(run.steps[0].attempts) == 2, "it was told, and mended it"
    assert [(one.kind, one.command, one.exit_code) for one in run.steps[0].evidence] == [
        ("unit", "python3 test_calc.py", 0), ("check", check, 0)
    ]  # fmt: skip
    run = desk.decide("S01")
    assert run.phase is RunPhase.COMPLETED
    assert [(one.command, one.exit_code, one.sandboxed) for one in run.steps[0].evidence] == [
        ("python3 test_calc.py", 0, True), (check, 0, True), (check, 0, False)
    ], "in the copy before anybody was asked, then on the branch"  # fmt: skip


def test_a_hook_that_rewrites(root: Path):
    path = root / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\necho '# more' >> calc.py; git add calc.py\n")
    path.chmod(0o755)
    desk = RunDesk(root, implementer=FIX)
    desk.start(a_plan(a_step(1)))
    desk.go()
    with pytest.raises(StepNotCommitted):
        desk.decide("S01")
    assert stopped(desk) is StopCode.COMMIT_REWRITTEN
    path.unlink()
    desk.go(retry=True)
    assert desk.decide("S01").phase is RunPhase.COMPLETED
    assert desk.commits() == ["Step 1"]


@pytest.mark.req("RN-6", "RN-8")
@pytest.mark.parametrize(
    ("script", "step", "limits", "code"),
    [
        (FIX, {"commands": {"unit": ["sleep 600"]}}, {"timeout_sec": 2}, StopCode.TEST_TIMEOUT),
        (FIX, {"commands": {"unit": ["gh pr list"]}}, {}, StopCode.GH_FORBIDDEN),
        (FIX, {"commands": {"unit": []}}, {}, StopCode.NO_UNIT_COMMAND),
        (FIX, {"commands": {"unit": ["true"], "e2e": ["false"]}}, {}, StopCode.E2E_FAILED),
        (FIX, {"role": "reviewer"}, {}, StopCode.NO_ROLE),
        (FIX, {"scope": {"forbidden_paths": ["calc.py"]}}, {}, StopCode.INPUT_CONTRADICTION),
    ],
)
@walled
def test_why_a_run_stops(
    root: Path, script: str, step: dict[str, Any], limits: dict[str, Any], code: StopCode
):
    desk = RunDesk(root, implementer=script)
    desk.start(a_plan(a_step(1, **step), limits=limits))
    assert stopped(desk) is code


@walled
def test_a_lost_copy_takes_the_steps_with_it_that_are_not_committed(root: Path):
    desk = RunDesk(root, implementer=by_step(FIX, "exit 3"))
    desk.start(TWO)
    desk.go()
    shutil.rmtree(desk.copy_of(desk.run()).parent)
    again = RunDesk(root, implementer=BOTH)
    again.run_id = desk.run_id
    run = again.go(retry=True)
    assert [step.status for step in run.steps] == [StepStatus.PROPOSED] * 2
    assert len(run.steps[0].attempts) == 2


@walled
def test_a_later_step_that_was_sent_back_too_is_made_anew_with_the_words_about_it(root: Path):
    desk = RunDesk(root, implementer=BOTH)
    desk.start(TWO)
    plans = [step.plan_id for step in desk.go().steps]
    with desk.open() as workspace:
        there = workspace.of_plan(plans[1])
        there.plan.comment(plans[1], "README.md", 1, "A longer title")
        for plan_id, words in zip(plans, ("first words", "second words"), strict=True):
            workspace.of_plan(plan_id).plan.reject(plan_id, words)
    run = desk.go()
    assert [step.status for step in run.steps] == [StepStatus.PROPOSED] * 2
    told = [
        next((root / ".agent/runs").rglob(f"{name}-implementer-2.md")).read_text() for name in ("S01", "S02")
    ]
    assert "> first words" in told[0]
    assert "second words" not in told[0]
    assert "> second words" in told[1]
    assert "README.md:1: A longer title" in told[1]
    assert "It is not in this folder: make it anew" in told[1]


def test_somebody_else_has_a_branch_of_that_name_meanwhile(root: Path):
    desk = RunDesk(root, implementer=FIX)
    desk.start(a_plan(a_step(1)))
    desk.go()
    git(root, "commit", "-q", "--allow-empty", "-m", "theirs")
    git(root, "branch", "aiflow/RQ-20260101-001/20260101-000000")
    with suppress(BranchRefused):
        desk.decide("S01")
    assert stopped(desk) in {StopCode.BRANCH_MOVED, StopCode.WORK_BRANCH_EXISTS}
    assert git(root, "log", "-1", "--format=%s", "aiflow/RQ-20260101-001/20260101-000000") == "theirs"


@pytest.mark.req("RN-8")
@pytest.mark.parametrize(
    ("branch", "spoil", "config"),
    [
        ("master", "true", ""),
        (
            "trunk",
            "r=refs/remotes/origin; git update-ref $r/trunk HEAD && git symbolic-ref $r/HEAD $r/trunk",
            "",
        ),
        ("release/2", "true", "runs:\n  main_branches: [release/*]\n"),
    ],
)
def test_no_run_commits_to_a_main_branch(root: Path, branch: str, spoil: str, config: str):
    desk = RunDesk(root, implementer=FIX)
    file = Path(os.environ["HOME"]) / ".config/ringi/config.yaml"
    file.write_text(file.read_text() + config)
    subprocess.run(["sh", "-c", spoil], cwd=root, check=True)
    desk.start(a_plan(a_step(1), work_branch=branch))
    run = desk.go()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code) == (RunPhase.NEEDS_INPUT, StopCode.MAIN_BRANCH)
    assert branch in run.stop.message
    assert git(root, "branch", "--format=%(refname:short)") == "main"
    assert desk.copies() == []
    with pytest.raises(MainBranch), desk.open() as workspace:
        draft_for_run(workspace, run.run_id, GrantOptions(), workspace.clock.after(60))


@pytest.mark.req("RN-9")
def test_a_step_that_only_looks_stops_at_what_it_finds(root: Path):
    finding = {"severity": "error", "path": "calc.py", "line": 2, "message": "it subtracts"}
    verdict = json.dumps({"passed": False, "findings": [finding]})
    desk = RunDesk(root, implementer=FIX, reviewer=f"echo '{verdict}'")
    desk.start(a_plan(a_step(1, role="reviewer")))
    run = desk.go()
    assert run.stop is not None
    assert (run.phase, run.stop.reason_code) == (RunPhase.NEEDS_INPUT, StopCode.REVIEW_FINDINGS)
    assert "it subtracts" in run.stop.message


def test_a_copy_that_its_role_deleted(root: Path):
    desk = RunDesk(root, implementer="rm -rf ./* .git .gitignore")
    desk.start(a_plan(a_step(1)))
    run = desk.go()
    assert run.stop is not None
    assert run.stop.reason_code in {StopCode.COPY_LOST, StopCode.OUT_OF_SCOPE}, run.stop
    again = RunDesk(root, implementer=FIX)
    again.run_id = desk.run_id
    assert again.go(retry=True).steps[0].status is StepStatus.PROPOSED


@pytest.mark.req("RN-8", "RN-10")
def test_a_regression_criterion_needs_an_end_to_end_test(root: Path):
    criteria = [{"id": f"AC-{n:02}", "given": "g", "when": "w", "then": "t", "type": "regression"}
                for n in (1, 2, 3)]  # fmt: skip
    desk = RunDesk(root, implementer=FIX)
    desk.start(
        a_plan(
            a_step(1),
            context={"acceptance_criteria": criteria},
            gates={"require_e2e_for_regression_ac": True},
        )
    )
    assert stopped(desk) is StopCode.E2E_REQUIRED
