"""What every transition of a run shares: saving it, stopping it, giving a role its turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ringi.engine.run_plan import RunRole, RunStep
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import BranchRefused, CopyFailed, NotFound
from ringi.kernel.telemetry.port import (
    AGENT_NAME,
    INPUT_TOKENS,
    OPERATION,
    OUTPUT_TOKENS,
    STEP_ID,
    Component,
    LogLevel,
    Value,
)
from ringi.kernel.text import Text, without_codes
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs import machine
from ringi.runs.document import Attempt, Run, RunEvent, StepState, Stop, StopCode, StoredRun, stop_for
from ringi.runs.feedback import find_unheard, hand_on
from ringi.runs.gates import find_stop_condition
from ringi.runs.machine import with_step
from ringi.runs.role_work import RoleTask, RoleWork

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.runs.files import RunFiles
    from ringi.runs.roles import ConfiguredRoles
    from ringi.runs.run_workspace import RunWorkspace

_E, _S = EventKind, StepStatus
_FAILING: Final = frozenset(
    [
        StopCode.STEP_TOO_LARGE,
        StopCode.UNIT_TEST_FAILED,
        StopCode.E2E_FAILED,
        StopCode.TEST_TIMEOUT,
        StopCode.ROLE_FAILED,
        StopCode.ROLE_TIMEOUT,
    ]
)


class RunContext:
    """One run in the ledger, and what carries it on."""

    def __init__(
        self,
        workspace: Workspace,
        run_id: str,
        *,
        bench: RunWorkspace,
        roles: ConfiguredRoles,
        files: RunFiles,
        on_event: Callable[[RunEvent], None],
    ) -> None:
        self.workspace = workspace
        self.bench = bench
        self.roles = roles
        self.files = files
        self.on_event = on_event
        self._stored = workspace.store.runs.get_stored(run_id)
        plan = workspace.store.runs.plan(run_id)
        if plan is None:
            raise NotFound(what=Text("planning.json"), name=run_id, see=f"ringi status {run_id}")
        self.plan = plan

    @property
    def run(self) -> Run:
        return self._stored.run

    def at(self, index: int) -> tuple[Run, RunStep, StepState]:
        return self.run, self.plan.steps[index], self.run.steps[index]

    def commits(self) -> tuple[tuple[str, str], ...]:
        titles = {step.step_id: step.title for step in self.plan.steps}
        return tuple((one.commit, titles[one.step_id]) for one in self.run.steps if one.commit)

    def is_lost(self, run: Run) -> bool:
        """Whether the copy is gone; then the run stops, and trying again makes another."""
        try:
            self.bench.require_copy(run)
        except CopyFailed as error:
            message = Text("the copy in which the roles work is lost: {why}", why=error.details["why"])
            self.halt(stop_of(StopCode.COPY_LOST, message, f"ringi continue {run.run_id} --retry"))
            return True
        return False

    def save(self, run: Run, reason: str, kind: EventKind = _E.RUN_ADVANCED) -> None:
        run = replace(run, updated_at=self.workspace.clock.now())
        with self.workspace.store.transaction() as transaction:
            transaction.runs.save(run, NewEvent(kind, Actor.SYSTEM, reason), self._stored.revision)
        self._stored = StoredRun(run, self._stored.revision + 1)

    def halt(self, stop: Stop, run: Run | None = None, *, phase: RunPhase | None = None) -> None:
        """Stops; `run` has what else is to be saved. The phase follows from the reason, if none is given."""
        phase = phase or (RunPhase.FAILED if stop.reason_code in _FAILING else RunPhase.NEEDS_INPUT)
        halted = machine.stop_run(run or self.run, stop, phase)
        self.save(halted, f"{stop.step_id}: {stop.reason_code}".removeprefix(": "), _E.RUN_STOPPED)

    def say(self, step_id: str, what: Text) -> None:
        self.on_event(RunEvent(self.run, step_id, what))

    def hear(self, step_id: str, data: bytes) -> None:
        lines = without_codes(data.decode("utf-8", errors="replace")).splitlines()
        if lines:
            self.on_event(RunEvent(self.run, step_id, Text("{line}", line=""), lines[-1]))

    def again(self, index: int, run: Run, code: StopCode, feedback: str) -> bool:
        """Whether the role gets another turn, or the step's own condition has stopped the run."""
        step, state = self.plan.steps[index], run.steps[index]
        if condition := find_stop_condition(step, code):
            message = Text("the step says to stop here: {condition}", condition=condition)
            stop = stop_of(StopCode.STOP_CONDITION, message, f"ringi continue {run.run_id} --retry", step)
            self.halt(replace(stop, detail=self.workspace.mask(feedback)), run)
            return True
        if state.cycle >= self.plan.limits.max_autofix_cycles:
            return False
        words = self.workspace.mask(feedback)
        again = with_step(run, index, status=_S.WORKING, cycle=state.cycle + 1, feedback=words)
        self.save(again, f"{step.step_id}: again, {code}")
        return True

    def listen(self, index: int) -> None:
        """Hands on the feedback since the last turn; it is in the next brief."""
        run, step, _ = self.at(index)
        said = find_unheard(run, self.workspace.store.processes.feedback(run.run_id))
        if said:
            masked = [replace(one, text=self.workspace.mask(one.text)) for one in said]
            self.save(hand_on(run, index, masked), f"{step.step_id}: feedback")

    def turn(self, index: int, role: RunRole, diff: str = "") -> tuple[Attempt, RoleWork]:
        run, step, state = self.at(index)
        began = self.workspace.clock.now()
        number = len(state.attempts) + 1
        path = f"{step.outputs.log_prefix}.{role}-{number:02}.log"
        self.say(step.step_id, Text("{role} works", role=str(role)))
        with self.files.log(path) as log:

            def on_output(data: bytes) -> None:
                log(data)
                self.hear(step.step_id, data)

            task = RoleTask(
                run=run,
                plan=self.plan,
                step=step,
                state=state,
                role=role,
                copy=self.bench.copy(run),
                base_tree=state.base_tree,
                feedback=state.feedback,
                commits=self.commits(),
                diff=diff,
                log=on_output,
                keep=self._keep,
            )
            work = self._work(task)
        attempt = Attempt(
            role=role,
            how=work.how,
            who=work.who,
            cycle=state.cycle,
            started_at=began,
            ended_at=self.workspace.clock.now(),
            exit_code=work.exit_code,
            log=path,
            spent=work.spent,
        )
        return attempt, work

    def _work(self, task: RoleTask) -> RoleWork:
        spans, log = self.workspace.telemetry
        step, role = task.step.step_id, str(task.role)
        about: dict[str, Value] = {OPERATION: "invoke_agent", AGENT_NAME: role, STEP_ID: step}
        log(Component.EXECUTION, LogLevel.INFO, f"Step {step}: {role} started")
        with spans.span(f"invoke_agent {role}", about) as span:
            judging = task.role is not RunRole.IMPLEMENTER
            work = self.roles.judge(task) if judging else self.roles.work(task)
            span.note({INPUT_TOKENS: work.spent.input_tokens, OUTPUT_TOKENS: work.spent.output_tokens})
            if not work.exit_code and work.problem is None:
                log(Component.EXECUTION, LogLevel.INFO, f"Step {step}: {role} completed")
            elif work.exit_code is not None:
                code = str(work.code or (StopCode.ROLE_TIMEOUT if work.timed_out else StopCode.ROLE_FAILED))
                span.note_failure(code.lower())
                why = str(work.problem or "")
                log(Component.EXECUTION, LogLevel.WARN, f"Step {step}: {role} failed, {code}", why)
        return work

    def _keep(self, name: str, text: str) -> None:
        if self.workspace.config.logs.confidential:
            return
        folder = PurePosixPath(self.plan.outputs.report_md).parent
        self.files.write(str(folder / name), text.encode("utf-8", "backslashreplace"))


def stop_of(code: StopCode, message: Text, next_action: Text | str, step: RunStep | None = None) -> Stop:
    return stop_for(code, message, next_action, step_id=step.step_id if step else "")


def refusal(run: Run, error: BranchRefused) -> Stop:
    then = Text(error.hint, **error.details) if error.hint else f"ringi continue {run.run_id}"
    return stop_for(StopCode(error.code.upper()), Text(error.message, **error.details), then)
