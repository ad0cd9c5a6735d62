"""A command of a plan is cut off: nobody runs it twice, and a person says how it ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.errors import EffectsUnknown, NoChannel, NotFound, UnknownCommand
from ringi.kernel.text import Text
from ringi.plans.document import PlanStatus
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import OpStatus
from tests.functional.desk import RINGI
from tests.helpers import (
    FILES,
    Person,
    answer,
    approved,
    assert_whole,
    create,
    environment_of,
    fingerprint,
    holds_soon,
    open_scratch,
    write,
)

CHILD = """
import sys, ringi
from tests.helpers import Person
with ringi.open_workspace(sys.argv[1], person=Person()) as workspace:
    workspace.plan.execute(sys.argv[2])
"""
REPOSITORY = Path(__file__).resolve().parents[2]
# Says that it began, ends when it is told, and says so too.
WAITS = "echo began >> began.txt; while [ ! -e go.txt ]; do sleep 0.05; done; echo ended >> ended.txt"


def run(script: str) -> ActionSpec:
    return ActionSpec(SpecKind.RUN, argv=("sh", "-c", script), timeout_sec=60)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path, str]]:
    """In the middle of its command."""
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        root = workspace.places.root
        specs = [write("README.md", "x\n"), run(WAITS), create("last.txt", "last\n")]
        plan_id = approved(workspace, *specs)
    environment = environment_of(tmp_path, RINGI_RUN_SANDBOX="off", PYTHONPATH=str(REPOSITORY))
    child = subprocess.Popen([sys.executable, "-c", CHILD, root, plan_id], cwd=REPOSITORY, env=environment)
    assert holds_soon((root / "began.txt").exists)
    yield child, root, plan_id
    (root / "go.txt").touch()
    child.wait()


@pytest.fixture
def plan(running: tuple[subprocess.Popen[bytes], Path, str]) -> tuple[Path, str]:
    """Killed in the middle of its command."""
    child, root, plan_id = running
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    return root, plan_id


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("command", ["list", "status", "show", "log"])
def test_reading_does_not_wait_for_it(
    running: tuple[subprocess.Popen[bytes], Path, str], tmp_path: Path, command: str
):
    child, root, plan_id = running
    words = [*RINGI, command, *([plan_id] if command == "show" else [])]
    environment = environment_of(tmp_path, RINGI_LOCK_WAIT_SEC="600", PYTHONPATH=str(REPOSITORY / "src"))
    done = subprocess.run(words, cwd=root, env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert child.poll() is None


@pytest.mark.req("PT-12")
def test_it_is_unknown_and_asked_about(plan: tuple[Path, str], tmp_path: Path):
    root, plan_id = plan
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        (result,) = workspace.recovered
        assert result.recovered
        assert {o.spec_id: o.status for o in result.results} == {
            "s1": OpStatus.DONE,
            "s2": OpStatus.UNKNOWN,
            "s3": OpStatus.UNTOUCHED,
        }
        assert workspace.plan.get_state(plan_id).status is PlanStatus.ABORTED
        before = fingerprint(root)
        with pytest.raises(UnknownCommand, match="nobody knows how it ended"):
            workspace.plan.execute(plan_id)
        with pytest.raises(NotFound):
            workspace.plan.settle(plan_id, "s1", done=True)
        assert fingerprint(root) == before
        assert_whole(workspace)


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("done", [True, False])
def test_a_person_settles_it(plan: tuple[Path, str], tmp_path: Path, done: bool):
    root, plan_id = plan
    (root / "go.txt").touch()
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        workspace.plan.settle(plan_id, "s2", done=done)
        result = workspace.plan.execute(plan_id)
        assert result.overall_success
        assert {o.spec_id for o in result.results} == ({"s3"} if done else {"s2", "s3"})
        assert workspace.plan.get_state(plan_id).status is PlanStatus.COMPLETED
        assert (root / "began.txt").read_text() == ("began\n" if done else "began\nbegan\n")
        _, found = workspace.plan.ask_undo(plan_id)
        assert any("began.txt" in command for command in found.unknown), "what it did at first is not known"
        assert_whole(workspace)


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("done", [True, False])
def test_an_undo_says_that_it_is_not_whole(plan: tuple[Path, str], tmp_path: Path, done: bool):
    """What the command changed before it was cut off is in no record."""
    root, plan_id = plan
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        workspace.plan.settle(plan_id, "s2", done=done)
        request, found = workspace.plan.ask_undo(plan_id)
        assert [change.path for change in found.changes] == ["README.md"]
        result = workspace.plan.undo(plan_id, "hanako", answer(request))
        assert not result.overall_success
        assert not workspace.plan.ref(plan_id).undone
        assert (root / "README.md").read_text() == FILES["README.md"]
        assert (root / "began.txt").exists()
        with pytest.raises(EffectsUnknown, match=r"began\.txt") as caught:
            workspace.plan.ask_undo(plan_id)
        assert caught.value.exit_code == 4
        assert_whole(workspace)


@pytest.mark.req("PT-12")
def test_an_agent_cannot_settle_it(plan: tuple[Path, str], tmp_path: Path):
    _, plan_id = plan
    agent = Person(Text("an agent started this."))
    with open_scratch(tmp_path, person=agent) as workspace, pytest.raises(NoChannel):
        workspace.plan.settle(plan_id, "s2", done=True)


@pytest.mark.req("PT-12")
def test_interrupted_it_has_an_end(tmp_path: Path):
    """A signal ends the command, and that is known."""
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        root = workspace.places.root
        plan_id = approved(workspace, run(WAITS), create("last.txt", "last\n"))
    environment = environment_of(tmp_path, RINGI_RUN_SANDBOX="off", PYTHONPATH=str(REPOSITORY))
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, root, plan_id],
        cwd=REPOSITORY,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    assert holds_soon((root / "began.txt").exists)
    child.terminate()
    assert child.wait(60) != 0
    (root / "go.txt").touch()
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        (result,) = workspace.recovered
        assert result.results[0].status is OpStatus.FAILED
        assert not (root / "ended.txt").exists()
        again = workspace.plan.execute(plan_id)
        assert again.overall_success
        assert_whole(workspace)


@pytest.mark.req("PT-12")
def test_what_a_command_made_of_earlier_units_stays(tmp_path: Path):
    """As a formatter does, or one that moves and deletes: recovery redoes nothing that came before it."""
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        root = workspace.places.root
        plan_id = approved(
            workspace,
            write("README.md", "x\n", group="g"),
            create("b.txt", "b\n", group="g"),
            create("tmp.sql", "sql\n"),
            run("echo formatted >> README.md; rm tmp.sql; mv b.txt c.txt"),
            run(WAITS),
        )
    environment = environment_of(tmp_path, RINGI_RUN_SANDBOX="off", PYTHONPATH=str(REPOSITORY))
    child = subprocess.Popen([sys.executable, "-c", CHILD, root, plan_id], cwd=REPOSITORY, env=environment)
    assert holds_soon((root / "began.txt").exists)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    (root / "go.txt").touch()
    with open_scratch(tmp_path, RINGI_RUN_SANDBOX="off") as workspace:
        (result,) = workspace.recovered
        assert [str(outcome.status) for outcome in result.results] == ["done"] * 4 + ["unknown"]
        assert (root / "README.md").read_text() == "x\nformatted\n"
        assert not (root / "tmp.sql").exists()
        assert (root / "c.txt").read_text() == "b\n"
        request, _ = workspace.plan.ask_undo(plan_id)
        undone = workspace.plan.undo(plan_id, "hanako", answer(request))
        assert not undone.overall_success, "nobody knows what the last command changed"
        assert (root / "README.md").read_text() == "# Sample\n"
        assert not (root / "c.txt").exists()
        assert_whole(workspace)
