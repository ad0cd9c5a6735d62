"""Steps of a run as plans: decided as any other, carried out on the run's branch and nowhere else."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.approvals.document import ApprovalSubject
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import RunPhase
from ringi.errors import (
    BranchMoved,
    CheckFailed,
    NoCommit,
    NothingToUndo,
    Stale,
    StepElsewhere,
    StepNotCommitted,
)
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.models.prompt import Severity
from ringi.plans import execute as executing
from ringi.plans.document import PlanStatus, undone_at
from ringi.plans.executor import Executor
from ringi.plans.overlaps import overlaps
from ringi.plans.propose import keep_specs
from ringi.plans.verify import Examination
from ringi.policy.spec_kind import SpecKind
from ringi.runs.document import Finding
from ringi.runs.step_plan import propose_step, step_end
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.commit_order import CommitOutcome
from tests.helpers import HELLO, ROOT, approve, assert_whole, fingerprint, kinds, ledger_of, proposed, write
from tests.unit.runs.steps import (
    MORE,
    README,
    RUN,
    WORK,
    approved_step,
    begun,
    difference,
    git,
    hook,
    opened,
    order,
    proposed_step,
)

pytestmark = pytest.mark.req("RN-8")
AMEND = "echo y > y; git add y; git commit -q --amend --no-edit"


@pytest.fixture
def ws(repo: Path) -> Iterator[Workspace]:
    with opened(repo) as workspace:
        begun(workspace)
        yield workspace


def own(repo: Path) -> dict[str, str]:
    """Without the run's branch, and the notes that prove its approvals."""
    refs = ("refs/heads/aiflow", "refs/notes", "logs/refs/heads/aiflow", "logs/refs/notes")
    added = (".git/objects", *(f".git/{name}" for name in refs))
    return {name: state for name, state in fingerprint(repo).items() if not name.startswith(added)}


def commit_of(workspace: Workspace, plan_id: str) -> str:
    end = step_end(workspace, plan_id)
    assert end is not None
    assert end.commit, end.failed
    return end.commit


def test_a_step_becomes_one_commit_on_the_branch_and_the_checkout_stays(ws: Workspace, repo: Path) -> None:
    (repo / "README.md").write_text("# Mine\n")
    before = own(repo)
    plan_id = proposed_step(ws, README, {**MORE, "docs/a.txt": b"a\n"})
    assert step_end(ws, plan_id) is None
    there = approved_step(ws, plan_id)
    result = there.plan.execute(plan_id)
    assert isinstance(result.commit, CommitOutcome)
    commit = commit_of(ws, plan_id)
    assert commit == result.commit.commit == git(repo, "rev-parse", WORK).strip()
    assert git(repo, "show", "--format=", "--name-only", WORK).split() == ["README.md", "docs/a.txt"]
    assert git(repo, "show", f"{WORK}:README.md") == "# Sample\n\nMore.\n"
    assert own(repo) == before
    assert ws.plan.get_state(plan_id).status is PlanStatus.COMPLETED
    assert_whole(ws)


def test_the_commit_says_where_it_comes_from(ws: Workspace, repo: Path) -> None:
    plan_id = proposed_step(
        ws,
        README,
        MORE,
        title="Say\x1b[1m more",
        intent="Because.\nRingi-Plan: forged\nRun: it",
        assisted_by=("a", "a", "b\nRingi-Run: x"),
    )
    approved_step(ws, plan_id).plan.execute(plan_id)
    (approval,) = ledger_of(ws).approvals.of(plan_id)
    assert git(repo, "log", "-1", "--format=%B", WORK).strip().split("\n") == [
        "Say [1m more",
        "",
        "Because.",
        "> Ringi-Plan: forged",
        "Run: it",
        "",
        "Assisted-by: a",
        "Assisted-by: b Ringi-Run: x",
        f"Ringi-Plan: {plan_id}",
        f"Ringi-Approval: {approval.digest}",
        "Ringi-Approved-By: hanako",
        "Ringi-Request: RQ-1",
        f"Ringi-Run: {RUN}",
        "Ringi-Step: S01",
    ]
    trailers = git(repo, "log", "-1", "--format=%(trailers:only)", WORK).strip().split("\n")
    assert len(trailers) == 8


