"""Runs as people see them: in `ringi` alone, in `ringi status`, live while one runs, in the report."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from ringi.app.api import open_workspace
from ringi.config.keys import RoleHow
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.kernel.places import places_of
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.models.prompt import Severity
from ringi.models.usage import Spent
from ringi.runs.document import Attempt, Finding, Run, StepState, StopCode
from tests.functional.desk import Desk
from tests.functional.screens import Screen
from tests.helpers import ledger_of
from tests.unit.runs.run_samples import REQUEST_ID, RUN_ID, done, passed, plan_of, run_of, step_of, stopped

CREATED = NewEvent(EventKind.RUN_CREATED, Actor.SYSTEM)
WORKED = Attempt(
    role=RunRole.IMPLEMENTER, how=RoleHow.COMMAND, who="claude", cycle=0, started_at="2026-01-01T10:00:00Z",
    exit_code=0, spent=Spent(input_tokens=1200, output_tokens=300, dollars=0.0123, seconds=200),
)  # fmt: skip
OPINION = Finding(
    role=RunRole.REVIEWER, severity=Severity.WARNING, message="no test\x1b[2J", path="a.py", line=7
)
# Holds the lock of a run as the process that carries it out does, prints, and stops when it is told to.
WORKING = """
import sys
from pathlib import Path
from ringi.cli.runs import lock_of
from ringi.runs.files import RunFiles
root, state, request, run = sys.argv[1:]
files = RunFiles(Path(root), request, run, str)
with lock_of(Path(state), run)("run"), files.log("step.S02.unit.log") as write:
    write(b"collected 3 items\\n\\x1b[31mtests/test_a.py ..\\n")
    print("working", flush=True)
    for line in sys.stdin:
        write(line.encode())
