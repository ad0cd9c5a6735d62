"""What must be so before the first step, and which commands a step has to pass (RN-8)."""

from collections.abc import Sequence

from ringi.engine.run_plan import (
    RunPlan,
    RunStep,
    e2e_commands,
    is_regression,
    unit_commands_of,
)
from ringi.kernel.text import Text
from ringi.policy.globs import inside
from ringi.runs.document import Evidence, Run, Stop, StopCode, stop_for
from ringi.runs.scope import shown


def missing(run: Run, plan: RunPlan) -> Stop | None:
    """Why no step could be done."""
    again = f"ringi continue {run.run_id} --test COMMAND"
    for step in plan.steps:
        if closed := _closed(step):
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


def _closed(step: RunStep) -> str:
    """Its paths, if all of them are forbidden."""
    scope = step.scope
    closed = [path for path in scope.target_paths if inside(path, scope.forbidden_paths or ())]
    return shown(closed) if closed and len(closed) == len(scope.target_paths) else ""


def unit_commands(run: Run, plan: RunPlan, step: RunStep) -> tuple[str, ...]:
    """Those that a person gave come before those of the plan."""
    return run.tests or unit_commands_of(plan, step)


def _needs_e2e(plan: RunPlan, step: RunStep) -> bool:
    return plan.gates.require_e2e_for_regression_ac and is_regression(plan, step)


def stops(step: RunStep, code: StopCode) -> str:
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
