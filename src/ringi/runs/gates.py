"""What a step must pass (RN-6, RN-8): before the first step, in what it changed, and in its commands."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET

from ringi.engine.run_plan import (
    RunLimits,
    RunPlan,
    RunStep,
    e2e_commands,
    is_regression,
    unit_commands_of,
)
from ringi.kernel.text import Text
from ringi.policy.globs import inside
from ringi.runs.document import Evidence, Run, Stop, StopCode, stop_for


def find_obstacle(run: Run, plan: RunPlan) -> Stop | None:
    """Why no step could be done."""
    again = f"ringi continue {run.run_id} --test COMMAND"
    for step in plan.steps:
        if closed := _forbidden_targets(step):
            message = Text("step {step} is to change {paths} and must not", step=step.step_id, paths=closed)
            then = f"ringi run --again {run.run_id}"
            return stop_for(StopCode.INPUT_CONTRADICTION, message, then, step_id=step.step_id)
        if plan.gates.require_unit_pass and not unit_commands(run, plan, step):
            message = Text("no command tests step {step}, and tests have to pass", step=step.step_id)
            return stop_for(StopCode.NO_UNIT_COMMAND, message, again, step_id=step.step_id)
        if _needs_e2e(plan, step) and not e2e_commands(plan, step):
            message = Text("step {step} has a regression criterion and no end-to-end test", step=step.step_id)
            hint = Text("give the step an e2e command in planning.json, then: ringi run --plan FILE")
            return stop_for(StopCode.E2E_REQUIRED, message, hint, step_id=step.step_id)
    return None


def _forbidden_targets(step: RunStep) -> str:
    """Its paths, if all of them are forbidden."""
    scope = step.scope
    closed = [path for path in scope.target_paths if inside(path, scope.forbidden_paths or ())]
    return abbreviate(closed) if closed and len(closed) == len(scope.target_paths) else ""


def unit_commands(run: Run, plan: RunPlan, step: RunStep) -> tuple[str, ...]:
    """Those that a person gave come before those of the plan."""
    return run.tests or unit_commands_of(plan, step)


def _needs_e2e(plan: RunPlan, step: RunStep) -> bool:
    return plan.gates.require_e2e_for_regression_ac and is_regression(plan, step)


def find_stop_condition(step: RunStep, code: StopCode) -> str:
    """The step's own condition that says to stop at this instead of trying again; empty if there is none."""
    conditions: Sequence[str] = step.stop_conditions or ()
    found = (one for one in conditions if code.value in one.upper().replace(" ", "_"))
    return next(found, "")


def describe_failure(plan: RunPlan, step: RunStep, failed: Evidence) -> tuple[StopCode, Text]:
    """The reason code for a test of the step that failed, and the words."""
    if failed.timed_out:
        words = Text("{command} was stopped after {seconds} s (limits.timeout_sec of the plan)",
                     command=failed.command, seconds=f"{plan.limits.timeout_sec:g}")  # fmt: skip
        return StopCode.TEST_TIMEOUT, words
    code = StopCode.E2E_FAILED if failed.command in e2e_commands(plan, step) else StopCode.UNIT_TEST_FAILED
    return code, Text("{command} ended with exit code {code}", command=failed.command, code=failed.exit_code)


_SHOWN: Final = 5


class TreeChanges(NamedTuple):
    """The difference between two trees."""

    tree: str
    lines: Mapping[str, int]
    """By path: lines added plus lines removed; of a binary file one for each 100 bytes."""
    left_out: tuple[tuple[str, Text], ...] = ()
    """What no plan can hold, with the reason."""

    @property
    def total(self) -> int:
        return sum(self.lines.values())


class Violation(NamedTuple):
    code: StopCode
    message: Text
    paths: tuple[str, ...] = ()
    """Which a person could allow."""


def violations(
    step: RunStep, limits: RunLimits, changes: TreeChanges, allowed: Sequence[str] = ()
) -> Iterator[Violation]:
    """`allowed` are paths that a person added to the step's own."""
    scope = step.scope
    forbidden = tuple(path for path in changes.lines if inside(path, scope.forbidden_paths or ()))
    if forbidden:
        message = Text("the step must not change {paths}", paths=abbreviate(forbidden))
        yield Violation(StopCode.OUT_OF_SCOPE, message)
    targets = (*scope.target_paths, *allowed)
    beyond = tuple(path for path in changes.lines if path not in forbidden and not inside(path, targets))
    if beyond and scope.target_paths:
        message = Text(
            "the step may change only {targets}; it also changed {paths}",
            targets=abbreviate(targets),
            paths=abbreviate(beyond),
        )
        yield Violation(StopCode.OUT_OF_SCOPE, message, beyond)
    if changes.left_out:
        path, why = changes.left_out[0]
        message = Text("{path} cannot be part of a commit: {why}", path=path, why=why)
        yield Violation(StopCode.UNFIT_CHANGES, message)
    most = min(scope.max_diff_lines, limits.max_diff_lines)
    if changes.total > most:
        message = Text("{lines} lines changed, {most} are allowed", lines=changes.total, most=most)
        yield Violation(StopCode.STEP_TOO_LARGE, message)
    if scope.max_files_changed is not UNSET and len(changes.lines) > scope.max_files_changed:
        message = Text(
            "{files} files changed, {most} are allowed",
            files=len(changes.lines),
            most=scope.max_files_changed,
        )
        yield Violation(StopCode.STEP_TOO_LARGE, message)


def abbreviate(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join([*paths[:_SHOWN], *([f"+{more}"] if more > 0 else [])])
