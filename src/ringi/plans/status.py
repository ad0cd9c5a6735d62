"""A plan goes from one status to the next; a refusal says what became of it, and the command that goes on."""

from collections.abc import Mapping
from typing import NamedTuple

from ringi.errors import AlreadyDone, AlreadyUndone, BadTransition, NotNow
from ringi.kernel.text import Text
from ringi.plans.document import PLAN_MACHINE, PlanDocument, PlanStatus, undone_at


class _Now(NamedTuple):
    what: Text
    todo: Text


def _now(plan: str) -> Mapping[PlanStatus, _Now]:
    running = _Now(
        Text("Plan {plan} is being carried out", plan=plan),
        Text("Wait until it is done, and see: ringi show {plan}", plan=plan),
    )
    return {
        PlanStatus.PROPOSED: _Now(
            Text("Plan {plan} does not wait for a decision", plan=plan),
            Text("Open it for one: ringi request {plan} --pending", plan=plan),
        ),
        PlanStatus.PENDING_REVIEW: _Now(
            Text("Plan {plan} waits for a decision already", plan=plan),
            Text("Decide about it: ringi review {plan}", plan=plan),
        ),
        PlanStatus.APPROVED: _Now(
            Text("Plan {plan} is approved", plan=plan),
            Text(
                "Carry it out: ringi execute {plan}; or let the approval end: ringi request {plan} --pending",
                plan=plan,
            ),
        ),
        PlanStatus.SCHEDULED: running,
        PlanStatus.EXECUTING: running,
        PlanStatus.ABORTED: _Now(
            Text("Plan {plan} was not carried out to its end", plan=plan),
            Text(
                "Carry out the rest: ringi execute {plan}; or decide again: ringi request {plan} --pending",
                plan=plan,
            ),
        ),
        PlanStatus.DISCARDED: _Now(
            Text("Plan {plan} was discarded", plan=plan),
            Text("Look at it: ringi show {plan}; make a new plan: ringi propose --fork {plan}", plan=plan),
        ),
    }


def _describe_sent_back(plan: str) -> _Now:
    return _Now(
        Text("Plan {plan} was sent back to its proposer", plan=plan),
        Text("To decide about it as it is, open it again: ringi request {plan} --pending", plan=plan),
    )


def is_sent_back(document: PlanDocument) -> bool:
    """Whether a person rejected it, and it was not opened again."""
    rejected = any(given.is_rejection for given in document.state.feedback)
    return rejected and document.state.status is PlanStatus.PROPOSED


def advance(document: PlanDocument, name: str, target: PlanStatus) -> PlanStatus:
    if PLAN_MACHINE.allows(document.state.status, target):
        return target
    raise refusal(document, name, target)


def refusal(document: PlanDocument, name: str, target: PlanStatus) -> BadTransition:
    state = document.state
    if state.status is PlanStatus.COMPLETED:
        return AlreadyUndone(plan=name) if undone_at(document) else AlreadyDone(plan=name)
    now = _describe_sent_back(name) if is_sent_back(document) else _now(name)[state.status]
    return NotNow(what=now.what, todo=now.todo, current=str(state.status), target=str(target))
