"""The files in `.agent/` follow the ledger: a moment later, when closed, or with the next process."""

import contextlib
import os
import threading
import time
from pathlib import Path

import pytest

from ringi.app.api import Workspace, open_workspace
from ringi.app.projection import DeferredProjection, Projection
from ringi.app.store import Store
from ringi.ledger.events import PendingProjections
from ringi.plans.tool import PlanTool
from tests.helpers import Person, assert_whole, environment_of, in_child, open_scratch


def opened(tmp_path: Path) -> Workspace:
    root = tmp_path / "ws"
    (root / ".agent").mkdir(parents=True, exist_ok=True)
    return open_workspace(root, environment=environment_of(tmp_path), person=Person())


def shown(tmp_path: Path) -> list[str]:
    return sorted(path.parent.name for path in (tmp_path / "ws/.agent/logs/plans").glob("*/plan.json"))


@pytest.mark.req("PT-10")
def test_written_within_a_moment(tmp_path: Path):
    with opened(tmp_path) as workspace:
        plan_id = workspace.plan.propose("one")
        end = time.monotonic() + 60
        while shown(tmp_path) != [plan_id] and time.monotonic() < end:
            time.sleep(0.01)
        assert shown(tmp_path) == [plan_id]
        workspace.flush()
        assert_whole(workspace)


@pytest.mark.req("PT-10")
def test_written_when_closed(tmp_path: Path):
    with opened(tmp_path) as workspace:
        ids = [workspace.plan.propose(f"plan {number}") for number in range(5)]
        for plan_id in ids:
            workspace.plan.mark_pending(plan_id, pending=True)
    assert shown(tmp_path) == sorted(ids)
    with open_scratch(tmp_path) as again:
        assert_whole(again)


class Counting(Projection):
    written = 0

    def __call__(self, ledger: Store, changed: PendingProjections) -> None:
        self.written += 1
        super().__call__(ledger, changed)


@pytest.mark.req("PT-10")
def test_a_burst_is_not_written_call_by_call(tmp_path: Path):
    with opened(tmp_path) as workspace:
        state = workspace.places.state
        projection = Counting(workspace.places.root, state / "projection.lock", most=100, report=str)
        later = DeferredProjection(projection, state, 1.0, moment_sec=600)
        ledger = Store(state, clock=workspace.clock, ids=workspace.ids, wait_sec=1.0, after_commit=later)
        tool = PlanTool(workspace.replace(store=ledger))
        with contextlib.closing(ledger):
            ids = [tool.propose(f"plan {number}") for number in range(5)]
            for plan_id in ids:
                tool.mark_pending(plan_id, pending=True)
            later.flush()
        assert shown(tmp_path) == sorted(ids)
        assert projection.written == 1
        assert_whole(workspace)


@pytest.mark.req("PT-10")
def test_what_a_dead_process_left_is_written_by_the_next(tmp_path: Path):
    def dies() -> None:
        opened(tmp_path).plan.propose("unwritten")
        os._exit(0)

    assert in_child(dies) == 0
    with opened(tmp_path) as workspace:
        second = workspace.plan.propose("written")
        [first] = [ref.id for ref in workspace.plan.list() if ref.id != second]
    assert shown(tmp_path) == sorted([first, second])
    with open_scratch(tmp_path) as again:
        assert_whole(again)


def test_two_threads_flush_at_once(tmp_path: Path):
    with opened(tmp_path) as workspace:
        ids = [workspace.plan.propose(f"plan {number}") for number in range(20)]
        threads = [threading.Thread(target=workspace.flush) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert shown(tmp_path) == sorted(ids)
        assert_whole(workspace)


def test_a_failure_is_told_and_nothing_is_lost(tmp_path: Path):
    with opened(tmp_path) as workspace:
        (tmp_path / "ws/.agent/logs").symlink_to(tmp_path)
        workspace.plan.propose("one")
        workspace.flush()
        assert workspace.upkeep._projection.problem is not None
        assert not (tmp_path / "plans").exists()
        (tmp_path / "ws/.agent/logs").unlink()
        workspace.plan.propose("two")
        workspace.flush()
        assert len(shown(tmp_path)) == 2
        assert_whole(workspace)
