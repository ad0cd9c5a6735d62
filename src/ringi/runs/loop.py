"""Carries a run on, one transition at a time (RN-4 to RN-10).

What is due follows from the run alone; each transition is saved before the next begins. A process that was
killed leaves at most one transition half done, and all effects can be repeated.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from ringi.errors import BranchRefused
from ringi.kernel.text import Text
from ringi.ledger.event import EventKind
from ringi.runs import machine
from ringi.runs.document import Run, RunPhase, Stop
from ringi.runs.finish_step import decide
from ringi.runs.gates import missing
from ringi.runs.implement_step import start, work
from ringi.runs.machine import Act
from ringi.runs.run_context import Carrier, refusal
from ringi.runs.run_workspace import RunServices
from ringi.runs.testing import judge, test


def carry_on(services: RunServices, run_id: str) -> Run:
    """Until it is done, paused, or somebody is needed. The caller holds the lock of the run."""
    carrier = Carrier(services, run_id)
    while (due := machine.due(carrier.run)) is not None:
        try:
            if due.act in _OF_RUN:
                _OF_RUN[due.act](carrier)
            else:
                _OF_STEP[due.act](carrier, due.step)
        except BranchRefused as error:
            carrier.halt(refusal(carrier.run, error))
    return carrier.run


def _begin(carrier: Carrier) -> None:
    run, plan = carrier.run, carrier.plan
    if stop := missing(run, plan) or carrier.services.roles.check(plan):
        carrier.halt(stop)
        return
    carrier.say("", Text("preparing the branch and a copy"))
    begun = carrier.bench.begin(run, plan)
    if isinstance(begun, Stop):
        carrier.halt(begun)
        return
    carrier.save(
        replace(
            machine.in_phase(run, RunPhase.EXECUTING),
            base_commit=begun.base_commit,
            base_tree=begun.base_tree,
            copy_id=begun.copy_id,
            most_steps=run.most_steps or plan.limits.max_steps_per_run,
        ),
        "begun",
    )


def _integrate(carrier: Carrier) -> None:
    carrier.save(machine.in_phase(carrier.run, RunPhase.INTEGRATING), "integrating")


def _finish(carrier: Carrier) -> None:
    if stop := carrier.bench.publish(carrier.run):
        carrier.halt(stop)
        return
    # Before it is over: nobody looks after a run that is.
    carrier.bench.tidy(carrier.run)
    done = machine.in_phase(carrier.run, RunPhase.COMPLETED)
    carrier.save(done, "completed", EventKind.RUN_COMPLETED)


_OF_RUN: Final[Mapping[Act, Callable[[Carrier], None]]] = {
    Act.BEGIN: _begin,
    Act.INTEGRATE: _integrate,
    Act.FINISH: _finish,
}
_OF_STEP: Final[Mapping[Act, Callable[[Carrier, int], None]]] = {
    Act.START: start,
    Act.WORK: work,
    Act.TEST: test,
    Act.JUDGE: judge,
    Act.DECIDE: decide,
}
