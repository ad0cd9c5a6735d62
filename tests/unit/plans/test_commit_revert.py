"""Undo of a plan that was committed: a new commit reverts it, as `git revert` would, and nothing else."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.app.api import Workspace, open_workspace
from ringi.errors import NoCommit, NothingToUndo, UndoChanged
from ringi.plans.commit import outcome_of, standing
from ringi.plans.commit import revert_files as reverting
from ringi.plans.execution import ExecutionResult
from ringi.plans.verify import Examination
from ringi.tree.action_spec import ActionSpec
from ringi.tree.commit_order import CommitOutcome, Committed
from ringi.tree.commits import GitCommits
from tests.helpers import Person, answer, approve, assert_whole, create, delete, kinds, proposed, write

OLD = "".join(f"line {n}\n" for n in range(1, 13))
NEW = OLD.replace("line 2\n", "the plan's line 2\n")
CHILD = """
import sys, ringi
from ringi.approvals.document import TypedAnswer
from tests.helpers import Person
with ringi.open_workspace(sys.argv[1], person=Person(), at_once=True) as workspace:
    workspace.plan.undo(sys.argv[2], "hanako", TypedAnswer(sys.argv[3], sys.argv[3][:6]))
"""
KILLS_RINGI = 'kill -9 "$(ps -o ppid= -p $PPID | tr -d " ")"; sleep 0.3'


def git(root: Path, *words: str, fine: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False)
    assert not fine or done.returncode == 0, done.stderr
    return done.stdout


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


def save(root: Path, path: str, content: str, *, commit: bool = False) -> None:
    (root / path).write_text(content)
    if commit:
        git(root, "add", "--", path)
        git(root, "commit", "-qm", f"Change {path}", "--", path)


def status(root: Path) -> str:
    return git(root, "status", "--porcelain", "--untracked-files=all", "--", ":!.agent")


def hook(root: Path, name: str, script: str) -> None:
    path = root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def opened(root: Path) -> Workspace:
    return open_workspace(root, environment=dict(os.environ), person=Person(), at_once=True)


@pytest.fixture
def ws(repo: Path) -> Iterator[Workspace]:
    save(repo, "text.txt", OLD, commit=True)
    with opened(repo) as workspace:
        yield workspace


def committed(ws: Workspace, *specs: ActionSpec) -> str:
    plan_id = proposed(ws, *(specs or (write("text.txt", NEW),)))
    ws.plan.wish_commit(plan_id, "Improve the text\n\nA little.")
    approve(ws, plan_id)
    assert commit_of(ws.plan.execute(plan_id)).commit == head(ws.places.root)
    return plan_id


def commit_of(result: ExecutionResult) -> CommitOutcome:
    assert isinstance(result.commit, CommitOutcome)
    return result.commit


def reverted(ws: Workspace, plan_id: str) -> CommitOutcome:
    request, found = ws.plan.ask_undo(plan_id, commit=True)
    assert found.commit
    outcome = commit_of(ws.plan.undo(plan_id, "hanako", answer(request)))
    assert_whole(ws)
    return outcome


@pytest.mark.req("PT-8", "PT-12")
def test_a_new_commit_reverts_it(ws: Workspace, repo: Path):
    first = head(repo)
    plan_id = committed(ws, write("text.txt", NEW), create("new.txt", "n\n"), delete("app/hello.py"))
    made = head(repo)
    outcome = reverted(ws, plan_id)
    assert outcome.commit == head(repo)
    assert git(repo, "rev-parse", "HEAD^").strip() == made  # nothing is rewritten
    assert git(repo, "diff", first, "HEAD") == ""
    assert status(repo) == ""
    message = git(repo, "log", "-1", "--format=%B")
    assert message.startswith(f'Revert "Improve the text"\n\nThis reverts commit {made}.\n\nRingi-Plan: ')
    assert kinds(ws, plan_id)[-2:] == ["undone", "committed"]
    assert standing(ws.log(plan_id)) == ()
    outcome = outcome_of(ws.log(plan_id))
    assert outcome is not None
    assert outcome == CommitOutcome(made, f"commit {head(repo)[:12]} reverts it")
    assert not Examination(ws).plan(plan_id).problems
    with pytest.raises(NothingToUndo):
        ws.plan.ask_undo(plan_id, commit=True)


@pytest.mark.req("PT-8", "PT-12")
def test_only_the_files_go_back_if_nobody_wants_it(ws: Workspace, repo: Path):
    plan_id = committed(ws)
    made = head(repo)
    request, found = ws.plan.ask_undo(plan_id)
    assert found.commit is None
    assert not ws.plan.undo(plan_id, "hanako", answer(request)).commit
    assert head(repo) == made
    assert status(repo) == " M text.txt\n"


@pytest.mark.req("PT-8", "PT-12")
def test_later_commits_and_uncommitted_lines_stay(ws: Workspace, repo: Path):
    """The commit has the later commit's line; the file has that and the one that is not committed."""
    plan_id = committed(ws)
    save(repo, "text.txt", NEW + "committed\n", commit=True)
    save(repo, "text.txt", NEW.replace("line 7\n", "line 7\nmine\n") + "committed\n")
    save(repo, "README.md", "staged\n")
    git(repo, "add", "README.md")
    assert reverted(ws, plan_id).why == ""
    assert git(repo, "show", "HEAD:text.txt") == OLD + "committed\n"
    assert (repo / "text.txt").read_text() == OLD.replace("line 7\n", "line 7\nmine\n") + "committed\n"
    assert git(repo, "show", "--format=", "--name-only") == "text.txt\n"
    assert status(repo) == "M  README.md\n M text.txt\n"


