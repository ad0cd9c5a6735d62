"""While other processes write: no false alarm about the ledger, no real one missed, and planning goes on."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import open_workspace
from tests.functional.desk import Desk
from tests.functional.planning_desk import plain
from tests.helpers import python
from tests.unit.tree.repositories import WatchedGit

TIMES = 8
WRITING = """
import sys
from ringi.app.api import open_workspace
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec

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


# Every time that git has read the workspace, the file is another one.
RESTLESS = "printf 'def work():\\n    return %s\\n' $n > '{root}/src/busy.py'"
BUSY = """
import itertools, os, sys
for number in itertools.count():
    with open(sys.argv[1], "w") as file:
        file.write(f"def work():\\n    return {number}\\n")
    if number == 0:
        print("ready", flush=True)
"""


@pytest.fixture
def calm(desk: Desk) -> Desk:
    (desk.root / "src").mkdir()
    (desk.root / "src" / "calm.py").write_text("def sort_rows(rows):\n    return sorted(rows)\n")
    (desk.root / "src" / "busy.py").write_text("def work():\n    return 0\n")
    return desk


@pytest.mark.req("IP-14", "PP-1")
def test_a_file_that_is_always_written_stops_no_planning(calm: Desk, tmp_path: Path):
    with pytest.MonkeyPatch.context() as patch:
        then = RESTLESS.format(root=calm.root)
        WatchedGit(patch, tmp_path / "bin", after="add", then=then, times=1000)
        said = "Could not be read, or changed meanwhile: src/busy.py. Planning goes on with the rest."
        shown = calm.run("run", "--context", "sort_rows is slow")
        assert (shown.returncode, said in plain(shown.stdout)) == (0, True), shown.stderr
        assert "def sort_rows(rows):" in shown.stdout
        outlined = calm.run("--json", "run", "--outline", "Rename sort_rows to in_order")
        assert json.loads(outlined.stdout)["notes"][0] == said
        done = calm.run("plan", "Improve something somewhere")
        assert (done.returncode, said in plain(done.stderr)) == (3, True), done.stderr
        name = json.loads(done.stdout)["sessionId"]
        again = calm.run("plan", "--resume", name, "--answer", "sort_rows")
        assert again.returncode == 3, again.stderr
    after = calm.run("plan", "--resume", name)
    assert after.returncode == 3
    assert said not in plain(after.stderr)


@pytest.mark.req("IP-14")
def test_somebody_writes_all_the_time(calm: Desk):
    busy = python(BUSY, str(calm.root / "src" / "busy.py"))
    try:
        assert busy.stdout is not None
        assert busy.stdout.readline() == "ready\n"
        done = calm.run("plan", "Rename sort_rows to in_order")
        assert done.returncode == 3, done.stderr
        with open_workspace(calm.root) as workspace:
            [ref] = workspace.planning.list()
            facts = workspace.planning.get(ref.session_id).facts
        assert "src/calm.py" in [file.path for file in facts.project.found]
        assert busy.poll() is None
    finally:
        busy.kill()
        busy.communicate()
