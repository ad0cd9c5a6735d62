"""What a person adds to a run that is under way: paths that its steps may change, commands that test them.

The plan of the run stays as it was approved. What is added is kept with the run, is in its log, and its
report names it. If it would change nothing in the state that the run is in, that is said, with the command
that would.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from ringi.approvals.who import refuse_agent
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import NotAmended
from ringi.kernel.text import Text
from ringi.plans.document import ENDED, PlanStatus
from ringi.policy.gh import runs_gh
from ringi.policy.globs import inside
from ringi.runs import machine
from ringi.runs.document import Run, StepState, StopCode

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_S = StepStatus
_UNIT: Final = "unit"
_UNDECIDED: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW])
_ONLY_ANEW: Final = frozenset(
    [
        StopCode.DECLINED,
        StopCode.COPY_LOST,
        StopCode.UNFIT_CHANGES,
        StopCode.REVIEW_FINDINGS,
        StopCode.COMMIT_FAILED,
        StopCode.COMMIT_REWRITTEN,
    ]
)
"""Going on would end in the same place: the step has to be made again."""


class RunAmendment(NamedTuple):
    allow: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    def command(self, run_id: str, *, retry: bool) -> str:
        """What to type to give the same again."""
        options = ["--retry"] if retry else []
        options += [word for path in self.allow for word in ("--allow", path)]
        options += [word for command in self.tests for word in ("--test", command)]
        return shlex.join(["ringi", "continue", run_id, *options])

    @property
    def reason(self) -> str:
        """As the log has it."""
        found = [f"--allow {path}" for path in self.allow] + [f"--test {command}" for command in self.tests]
        return ", ".join(found)

    def words(self) -> Sequence[Text]:
        """What holds from now on and did not before."""
        allowed = Text("the steps may also change {paths}", paths=", ".join(self.allow))
        tested = Text(
            "the steps are tested with {commands} instead of what the plan names",
            commands=", ".join(self.tests),
        )
        return [*([allowed] if self.allow else []), *([tested] if self.tests else [])]


def amend_run(
    workspace: Workspace, run: Run, plan: RunPlan, given: RunAmendment, *, retry: bool = False
) -> tuple[Run, RunAmendment]:
    """The run with what was given, so that it acts from the next turn and the next test on; and what was new.

    With `retry` its current step is made anew afterwards. Raises NotAmended, or NoChannel for an agent.
    """
    if not (given.allow or given.tests):
        return run, given
    refuse_agent(workspace.person, given.command(run.run_id, retry=retry))
    given = RunAmendment(
        tuple(_path(workspace.places.root, run, path) for path in given.allow),
        tuple(_command(run, command) for command in given.tests),
    )
    index = machine.current(run)
    if all(step.status is _S.DONE for step in run.steps) and run.steps:
        why = Text("all its steps are done, and nothing is changed or tested any more")
        raise NotAmended(run=run.run_id, why=why, command=f"ringi continue {run.run_id}")
    _require_open(run, plan, index, given)
    known = tuple(path for path in given.allow if _is_allowed(run, plan, path))
    if known == given.allow and known and not given.tests:
        why = Text("the steps may change {paths} already", paths=", ".join(known))
        command = RunAmendment().command(run.run_id, retry=retry)
        raise NotAmended(run=run.run_id, why=why, command=command)
    given = given._replace(allow=tuple(path for path in given.allow if path not in known))
    amended = replace(
        run,
        allowed=tuple(dict.fromkeys([*run.allowed, *given.allow])),
        tests=given.tests or run.tests,
    )
    return amended if retry else _act(workspace, amended, given), given


def _is_allowed(run: Run, plan: RunPlan, path: str) -> bool:
    """Whether a person added it before, or each step that is not done may change it anyway."""
    done = {one.step_id for one in run.steps if one.status is _S.DONE}
    targets = [step.scope.target_paths for step in plan.steps if step.step_id not in done]
    return inside(path, run.allowed) or all(not one or inside(path, one) for one in targets)


def _path(root: Path, run: Run, given: str) -> str:
    """As a plan names it: from the top of the project."""
    path = given.strip()
    if path.startswith("/"):
        path = posixpath.relpath(path, root)
    path = posixpath.normpath(path) if path else ""
    if not path or path == ".." or path.startswith("../"):
        why = Text("{path} is no path inside the project", path=given or "''")
        raise NotAmended(run=run.run_id, why=why, command=f"ringi continue {run.run_id} --allow PATH")
    return path


def _command(run: Run, given: str) -> str:
    why = None
    if not given.strip():
        why = Text("an empty command tests nothing")
    elif runs_gh(given):
        why = Text("{command} runs gh, which no command of a run may use", command=given)
    if why is not None:
        raise NotAmended(run=run.run_id, why=why, command=f"ringi continue {run.run_id} --test COMMAND")
    return given.strip()


def _require_open(run: Run, plan: RunPlan, index: int, given: RunAmendment) -> None:
    """What the current step is forbidden stays so."""
    if index >= len(plan.steps):
        return
    step = plan.steps[index]
    closed = [path for path in given.allow if inside(path, step.scope.forbidden_paths or ())]
    if closed:
        why = Text("the plan forbids step {step} to change {path}", step=step.step_id, path=closed[0])
        then = Text(
            "give step {step} other paths in planning.json, then: ringi run --plan FILE", step=step.step_id
        )
        raise NotAmended(run=run.run_id, why=why, command=then)


def _act(workspace: Workspace, run: Run, given: RunAmendment) -> Run:
    """The run, so that going on with it uses what was given."""
    anew = given.command(run.run_id, retry=True)
    stop, step = run.stop, run.steps[index] if (index := machine.current(run)) < len(run.steps) else None
    if run.phase is RunPhase.FAILED and not (given.tests and step and _is_retestable(step)):
        why = stop.why if stop else Text("it failed")
        raise NotAmended(run=run.run_id, why=why, command=anew)
    if stop and stop.reason_code in _ONLY_ANEW and run.phase is RunPhase.NEEDS_INPUT:
        raise NotAmended(run=run.run_id, why=stop.why, command=anew)
    if not given.tests:
        return run
    for at, one in enumerate(run.steps):
        if one.status is _S.REVIEWING or (one.status is _S.PROPOSED and _waits(workspace, run, one)):
            run = machine.with_step(run, at, status=_S.TESTING, evidence=())
    return run


def _is_retestable(step: StepState) -> bool:
    """Whether it failed only because of a command that is replaced now; what it made is still there."""
    return step.status is _S.TESTING and bool(step.evidence) and step.evidence[-1].kind == _UNIT


def _waits(workspace: Workspace, run: Run, step: StepState) -> bool:
    """Whether it is undecided. Raises NotAmended if a person has begun to decide."""
    document = workspace.plan.get(step.plan_id)
    if document.state.status in ENDED:
        return False
    if document.state.status in _UNDECIDED and document.plan.version == step.plan_version:
        return True
    name = workspace.plan_name(step.plan_id)
    why = Text("you have changed or approved {plan}, and have to decide about it first", plan=name)
    raise NotAmended(run=run.run_id, why=why, command=f"ringi review {name}")