def test_the_approved_bytes_say_which_step_it_is(ws: Workspace) -> None:
    plan_id = proposed_step(ws, README, MORE)
    approved_step(ws, plan_id)
    (approval,) = ledger_of(ws).approvals.of(plan_id)
    said = msgspec.json.decode(approval.subject, type=ApprovalSubject)
    assert said.step
    assert (said.step.run_id, said.step.step_id, said.step.request_id) == (RUN, "S01", "RQ-1")
    assert said.commit
    assert said.commit.branch == WORK


def test_elsewhere_it_is_neither_decided_nor_carried_out(ws: Workspace, repo: Path) -> None:
    before = own(repo)
    plan_id = proposed_step(ws, README, MORE)
    with pytest.raises(StepElsewhere, match="step S01 of run"):
        ws.plan.ask(plan_id)
    with pytest.raises(StepElsewhere):
        ws.plan.set_action_specs(plan_id, [write("README.md", "x")])
    with pytest.raises(StepElsewhere):
        ws.plan.wish_commit(plan_id, "Other")
    approved_step(ws, plan_id)
    with pytest.raises(StepElsewhere):
        ws.plan.execute(plan_id)
    other = begun(ws, "20251214-210502-ffffff", branch="other")
    with pytest.raises(StepElsewhere, match=RUN):
        ws.on_branch(other).plan.execute(plan_id)
    there = ws.on_branch(RUN)
    there.plan.execute(plan_id)
    with pytest.raises(StepElsewhere):
        ws.plan.ask_undo(plan_id)
    ordinary = proposed(ws, write("README.md", "x"))
    with pytest.raises(StepElsewhere, match="no step of run"):
        there.plan.ask(ordinary)
    assert {name: s for name, s in own(repo).items() if "refs/heads/other" not in name} == before
    assert ws.plan.preview(plan_id).diffs[0].added == 2, "but anybody may look"


def test_a_step_has_its_commit(ws: Workspace) -> None:
    plan_id = proposed_step(ws, README, MORE)
    with pytest.raises(NoCommit, match="every step"):
        ws.on_branch(RUN).plan.wish_commit(plan_id, None)


def test_the_same_call_again_is_the_same_plan(ws: Workspace) -> None:
    checks = (CheckResult("make test", 0, 1.0, "1" * 40, "ok"),)
    made = order(ws, checks=checks)
    assert propose_step(ws, difference(README, MORE), made) == 1
    assert propose_step(ws, difference(README, MORE), made) == 1
    assert len(ws.plan.list()) == 1
    assert len(ws.plan.get_state(made.plan_id).checks) == 1
    assert propose_step(ws, difference(README, {"README.md": b"other\n"}), made) == 2
    assert ws.plan.get_state(made.plan_id).checks == checks
    ws.on_branch(RUN).plan.reject(made.plan_id, "no")
    assert propose_step(ws, difference(README, {"README.md": b"other\n"}), made) == 3
    document = ws.plan.get(made.plan_id)
    assert (document.plan.requester, document.state.status) == (f"run:{RUN}", PlanStatus.PENDING_REVIEW)


def test_what_a_machine_found_is_said_as_its_own(ws: Workspace) -> None:
    found = Finding(
        role=RunRole.REVIEWER, severity=Severity.WARNING, message="Why?", path="README.md", line=3
    )
    plan_id = proposed_step(ws, README, MORE, findings=(found,))
    assert ws.plan.get(plan_id).plan.rationale == "reviewer (warning): README.md:3 Why?"


# Steps that build on each other, proposed before the first is decided.


