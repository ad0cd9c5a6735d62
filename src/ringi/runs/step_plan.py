"""A step of a run as a plan: what a role changed becomes one commit on the run's branch.

`StepChecks` tests the plan as it is now, after a review may have changed it: the files of the branch with the
plan's own, at the project's path, in the sandbox of the roles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ringi.agents.sandbox import agent_sandbox, enclose
from ringi.agents.state import SandboxContext
from ringi.errors import NoSandbox, NotFound, UnfitSpecs
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.ledger.subject import StepOf, requester_of_run
from ringi.plans.check import CheckRunner, add_checks
from ringi.plans.commit import outcome_of
from ringi.plans.commit_message import step_message
from ringi.plans.document import PlanDocument, PlanStatus, undone_at
from ringi.plans.effects import rules_of
from ringi.plans.from_difference import bytes_before, format_left_out, specs_of
from ringi.plans.propose import set_specs
from ringi.runs.document import Finding
from ringi.tree.action_spec import PlannedChecks
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.commands import Invocation
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_run import Enclosing, Files, ScratchCopies
from ringi.tree.copy_steps import files_to
from ringi.tree.difference import TreeDifference
from ringi.tree.editable_installs import why_unreliable

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


class StepPlan(NamedTuple):
    plan_id: str
    """The same id again is the same plan, so that a crash makes no second one."""
    step: StepOf
    title: str
    intent: str
    assisted_by: tuple[str, ...] = ()
    """Programs and models, as the commit names them."""
    checks: tuple[CheckResult, ...] = ()
    """What was run on exactly these bytes."""
    checks_after: tuple[str, ...] = ()
    """Commands that run once it is carried out; if one fails, it is taken back."""
    tests: tuple[str, ...] = ()
    """Commands that have to pass on what is carried out, also if a person changes it first."""
    findings: tuple[Finding, ...] = ()
    proposer: str = ""


def propose_step(workspace: Workspace, difference: TreeDifference, order: StepPlan) -> int:
    """The version of the plan: the same one for the same bytes, or the next.

    `difference` is what the step changed since it began. Raises UnfitSpecs if it cannot be a
    plan, BadTransition if the plan was carried out or discarded.
    """
    there = workspace.on_branch(order.step.run_id)
    there.prepare()
    requester = requester_of_run(order.step.run_id)
    there.plan.propose(
        f"{order.title}\n\n{order.intent}",
        rationale="\n".join(map(_finding, order.findings)),
        tags=("run",),
        proposer=order.proposer,
        left_out=format_left_out(difference),
        requester=requester,
        plan_id=order.plan_id,
        step=order.step,
        commit=step_message(order.title, order.intent, order.assisted_by),
    )
    workspace = there
    specs, basis = specs_of(difference, workspace.tree, rules_of(workspace), step=True)
    known = there.plan.get(order.plan_id)
    same = tuple(specs) == tuple(spec.base for spec in known.state.action_specs)
    if not same or _was_changed(known) or _tests_of(known) != order.tests:
        usual = workspace.checks
        after = tuple(dict.fromkeys([*usual.after, *order.checks_after]))
        checks = PlannedChecks(usual.before, after, usual.on_failure, order.tests)
        validated = set_specs(
            workspace.replace(checks=checks),
            order.plan_id,
            specs,
            basis=basis,
            actor=Actor.AI,
            requester=requester,
            reason=f"{order.step.run_id} {order.step.step_id}",
            seen=bytes_before(difference),
        )
        if validated.problems:
            raise UnfitSpecs(why=validated.problems[0])
    if new := [check for check in order.checks if check not in there.plan.get_state(order.plan_id).checks]:
        add_checks(workspace, order.plan_id, new)
    return there.plan.get(order.plan_id).plan.version


def _was_changed(document: PlanDocument) -> bool:
    """The person sent it back or changed it: the same bytes again are another proposal."""
    return document.state.status is PlanStatus.PROPOSED or bool(document.state.amended_from)


def _tests_of(document: PlanDocument) -> tuple[str, ...]:
    planned = document.state.planned_checks
    return planned.tests or () if planned else ()


def _finding(finding: Finding) -> str:
    place = f"{finding.path}:{finding.line} " if finding.path else ""
    return f"{finding.role} ({finding.severity}): {place}{finding.message}"


class StepEnd(NamedTuple):
    """What became of the plan of a step."""

    commit: str = ""
    """On the run's branch, here and in the person's repository."""
    failed: Text | None = None
    """Why there is no commit although it was carried out; nothing of it is left on the branch."""
    rewritten: bool = False
    """A hook changed the commit, which was taken back."""


def step_end(workspace: Workspace, plan_id: str) -> StepEnd | None:
    """None as long as it is open, or if it was discarded.

    Raises BranchMoved if the person's repository cannot take the commit.
    """
    try:
        document = workspace.plan.get(plan_id)
    except NotFound:
        return None
    if not document.step or document.state.status is not PlanStatus.COMPLETED:
        return None
    outcome = outcome_of(workspace.log(plan_id))
    if outcome and outcome.commit and undone_at(document) is None:
        workspace.on_branch(document.step.run_id).publish()
        return StepEnd(outcome.commit)
    why = Text("it was undone") if outcome is None or outcome.commit else Text("{why}", why=outcome.last_line)
    return StepEnd(failed=why, rewritten=bool(outcome and outcome.rewritten))


class StepChecks:
    """`branch` is the folder in which the steps of the run are carried out.

    Checks for real, before and after an execution, are handed on.
    """

    def __init__(
        self,
        workspace: SandboxContext,
        branch: Path,
        environment: Mapping[str, str],
        timeout_sec: float,
        for_real: CheckRunner,
        on_progress: Callable[[Text], None] = lambda _: None,
    ) -> None:
        self._workspace = workspace
        self._branch = branch
        self._environment = environment
        self._timeout_sec = timeout_sec
        self._for_real = for_real
        self._on_progress = on_progress

    def uses_sandbox(self) -> bool:
        try:
            return agent_sandbox(self._workspace).bwrap is not None
        except NoSandbox:
            return False

    def __call__(
        self, commands: Sequence[str], files: Files, phase: CheckPhase, reviewer: int = 0
    ) -> tuple[CheckResult, ...]:
        if phase is not CheckPhase.DRY:
            return self._for_real(commands, files, phase, reviewer)
        workspace, inside = self._workspace, self.uses_sandbox()
        results: list[CheckResult] = []
        with ScratchCopies(
            workspace.places,
            self._environment,
            carry=workspace.config.beside.carry,
            files=files,
            first=lambda copy: files_to(copy, copy.shadow.capture().tree, self._branch),
            enclosing=self._enclosing,
            doubt=why_unreliable(workspace.places.root, self._environment, sandboxed=inside),
            keep_for=Supervisor.of(reviewer) if inside and reviewer else None,
            on_progress=self._on_progress,
        ) as copies:
            for command in commands:
                copy_run = copies.current()
                self._on_progress(Text("running {command} …", command=command))
                results.append(copy_run.check(command, self._timeout_sec, phase))
                if not results[-1].passed:
                    break
        return tuple(results)

    def _enclosing(self, copy: WorkCopy) -> Enclosing:
        box = agent_sandbox(self._workspace)

        def enclosing(invocation: Invocation) -> Invocation:
            return enclose(self._workspace, copy, box, invocation, terminal=False)

        return enclosing
