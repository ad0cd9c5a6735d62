"""A standing approval for one run: what it may allow, and which of the run's steps it covers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import UNSET

from ringi.approvals.document import ApprovalSubject
from ringi.approvals.grant_document import GrantScope, RunTerms
from ringi.engine.run_state import StepStatus
from ringi.kernel.text import Text
from ringi.ledger.subject import requester_of_run
from ringi.models.prompt import Severity
from ringi.policy.spec_kind import CHANGING

if TYPE_CHECKING:
    from ringi.plans.document import PlanDocument
    from ringi.runs.document import Run, StepState


def unfit_terms(run: Run, scope: GrantScope, terms: RunTerms) -> Text | None:
    """Why nobody may sign this."""
    if scope.requester != requester_of_run(run.run_id) or not CHANGING.issuperset(scope.kinds):
        return Text("it covers the steps of run {run} and nothing else", run=run.run_id)
    if not 1 <= terms.steps <= len(run.steps):
        return Text("steps of the run: {count}", count=len(run.steps))
    if terms.dollars is not UNSET and not (math.isfinite(terms.dollars) and terms.dollars >= 0):
        return Text("dollars are 0 or more")
    return _other_run(run, terms)


def uncovered(
    run: Run, terms: RunTerms, document: PlanDocument, subject: ApprovalSubject | None
) -> Text | None:
    """Why a person has to look at this step, whatever its paths and lines are.

    `subject` is what would be approved, with the commit; None if nobody knows that now.
    """
    step_id = document.step.step_id if document.step else ""
    state = next((one for one in run.steps if one.step_id == step_id), None)
    if not state or state.status is not StepStatus.PROPOSED or state.plan_version != document.plan.version:
        return Text("the step is not finished")
    planned = document.state.planned_checks
    if planned and (planned.before or planned.after):
        return Text("its checks would run code that nobody has looked at outside a sandbox")
    return _other_run(run, terms) or _doubtful(state) or _beyond(run, terms, subject)


def _other_run(run: Run, terms: RunTerms) -> Text | None:
    """Why these terms are not about the run as it is."""
    if not terms.plan_sha256 or run.plan_sha256 != terms.plan_sha256:
        return Text("the run has another plan than the one that was signed")
    if run.work_branch != terms.branch:
        return Text("the branch of the run is {branch}", branch=run.work_branch)
    if terms.branch == run.base_branch:
        return Text("commits on {branch} are never covered", branch=terms.branch)
    return None


def _doubtful(state: StepState) -> Text | None:
    if failed := next((one for one in state.evidence if one.tree == state.tree and not one.passed), None):
        return Text("{command} did not pass", command=failed.command)
    if found := next((one for one in state.findings if one.severity is Severity.ERROR), None):
        return Text("the {role} found an error in it", role=str(found.role))
    return None


def _beyond(run: Run, terms: RunTerms, subject: ApprovalSubject | None) -> Text | None:
    spent = run.spent.dollars
    if terms.dollars is not UNSET and spent > terms.dollars:
        return Text("the run has spent ${spent}, ${most} are covered",
                    spent=f"{spent:.2f}", most=f"{terms.dollars:.2f}")  # fmt: skip
    commit = subject.commit if subject else UNSET
    if commit and commit.branch != terms.branch:
        return Text("commits on {branch} are never covered", branch=commit.branch)
    if commit and (hooks := [name for name in commit.hooks if name not in terms.hooks]):
        return Text("the hook {hook} runs with the commit, outside a sandbox", hook=hooks[0])
    return None
