"""Checking the ledger while other processes write to it: no false alarm, and no real one missed."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.functional.desk import Desk
from tests.helpers import python

TIMES = 8
WRITING = """
import sys
from ringi.api import open_workspace
from ringi.domain.plan import ActionSpec, SpecKind

with open_workspace(sys.argv[1]) as workspace:
    print("ready", flush=True)
    for number in range(100_000):
        plan_id = workspace.plan.propose(f"Plan {number}")
        workspace.plan.set_action_specs(plan_id, [ActionSpec(SpecKind.CREATE, f"{number}.txt", "x\\n")])
        workspace.plan.mark_pending(plan_id, pending=False)
"""


@pytest.fixture
def writer(desk: Desk) -> Iterator[subprocess.Popen[str]]:
    """Proposes plan after plan."""
    child = python(WRITING, str(desk.root))
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child
    finally:
        child.kill()
        child.communicate()


@pytest.mark.req("PT-10", "PT-11")
@pytest.mark.parametrize("command", [("log", "--verify"), ("doctor",), ("verify", "--all")])
def test_no_false_alarm(desk: Desk, writer: subprocess.Popen[str], command: tuple[str, ...]):
    for _ in range(TIMES):
        done = desk.run(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "✗" not in done.stdout
    assert writer.poll() is None


@pytest.mark.req("PT-10")
def test_a_forged_file_is_still_found(desk: Desk, request: pytest.FixtureRequest):
    desk.agent("echo one > one.txt")
    [own] = desk.root.glob(".agent/logs/plans/*/plan.json")
    own.write_text(own.read_text().replace("one.txt", "two.txt"))
    writer = request.getfixturevalue("writer")
    done = desk.process("doctor")
    assert done.returncode == 1
    assert f"✗ {own.relative_to(desk.root)} is missing or was changed" in done.stdout
    assert writer.poll() is None
