"""What became of the plan of a step: a commit, another turn, or a decision that is needed (RN-5)."""

from typing import Final

from msgspec.structs import replace

from ringi.engine.run_state import RunPhase, StepStatus
from ringi.kernel.text import COMMIT_SHOWN, GRANT_SHOWN, Text
from ringi.ledger.event import EventKind
from ringi.runs import machine
from ringi.runs.changed_steps import RESULT_WAITS, stop_after_change
from ringi.runs.document import StopCode
from ringi.runs.machine import with_step
from ringi.runs.run_context import RunContext, stop_of
from ringi.runs.run_workspace import Decided, StepDecision
from ringi.runs.testing import evidence_on, gate_failed, gates_of

_E, _S = EventKind, StepStatus
_WITHOUT_COMMIT: Final = {
    Decided.THROWN_AWAY: (StopCode.DECLINED, Text("what the step changed was thrown away")),
    Decided.NOT_CARRIED_OUT: (
        StopCode.COMMIT_FAILED,
        Text("it is approved, but could not be carried out"),
    ),
    Decided.NOT_COMMITTED: (StopCode.COMMIT_FAILED, Text("git made no commit")),
    Decided.REWRITTEN: (
        StopCode.COMMIT_REWRITTEN,
        Text("a hook changed what was approved; it was taken back"),
    ),
}


def decide(context: RunContext, index: int) -> None:
    run, step, state = context.at(index)
    if state.merging or state.base_tree != machine.tree_before(context.run, index):
        _merge(context, index)
        return
    decision = context.bench.settle_step(run, state)
    what = decision.what
    if what is Decided.COMMITTED:
        _finish_committed(context, index, decision)
    elif what is Decided.WAITS:
        _waits(context, index, decision)
    elif what is Decided.DECLINED:
        _send_back(context, index, decision)
    elif what is Decided.OUTDATED:
        _merge(context, index)
    elif what is Decided.CHANGE_FAILED:
        _change_failed(context, index, decision)
    elif what is Decided.TESTS_FAILED:
        failed = next(one for one in decision.evidence if not one.passed)
        tested = with_step(run, index, evidence=decision.evidence)
        gate_failed(context, index, tested, failed, decision.words)
    else:
        code, message = _WITHOUT_COMMIT[what]
        # Under the same approval, or made anew.
        again = f"ringi continue {run.run_id}" + ("" if what is Decided.NOT_CARRIED_OUT else " --retry")
        stop = replace(stop_of(code, message, again, step), detail=decision.words)
        context.halt(stop)


def _finish_committed(context: RunContext, index: int, decision: StepDecision) -> None:
    run, step, state = context.at(index)
    evidence, lines, files = state.evidence, state.lines, state.files
    if decision.tree:
        changes = context.bench.measure(run, state.base_tree)
        lines, files = changes.total, len(changes.lines)
    if decision.tree and context.bench.uses_sandbox():  # the person changed what had been tested
        kinds = {command: kind for kind, command in gates_of(context, index)}
        again = [replace(one, kind=kinds.get(one.command, one.kind)) for one in decision.tested]
        evidence = tuple(again) or evidence_on(context, index, decision.tree)
    evidence += decision.evidence  # what ran for real, on the branch
    done = with_step(
        run,
        index,
        status=_S.DONE,
        commit=decision.commit,
        grant=decision.grant,
        tree=decision.tree or state.tree,
        lines=lines,
        files=files,
        plan_version=decision.version or state.plan_version,
        evidence=evidence,
        ended_at=context.workspace.clock.now(),
    )
    context.save(done, f"{step.step_id}: committed {decision.commit[:COMMIT_SHOWN]}")
    if decision.grant:
        context.say(
            step.step_id, Text("covered by the standing approval {grant}", grant=decision.grant[:GRANT_SHOWN])
        )
    if stop := context.bench.publish(context.run):
        context.halt(stop)


def _change_failed(context: RunContext, index: int, decision: StepDecision) -> None:
    """No role works on it again: only the person can mend what they changed, or send it back."""
    run, step, state = context.at(index)
    failed = decision.tested[0]
    stop = stop_after_change(context.plan, step, failed, decision.plan)
    noted = with_step(run, index, evidence=(*state.evidence, failed))
    detail = context.workspace.mask(decision.words)
    context.halt(replace(stop, detail=detail), noted, phase=RunPhase.NEEDS_INPUT)


def _waits(context: RunContext, index: int, decision: StepDecision) -> None:
    """A later step may be sent back before this one is decided about: it is made again first."""
    run, step, _ = context.at(index)
    for at, later in enumerate(run.steps):
        if at > index and later.status is _S.PROPOSED:
            about = context.bench.settle_step(run, later, in_turn=False)
            if about.what is Decided.DECLINED:
                _send_back(context, at, about)
                return
    message = Text("{why}", why=decision.words) if decision.words else RESULT_WAITS
    context.halt(stop_of(StopCode.APPROVAL_NEEDED, message, f"ringi continue {run.run_id}", step))


def _send_back(context: RunContext, index: int, decision: StepDecision) -> None:
    """The role works on with the person's words; what was built on it is made anew, with theirs."""
    run, step, state = context.at(index)
    mask = context.workspace.mask
    made = [(at, one) for at, one in enumerate(run.steps) if at > index and one.status is not _S.WAITING]
    said = {at: mask(context.bench.throw_away(later)) for at, later in made}
    anew = machine.anew_from(run, index + 1)
    for at, about in said.items():
        anew = with_step(anew, at, feedback=about)
    words = mask(decision.words)
    again = with_step(anew, index, status=_S.WORKING, cycle=0, feedback=words, tree=state.tree)
    context.save(again, f"{step.step_id}: sent back", _E.RUN_RESUMED)


def _merge(context: RunContext, index: int) -> None:
    run, step, state = context.at(index)
    if context.is_lost(run):
        return
    if not state.merging:
        context.save(with_step(run, index, merging=True), f"{step.step_id}: merging")
        return
    merged = context.bench.merge(run, state)
    if merged.over:
        before = machine.tree_before(context.run, index)
        over = with_step(run, index, base_tree=before, tree=merged.tree, plan_version=merged.version,
                         merging=False)  # fmt: skip
        context.save(over, f"{step.step_id}: carried out already")
        return
    if merged.conflicts:
        words = str(
            Text("an earlier step was changed; what this one did to {paths} does not fit any more",
                 paths=", ".join(merged.conflicts))
        )  # fmt: skip
        again = with_step(
            run,
            index,
            status=_S.WORKING,
            cycle=0,
            feedback=words,
            base_tree=merged.base_tree,
            tree="",
            merging=False,
        )
        context.save(again, f"{step.step_id}: again, in conflict")
        return
    merged_run = with_step(
        run,
        index,
        status=_S.TESTING,
        base_tree=merged.base_tree,
        tree=merged.tree,
        plan_version=merged.version,
        evidence=(),
        merging=False,
    )
    context.save(merged_run, f"{step.step_id}: merged with what was changed before it")
