"""A yes on a forge becomes the approval of what waits here, each with its own proof (rule 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ringi.approvals.document import ApprovedPlan, ReviewAnswer
from ringi.engine.run_state import StepStatus
from ringi.errors import PlanChanged
from ringi.forges.document import ReviewVerdict, rejects
from ringi.forges.listen import ForgePage, Spoken, Verb, newest_verdicts, proof_of
from ringi.forges.port import CodeHost
from ringi.forges.review_lookup import SAYS_NO
from ringi.forges.watch_project import ProjectWatch, WatchTarget
from ringi.plans.document import PlanStatus
from ringi.runs.document import OfferedStep, Run
from ringi.runs.revision import ReviewedRevision
from ringi.tree.action_spec import ALL_SPECS

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def approve_offer(workspace: Workspace, host: CodeHost, run_id: str, said: Spoken) -> tuple[str, ...]:
    """Every step that is offered, in order: approved and carried out. Returns those that were.

    The caller holds the lock of the run. Raises ReviewRefused, PlanChanged and like `execute`; what was
    carried out before stays, and a second call goes on behind it.
    """
    run, done = workspace.store.runs.get(run_id), list[str]()
    if run.offer is None:
        return ()
    status = {step.step_id: step.status for step in run.steps}
    for offered in run.offer.steps:
        if status.get(offered.step_id) is StepStatus.PROPOSED:
            _carry_out(workspace, host, offered, run.offer.head, said)
            done.append(offered.step_id)
    return tuple(done)


def _carry_out(workspace: Workspace, host: CodeHost, offered: OfferedStep, head: str, said: Spoken) -> None:
    there, plan_id = workspace.of_plan(offered.plan_id), offered.plan_id
    document = there.plan.get(plan_id)
    if document.state.status is PlanStatus.COMPLETED:
        return
    commit = document.state.commit
    if document.plan.version != offered.plan_version or not commit or commit.offered != offered.commit:
        raise PlanChanged(plan=there.plan_name(plan_id))
    if there.plan.approved_already(plan_id) is None:
        asked = there.plan.ask(plan_id, seen=document)
        if not isinstance(there.plan.outcome(plan_id), ApprovedPlan):  # else a standing approval covers it
            proof = ReviewAnswer(asked.digest, proof_of(host, said, head, offered.commit))
            there.plan.approve(plan_id, host.project.account(said.author.login), ALL_SPECS, proof)
    there.plan.execute(plan_id)


def approve_revision(host: CodeHost, found: ReviewedRevision, said: Spoken) -> None:
    """Raises ReviewRefused, RevisionExpired, RunRace."""
    found.approve(ReviewAnswer(found.digest, proof_of(host, said, "")))


def approve_session(workspace: Workspace, host: CodeHost, session_id: str, said: Spoken) -> str:
    """The run that it becomes. Raises ReviewRefused, SessionRace."""
    digest = workspace.planning.request(session_id).digest
    answer = ReviewAnswer(digest, proof_of(host, said, ""))
    workspace.planning.approve(session_id, host.project.account(said.author.login), answer)
    return workspace.store.sessions.get(session_id).session.planner_session_id or ""


# Who said yes.


def find_approvals(
    watch: ProjectWatch, run: Run, about: WatchTarget, page: ForgePage, what: str
) -> Iterator[Spoken]:
    """By people who may decide, each once for `what` would be approved.

    Without those that have approved something, or of which it was said that they do not count.
    """
    said_yes = [
        one
        for one in newest_verdicts(page.reviews)
        if one.review and one.review.verdict is ReviewVerdict.APPROVED
    ]
    said_yes += [one for one in page.comments if one.command and one.command.verb is Verb.APPROVE]
    fresh = [one for one in said_yes if watch.is_new(yes_key(one, what))]
    done = _find_answered(watch, run, page) if fresh else frozenset()
    for said in fresh:
        if said.ref in done or not watch.listener.is_person(said):
            continue
        if watch.listener.is_own(said.author):
            watch.ignore_own(run.run_id, said)
        elif not watch.listener.counts(said.author):
            watch.ignore_stranger(run.run_id, said)
        elif rejects(said.body):
            watch.refuse(about, said, SAYS_NO)
        else:
            yield said


def yes_key(said: Spoken, what: str) -> str:
    return f"yes {said.ref} {what}"


def _find_answered(watch: ProjectWatch, run: Run, page: ForgePage) -> frozenset[str]:
    store = watch.workspace.store
    subjects = [run.run_id, run.planning_session_id, *(step.plan_id for step in run.steps)]
    proofs = [one.proof.review for name in subjects if name for one in store.approvals.of(name)]
    used = {f"{one.how}:{one.id}" for one in proofs if one}
    return watch.find_refused(run.run_id, page.all) | used
