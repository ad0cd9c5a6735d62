"""Steps as commits that nobody has approved: exact, repeatable, and nothing else happens."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.approvals.document import ApprovalSubject
from ringi.errors import NoCommit, NotApproved
from ringi.plans.approve import subject_now
from ringi.plans.document import PlanStatus
from ringi.plans.offer import offer_order, set_offered
from ringi.tree.offered_commit import GitOffers
from tests.helpers import approve, fingerprint
from tests.unit.runs.steps import MORE, README, RUN, begun, git, hook, opened, proposed_step

pytestmark = pytest.mark.req("PP-25")
AT = "2026-01-02T03:04:05.600000Z"


@pytest.fixture
def ws(repo: Path) -> Iterator[Workspace]:
    with opened(repo) as workspace:
        begun(workspace)
        yield workspace


def made(ws: Workspace, plan_id: str, parent: str = "", known: str = "") -> str:
    there = ws.on_branch(RUN)
    wanted = offer_order(there, plan_id, parent or ws.branch(RUN).tip(), AT)
    return GitOffers(there.places.root, dict(os.environ)).make(wanted, known)


def shown(ws: Workspace, *words: str) -> str:
    return git(ws.branch(RUN).root, *words)


def subject(ws: Workspace, plan_id: str) -> ApprovalSubject:
    there = ws.on_branch(RUN)
    document = there.store.plans.get(plan_id).document
    return subject_now(there, document, document.state.selection, AT)


def test_a_commit_of_exactly_the_plan_that_changes_nothing(ws: Workspace, repo: Path) -> None:
    first = proposed_step(ws, README, {**MORE, "run.sh": b"#!/bin/sh\n"})
    root = ws.branch(RUN).root
    before, theirs = fingerprint(root), fingerprint(repo)
    commit = made(ws, first)
    assert made(ws, first) == commit
    after = fingerprint(root)
    added = {name for name in after if name not in before and not name.startswith(".git/objects/")}
    assert (added, {name for name in before if before[name] != after.get(name)}) == (set(), set())
    assert fingerprint(repo) == theirs
    assert shown(ws, "show", f"{commit}:README.md") == "# Sample\n\nMore.\n"
    assert shown(ws, "diff", "--name-only", f"{commit}^", commit).split() == ["README.md", "run.sh"]
    assert shown(ws, "log", "-1", "--format=%P %ad %cd", "--date=raw", commit).split()[1:] == [
        "1767323045", "+0000", "1767323045", "+0000",
    ]  # fmt: skip
    trailers = shown(ws, "log", "-1", "--format=%(trailers:only)", commit).splitlines()
    assert [line.split(":")[0] for line in trailers if line.startswith("Ringi-")] == [
        "Ringi-Plan", "Ringi-Request", "Ringi-Run", "Ringi-Step",
    ]  # fmt: skip


def test_a_second_step_stands_on_the_first(ws: Workspace) -> None:
    first = proposed_step(ws, README, MORE, "S01")
    second = proposed_step(ws, MORE, {"README.md": None, "b.txt": b"b\n"}, "S02")
    below = made(ws, first)
    top = made(ws, second, below)
    assert shown(ws, "rev-parse", f"{top}^").strip() == below
    names = shown(ws, "ls-tree", "-r", "--name-only", top).split()
    assert ("b.txt" in names, "README.md" in names) == (True, False)


def test_line_ends_are_stored_as_the_attributes_of_the_commit_say(ws: Workspace) -> None:
    files = {
        ".gitattributes": b"*.txt text eol=crlf\n*.bin -text\n",
        "a.txt": b"a\r\nb\r\n",
        "a.bin": b"\r\n",
    }
    plan_id = proposed_step(ws, {}, files)
    commit = made(ws, plan_id)
    assert shown(ws, "cat-file", "-s", f"{commit}:a.txt").strip() == "4"
    assert shown(ws, "cat-file", "-s", f"{commit}:a.bin").strip() == "2"
    # As the ordinary way stores it.
    there = ws.on_branch(RUN)
    approve(there, plan_id)
    there.plan.execute(plan_id)
    assert shown(ws, "diff", "--stat", commit, "HEAD") == ""


def test_no_hook_and_no_filter_runs(ws: Workspace, repo: Path, tmp_path: Path) -> None:
    log = tmp_path / "ran"
    for name in ("pre-commit", "commit-msg", "post-index-change", "reference-transaction"):
        hook(repo, name, f"echo {name} >> {log}")
    git(repo, "config", "filter.up.clean", f"sh -c 'echo filter >> {log}; tr a-z A-Z'")
    git(repo, "config", "commit.gpgsign", "true")
    git(repo, "config", "gpg.program", f"sh -c 'echo signed >> {log}'")
    plain = proposed_step(ws, README, MORE, "S01")
    assert made(ws, plain)
    filtered = proposed_step(ws, {}, {".gitattributes": b"*.up filter=up\n", "a.up": b"a\n"}, "S02")
    with pytest.raises(NoCommit) as refused:
        made(ws, filtered)
    assert "goes through the filter up" in str(refused.value.details["why"])
    assert not log.exists()


def test_the_one_that_is_known_stays_whoever_made_it(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    plan_id = proposed_step(ws, README, MORE)
    commit = made(ws, plan_id)
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
    assert made(ws, plan_id) != commit
    assert made(ws, plan_id, known=commit) == commit
    other = proposed_step(ws, README, {"README.md": b"# Other\n"})
    assert made(ws, other, known=commit) != commit
    assert made(ws, other, known="0" * 40) != commit


def test_an_approval_covers_only_what_was_offered_when_it_was_given(ws: Workspace) -> None:
    plan_id = proposed_step(ws, README, MORE)
    there = ws.on_branch(RUN)
    before = subject(ws, plan_id)
    approve(there, plan_id)
    set_offered(there, plan_id, 1, made(ws, plan_id))
    assert there.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    with pytest.raises(NotApproved):
        there.plan.execute(plan_id)
    assert subject(ws, plan_id) != before
    with pytest.raises(NoCommit):
        set_offered(there, plan_id, 2, "")


def test_other_bytes_are_not_what_was_offered(ws: Workspace) -> None:
    plan_id = proposed_step(ws, README, MORE)
    set_offered(ws.on_branch(RUN), plan_id, 1, made(ws, plan_id))
    proposed_step(ws, README, {"README.md": b"# Other\n"}, plan_id=plan_id)
    state = ws.plan.get_state(plan_id)
    assert state.commit
    assert not state.commit.offered
