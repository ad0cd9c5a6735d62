"""A plan with a commit, as a person meets it: announced, approved, made, taken back, proven."""

from pathlib import Path

import pytest

import ringi
from tests.functional.desk import Desk

SCRIPT = "echo '# More' > README.md; echo new > new.txt"


def hook(root: Path, name: str, script: str) -> None:
    path = root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def wished(desk: Desk, message: str = "Say more\n\nIn two files.") -> str:
    name = desk.agent(SCRIPT)
    with ringi.open_workspace(desk.root) as workspace:
        workspace.plan.wish_commit(name, message)
    return name


def approved(desk: Desk, name: str) -> str:
    """What the person saw before the answer."""
    terminal = desk.terminal("approve", name)
    seen = terminal.answer(r"\[y/n\]", "y")
    code, rest = terminal.end()
    assert code == 0, rest
    return " ".join(seen.split())


@pytest.mark.req("PT-8")
def test_it_is_announced_and_made(desk: Desk):
    hook(desk.root, "pre-commit", "exit 0")
    name = wished(desk)
    shown = desk.run("show", name).stdout
    assert "then commits on main: Say more (hooks: pre-commit)" in shown
    assert "In two files." in shown
    assert "Ringi-Plan, Ringi-Approval, Ringi-Approved-By" in shown
    seen = approved(desk, name)
    assert "then commits on main: Say more" in seen
    done = desk.run("execute", name)
    assert done.returncode == 0, done.stderr
    commit = desk.git("rev-parse", "HEAD").strip()
    assert f"✓ commit {commit[:12]}" in done.stdout
    assert "2 files written and committed" in done.stdout
    assert desk.git("status", "--porcelain", "--", ":!.agent") == ""
    assert f"✓ commit {commit[:12]}" in desk.run("show", name).stdout


def carried_out(desk: Desk) -> tuple[str, str]:
    """Its name and its commit."""
    name = wished(desk)
    approved(desk, name)
    desk.run("execute", name)
    return name, desk.git("rev-parse", "HEAD").strip()


@pytest.mark.req("PT-12")
def test_undo_offers_to_revert_the_commit(desk: Desk):
    before = desk.files()
    hook(desk.root, "pre-commit", "exit 0")
    name, commit = carried_out(desk)
    terminal = desk.terminal("undo", name)
    asked = " ".join(terminal.answer(r"\[y/n\]", "y").split())
    assert f"{name} was committed as {commit[:12]}. Revert it with a new commit? [y/n]" in asked
    seen = " ".join(terminal.answer(r"Go\? \[y/n\]", "y").split())
    code, after = terminal.end()
    assert code == 0, after
    assert 'then commits on main: Revert "Say more" (hooks: pre-commit)' in seen
    assert f"2 files go back to before {name}; a new commit reverts {commit[:12]}. Go? [y/n]" in seen
    reverting = desk.git("rev-parse", "HEAD").strip()
    assert f"✓ commit {reverting[:12]}" in after
    assert "stays" not in after
    assert desk.files() == before
    assert desk.git("rev-parse", "HEAD^").strip() == commit
    assert desk.git("diff", "HEAD", "HEAD^^") == ""
    assert desk.git("status", "--porcelain", "--", ":!.agent") == ""
