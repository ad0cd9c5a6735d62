"""Undoing a run: its branch goes as long as nobody built on it."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.engine.run_state import RunPhase
from ringi.errors import BranchMerged, BranchMoved, NoChannel, NothingToUndo
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.document import StepState
from ringi.runs.undo import Undone, undo_run
from tests.helpers import Person, ledger_of, rewire, undo
from tests.unit.runs.steps import (
    MORE,
    README,
    RUN,
    WORK,
    approved_step,
    begun,
    git,
    opened,
    proposed_step,
)

pytestmark = pytest.mark.req("RN-8")


def done(ws: Workspace) -> str:
    plan_id = proposed_step(ws, README, MORE)
    approved_step(ws, plan_id).plan.execute(plan_id)
    commit = git(ws.branch(RUN).root, "rev-parse", "HEAD").strip()
    state = StepState(step_id="S01", plan_id=plan_id, commit=commit)
    run = msgspec.structs.replace(ws.store.runs.get(RUN), steps=(state,))
    with ledger_of(ws).transaction() as transaction:
        transaction.runs.save(run, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM))
    return plan_id


@pytest.fixture
def ws(repo: Path) -> Iterator[Workspace]:
    with opened(repo) as workspace:
        begun(workspace)
        done(workspace)
        yield workspace


def refs(repo: Path) -> list[str]:
    return git(repo, "for-each-ref", "--format=%(refname)", "refs/heads").split()


@pytest.mark.parametrize("folder", [True, False])
def test_the_branch_and_its_folder_go(ws: Workspace, repo: Path, folder: bool) -> None:
    if not folder:
        ws.branch(RUN).remove()
    assert undo_run(ws, RUN) == Undone(WORK)
    assert refs(repo) == ["refs/heads/main"]
    assert not ws.branch(RUN).folder.exists()
    assert ws.store.runs.get(RUN).phase is RunPhase.CANCELLED
    assert undo_run(ws, RUN) == Undone(WORK), "as after a crash"
    assert [str(logged.event.event) for logged in ws.log(RUN)][-1] == "run_undone"


@pytest.mark.parametrize("how", [["merge", "-q", WORK], ["branch", "other", WORK], ["tag", "v1", WORK]])
def test_a_merged_branch_stays(ws: Workspace, repo: Path, how: list[str]) -> None:
    git(repo, *how)
    with pytest.raises(BranchMerged):
        undo_run(ws, RUN)
    assert f"refs/heads/{WORK}" in refs(repo)


def test_a_branch_with_foreign_commits_stays(ws: Workspace, repo: Path) -> None:
    git(repo, "switch", "-q", WORK)
    with pytest.raises(BranchMoved, match="it is checked out"):
        undo_run(ws, RUN)
    git(repo, "commit", "-q", "--allow-empty", "-m", "mine")
    git(repo, "switch", "-q", "main")
    with pytest.raises(BranchMoved, match="did not make"):
        undo_run(ws, RUN)
    assert f"refs/heads/{WORK}" in refs(repo)


def test_no_step_is_taken_out_of_a_run(ws: Workspace, repo: Path) -> None:
    plan_id = ws.store.runs.get(RUN).steps[0].plan_id
    with pytest.raises(NothingToUndo, match=f"ringi undo {RUN}"):
        undo(ws.of_plan(plan_id), plan_id)
    assert f"refs/heads/{WORK}" in refs(repo)


def test_an_agent_undoes_no_run(ws: Workspace, repo: Path) -> None:
    class Agent(Person):
        def agent(self) -> Text | None:
            return Text("an agent works here")

    rewire(ws, person=Agent())
    with pytest.raises(NoChannel):
        undo_run(ws, RUN)
    assert f"refs/heads/{WORK}" in refs(repo)


def test_in_place_the_steps_are_reverted(repo: Path) -> None:
    with opened(repo) as ws:
        begun(ws, in_place=True)
        plan_id = done(ws)
        assert undo_run(ws, RUN) == Undone("", (plan_id,))
        undo(ws.of_plan(plan_id), plan_id)
        assert (repo / "README.md").read_bytes() == README["README.md"]
        assert git(repo, "log", "--format=%s").split("\n")[0] == 'Revert "Do S01"'
        assert git(repo, "status", "--porcelain", "--", ":!.agent") == ""
        assert undo_run(ws, RUN) == Undone("", ())
