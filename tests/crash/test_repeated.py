"""A command is killed after it committed and before it could say so; it is run again."""

import signal
from pathlib import Path

import pytest

import ringi
from tests.functional.conftest import key, listed  # noqa: F401  # fixtures
from tests.functional.desk import Desk
from tests.functional.test_proving import proposed

NEW: dict[str, object] = {"kind": "create", "path": "new.txt", "content": "new\n"}
OLD: dict[str, object] = {"kind": "write", "path": "README.md", "content": "other\n"}


@pytest.fixture
def desk(repo: Path) -> Desk:
    return Desk(repo)


@pytest.mark.req("PT-8")
def test_an_approval_that_was_given_is_given(desk: Desk, listed):  # noqa: F811
    plan = proposed(desk, NEW)
    words = ("approve", plan, "--sign", str(listed.path))
    assert desk.run(*words).returncode == 0
    events = len(desk.json("log"))
    done = desk.run(*words)
    assert done.returncode == 0, done.stderr
    assert "p1 is approved, until" in done.stdout
    assert len(desk.json("log")) == events, "it was approved once"
    assert desk.run("approve", plan).returncode == 0, "there is nothing left to ask"
    desk.run("reject", plan, "--feedback", "no")
    assert desk.run("approve", plan).returncode == 6


@pytest.mark.req("PT-8")
def test_only_exactly_what_was_approved_counts(desk: Desk, listed):  # noqa: F811
    plan = proposed(desk, NEW, OLD)
    assert desk.run("approve", plan, "--sign", str(listed.path), "--only", "s1").returncode == 0
    assert desk.run("approve", plan, "--only", "s1").returncode == 0
    assert desk.run("approve", plan, "--only", "s2").returncode != 0
    assert desk.run("approve", plan).returncode != 0


KILLING = """#!/bin/sh
# The process that runs `ringi`: the parent of git, whose hook this is.
kill -9 $(ps -o ppid= -p $PPID)
"""


@pytest.mark.req("PT-9")
@pytest.mark.parametrize("command", [("list",), ("status",), ("show", "p1"), ("log",)])
def test_a_commit_that_was_cut_off_before_the_index(desk: Desk, listed, command: tuple[str, ...]):  # noqa: F811
    plan = proposed(desk, NEW, OLD)
    with ringi.open_workspace(desk.root) as workspace:
        workspace.plan.wish_commit(plan, "Both")
    hook = desk.root / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(KILLING)
    hook.chmod(0o755)
    assert desk.run("approve", plan, "--sign", str(listed.path)).returncode == 0
    assert desk.process("execute", plan).returncode == -signal.SIGKILL
    assert desk.git("log", "-1", "--format=%s").strip() == "Both"
    assert desk.git("diff", "--cached", "--name-only"), "cut off in the right place"
    done = desk.run(*command)
    assert done.returncode == 0, done.stderr
    assert desk.git("diff", "--cached", "--name-only") == ""
    assert desk.git("status", "--porcelain", "--", ":!.agent") == ""
    assert desk.run("verify", plan).returncode == 0