def test_later_steps_are_shown_as_they_were_made_and_wait_for_their_turn(ws: Workspace, repo: Path) -> None:
    first = {**MORE, "lib/new.py": b"one\n", "app/hello.py": HELLO.encode()}
    second = {"README.md": b"# Sample\n\nMore.\nStill more.\n", "lib/old.py": b"one\n", "app/hello.py": None}
    one = proposed_step(ws, {**README, "app/hello.py": HELLO.encode()}, first, "S01")
    two = proposed_step(ws, {**first, "lib/old.py": None}, {**second, "lib/new.py": None}, "S02")
    third = {"lib/old.py": b"#!/bin/sh\n"}
    three = proposed_step(ws, {"lib/old.py": b"one\n"}, third, "S03")

    shown = {diff.path: diff for diff in ws.plan.preview(two).diffs}
    assert (shown["README.md"].added, shown["README.md"].removed) == (1, 0)
    assert shown["lib/old.py"].renamed_from == "lib/new.py"
    assert ws.plan.preview(two).stale == ws.plan.preview(two).conflicts == ws.plan.preview(two).overlaps == ()
    assert ws.plan.ref(two).added == 1

    there = ws.on_branch(RUN)
    with pytest.raises(Stale):
        there.plan.ask(two)
    for plan_id in (one, two, three):
        approved_step(ws, plan_id).plan.execute(plan_id)
        commit_of(ws, plan_id)
    assert git(repo, "log", "--format=%s", f"HEAD..{WORK}").split("\n")[:-1] == ["Do S03", "Do S02", "Do S01"]
    names = git(repo, "ls-tree", "-r", "--name-only", WORK).split()
    assert names == ["README.md", "lib/old.py"]
    assert git(repo, "show", f"{WORK}:lib/old.py") == "#!/bin/sh\n"


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o077])
def test_files_of_an_earlier_step_have_the_mode_that_they_get(repo: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with opened(repo) as ws:
            begun(ws)
            one = proposed_step(ws, {}, {"a.txt": b"1\n"}, "S01")
            two = proposed_step(ws, {"a.txt": b"1\n"}, {"a.txt": b"2\n"}, "S02")
            for plan_id in (one, two):
                approved_step(ws, plan_id).plan.execute(plan_id)
            assert git(repo, "show", f"{WORK}:a.txt") == "2\n"
    finally:
        os.umask(before)


def test_a_step_that_a_person_changed_is_committed_as_changed(ws: Workspace, repo: Path) -> None:
    plan_id = proposed_step(ws, README, {**MORE, "a.txt": b"a\n"})
    there = ws.on_branch(RUN)
    document = ws.plan.get(plan_id)
    kept = [spec.id for spec in document.state.action_specs if spec.base.kind is SpecKind.WRITE]
    keep_specs(there, plan_id, kept, seen=document, actor=Actor.USER, reason="")
    approve(there, plan_id)
    there.plan.execute(plan_id)
    assert git(repo, "show", "--format=", "--name-only", WORK).split() == ["README.md"]


# Lists, and what other plans see.


def test_other_plans_and_lists_are_not_confused(ws: Workspace, repo: Path) -> None:
    mine = proposed(ws, write("README.md", "# Mine\n"))
    plan_id = proposed_step(ws, README, MORE)
    assert ws.plan.get_current() == ws.plan.ref(mine), "a step is decided with its run"
    assert overlaps(ws, ws.plan.get(mine)) == overlaps(ws, ws.plan.get(plan_id)) == ()
    assert ws.plan.ref(plan_id).step
    approved_step(ws, plan_id).plan.execute(plan_id)
    with pytest.raises(NothingToUndo):
        ws.plan.to_undo()
    with pytest.raises(NothingToUndo, match=f"ringi undo {RUN}"):
        ws.on_branch(RUN).plan.ask_undo(plan_id)
    approve(ws, mine)
    ws.plan.execute(mine)
    assert (repo / "README.md").read_text() == "# Mine\n"
    assert ws.plan.to_undo() == mine


def test_verify_proves_a_step_by_its_commit(ws: Workspace, repo: Path) -> None:
    mine = proposed(ws, write("README.md", "# Mine\n"))
    approve(ws, mine)
    ws.plan.execute(mine)
    git(repo, "checkout", "-q", "README.md")
    plan_id = proposed_step(ws, README, MORE)
    approved_step(ws, plan_id).plan.execute(plan_id)
    ws.branch(RUN).remove()
    with ws.one_moment():
        verdict = Examination(ws, every=True).plan(plan_id)
        other = Examination(ws, every=True).plan(mine)
    assert verdict.document.proven, verdict.problems
    assert verdict.commit.as_approved
    assert [(file.path, str(file.status)) for file in verdict.document.files] == [
        ("README.md", "as_approved")
    ]
    assert [(file.since) for file in other.document.files] == [""], "the step wrote to other files"


# Commits that fail.


def is_clean(ws: Workspace) -> bool:
    root = ws.branch(RUN).root
    return (
        git(root, "status", "--porcelain", "--untracked-files=all") == ""
        and ledger_of(ws).plans.checking() is None
    )


def test_a_hook_that_fails_leaves_nothing(ws: Workspace, repo: Path) -> None:
    hook(repo, "pre-commit", "echo formatted > README.md; echo cache > cache; echo not nice >&2; exit 1")
    plan_id = proposed_step(ws, README, {**MORE, "a/b.txt": b"b\n"})
    there = approved_step(ws, plan_id)
    before = own(repo)
    with pytest.raises(StepNotCommitted, match="not nice"):
        there.plan.execute(plan_id)
    end = step_end(ws, plan_id)
    assert end is not None
    assert (end.commit, str(end.failed), end.rewritten) == ("", "not nice", False)
    assert git(repo, "branch", "--list", WORK) == ""
    assert is_clean(ws)
    assert undone_at(ws.plan.get(plan_id))
    assert own(repo) == before
    assert_whole(ws)

    (repo / ".git/hooks/pre-commit").unlink()
    again = proposed_step(ws, README, {**MORE, "a/b.txt": b"b\n"})
    approved_step(ws, again).plan.execute(again)
    assert commit_of(ws, again)
    with ws.one_moment():
        assert Examination(ws).plan(plan_id).document.proven


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("pre-commit", "echo more >> README.md; git add README.md"),
        ("pre-commit", "echo else > else.txt; git add else.txt"),
        ("commit-msg", "echo Something else > $1"),
        ("commit-msg", "echo 'Ringi-Step: S99' >> $1"),
        ("post-commit", f"test -e .git/x || {{ touch .git/x; {AMEND}; }}"),
    ],
)
def test_a_commit_that_a_hook_rewrote_does_not_stay(
    ws: Workspace, repo: Path, name: str, script: str
) -> None:
    hook(repo, name, script)
    plan_id = proposed_step(ws, README, MORE)
    there = approved_step(ws, plan_id)
    with pytest.raises(StepNotCommitted) as raised:
        there.plan.execute(plan_id)
    assert raised.value.details["rewritten"]
    end = step_end(ws, plan_id)
    assert end is not None
    assert end.rewritten
    assert git(repo, "branch", "--list", WORK) == ""
    assert ws.branch(RUN).tip() == git(repo, "rev-parse", "HEAD").strip()
    assert is_clean(ws)
    assert "commit_rewritten" in kinds(ws, plan_id)


