"""A commit that was offered for review: the branch gets exactly it, once, or nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.errors import NoCommit, StepNotCommitted
from ringi.plans.document import PlanStatus
from ringi.plans.verify import Examination
from ringi.runs.step_plan import step_end
from ringi.tree.commit_order import CommitOrder, CommitOutcome
from ringi.tree.commits import GitCommits
from tests.helpers import assert_whole, kinds, proposed, rewire, write
from tests.unit.runs.offered import commit_with, message_of, offer, offered_step, run_git, tree_with
from tests.unit.runs.steps import approved_step, begun, git, hook, opened, proposed_step

pytestmark = pytest.mark.req("PP-19", "RN-8")
WORK = "aiflow/RQ-1/20251214"
README = {"README.md": b"# Sample\n"}
MORE = {"README.md": b"# Sample\n\nMore.\n", "docs/a.txt": b"a\n"}


Happening = Callable[[CommitOrder], None]


def nothing(_: CommitOrder) -> None:
    return


class PowerCut(BaseException):
    """What nothing catches."""


@pytest.fixture
def ws(repo: Path) -> Iterator[Workspace]:
    with opened(repo) as workspace:
        begun(workspace)
        yield workspace


def carried_out(workspace: Workspace, plan_id: str) -> str:
    there = approved_step(workspace, plan_id)
    there.plan.execute(plan_id)
    end = step_end(there, plan_id)
    assert end is not None
    return end.commit


def test_the_branch_gets_the_offered_commit_and_no_hook_runs(ws: Workspace, repo: Path):
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook(repo, name, f"touch {repo}/ran-{name}; exit 1")
    plan_id = proposed_step(ws, README, MORE)
    commit = offered_step(ws, plan_id, MORE)
    assert carried_out(ws, plan_id) == commit
    assert git(repo, "rev-parse", WORK).strip() == commit
    assert not list(repo.glob("ran-*"))
    assert "Ringi-Approval" not in git(repo, "log", "-1", "--format=%B", WORK)
    with ws.one_moment():
        verdict = Examination(ws.of_plan(plan_id), only=plan_id).plan(plan_id)
    assert verdict.document.proven, verdict.problems
    assert verdict.document.commit
    assert verdict.document.commit.as_approved
    assert_whole(ws)


def test_what_is_approved_names_the_commit_and_no_hooks(ws: Workspace, repo: Path):
    hook(repo, "pre-commit", "true")
    plan_id = proposed_step(ws, README, MORE)
    commit = offered_step(ws, plan_id, MORE)
    asked = ws.of_plan(plan_id).plan.ask(plan_id)
    offer(ws, plan_id, "0" * 40)
    assert ws.of_plan(plan_id).plan.ask(plan_id).digest != asked.digest
    offer(ws, plan_id, commit)
    there = approved_step(ws, plan_id)
    (approval,) = there.store.approvals.of(plan_id)
    assert f'"offered":"{commit}"' in approval.subject
    assert '"hooks":[]' in approval.subject


def test_two_steps_follow_each_other(ws: Workspace, repo: Path):
    first = proposed_step(ws, README, MORE, "S01")
    second = proposed_step(ws, MORE, {**MORE, "docs/a.txt": b"b\n"}, "S02")
    one = offered_step(ws, first, MORE)
    two = offered_step(ws, second, {"docs/a.txt": b"b\n"}, parent=one)
    assert [carried_out(ws, first), carried_out(ws, second)] == [one, two]
    assert git(repo, "rev-list", f"main..{WORK}").split() == [two, one]


def other_tree(folder: Path, parent: str, message: str) -> str:
    return commit_with(folder, parent, {**MORE, "docs/a.txt": b"other\n"}, message)


def more_files(folder: Path, parent: str, message: str) -> str:
    return commit_with(folder, parent, {**MORE, "evil.py": b"import os\n"}, message)


def other_message(folder: Path, parent: str, message: str) -> str:
    return commit_with(folder, parent, MORE, message + "Ringi-Approval: 1\n")


def other_parent(folder: Path, parent: str, message: str) -> str:
    beside = commit_with(folder, parent, {}, "Nothing\n")
    return commit_with(folder, beside, MORE, message)


def second_parent(folder: Path, parent: str, message: str) -> str:
    beside = commit_with(folder, parent, {}, "Nothing\n")
    tree = tree_with(folder, parent, MORE)
    return run_git(folder, "commit-tree", tree, "-p", parent, "-p", beside, stdin=message.encode())


def other_header(folder: Path, parent: str, message: str) -> str:
    raw = run_git(folder, "cat-file", "commit", commit_with(folder, parent, MORE, message)).encode() + b"\n"
    head, _, rest = raw.partition(b"\n\n")
    changed = head + b"\nencoding ISO-8859-1\n\n" + rest
    return run_git(folder, "hash-object", "-w", "-t", "commit", "--stdin", stdin=changed)


def nowhere(folder: Path, parent: str, message: str) -> str:
    return "1234567890" * 4


@pytest.mark.parametrize(
    "made",
    [other_tree, more_files, other_message, other_parent, second_parent, other_header, nowhere],
    ids=lambda made: made.__name__,
)
def test_any_other_commit_stays_outside(ws: Workspace, repo: Path, made: Callable[[Path, str, str], str]):
    plan_id = proposed_step(ws, README, MORE)
    folder = ws.of_plan(plan_id).places.root
    offer(ws, plan_id, made(folder, run_git(folder, "rev-parse", "HEAD"), message_of(ws, plan_id)))
    there = approved_step(ws, plan_id)
    with pytest.raises(StepNotCommitted, match="which was offered"):
        there.plan.execute(plan_id)
    assert run_git(folder, "rev-parse", "HEAD") == git(repo, "rev-parse", "main").strip()
    assert not git(repo, "branch", "--list", WORK)
    assert run_git(folder, "status", "--porcelain", "--", ":!.agent") == ""
    assert "committed" not in kinds(ws, plan_id)


def test_only_a_step_of_a_run_is_offered(ws: Workspace, repo: Path):
    plan_id = proposed(ws, write("README.md", "x\n"))
    ws.plan.wish_commit(plan_id, "Change it")
    offer(ws, plan_id, git(repo, "rev-parse", "main").strip())
    there = approved_step(ws, plan_id)
    result = there.plan.execute(plan_id)
    assert result.commit
    assert "only a step" in result.commit.why


class Disturbed:
    """The person's repository, with something that happens before or after the commit is made."""

    def __init__(self, commits: GitCommits, before: Happening, after: Happening) -> None:
        self._commits, self._before, self._after = commits, before, after

    def __getattr__(self, name: str) -> object:
        return getattr(self._commits, name)

    def make(self, order: CommitOrder) -> CommitOutcome:
        self._before(order)
        made = self._commits.make(order)
        self._after(order)
        return made


