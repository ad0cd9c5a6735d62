"""The gates of a step: its commands, then those who judge it; what passes becomes a plan (RN-8, RN-10)."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ringi.engine.run_plan import RunRole
from ringi.errors import UnfitSpecs
from ringi.kernel.telemetry.port import STEP_ID, Component, Level
from ringi.kernel.text import Text
from ringi.runs.document import Evidence, Finding, Run, Severity, StepState, StepStatus, StopCode
from ringi.runs.gates import describe_failure, e2e_commands, unit_commands
from ringi.runs.implement_step import role_failed
from ringi.runs.machine import with_step
from ringi.runs.run_context import Carrier, stop_of

_S = StepStatus
_CHECK: Final = "check"
_JUDGES: Final = (RunRole.REVIEWER, RunRole.QA)
_SHOWN_OUTPUT: Final = 4_000
_SHOWN_DIFF: Final = 60_000


def test(carrier: Carrier, index: int) -> None:
    run, step, state = carrier.at(index)
    if carrier.is_lost(run):
        return
    if not carrier.bench.sandboxed():  # they run once somebody has approved what they run
        carrier.save(with_step(run, index, status=_S.REVIEWING), f"{step.step_id}: reviewing")
        return
    found = evidence_on(carrier, index, state.tree)
    tested = with_step(run, index, evidence=found)
    failed = found[-1] if found and not found[-1].passed else None
    if failed is None or not _is_required(carrier, failed.kind):
        carrier.save(with_step(tested, index, status=_S.REVIEWING), f"{step.step_id}: reviewing")
        return
    gate_failed(carrier, index, tested, failed)


def _is_required(carrier: Carrier, kind: str) -> bool:
    return carrier.plan.gates.require_unit_pass or kind == _CHECK


def evidence_on(carrier: Carrier, index: int, tree: str) -> tuple[Evidence, ...]:
    """What the commands of the step say about this tree, up to the first that fails."""
    carrier.bench.stand_at(carrier.run, tree)
    found: list[Evidence] = []
    for number, (kind, command) in enumerate(gates_of(carrier, index), 1):
        found.append(_one_test(carrier, index, kind, command, number))
        if not found[-1].passed:
            break
    # What a test writes is not part of the step.
    carrier.bench.stand_at(carrier.run, tree)
    return tuple(found)


def gates_of(carrier: Carrier, index: int) -> list[tuple[str, str]]:
    """The commands of the step, each with its kind."""
    run, step, _ = carrier.at(index)
    found = [("unit", command) for command in unit_commands(run, carrier.plan, step)]
    found += [("e2e", command) for command in e2e_commands(carrier.plan, step)]
    named = {command for _, command in found}
    return found + [(_CHECK, command) for command in carrier.services.checks if command not in named]


def _one_test(carrier: Carrier, index: int, kind: str, command: str, number: int) -> Evidence:
    run, step, state = carrier.at(index)
    carrier.say(step.step_id, Text("running {command}", command=command))
    path = f"{step.outputs.log_prefix}.{kind}-{state.cycle + 1:02}-{number:02}.log"
    with carrier.services.files.log(path) as log:

        def heard(data: bytes) -> None:
            log(data)
            carrier.hear(step.step_id, data)

        timeout = carrier.services.check_timeout_sec if kind == _CHECK else carrier.plan.limits.timeout_sec
        spans, say = carrier.services.telemetry
        with spans.span(f"gate {kind}", {STEP_ID: step.step_id}, outward=True) as span:
            evidence = carrier.bench.test(run, command, kind=kind, timeout_sec=timeout, log=heard)
            if evidence.passed:
                say(Component.EXECUTION, Level.INFO, f"Step {step.step_id}: {kind} test passed")
            else:
                span.failed("timeout" if evidence.timed_out else "test_failed")
                say(Component.EXECUTION, Level.WARN, f"Step {step.step_id}: {kind} test failed", command)
    return replace(evidence, log=path)


def _is_check(failed: Evidence) -> bool:
    """Without a sandbox the tests of a step run as checks of its plan, after it was carried out."""
    return failed.kind == _CHECK or not failed.sandboxed


def _raise_limit(carrier: Carrier, failed: Evidence) -> Text:
    """How to move the limit that stopped the command."""
    if _is_check(failed):
        return Text("raise checks.timeout_sec, then: ringi retry {run}", run=carrier.run.run_id)
    file = f".agent/{carrier.plan.outputs.planning_json}"
    return Text("raise limits.timeout_sec in a copy of {file}, then: ringi run --plan COPY", file=file)


def _failure(carrier: Carrier, index: int, failed: Evidence) -> tuple[StopCode, Text]:
    """The reason code for a command that failed, and the words."""
    if not (failed.timed_out and _is_check(failed)):
        return describe_failure(carrier.plan, carrier.plan.steps[index], failed)
    words = Text("{command} was stopped after {seconds} s (checks.timeout_sec)",
                 command=failed.command, seconds=f"{carrier.services.check_timeout_sec:g}")  # fmt: skip
    return StopCode.TEST_TIMEOUT, words


def gate_failed(carrier: Carrier, index: int, run: Run, failed: Evidence, output: str = "") -> None:
    step = carrier.plan.steps[index]
    code, message = _failure(carrier, index, failed)
    then: Text | str = _raise_limit(carrier, failed) if failed.timed_out else f"ringi retry {run.run_id}"
    detail = carrier.services.mask(output or carrier.services.files.tail(failed.log, _SHOWN_OUTPUT))
    if carrier.again(index, run, code, f"{message}\n\n{detail}"):
        return
    carrier.halt(replace(stop_of(code, message, then, step), detail=detail), run)


def judge(carrier: Carrier, index: int) -> None:
    run, _, state = carrier.at(index)
    roles = [role for role in _JUDGES if carrier.services.roles.has(role)]
    attempts, found = state.attempts, list[Finding]()
    if roles and carrier.is_lost(run):
        return
    if roles:
        carrier.bench.stand_at(run, state.tree)
    diff = _diff(carrier, run, state) if roles else ""
    for role in roles:
        attempt, work = carrier.turn(index, role, diff)
        if work.problem is not None:
            role_failed(carrier, index, work, attempt, attempts)
            return
        attempts = (*attempts, replace(attempt, findings=len(work.findings)))
        found += work.findings
    judged = with_step(run, index, attempts=attempts, findings=tuple(found))
    errors = [one for one in found if one.severity is Severity.ERROR]
    if errors and carrier.again(index, judged, StopCode.REVIEW_FINDINGS, _listed(errors)):
        return
    _propose(carrier, index, judged)


def _diff(carrier: Carrier, run: Run, state: StepState) -> str:
    patch = carrier.bench.patch(run, state.base_tree, state.tree)
    return patch[:_SHOWN_DIFF].decode("utf-8", errors="replace")


def _propose(carrier: Carrier, index: int, run: Run) -> None:
    step, state = carrier.plan.steps[index], run.steps[index]
    gates, sandboxed = gates_of(carrier, index), carrier.bench.sandboxed()
    needed = [command for kind, command in gates if _is_required(carrier, kind)]
    try:
        version = carrier.bench.propose(
            run,
            step,
            state,
            tests=needed if sandboxed else (),
            checks_after=() if sandboxed else [command for _, command in gates],
        )
    except UnfitSpecs as error:
        why = Text("{why}", why=error.details["why"])
        carrier.halt(stop_of(StopCode.UNFIT_CHANGES, why, f"ringi retry {run.run_id}", step), run)
        return
    carrier.save(with_step(run, index, status=_S.PROPOSED, plan_version=version), f"{step.step_id}: proposed")


def _listed(findings: Sequence[Finding]) -> str:
    places = (
        (f"{one.path}:{one.line}: " if one.line else f"{one.path}: ") if one.path else "" for one in findings
    )
    return "\n".join(f"- {place}{one.message}" for place, one in zip(places, findings, strict=True))