def test_a_hook_may_add_trailers(ws: Workspace, repo: Path) -> None:
    hook(repo, "commit-msg", "echo 'Change-Id: I123' >> $1")
    plan_id = proposed_step(ws, README, MORE)
    approved_step(ws, plan_id).plan.execute(plan_id)
    assert "Change-Id: I123" in git(repo, "log", "-1", "--format=%B", commit_of(ws, plan_id))


def test_checks_after_it_run_in_the_folder_and_take_it_back(ws: Workspace, repo: Path) -> None:
    plan_id = proposed_step(ws, README, MORE, checks_after=("grep -q Less README.md",))
    there = approved_step(ws, plan_id)
    with pytest.raises(CheckFailed):
        there.plan.execute(plan_id)
    end = step_end(ws, plan_id)
    assert end is not None
    assert end.failed
    assert is_clean(ws)
    good = proposed_step(ws, README, MORE, checks_after=("grep -q More README.md",))
    approved_step(ws, good).plan.execute(good)
    assert commit_of(ws, good)
    (check,) = ws.plan.get_state(good).checks
    assert (check.command, check.phase, check.exit_code) == ("grep -q More README.md", CheckPhase.AFTER, 0)


def test_the_branch_moved_meanwhile(ws: Workspace, repo: Path) -> None:
    one = proposed_step(ws, README, MORE, "S01")
    approved_step(ws, one).plan.execute(one)
    commit_of(ws, one)
    two = proposed_step(ws, {}, {"b.txt": b"b\n"}, "S02")
    git(repo, "branch", "-f", WORK, "HEAD")
    approved_step(ws, two).plan.execute(two)
    with pytest.raises(BranchMoved):
        step_end(ws, two)
    git(repo, "update-ref", f"refs/heads/{WORK}", git(ws.branch(RUN).root, "rev-parse", "HEAD^").strip())
    assert commit_of(ws, two) == git(repo, "rev-parse", WORK).strip()


