"""The gates of a step: its commands, then those who judge it; what passes becomes a plan (RN-8, RN-10)."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ringi.engine.run_plan import RunRole, e2e_commands
from ringi.engine.run_state import StepStatus
from ringi.errors import UnfitSpecs
from ringi.kernel.telemetry.port import STEP_ID, Component, LogLevel
from ringi.kernel.text import Text
from ringi.models.prompt import Severity
from ringi.runs.document import Evidence, Finding, Run, StepState, StopCode
from ringi.runs.gates import describe_failure, unit_commands
from ringi.runs.implement_step import role_failed
from ringi.runs.machine import with_step
from ringi.runs.run_context import RunContext, stop_of

_S = StepStatus
_CHECK: Final = "check"
_JUDGES: Final = (RunRole.REVIEWER, RunRole.QA)
_SHOWN_OUTPUT: Final = 4_000
_SHOWN_DIFF: Final = 60_000


def test(context: RunContext, index: int) -> None:
    run, step, state = context.at(index)
    if context.is_lost(run):
        return
    if not context.bench.uses_sandbox():  # they run once a person has approved what they run
        context.save(with_step(run, index, status=_S.REVIEWING), f"{step.step_id}: reviewing")
        return
    found = evidence_on(context, index, state.tree)
    tested = with_step(run, index, evidence=found)
    failed = found[-1] if found and not found[-1].passed else None
    if failed is None or not _is_required(context, failed.kind):
        context.save(with_step(tested, index, status=_S.REVIEWING), f"{step.step_id}: reviewing")
        return
    gate_failed(context, index, tested, failed)


def _is_required(context: RunContext, kind: str) -> bool:
    return context.plan.gates.require_unit_pass or kind == _CHECK


def evidence_on(context: RunContext, index: int, tree: str) -> tuple[Evidence, ...]:
    """What the commands of the step say about this tree, up to the first that fails."""
    context.bench.checkout(context.run, tree)
    found: list[Evidence] = []
    for number, (kind, command) in enumerate(gates_of(context, index), 1):
        found.append(_one_test(context, index, kind, command, number))
        if not found[-1].passed:
            break
    # What a test writes is not part of the step.
    context.bench.checkout(context.run, tree)
    return tuple(found)


def gates_of(context: RunContext, index: int) -> list[tuple[str, str]]:
    """The commands of the step, each with its kind."""
    run, step, _ = context.at(index)
    found = [("unit", command) for command in unit_commands(run, context.plan, step)]
    found += [("e2e", command) for command in e2e_commands(context.plan, step)]
    named = {command for _, command in found}
    return found + [(_CHECK, command) for command in context.workspace.checks.after if command not in named]


def _one_test(context: RunContext, index: int, kind: str, command: str, number: int) -> Evidence:
    run, step, state = context.at(index)
    context.say(step.step_id, Text("running {command}", command=command))
    path = f"{step.outputs.log_prefix}.{kind}-{state.cycle + 1:02}-{number:02}.log"
    with context.files.log(path) as log:

        def on_output(data: bytes) -> None:
            log(data)
            context.hear(step.step_id, data)

        timeout = (
            context.workspace.config.checks.timeout_sec if kind == _CHECK else context.plan.limits.timeout_sec
        )
        spans, say = context.workspace.telemetry
        with spans.span(f"gate {kind}", {STEP_ID: step.step_id}, outward=True) as span:
            evidence = context.bench.test(run, command, kind=kind, timeout_sec=timeout, log=on_output)
            if evidence.passed:
                say(Component.EXECUTION, LogLevel.INFO, f"Step {step.step_id}: {kind} test passed")
            else:
                span.note_failure("timeout" if evidence.timed_out else "test_failed")
                say(Component.EXECUTION, LogLevel.WARN, f"Step {step.step_id}: {kind} test failed", command)
    return replace(evidence, log=path)


def _is_check(failed: Evidence) -> bool:
    """Without a sandbox the tests of a step run as checks of its plan, after it was carried out."""
    return failed.kind == _CHECK or not failed.sandboxed


def _raise_limit(context: RunContext, failed: Evidence) -> Text:
    """How to move the limit that stopped the command."""
    if _is_check(failed):
        return Text("raise checks.timeout_sec, then: ringi continue {run} --retry", run=context.run.run_id)
    file = f".agent/{context.plan.outputs.planning_json}"
    return Text("raise limits.timeout_sec in a copy of {file}, then: ringi run --plan COPY", file=file)


def _failure(context: RunContext, index: int, failed: Evidence) -> tuple[StopCode, Text]:
    """The reason code for a command that failed, and the words."""
    if not (failed.timed_out and _is_check(failed)):
        return describe_failure(context.plan, context.plan.steps[index], failed)
    words = Text(
        "{command} was stopped after {seconds} s (checks.timeout_sec)",
        command=failed.command,
        seconds=f"{context.workspace.config.checks.timeout_sec:g}",
    )
    return StopCode.TEST_TIMEOUT, words


def gate_failed(context: RunContext, index: int, run: Run, failed: Evidence, output: str = "") -> None:
    step = context.plan.steps[index]
    code, message = _failure(context, index, failed)
    then: Text | str = (
        _raise_limit(context, failed) if failed.timed_out else f"ringi continue {run.run_id} --retry"
    )
    detail = context.workspace.mask(output or context.files.tail(failed.log, _SHOWN_OUTPUT))
    if context.again(index, run, code, f"{message}\n\n{detail}"):
        return
    context.halt(replace(stop_of(code, message, then, step), detail=detail), run)


def judge(context: RunContext, index: int) -> None:
    run, _, state = context.at(index)
    roles = [role for role in _JUDGES if context.roles.has(role)]
    attempts, found = state.attempts, list[Finding]()
    if roles and context.is_lost(run):
        return
    if roles:
        context.bench.checkout(run, state.tree)
    diff = _diff(context, run, state) if roles else ""
    for role in roles:
        attempt, work = context.turn(index, role, diff)
        if work.problem is not None:
            role_failed(context, index, work, attempt, attempts)
            return
        attempts = (*attempts, replace(attempt, findings=len(work.findings)))
        found += work.findings
    judged = with_step(run, index, attempts=attempts, findings=tuple(found))
    errors = [one for one in found if one.severity is Severity.ERROR]
    if errors and context.again(index, judged, StopCode.REVIEW_FINDINGS, _list_findings(errors)):
        return
    _propose(context, index, judged)


def _diff(context: RunContext, run: Run, state: StepState) -> str:
    patch = context.bench.patch(run, state.base_tree, state.tree)
    return patch[:_SHOWN_DIFF].decode("utf-8", errors="replace")


def _propose(context: RunContext, index: int, run: Run) -> None:
    step, state = context.plan.steps[index], run.steps[index]
    gates, sandboxed = gates_of(context, index), context.bench.uses_sandbox()
    needed = [command for kind, command in gates if _is_required(context, kind)]
    try:
        version = context.bench.propose(
            run,
            step,
            state,
            tests=needed if sandboxed else (),
            checks_after=() if sandboxed else [command for _, command in gates],
        )
    except UnfitSpecs as error:
        why = Text("{why}", why=error.details["why"])
        context.halt(stop_of(StopCode.UNFIT_CHANGES, why, f"ringi continue {run.run_id} --retry", step), run)
        return
    context.save(with_step(run, index, status=_S.PROPOSED, plan_version=version), f"{step.step_id}: proposed")


def _list_findings(findings: Sequence[Finding]) -> str:
    places = (
        (f"{one.path}:{one.line}: " if one.line else f"{one.path}: ") if one.path else "" for one in findings
    )
    return "\n".join(f"- {place}{one.message}" for place, one in zip(places, findings, strict=True))
