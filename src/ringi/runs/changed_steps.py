"""A run as it is shown: what is said about a step that waits is about its plan as it is now.

The run itself knows the bytes that it tested. A review may have changed them since, with or without a test of
the result, and the run learns of it only when it goes on. So it is compared with its plans first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ringi.engine.run_plan import RunPlan, RunStep
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import NotFound
from ringi.kernel.text import Text
from ringi.ledger.event import EventKind
from ringi.plans.check import commands_of, failing_test
from ringi.plans.document import PlanDocument, PlanStatus, StoredPlan, undone_at
from ringi.runs import machine
from ringi.runs.criteria import results_of
from ringi.runs.document import Evidence, Run, StepState, Stop, StopCode, stop_for
from ringi.runs.gates import describe_failure
from ringi.tree.action_spec import ActionSpecExt
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.file_state import Touched

if TYPE_CHECKING:
    from ringi.app.store import Store

RESULT_WAITS: Final = Text("the result waits for you")
_FAILED: Final = frozenset([StopCode.UNIT_TEST_FAILED, StopCode.E2E_FAILED, StopCode.TEST_TIMEOUT])
_APPROVED: Final = frozenset([PlanStatus.APPROVED, PlanStatus.ABORTED])
_MOVES: Final = frozenset([EventKind.EXECUTED, EventKind.UNDO_STARTED, EventKind.UNDONE])


class _Waiting(NamedTuple):
    """The plan of a step that waits for a decision, as far as its run knows."""

    stored: StoredPlan
    changed: bool
    """It would write other bytes than those that the run tested."""

    @property
    def on_branch(self) -> bool:
        document = self.stored.document
        return document.state.status is PlanStatus.COMPLETED and undone_at(document) is None


_Plans = Mapping[int, _Waiting]
"""By the place of the step in its run."""


def follow_plans(store: Store, run: Run, plan: RunPlan | None) -> Run:
    """The run, with evidence, size and stop of the steps that wait as their plans are now; never saved."""
    plans = _waiting(store, run)
    steps = tuple(_follow(store, run, at, plans) for at in range(len(run.steps)))
    shown = replace(run, steps=steps)
    return replace(shown, stop=_stop(shown, plan, plans)) if plan else shown


def is_tested_otherwise(store: Store, document: PlanDocument) -> bool:
    """Whether a step that is carried out now would be on other files than its newest results are about."""
    run = store.runs.get(document.step.run_id) if document.step else None
    places = [at for at, one in enumerate(run.steps) if one.plan_id == document.plan.id] if run else []
    if run is None or not places:
        return False
    if _review_results(document):
        return _has_moved_since(store, run, places[0])
    plans, at = _waiting(store, run), places[0]
    return at not in plans or _is_apart(at, plans) or _is_on_other_files(run, at, plans)


def _waiting(store: Store, run: Run) -> _Plans:
    found = dict[int, _Waiting]()
    for at, step in enumerate(run.steps):
        if step.status is StepStatus.PROPOSED:
            with suppress(NotFound):
                stored = store.plans.get(step.plan_id)
                found[at] = _Waiting(stored, _is_changed(store, step, stored.document))
    return found


def _is_changed(store: Store, step: StepState, document: PlanDocument) -> bool:
    if document.plan.version == step.plan_version:
        return False
    return _files(store.plans.specs(step.plan_id, step.plan_version)) != _files(document.state.action_specs)


def _files(specs: Sequence[ActionSpecExt]) -> set[Touched]:
    return {file for spec in specs for file in spec.touched if file.before != file.after}


def _is_apart(at: int, plans: _Plans) -> bool:
    """Whether a step before it is not on the branch yet."""
    return any(not one.on_branch for place, one in plans.items() if place < at)


def _is_on_other_files(run: Run, at: int, plans: _Plans) -> bool:
    """The run tests a step with those before it, and without later ones that are on the branch."""
    if run.steps[at].base_tree != machine.tree_before(run, at):
        return True
    first = not plans[at].on_branch and any(one.on_branch for place, one in plans.items() if place > at)
    return first or any(one.changed for place, one in plans.items() if place < at)


def _has_moved_since(store: Store, run: Run, at: int) -> bool:
    """A review tests a step with what is on the branch then: whether another step came or went since."""
    own = [one.event for one in store.events(run.steps[at].plan_id)]
    tested = max((one.seq for one in own if one.event is EventKind.CHECKED), default=0)
    others = [one.plan_id for place, one in enumerate(run.steps) if one.plan_id and place != at]
    return any(one.event.event in _MOVES for plan_id in others for one in store.events(plan_id, after=tested))


def _follow(store: Store, run: Run, at: int, plans: _Plans) -> StepState:
    step = run.steps[at]
    if at not in plans:
        return step
    document, changed = plans[at].stored.document, plans[at].changed
    results = _review_results(document)
    if not plans[at].on_branch and results and (_is_apart(at, plans) or _has_moved_since(store, run, at)):
        results = ()
    if changed or _is_on_other_files(run, at, plans):
        return _replace_results(step, document, results)
    return _add_results(step, results)


def _review_results(document: PlanDocument) -> tuple[CheckResult, ...]:
    """The newest result of each command on the plan as it is, from a review or an attempt to carry it out."""
    return tuple({one.command: one for one in document.state.checks if one.phase is CheckPhase.DRY}.values())


def _add_results(step: StepState, results: Sequence[CheckResult]) -> StepState:
    """On the bytes that the run tested."""
    again = [replace(one, tree=step.tree) for one in _evidence(step, results)]
    return replace(step, evidence=(*step.evidence, *again)) if again else step


def _replace_results(step: StepState, document: PlanDocument, results: Sequence[CheckResult]) -> StepState:
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


def _stop(run: Run, plan: RunPlan, plans: _Plans) -> Stop | None:
    """A step whose tests fail is not carried out; it waits again once it is changed."""
    stop = run.stop
    found = [one for at, one in plans.items() if stop and run.steps[at].step_id == stop.step_id]
    if stop is None or not found or run.phase is not RunPhase.NEEDS_INPUT:
        return stop
    stored = found[0].stored
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