# Killed.


CHILD = """
import os, signal, sys, ringi
from tests.helpers import Person

def die(name, arguments):
    if name == "open" or name.startswith(("os.", "subprocess.", "sqlite3")):
        die.left -= 1
        if die.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

with ringi.open_workspace(sys.argv[1], person=Person(), at_once=True) as workspace:
    there = workspace.of_plan(sys.argv[2])
    die.left = int(sys.argv[3])
    sys.addaudithook(die)
    there.plan.execute(sys.argv[2])
    die.left = 0
"""


def test_killed_anywhere_it_is_finished_or_taken_back_on_the_branch_alone(repo: Path) -> None:
    """The person's files are others than those of the branch: nothing of the step may reach them."""
    (repo / "README.md").write_text("# Sample\n")
    count, ended = 1, set[bool]()
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    for number in range(1000):
        run_id, branch = f"20251214-2105{number:02}-a1b2c3", f"work-{number}"
        with opened(repo) as ws:
            begun(ws, run_id, branch=branch)
            plan_id = proposed_step(ws, README, {**MORE, "d/a.txt": b"a\n"}, run_id=run_id)
            approved_step(ws, plan_id)
        before = own(repo)
        words = [sys.executable, "-c", CHILD, str(repo), plan_id, str(count)]
        done = subprocess.run(words, env=environment, capture_output=True, check=False, timeout=120)
        with opened(repo) as ws:
            mine = {name: state for name, state in own(repo).items() if branch not in name}
            assert mine == {name: state for name, state in before.items() if branch not in name}
            end = step_end(ws, plan_id)
            if end is None:  # not begun, or aborted: the same approval still covers it
                ws.of_plan(plan_id).plan.execute(plan_id)
                end = step_end(ws, plan_id)
            assert end is not None
            root = ws.branch(run_id).root
            assert git(root, "status", "--porcelain", "--untracked-files=all") == ""
            ended.add(bool(end.commit))
            wanted = git(repo, "rev-parse", "--verify", "-q", branch, check=False).strip()
            assert wanted == end.commit
            if end.commit:
                assert git(repo, "show", f"{branch}:d/a.txt") == "a\n"
            assert ledger_of(ws).executions.list_unfinished() == ()
            assert ledger_of(ws).plans.checking() is None
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        count += 41
    assert True in ended
    assert number > 4


