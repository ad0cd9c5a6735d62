"""Undoes a run: its branch goes, unless others built on it. In place, its steps are undone one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ringi.approvals.who import actor_at, refuse_agent
from ringi.engine.run_state import OVER
from ringi.ledger.event import EventKind, NewEvent
from ringi.plans.document import PlanStatus, undone_at
from ringi.runs.branch import delete_branch
from ringi.runs.document import Run
from ringi.runs.drive import cancel_run
from ringi.runs.ref_damage import mend_run

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


class Undone(NamedTuple):
    branch: str
    """The branch that was removed; empty in place."""
    to_undo: tuple[str, ...] = ()
    """In place: the plans to undo, the newest first. Each reverts its commit with a new one."""


def undo_run(workspace: Workspace, run_id: str) -> Undone:
    """Can be called again after a crash. Raises NoChannel for an agent, BranchMoved, BranchMerged."""
    refuse_agent(workspace.person, f"ringi undo {run_id}")
    for line in (line for mended in mend_run(workspace, run_id) for line in mended.lines):
        workspace.tell(line)
    run, branch = workspace.store.runs.get(run_id), workspace.branch(run_id)
    if run.in_place:
        return Undone(
            "", tuple(reversed([step.plan_id for step in run.steps if _stands(workspace, step.plan_id)]))
        )
    tip = branch.tip() if branch.is_made else branch.of.tip
    delete_branch(workspace.places.root, branch.of._replace(tip=tip))
    run = _cancel(workspace, run)
    branch.remove()
    _mark_run(workspace, run)
    return Undone(run.work_branch)


def mark_undone(workspace: Workspace, run_id: str) -> bool:
    """In place, once its plans are undone; False if one of them still stands."""
    run = workspace.store.runs.get(run_id)
    if any(_stands(workspace, step.plan_id) for step in run.steps):
        return False
    _mark_run(workspace, _cancel(workspace, run))
    return True


def _cancel(workspace: Workspace, run: Run) -> Run:
    return run if run.phase in OVER else cancel_run(workspace, run.run_id)


def _mark_run(workspace: Workspace, run: Run) -> None:
    event = NewEvent(EventKind.RUN_UNDONE, actor_at(workspace.person), run.work_branch)
    with workspace.store.transaction() as transaction:
        transaction.runs.save(replace(run, undone=True), event)


def _stands(workspace: Workspace, plan_id: str) -> bool:
    if not plan_id:
        return False
    document = workspace.plan.get(plan_id)
    return document.state.status is PlanStatus.COMPLETED and undone_at(document) is None