def disturb(there: Workspace, before: Happening = nothing, after: Happening = nothing) -> None:
    commits = there.commits
    assert commits
    rewire(there, commits=lambda: Disturbed(commits(), before, after))


def cut(_: CommitOrder) -> None:
    raise PowerCut


@pytest.mark.parametrize("late", [False, True], ids=["before the branch moves", "after it"])
def test_cut_off_at_the_branch(ws: Workspace, repo: Path, late: bool):
    plan_id = proposed_step(ws, README, MORE)
    commit = offered_step(ws, plan_id, MORE)
    there = approved_step(ws, plan_id)
    disturb(there, **{"after" if late else "before": cut})
    with pytest.raises(PowerCut):
        there.plan.execute(plan_id)
    ws.close()
    with opened(repo) as again:
        there = again.of_plan(plan_id)
        assert there.plan.get_state(plan_id).status is PlanStatus.COMPLETED
        assert step_end(there, plan_id).commit == commit
        folder = there.places.root
        assert run_git(folder, "rev-parse", "HEAD") == commit
        assert git(repo, "rev-list", f"main..{WORK}").split() == [commit]
        assert run_git(folder, "status", "--porcelain", "--", ":!.agent") == ""
        assert kinds(again, plan_id).count("committed") == 1


def test_somebody_moved_the_branch(ws: Workspace):
    plan_id = proposed_step(ws, README, MORE)
    offered_step(ws, plan_id, MORE)
    there = approved_step(ws, plan_id)
    folder = there.places.root

    def meanwhile(order: CommitOrder) -> None:
        run_git(folder, "update-ref", "HEAD", commit_with(folder, order.parent, {}, "Mine\n"))

    disturb(there, before=meanwhile)
    with pytest.raises(StepNotCommitted, match="cannot lock ref"):
        there.plan.execute(plan_id)
    assert run_git(folder, "log", "-1", "--format=%s") == "Mine"


def test_no_wish_is_left_for_a_step(ws: Workspace):
    plan_id = proposed_step(ws, README, MORE)
    offered_step(ws, plan_id, MORE)
    with pytest.raises(NoCommit):
        ws.of_plan(plan_id).plan.wish_commit(plan_id, None)
    # Other words make another commit: what was offered is not it.
    assert not ws.of_plan(plan_id).plan.wish_commit(plan_id, "Other words").commit.offered