@pytest.mark.req("PT-8", "PT-12")
def test_what_was_not_committed_before_the_plan_is_not_lost(ws: Workspace, repo: Path):
    save(repo, "text.txt", OLD + "mine\n")
    plan_id = committed(ws, write("text.txt", NEW + "mine\n"))
    assert reverted(ws, plan_id).why == ""
    assert git(repo, "show", "HEAD:text.txt") == OLD
    assert (repo / "text.txt").read_text() == OLD + "mine\n"


@pytest.mark.req("PT-8", "PT-12")
def test_it_may_not_be_on_this_branch(ws: Workspace, repo: Path):
    plan_id = committed(ws)
    git(repo, "checkout", "-qb", "other", "HEAD^")
    save(repo, "text.txt", NEW)
    with pytest.raises(NoCommit, match="not on this branch"):
        ws.plan.revert_commit(plan_id)
    request, _ = ws.plan.ask_undo(plan_id)
    assert ws.plan.undo(plan_id, "hanako", answer(request)).overall_success


@pytest.mark.req("PT-8", "PT-12")
def test_a_later_commit_to_the_same_lines_is_a_conflict(ws: Workspace, repo: Path):
    plan_id = committed(ws)
    save(repo, "text.txt", NEW.replace("the plan's", "my"), commit=True)
    save(repo, "text.txt", NEW)
    with pytest.raises(NoCommit, match=r"later commits changed the same in text\.txt"):
        ws.plan.revert_commit(plan_id)


@pytest.mark.req("PT-8", "PT-12")
def test_a_file_that_is_left_alone_is_not_reverted(ws: Workspace, repo: Path):
    plan_id = committed(ws, write("text.txt", NEW), create("new.txt", "n\n"))
    save(repo, "text.txt", NEW.replace("the plan's", "my"))
    with pytest.raises(NoCommit, match=r"text\.txt cannot go back"):
        ws.plan.revert_commit(plan_id)


@pytest.mark.req("PT-8", "PT-12")
def test_what_is_staged_in_its_files_is_no_part_of_it(ws: Workspace, repo: Path):
    plan_id = committed(ws)
    save(repo, "text.txt", NEW + "staged\n")
    git(repo, "add", "text.txt")
    with pytest.raises(NoCommit, match=r"something is staged in text\.txt"):
        ws.plan.revert_commit(plan_id)


@pytest.mark.req("PT-8", "PT-12")
def test_what_a_hook_put_into_the_commit_is_not_ours_to_revert(ws: Workspace, repo: Path):
    hook(repo, "pre-commit", "echo by a hook > other.txt; git add other.txt")
    plan_id = committed(ws)
    with pytest.raises(NoCommit, match=r"also changed other\.txt"):
        ws.plan.revert_commit(plan_id)


@pytest.mark.req("PT-8", "PT-12")
def test_it_was_reverted_by_hand(ws: Workspace, repo: Path):
    plan_id = committed(ws)
    git(repo, "revert", "--no-edit", "HEAD")
    with pytest.raises(NothingToUndo, match="nothing of plan p1 is left"):
        ws.plan.revert_commit(plan_id)


@pytest.mark.req("PT-8", "PT-12")
def test_a_plan_without_a_commit_has_none_to_revert(ws: Workspace):
    plan_id = proposed(ws, write("text.txt", NEW))
    approve(ws, plan_id)
    ws.plan.execute(plan_id)
    assert ws.plan.revert_commit(plan_id) is None