"""


@contextlib.contextmanager
def worked_on(desk: Desk, run: Run) -> Iterator["subprocess.Popen[str]"]:
    """Somebody carries it out."""
    state = places_of(desk.root, dict(os.environ)).state
    words = [sys.executable, "-c", WORKING, str(desk.root), str(state), run.request_id, run.run_id]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "working\n"
            yield worker
        finally:
            worker.kill()


def added(desk: Desk, **changes: object) -> Run:
    plan = plan_of(
        step_of(1, ["AC-01"], title="Add the option"),
        step_of(2, ["AC-01", "AC-02"], title="Write the JSON"),
        step_of(3, ["AC-03"], title="Document it"),
    )
    waiting = done(2, passed(), status=StepStatus.PROPOSED, commit="", findings=(OPINION,))
    steps = (done(1, passed(), attempts=(WORKED,)), waiting, StepState(step_id="S03"))
    stop = stopped(StopCode.APPROVAL_NEEDED)
    stop = replace(
        stop, message="the result waits for you", step_id="S02", next_action=f"ringi continue {RUN_ID}"
    )
    run = replace(run_of(plan, *steps, phase=RunPhase.NEEDS_INPUT, stop=stop), **changes)
    with open_workspace(desk.root) as workspace, ledger_of(workspace).transaction() as transaction:
        transaction.runs.add(run, CREATED, plan)
    return run


@pytest.mark.req("RN-12")
def test_the_report_is_the_file_and_its_criteria_are_data(desk: Desk):
    added(desk)
    written = desk.root / ".agent" / "runs" / REQUEST_ID / RUN_ID / "report.md"
    assert desk.run("report").stdout == desk.run("report", RUN_ID).stdout == written.read_text()
    assert "a machine's opinion (reviewer, warning): no test\\x1b[2J" in written.read_text()
    document = desk.json("report")
    assert document["report"] == written.read_text()
    [first, *_] = document["criteria"]
    assert (first["id"], first["verdict"], first["steps"]) == ("AC-01", "not_checked", ["S01", "S02"])
    assert first["commits"] == ["c" * 40]
    assert [one["exit_code"] for one in first["evidence"]] == [0, 0]
    japanese = desk.run("--lang", "ja", "report").stdout
    assert "受け入れ条件: 3 件、未確認" in japanese
    in_c = desk.process("report", LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (in_c.returncode, in_c.stderr) == (0, "")


@pytest.mark.req("RN-4")
def test_a_run_that_nobody_works_on_is_interrupted(desk: Desk):
    added(desk, phase=RunPhase.EXECUTING, stop=None)
    shown = desk.run("status", RUN_ID).stdout
    assert "· interrupted" in shown
    assert f"→ ringi continue {RUN_ID}" in shown
    assert "· interrupted" in desk.run("status").stdout


@pytest.mark.req("RN-4")
@pytest.mark.parametrize("phase", [RunPhase.COMPLETED, RunPhase.CANCELLED])
def test_what_is_over_is_not_offered(desk: Desk, phase: RunPhase):
    run = added(desk, phase=phase, stop=None)
    assert desk.json()["runs"] == []
    shown = desk.run("status", RUN_ID).stdout
    assert "ringi continue" not in shown
    assert ("Acceptance criteria: 3, not checked" in shown) == (phase is RunPhase.COMPLETED)
    offered = [line.strip() for line in shown.splitlines() if "→" in line]
    if phase is RunPhase.COMPLETED:
        assert offered == [f"→ ringi report {RUN_ID}", f"→ git merge {run.work_branch}"]
    else:
        assert offered == [f"→ ringi undo {RUN_ID}"], "it has a commit"


@pytest.mark.req("RN-4")
def test_while_somebody_works_a_terminal_shows_it_live(desk: Desk):
    run = added(desk, phase=RunPhase.EXECUTING, stop=None)
    with worked_on(desk, run) as worker:
        assert worker.stdin is not None
        assert desk.json("status", run.run_id)["working"] is True
        with Screen.ringi(desk.root, "status", run.run_id, columns=60, rows=16) as screen:
            screen.wait("tests/test_a.py")
            assert "at work now" in screen.text
            assert " tests/test_a.py .." in screen.text
            assert b"\x1b[31mtests" not in screen.raw, "its colours are not ours"
            worker.stdin.write("tests/test_b.py FAILED\n")
            worker.stdin.flush()
            screen.wait("test_b.py FAILED")
            assert screen.text.count("Add --json to the report") == 1
            worker.stdin.close()
            worker.wait(60)
            assert screen.exit_code == 0
            assert "at work now" not in screen.text
            assert screen.text.count("Add --json to the report") == 1
            assert f"→ ringi continue {run.run_id}" in screen.text
            assert screen.raw.endswith(b"\r\n")
            assert screen.raw.rfind(b"\x1b[?7l") < screen.raw.rfind(b"\x1b[?7h")


@pytest.mark.req("RN-4")
def test_watching_ends_with_ctrl_c_and_the_run_goes_on(desk: Desk):
    run = added(desk, phase=RunPhase.EXECUTING, stop=None)
    with worked_on(desk, run) as worker, Screen.ringi(desk.root, "status", run.run_id) as screen:
        screen.wait("at work now")
        screen.send("\x03")  # it draws all the time, so it never settles
        assert screen.exit_code == 130
        assert worker.poll() is None


@pytest.mark.req("RN-4")
@pytest.mark.parametrize(("columns", "current"), [(40, 50), (80, 99)])
def test_many_steps_fit_the_terminal(desk: Desk, columns: int, current: int):
    plan = plan_of(*(step_of(n, ["AC-01"], title=f"Step {n} of a long day") for n in range(1, 100)))
    states = [done(n, passed()) if n < current else StepState(step_id=f"S{n:02}") for n in range(1, 100)]
    run = run_of(plan, *states)
    with open_workspace(desk.root) as workspace, ledger_of(workspace).transaction() as transaction:
        transaction.runs.add(run, CREATED, plan)
    assert desk.run("status", run.run_id).stdout.count(" of a long") == 99
    with worked_on(desk, run), Screen.ringi(desk.root, "status", run.run_id, columns=columns) as screen:
        screen.wait("at work now")
        screen.wait("tests/test_a.py")
        assert f"S{current:02}  Step {current}" in screen.text
        assert screen.lines[0] == "Add --json to the report"
        # It is not drawn below itself.
        screen.wait("at work now")
        assert screen.text.count("at work now") == 1
