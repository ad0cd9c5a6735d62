"""kill -9 while a commit that was offered is carried out: it is there afterwards, or nothing is."""

import shutil
from pathlib import Path

import pytest

from ringi.app.api import open_workspace
from ringi.plans.document import PlanStatus
from ringi.runs.step_plan import step_end
from tests.crash.killing import FULL, KILLED, Driver
from tests.fakes.people import SeatedPerson
from tests.helpers import kinds
from tests.unit.runs.offered import offered_step, run_git
from tests.unit.runs.steps import WORK, approved_step, begun, proposed_step

README = {"README.md": b"# Sample\n"}
MORE = {"README.md": b"# Sample\n\nMore.\n"}


@pytest.mark.req("PP-19", "RN-8")
def test_killed_anywhere_it_is_committed_once(driver: Driver, repo: Path):
    here, template = repo.parent / "here", repo.parent / "template"
    root = here / "repo"
    here.mkdir()
    repo.rename(root)
    environment = {
        "HOME": str(here),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "RINGI_STATE_DIR": str(here / "states"),
    }
    run_git(root, "config", "user.name", "Hanako")
    run_git(root, "config", "user.email", "hanako@example.com")

    def opened():
        return open_workspace(root, environment=environment, person=SeatedPerson(), at_once=True)

    with opened() as workspace:
        begun(workspace)
        plan_id = proposed_step(workspace, README, MORE)
        commit = offered_step(workspace, plan_id, MORE)
        approved_step(workspace, plan_id)
        base = run_git(root, "rev-parse", "main")
    here.rename(template)
    ends = set()
    for event in range(1, 10_000, 1 if FULL else 29):
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(template, here, symlinks=True)
        task = {"root": str(root), "environment": environment, "plan": plan_id, "event": event}
        killed = driver.run(task) == KILLED
        with opened() as workspace:
            there = workspace.of_plan(plan_id)
            status = there.plan.get_state(plan_id).status
            ends.add(status)
            made = [commit] if status is PlanStatus.COMPLETED else []
            assert run_git(there.places.root, "rev-list", f"{base}..HEAD").split() == made
            assert kinds(workspace, plan_id).count("committed") == len(made)
            if status is PlanStatus.APPROVED:
                there.plan.execute(plan_id)
            end = step_end(there, plan_id)
            assert end
            assert end.commit == commit
        assert run_git(root, "rev-parse", WORK) == commit
        if not killed:
            break
    assert ends == {PlanStatus.APPROVED, PlanStatus.COMPLETED}