def test_recovery_of_a_plan_of_the_persons_leaves_the_branch_alone(ws: Workspace, repo: Path) -> None:
    """Both were cut off; each is settled in its own place."""
    mine = proposed(ws, write("README.md", "# Mine\n"))
    approve(ws, mine)
    plan_id = proposed_step(ws, README, MORE)
    approved_step(ws, plan_id)
    for name, where in ((mine, ws), (plan_id, ws.on_branch(RUN))):
        _begin_and_die(where, name)
    assert len(ledger_of(ws).executions.list_unfinished()) == 2
    with opened(repo) as again:
        assert {result.plan_id for result in again.recovered} == {mine, plan_id}
        assert (repo / "README.md").read_text() == "# Mine\n"
        assert again.plan.get_state(mine).status is PlanStatus.COMPLETED
        assert step_end(again, plan_id) is not None


def _begin_and_die(workspace: Workspace, plan_id: str) -> None:
    """Up to the intent, as a process that dies right after it."""

    class Died(BaseException):
        pass

    class Dying(Executor):
        def _run(self, *_: object) -> None:
            raise Died

    record = workspace.store.record(plan_id)
    approval = executing._approval(workspace, record)
    specs = executing._remaining(workspace, record, approval)
    intent = executing._intent(workspace, record.plan, approval, specs)
    contents = executing._contents(workspace, record.plan, specs)
    with workspace.lock("execute"), pytest.raises(Died):
        Dying(workspace).carry_out(intent, contents, lambda t: executing._begin(t, record.plan, intent))


def test_a_branch_that_cannot_be_had_does_not_stop_others(ws: Workspace, repo: Path) -> None:
    plan_id = proposed_step(ws, README, MORE)
    there = approved_step(ws, plan_id)
    _begin_and_die(there, plan_id)
    ws.branch(RUN).remove()
    git(repo, "branch", WORK)
    with opened(repo) as again:
        mine = proposed(again, write("README.md", "# Mine\n"))
        approve(again, mine)
        again.plan.execute(mine)
        assert (repo / "README.md").read_text() == "# Mine\n"
        assert again.plan.get_state(plan_id).status is PlanStatus.EXECUTING
    git(repo, "branch", "-D", WORK)
    with opened(repo) as again:
        end = step_end(again, plan_id)
        assert end is not None
        assert end.commit
        assert (repo / "README.md").read_text() == "# Mine\n"


# In place.


def test_in_place_the_step_is_written_to_the_checkout(repo: Path) -> None:
    with opened(repo) as ws:
        begun(ws, in_place=True)
        plan_id = proposed_step(ws, README, MORE)
        assert git(repo, "symbolic-ref", "--short", "HEAD").strip() == WORK
        with pytest.raises(StepElsewhere):
            ws.plan.ask(plan_id)
        approved_step(ws, plan_id).plan.execute(plan_id)
        assert (repo / "README.md").read_bytes() == MORE["README.md"]
        assert commit_of(ws, plan_id) == git(repo, "rev-parse", "HEAD").strip()
        hook(repo, "pre-commit", "echo no >&2; exit 1")
        (repo / "mine.txt").write_text("mine\n")
        two = proposed_step(ws, {}, {"b.txt": b"b\n"}, "S02")
        with pytest.raises(StepNotCommitted):
            approved_step(ws, two).plan.execute(two)
        assert not (repo / "b.txt").exists()
        assert (repo / "mine.txt").read_text() == "mine\n"


def test_a_run_that_is_over_can_still_be_looked_at(ws: Workspace) -> None:
    plan_id = proposed_step(ws, README, MORE)
    ws.branch(RUN).remove()
    run = msgspec.structs.replace(ws.store.runs.get(RUN), phase=RunPhase.CANCELLED)
    with ledger_of(ws).transaction() as transaction:
        transaction.runs.save(run, NewEvent(EventKind.RUN_CANCELLED, Actor.USER))
    assert ws.plan.preview(plan_id).diffs[0].added == 2
    assert not ws.branch(RUN).is_made
