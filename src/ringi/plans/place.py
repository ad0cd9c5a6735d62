"""Where a plan is carried out: in the workspace, or on the branch of the run that it is a step of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ringi.errors import BranchRefused, NotFound, StepElsewhere
from ringi.kernel.text import Text
from ringi.plans.document import PlanDocument, StoredPlan

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def run_of(document: PlanDocument) -> str:
    """The run that the plan is a step of; empty for any other plan."""
    return document.step.run_id if document.step else ""


def require_here(workspace: Workspace, stored: StoredPlan) -> None:
    """Raises StepElsewhere if the plan is carried out in another tree."""
    step, name = stored.document.step, f"p{stored.number}"
    if run_of(stored.document) == workspace.run_id:
        workspace.prepare()
    elif step:
        why = Text("it is step {step} of run {run}", step=step.step_id, run=step.run_id)
        raise StepElsewhere(plan=name, why=why)
    else:
        raise StepElsewhere(plan=name, why=Text("it is no step of run {run}", run=workspace.run_id))


def to_show(workspace: Workspace, document: PlanDocument) -> Workspace:
    """Where the plan is carried out; its files may be gone."""
    return workspace.on_branch(run_of(document))


def to_recover(workspace: Workspace) -> Iterator[Workspace]:
    """Every place in which an execution, its checks or its commit were cut off.

    The given one is always among them, as the last, because it removes what nobody needs any more. A run
    whose branch cannot be had stays as it is.
    """
    store = workspace.store
    plans = [intent.plan_id for intent in store.executions.list_unfinished()]
    plans += filter(None, [store.plans.checking()])
    runs = dict.fromkeys(run_of(store.plans.get(plan_id).document) for plan_id in plans)
    for run_id in runs:
        if run_id != workspace.run_id:
            with contextlib.suppress(BranchRefused, NotFound):
                there = workspace.on_branch(run_id)
                there.prepare()
                yield there
    yield workspace


def is_checking(workspace: Workspace) -> bool:
    """Whether checks or a commit after an execution were cut off here."""
    plan_id = workspace.store.plans.checking()
    return plan_id is not None and run_of(workspace.store.plans.get(plan_id).document) == workspace.run_id
