"""Real tasks with their real fixes, from the issue to commits and a report: `make show-runs MIRROR=…`."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.functional.desk import Desk
from tests.functional.run_desk import at_home, git
from tests.helpers import fingerprint
from tests.real.tasks import REAL_TASKS, Prepared, RealTask, carry_out, prepared

MIRROR = os.environ.get("RINGI_MIRROR", "")
if not MIRROR:
    pytest.skip("they are fetched first: make show-runs MIRROR=…", allow_module_level=True)
FAILED = 1
"""pytest: some tests failed."""


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


def theirs(root: Path) -> dict[str, str]:
    """What belongs to the person: files, index, where HEAD is, stashes."""
    kept = {"HEAD", "index", "refs/heads/main", "refs/stash"}
    found = fingerprint(root)
    return {name: what for name, what in found.items()
            if not name.startswith(".git/") or name.removeprefix(".git/") in kept}  # fmt: skip


def exit_code(project: Prepared, commit: str) -> int:
    """Of the tests of the fix, without the program, in a checkout of their own."""
    folder = project.plan.with_name("checkout")
    if not folder.exists():
        git(project.root, "clone", "-q", "--no-checkout", str(project.root), str(folder))
    git(folder, "fetch", "-q", "origin", project.branch)
    git(folder, "checkout", "-q", commit)
    return subprocess.run(
        project.failing, shell=True, cwd=folder, check=False, capture_output=True
    ).returncode


@pytest.mark.req("RN-4", "RN-5", "RN-8", "RN-11", "RN-13")
@pytest.mark.parametrize("task", REAL_TASKS, ids=lambda task: task.name)
def test_a_real_issue_becomes_the_commits_of_its_real_fix(
    task: RealTask, base: Path, record_property: Callable[[str, object], None]
):
    project = prepared(task, Path(MIRROR), base)
    desk = Desk(project.root)
    (project.root / "README.md").write_text("Something else I am at.\n")
    git(project.root, "add", "README.md")
    git(project.root, "stash", "-q")
    before = theirs(project.root)
    request = next((project.root / "requests").glob("RQ-*.md"))
    assert desk.run("check", str(request)).returncode == 0

    began = time.monotonic()
    screen = carry_out(project)
    took = time.monotonic() - began

    assert "Acceptance criteria: 3, not checked" in screen
    assert theirs(project.root) == before
    commits = git(project.root, "rev-list", "--reverse", f"main..{project.branch}").split()
    assert git(project.root, "rev-parse", *(f"{one}^{{tree}}" for one in commits)).split() == project.trees()
    assert (exit_code(project, commits[0]), exit_code(project, commits[-1])) == (FAILED, 0)

    document = desk.json("report")
    steps = json.loads(project.plan.read_text())["steps"]
    assert [
        (one["id"], one["verdict"], len(one["steps"]), one["commits"]) for one in document["criteria"]
    ] == [
        ("AC-01", "not_checked", 1, commits[:1]),
        ("AC-02", "not_checked", 1, commits[-1:]),
        ("AC-03", "not_checked", len(steps), commits),
    ]
    for one in document["criteria"]:
        assert {proof["exit_code"] for proof in one["evidence"]} == {0}, one
        assert len(one["evidence"]) == 2 * len(one["steps"])
    for commit, step in zip(commits, steps, strict=True):
        assert f"{step['step_id']} {step['title']} — commit `{commit[:12]}`" in document["report"]
        assert git(project.root, "log", "-1", "--format=%s", commit) == step["title"]
    record_property("story", [f"{task.name}: {len(commits)} commits in {took:.0f} s"])
