"""Carries a run on, one transition at a time (RN-4 to RN-10).

What is due follows from the run alone; each transition is saved before the next begins. A process that was
killed leaves at most one transition half done, and all effects can be repeated.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from ringi.engine.run_state import RunPhase
from ringi.errors import BranchRefused
from ringi.kernel.text import Text
from ringi.ledger.event import EventKind
from ringi.runs import machine
from ringi.runs.document import Run, Stop
from ringi.runs.finish_step import decide
from ringi.runs.gates import missing
from ringi.runs.implement_step import start, work
from ringi.runs.machine import RunAct
from ringi.runs.run_context import RunContext, refusal
from ringi.runs.testing import judge, test


def carry_on(context: RunContext) -> Run:
    """Until it is done, paused, or somebody is needed. The caller holds the lock of the run."""
    while (due := machine.due(context.run)) is not None:
        try:
            if due.act in _OF_RUN:
                _OF_RUN[due.act](context)
            else:
                _OF_STEP[due.act](context, due.step)
        except BranchRefused as error:
            context.halt(refusal(context.run, error))
    return context.run


def _begin(context: RunContext) -> None:
    run, plan = context.run, context.plan
    if stop := missing(run, plan) or context.roles.check(plan):
        context.halt(stop)
        return
    context.say("", Text("preparing the branch and a copy"))
    begun = context.bench.begin(run, plan)
    if isinstance(begun, Stop):
        context.halt(begun)
        return
    context.save(
        replace(
            machine.in_phase(run, RunPhase.EXECUTING),
            base_commit=begun.base_commit,
            base_tree=begun.base_tree,
            copy_id=begun.copy_id,
            most_steps=run.most_steps or plan.limits.max_steps_per_run,
        ),
        "begun",
    )


def _integrate(context: RunContext) -> None:
    context.save(machine.in_phase(context.run, RunPhase.INTEGRATING), "integrating")


def _finish(context: RunContext) -> None:
    if stop := context.bench.publish(context.run):
        context.halt(stop)
        return
    # Before it is over: nobody looks after a run that is.
    context.bench.tidy(context.run)
    done = machine.in_phase(context.run, RunPhase.COMPLETED)
    context.save(done, "completed", EventKind.RUN_COMPLETED)


_OF_RUN: Final[Mapping[RunAct, Callable[[RunContext], None]]] = {
    RunAct.BEGIN: _begin,
    RunAct.INTEGRATE: _integrate,
    RunAct.FINISH: _finish,
}
_OF_STEP: Final[Mapping[RunAct, Callable[[RunContext, int], None]]] = {
    RunAct.START: start,
    RunAct.WORK: work,
    RunAct.TEST: test,
    RunAct.JUDGE: judge,
    RunAct.DECIDE: decide,
}
