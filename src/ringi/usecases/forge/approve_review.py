"""A yes on a forge becomes the approval of what waits here, each with its own proof (rule 4)."""

from ringi.domain.approval import ApprovedPlan, ReviewAnswer
from ringi.domain.forge import OfferedStep
from ringi.domain.plan import ALL_SPECS, PlanStatus
from ringi.domain.run import StepStatus
from ringi.errors import PlanChanged
from ringi.ports.forge import CodeHost
from ringi.usecases.forge.listen import Spoken, proof_of
from ringi.usecases.revision import ReviewedRevision
from ringi.usecases.workspace import OpenWorkspace


def approve_offer(workspace: OpenWorkspace, host: CodeHost, run_id: str, said: Spoken) -> tuple[str, ...]:
    """Every step that is offered, in order: approved and carried out. Returns those that were.

    The caller holds the lock of the run. Raises ReviewRefused, PlanChanged and like `execute`; what was
    carried out before stays, and a second call goes on behind it.
    """
    run, done = workspace.sessions.run(run_id), list[str]()
    if run.offer is None:
        return ()
    status = {step.step_id: step.status for step in run.steps}
    for offered in run.offer.steps:
        if status.get(offered.step_id) is StepStatus.PROPOSED:
            _carry_out(workspace, host, offered, run.offer.head, said)
            done.append(offered.step_id)
    return tuple(done)


def _carry_out(
    workspace: OpenWorkspace, host: CodeHost, offered: OfferedStep, head: str, said: Spoken
) -> None:
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
            there.plan.approve(plan_id, approver(host, said), ALL_SPECS, proof)
    there.plan.execute(plan_id)


def approve_revision(host: CodeHost, found: ReviewedRevision, said: Spoken) -> None:
    """Raises ReviewRefused, RevisionExpired, RunRace."""
    found.approve(ReviewAnswer(found.digest, proof_of(host, said, "")))


def approve_session(workspace: OpenWorkspace, host: CodeHost, session_id: str, said: Spoken) -> str:
    """The run that it becomes. Raises ReviewRefused, SessionRace."""
    digest = workspace.planning.request(session_id).digest
    answer = ReviewAnswer(digest, proof_of(host, said, ""))
    workspace.planning.approve(session_id, approver(host, said), answer)
    return workspace.sessions.session(session_id).session.planner_session_id or ""


def approver(host: CodeHost, said: Spoken) -> str:
    return f"{said.author.login}@{host.project.host}"
