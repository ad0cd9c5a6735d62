"""A run as it is shown: what is said about a step that waits is about its plan as it is now.

The run itself knows the bytes that it tested. A review may have changed them since, with or without a test of
the result, and the run learns of it only when it goes on. So whoever shows a run compares it with its plans.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import UNSET
from msgspec.structs import replace

from ringi.engine.run_plan import RunPlan, RunStep
from ringi.errors import NotFound
from ringi.kernel.text import Text
from ringi.plans.check import commands_of, failing_test
from ringi.plans.document import (
    ActionSpecExt,
    CheckPhase,
    CheckResult,
    PlanDocument,
    PlanStatus,
    StoredPlan,
    Touched,
)
from ringi.runs.criteria import results_of
from ringi.runs.document import Evidence, Run, RunPhase, StepState, StepStatus, Stop, StopCode, stop_for
from ringi.runs.gates import describe_failure

RESULT_WAITS: Final = Text("the result waits for you")
_FAILED: Final = frozenset([StopCode.UNIT_TEST_FAILED, StopCode.E2E_FAILED, StopCode.TEST_TIMEOUT])
_APPROVED: Final = frozenset([PlanStatus.APPROVED, PlanStatus.ABORTED])


class StepPlans(Protocol):
    """The part of the ledger that has the plans of the steps."""

    def plan(self, plan_id: str) -> StoredPlan: ...
    def specs(self, plan_id: str, version: int) -> tuple[ActionSpecExt, ...]: ...


def follow_plans(store: StepPlans, run: Run, plan: RunPlan | None) -> Run:
    """The run, with evidence, size and stop of the steps that wait as their plans are now; never saved."""
    shown = replace(run, steps=follow_steps(store, run.steps))
    return replace(shown, stop=_stop(store, shown, plan)) if plan else shown


def follow_steps(store: StepPlans, steps: Sequence[StepState]) -> tuple[StepState, ...]:
    """The same of steps alone, in their order."""
    found = list[StepState]()
    # The run tests a step together with those before it, a review only with what is committed already.
    others_changed = others_wait = False
    for step in steps:
        if (stored := _plan_of(store, step)) is None:
            found.append(step)
            continue
        document = stored.document
        changed = _is_changed(store, step, document)
        results = () if others_changed or others_wait else _reviewed(document)
        if changed or others_changed:
            found.append(_retested(step, document, results))
        else:
            found.append(_tested_again(step, results))
        others_changed = others_changed or changed
        others_wait = others_wait or document.state.status is not PlanStatus.COMPLETED
    return tuple(found)


def _plan_of(store: StepPlans, step: StepState) -> StoredPlan | None:
    """None if it does not wait for a decision, as far as the run knows."""
    if step.status is not StepStatus.PROPOSED:
        return None
    try:
        return store.plan(step.plan_id)
    except NotFound:
        return None


def _is_changed(store: StepPlans, step: StepState, document: PlanDocument) -> bool:
    """Whether it would write other bytes than those that the run tested."""
    if document.plan.version == step.plan_version:
        return False
    return _files(store.specs(step.plan_id, step.plan_version)) != _files(document.state.action_specs)


def _files(specs: Sequence[ActionSpecExt]) -> set[Touched]:
    return {file for spec in specs for file in spec.touched if file.before != file.after}


def _reviewed(document: PlanDocument) -> tuple[CheckResult, ...]:
    """The newest result of each command on the plan as it is, from a review or an attempt to carry it out."""
    return tuple({one.command: one for one in document.state.checks if one.phase is CheckPhase.DRY}.values())


def _tested_again(step: StepState, results: Sequence[CheckResult]) -> StepState:
    """On the bytes that the run tested."""
    again = [replace(one, tree=step.tree) for one in _evidence(step, results)]
    return replace(step, evidence=(*step.evidence, *again)) if again else step


def _retested(step: StepState, document: PlanDocument, results: Sequence[CheckResult]) -> StepState:
    """On other bytes: what the run knows says nothing about them."""
    size, ran = document.state.previews, {one.command for one in results}
    if size:
        step = replace(step, files=len(size.files), lines=size.added + size.removed)
    found = _evidence(step, results)
    if found and (ran.issuperset(commands_of(document)) or not all(one.passed for one in found)):
        return replace(step, evidence=found, tree=found[-1].tree)
    return replace(step, evidence=(), changed_since_tested=bool(results_of(step)))


def _evidence(step: StepState, results: Sequence[CheckResult]) -> tuple[Evidence, ...]:
    """None of a step about whose tests nothing was said before: those of a review may not be its own."""
    kinds = {one.command: one.kind for one in results_of(step)}
    return tuple(evidence_of(one, kinds.get(one.command, "unit"), sandboxed=True) for one in results if kinds)


def evidence_of(one: CheckResult, kind: str = "unit", *, sandboxed: bool = False) -> Evidence:
    """A check of the plan, as the run keeps what its commands said."""
    return Evidence(
        command=one.command,
        kind=kind,
        exit_code=one.exit_code,
        duration_sec=one.duration_sec,
        tree=one.tree,
        output_sha256=hashlib.sha256(one.output.encode()).hexdigest(),
        timed_out=one.timeout_sec is not UNSET,
        sandboxed=sandboxed,
        doubt=one.doubt or "",
    )


def _stop(store: StepPlans, run: Run, plan: RunPlan) -> Stop | None:
    """A step whose tests fail is not carried out, whoever tried to; and it waits again once it is changed."""
    stop = run.stop
    state = next((one for one in run.steps if stop and one.step_id == stop.step_id), None)
    stored = _plan_of(store, state) if state and run.phase is RunPhase.NEEDS_INPUT else None
    if stop is None or stored is None:
        return stop
    failed = failing_test(stored.document) if stored.document.state.status in _APPROVED else None
    if failed is not None and stop.reason_code is StopCode.APPROVAL_NEEDED:
        step = next(one for one in plan.steps if one.step_id == stop.step_id)
        return stop_after_change(plan, step, evidence_of(failed, sandboxed=True), f"p{stored.number}")
    if failed is None and stop.reason_code in _FAILED:
        code, again = StopCode.APPROVAL_NEEDED, f"ringi continue {run.run_id}"
        return stop_for(code, RESULT_WAITS, again, step_id=stop.step_id)
    return stop


def stop_after_change(plan: RunPlan, step: RunStep, failed: Evidence, name: str) -> Stop:
    """A person changed the step and approved that, and its tests do not pass any more."""
    code, what = describe_failure(plan, step, failed)
    why = Text("after your change {what}; nothing was committed", what=what)
    return stop_for(code, why, f"ringi review {name}", step_id=step.step_id)
