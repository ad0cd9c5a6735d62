"""Where a plan is carried out: in the workspace, or on the branch of the run that it is a step of."""

import contextlib
from collections.abc import Iterator

from ringi.errors import BranchRefused, NotFound, StepElsewhere
from ringi.kernel.text import Text
from ringi.plans.document import PlanDocument, StoredPlan
from ringi.plans.services import Services


def run_of(document: PlanDocument) -> str:
    """The run that the plan is a step of; empty for any other plan."""
    return document.step.run_id if document.step else ""


def require_here(services: Services, stored: StoredPlan) -> None:
    """Raises StepElsewhere if the plan is carried out in another tree than that of the services."""
    step, name = stored.document.step, f"p{stored.number}"
    if run_of(stored.document) == services.run_id:
        services.prepare()
    elif step:
        why = Text("it is step {step} of run {run}", step=step.step_id, run=step.run_id)
        raise StepElsewhere(plan=name, why=why)
    else:
        raise StepElsewhere(plan=name, why=Text("it is no step of run {run}", run=services.run_id))


def to_show(services: Services, document: PlanDocument) -> Services:
    """Those of the place where the plan is carried out; its tree may be gone."""
    if run_of(document) == services.run_id or services.on_branch is None:
        return services
    return services.on_branch(run_of(document))


def to_recover(services: Services) -> Iterator[Services]:
    """The services of every place in which an execution, its checks or its commit were cut off.

    The given ones are always among them, as the last, because they remove what nobody needs any more. A run
    whose branch cannot be had stays as it is.
    """
    store = services.store
    plans = [intent.plan_id for intent in store.executions.unfinished()]
    plans += filter(None, [store.plans.checking()])
    runs = dict.fromkeys(run_of(store.plans.get(plan_id).document) for plan_id in plans)
    for run_id in runs:
        if run_id != services.run_id and services.on_branch is not None:
            with contextlib.suppress(BranchRefused, NotFound):
                there = services.on_branch(run_id)
                there.prepare()
                yield there
    yield services


def is_checking(services: Services) -> bool:
    """Whether checks or a commit after an execution were cut off here."""
    plan_id = services.store.plans.checking()
    return plan_id is not None and run_of(services.store.plans.get(plan_id).document) == services.run_id