@pytest.mark.req("PT-8", "PT-12")
def test_the_first_commit_of_all(tmp_path: Path):
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    with opened(root) as ws:
        plan_id = committed(ws, create("a.txt", "a\n"))
        reverted(ws, plan_id)
    assert git(root, "ls-tree", "-r", "--name-only", "HEAD") == ""


@pytest.mark.req("PT-8", "PT-12")
@pytest.mark.parametrize("what", ["commit", "branch", "hook"])
def test_the_repository_moves_between_question_and_answer(ws: Workspace, repo: Path, what: str):
    plan_id = committed(ws)
    request, _ = ws.plan.ask_undo(plan_id, commit=True)
    if what == "commit":
        save(repo, "README.md", "x\n", commit=True)
    elif what == "branch":
        git(repo, "checkout", "-qb", "other")
    else:
        hook(repo, "post-commit", "true")
    made = head(repo)
    with pytest.raises(UndoChanged):
        ws.plan.undo(plan_id, "hanako", answer(request))
    assert (head(repo), (repo / "text.txt").read_text()) == (made, NEW)


@pytest.mark.req("PT-8", "PT-12")
def test_a_hook_says_no(ws: Workspace, repo: Path):
    plan_id = committed(ws)
    made = head(repo)
    hook(repo, "pre-commit", "echo not today >&2; exit 1")
    outcome = reverted(ws, plan_id)
    assert (outcome.commit, outcome.why) == ("", "not today")
    assert (head(repo), (repo / "text.txt").read_text()) == (made, OLD)
    assert kinds(ws, plan_id)[-2:] == ["undone", "commit_failed"]
    assert standing(ws.log(plan_id)) == (made,)
    assert git(repo, "diff", "--cached") == ""


@pytest.mark.req("PT-6", "PT-12")
@pytest.mark.parametrize("name", ["pre-commit", "post-commit"])
def test_a_crash_around_the_commit(repo: Path, name: str):
    """It is never made a second time, and what the repository shows is what the log says."""
    save(repo, "text.txt", OLD, commit=True)
    with opened(repo) as ws:
        plan_id = committed(ws)
        made = head(repo)
        hook(repo, name, KILLS_RINGI)
        request, _ = ws.plan.ask_undo(plan_id, commit=True)
    words = [sys.executable, "-c", CHILD, str(repo), plan_id, request.digest]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    (repo / ".git/hooks" / name).unlink()
    with opened(repo) as ws:
        ws.plan.recover()
        last = list(ws.log(plan_id))[-1].event
        if name == "pre-commit":
            assert (last.event, last.reason) == ("commit_failed", "it was cut off before the commit")
            assert head(repo) == made
            assert standing(ws.log(plan_id)) == (made,)
        else:
            assert (last.event, last.reason) == ("committed", head(repo))
            assert git(repo, "show", "HEAD:text.txt") == OLD
            assert status(repo) == ""
        assert (repo / "text.txt").read_text() == OLD
        assert ws.plan.recover() == []
        assert_whole(ws)


# Any history: git merge-file says what comes out.

TEXTS = st.lists(st.sampled_from("abcdef"), max_size=8).map(lambda some: "".join(f"{c}\n" for c in some))


def _taken_back(root: Path, texts: list[str], count: int) -> str | None:
    """The newest text without what the commits changed; None after a conflict.

    `git revert` looks for other common lines than `git merge-file`, which is the rule for merges here.
    """
    now = texts[-1]
    for at in range(count, 0, -1):
        for name, text in (("ours", now), ("base", texts[at]), ("theirs", texts[at - 1])):
            (root.parent / name).write_text(text)
        words = ["git", "merge-file", "-q", "-p", "ours", "base", "theirs"]
        done = subprocess.run(words, cwd=root.parent, capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        now = done.stdout
    return now


@pytest.mark.req("PT-8", "PT-12")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(TEXTS, min_size=3, max_size=4, unique=True), st.integers(1, 2))
def test_as_git_reverts_them(tmp_path: Path, texts: list[str], count: int):
    """One or two commits of a plan, newest first, with later commits on top."""
    root = tmp_path / "any"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    made = []
    for n, content in enumerate(texts):
        save(root, "text.txt", content, commit=True)
        save(root, f"{n}.txt", content, commit=True)
        made.append(git(root, "rev-parse", "HEAD^").strip())
    taken = made[1 : 1 + count][::-1]
    commits = GitCommits(root, dict(os.environ))
    expected = _taken_back(root, texts, count)
    try:
        found = reverting(commits, taken)
    except NoCommit:
        assert expected is None
    else:
        there = found.get("text.txt", Committed("100644", texts[-1].encode()))
        assert there is not None
        assert there.data.decode() == expected
