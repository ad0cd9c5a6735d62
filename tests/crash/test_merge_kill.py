"""kill -9 at every audited event of a merge: the plan has its old version or the merged one, nothing else."""

import shutil
from pathlib import Path

import pytest

import ringi
from ringi.plans.document import PlanStatus
from ringi.plans.review_merge import merge_if_clean
from ringi.plans.reviewed_plan import ReviewedPlan
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from tests.crash.killing import EVERY, KILLED
from tests.fakes.people import SeatedPerson
from tests.helpers import approve

BASE = "".join(f"line {number}\n" for number in range(40))
AGENT = BASE.replace("line 3\n", "agent\n")
MINE = BASE.replace("line 30\n", "mine\n")
MERGED = MINE.replace("line 3\n", "agent\n")
OTHER = "another file\n"


class Shop:
    """A plan that waits, and a file that its person changed meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._here, self._template = folder / "here", folder / "template"
        self.root = self._here / "workspace"
        self.environment = {"HOME": str(self._here), "RINGI_STATE_DIR": str(self._here / "states")}
        (self.root / ".agent").mkdir(parents=True)
        (self.root / "a.txt").write_text(BASE)
        with self.open() as workspace:
            specs = [ActionSpec(SpecKind.WRITE, "a.txt", AGENT), ActionSpec(SpecKind.CREATE, "b.txt", OTHER)]
            self.plan_id = workspace.plan.propose_specs("change", specs)
        (self.root / "a.txt").write_text(MINE)
        self._here.rename(self._template)

    def open(self) -> ringi.Workspace:
        return ringi.open_workspace(
            self.root, environment=self.environment, person=SeatedPerson(), at_once=True
        )

    def fresh(self, event: int) -> dict[str, object]:
        shutil.rmtree(self._here, ignore_errors=True)
        shutil.copytree(self._template, self._here)
        where = {"root": str(self.root), "environment": self.environment}
        return {**where, "plan": self.plan_id, "merge": True, "event": event}

    def goes_on(self) -> None:
        """What is there is whole, and the next review takes it from there to the end."""
        assert (self.root / "a.txt").read_text() == MINE
        assert not (self.root / "b.txt").exists()
        with self.open() as workspace:
            assert workspace.verify_log() == []
            document = workspace.plan.get(self.plan_id)
            assert document.state.status is PlanStatus.PENDING_REVIEW
            assert document.state.approvals == ()
            content = document.state.action_specs[0].base.content
            assert (document.plan.version, content) in {(1, AGENT), (2, MERGED)}
            merge_if_clean(ReviewedPlan(workspace, self.plan_id))
            assert workspace.plan.get(self.plan_id).plan.version == 2
            approve(workspace, self.plan_id)
            assert workspace.plan.execute(self.plan_id).overall_success
        assert (self.root / "a.txt").read_text() == MERGED
        assert (self.root / "b.txt").read_text() == OTHER


@pytest.mark.req("PT-6", "PT-12")
def test_killed_at_every_event_of_a_merge(driver, tmp_path):
    shop, event = Shop(tmp_path), 1
    while (code := driver.run(shop.fresh(event))) == KILLED:
        shop.goes_on()
        event += EVERY
    assert code == 0
    assert event > 10
    shop.goes_on()
