"""What was carried out is checked, and what becomes of it where a check fails was approved with it (PT-16).

From the result of the execution to the result of its checks the ledger says that they are under way. What a
crash cuts off in between was not seen to pass, and so did not pass.
"""

from ringi.domain.approval import Act, Approval
from ringi.domain.plan import CheckFailure, PlannedChecks, PlanStatus
from ringi.errors import CheckFailed, Interrupted, NothingToUndo, UndoStale
from ringi.plans import checking, undoing
from ringi.plans.parts import Parts
from ringi.plans.proposing import add_checks
from ringi.ports import StoredPlan
from ringi.text import Text


def check(parts: Parts, plan_id: str, approval: Approval) -> None:
    """Raises CheckFailed, after what was approved for that case was done."""
    stored = parts.store.plan(plan_id)
    planned = stored.document.state.planned_checks
    if not planned:
        return
    try:
        results = checking.after(parts, planned)
    except Interrupted:
        _deal_with(parts, parts.store.plan(plan_id), planned, approval)
        _over(parts)
        raise
    add_checks(parts, plan_id, results)
    failed = next((result for result in results if result.exit_code != 0), None)
    if failed is None:
        return
    became = _deal_with(parts, parts.store.plan(plan_id), planned, approval)
    _over(parts)
    name = f"p{stored.number}"
    raise CheckFailed(plan=name, command=failed.command, exit_code=failed.exit_code, became=became)


def _deal_with(parts: Parts, stored: StoredPlan, planned: PlannedChecks, approval: Approval) -> Text:
    if planned.on_failure is CheckFailure.KEEP:
        return Text("what it wrote was kept, as approved")
    try:
        taken_back = undoing.take_back(parts, stored, approval)
    except NothingToUndo as error:
        return Text("nothing could be taken back: {why}", why=error.details["why"])
    except UndoStale as error:
        return Text("nothing was taken back, because somebody wrote since to: {paths}", **error.details)
    if not taken_back.overall_success:
        return Text("not everything could be taken back")
    return Text("everything was taken back")


def finish(parts: Parts) -> None:
    """Checks that a crash cut off did not pass."""
    plan_id = parts.store.checking()
    if plan_id is None:
        return
    stored = parts.store.plan(plan_id)
    planned = stored.document.state.planned_checks
    approval = _approval(parts, plan_id)
    if stored.document.state.status is PlanStatus.COMPLETED and planned and approval:
        _deal_with(parts, stored, planned, approval)
    _over(parts)


def _over(parts: Parts) -> None:
    with parts.store.transaction() as transaction:
        transaction.set_checking(None)


def _approval(parts: Parts, plan_id: str) -> Approval | None:
    """Under which it was carried out last."""
    done = [one.intent for one in parts.store.executions(plan_id) if one.intent.kind is Act.EXECUTE]
    approvals = {approval.id: approval for approval in parts.store.approvals(plan_id)}
    return approvals.get(done[-1].approval_id) if done else None
