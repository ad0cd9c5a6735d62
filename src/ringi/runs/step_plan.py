"""A step of a run as a plan: what a role changed becomes one commit on the run's branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ringi.errors import NotFound, UnfitSpecs
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.ledger.subject import StepOf, requester_of_run
from ringi.plans.check import add_checks
from ringi.plans.commit import outcome_of
from ringi.plans.commit_message import step_message
from ringi.plans.document import PlanDocument, PlanStatus, undone_at
from ringi.plans.effects import rules_of
from ringi.plans.from_difference import bytes_before, format_left_out, specs_of
from ringi.plans.propose import set_specs
from ringi.runs.document import Finding
from ringi.tree.action_spec import PlannedChecks
from ringi.tree.check_result import CheckResult
from ringi.tree.difference import TreeDifference

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
    """Commands that have to pass on whatever is carried out, also if a person changes it first."""
    findings: tuple[Finding, ...] = ()
    proposer: str = ""


def propose_step(workspace: Workspace, difference: TreeDifference, order: StepPlan) -> int:
    """The version of the plan: the same one for the same bytes, or the next.

    `difference` is what the step changed, whatever is on the branch yet. Raises UnfitSpecs if it cannot be a
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
    if not same or _decided_otherwise(known) or _tests_of(known) != order.tests:
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


def _decided_otherwise(document: PlanDocument) -> bool:
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
