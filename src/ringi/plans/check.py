"""Checks before and after an execution (PT-16): for real, and as a dry run on copies.

What happens to the files if a check fails afterwards was approved with the plan.

Between the result of the execution and the result of its checks, the ledger says that checks are under way.
If a crash interrupts them, they count as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import UNSET

from ringi.approvals.document import Act, Approval, files_of
from ringi.errors import (
    CheckFailed,
    Failed,
    Interrupted,
    InvalidSpecs,
    NoSandbox,
    NothingToUndo,
    Refused,
    Stale,
    StepNotCommitted,
    UndoStale,
    Usage,
)
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans import commit, undo
from ringi.plans.document import OPEN, PlanDocument, PlanStatus, StoredPlan, with_state
from ringi.plans.effects import Invalid
from ringi.plans.execution import ExecutionResult
from ringi.plans.preview import effects_now
from ringi.plans.propose import refuse_superseded, require_as_seen
from ringi.plans.status import refusal
from ringi.tree.action_spec import ActionSpecExt, CheckFailure, PlannedChecks, select_specs
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.file_state import FileChange
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

CANNOT_RUN: Final = 126
"""A shell's exit code for a file that cannot be executed."""

Files = dict[str, tuple[bytes, int] | None]


class CheckRunner(Protocol):
    def uses_sandbox(self) -> bool:
        """Whether commands of a plan run in a sandbox in checks before its execution."""

    def __call__(
        self, commands: Sequence[str], files: Mapping[str, tuple[bytes, int] | None], phase: CheckPhase,
        reviewer: int = 0,
    ) -> tuple[CheckResult, ...]:  # fmt: skip
        """Runs in a copy of the workspace with these files replaced (bytes, permission bits; None: deleted).

        Stops at the first that fails. The copy is kept for the process `reviewer`, which removes it.
        """


def require_before(
    workspace: Workspace, stored: StoredPlan, planned: PlannedChecks
) -> tuple[CheckResult, ...]:
    """Raises CheckFailed if one fails; nothing was changed, and the plan records the results."""
    results = workspace.check(planned.before, {}, CheckPhase.BEFORE) if planned.before else ()
    for result in results:
        if result.exit_code:
            _record(workspace, stored, results)
            raise _failure(stored, result, Text("nothing was changed"))
    return results


def require_tested(workspace: Workspace, stored: StoredPlan) -> tuple[CheckResult, ...]:
    """The tests of a step pass on exactly what it would be: those of the run, or of a review that changed it.

    Those that nobody has seen pass there run now. Raises CheckFailed; nothing was changed, and the plan
    records the results.
    """
    document = stored.document
    planned = document.state.planned_checks
    if not planned or not planned.tests:
        return ()
    if all(map(_passing(document), planned.tests)) and not workspace.is_tested_otherwise(document):
        return ()
    if not workspace.check.uses_sandbox():
        raise NoSandbox(why=Text("the tests of a step run in one only before it is carried out"))
    results = workspace.check(planned.tests, files_after(workspace, stored), CheckPhase.DRY)
    failed = next((one for one in results if not one.passed), None)
    if failed is not None:
        _record(workspace, stored, results)
        raise _failure(stored, failed, Text("nothing was changed"))
    return results


def failing_test(document: PlanDocument) -> CheckResult | None:
    """What keeps a step from being carried out: a test that has to pass, if its newest result is red."""
    planned = document.state.planned_checks
    wanted = planned.tests or () if planned else ()
    newest = {one.command: one for one in document.state.checks}
    return next((newest[one] for one in wanted if one in newest and not newest[one].passed), None)


def _passing(document: PlanDocument) -> Callable[[str], bool]:
    newest = {one.command: one for one in document.state.checks}
    return lambda command: command in newest and newest[command].passed


def run_after(workspace: Workspace, planned: PlannedChecks) -> tuple[CheckResult, ...]:
    """On the workspace after the plan was carried out.

    The files have already changed: a check that cannot run counts as failed, not as an error.
    """
    if not planned.after:
        return ()
    try:
        return workspace.check(planned.after, {}, CheckPhase.AFTER)
    except (Failed, Refused, Usage) as error:
        return (CheckResult(planned.after[0], CANNOT_RUN, 0.0, "", str(error), CheckPhase.AFTER),)


def dry(workspace: Workspace, stored: StoredPlan) -> tuple[CheckResult, ...]:
    """Runs all checks, those for after on a copy with the plan's changes; the workspace stays as it is."""
    state = stored.document.state
    refuse_superseded(stored)
    if state.status not in OPEN:
        raise refusal(stored.document, f"p{stored.number}", PlanStatus.SCHEDULED)
    files = files_after(workspace, stored)
    # Not those of the current configuration: an execution runs only the checks fixed in the plan.
    planned = state.planned_checks or PlannedChecks()
    results = workspace.check(planned.before, {}, CheckPhase.BEFORE) if planned.before else ()
    results += workspace.check(planned.after, files, CheckPhase.DRY) if planned.after else ()
    if results:
        _record(workspace, stored, results)
    return results


def commands_of(document: PlanDocument) -> tuple[str, ...]:
    """The commands that judge the plan's changes: the proposer's checks, and those for after."""
    state = document.state
    planned = state.planned_checks or PlannedChecks()
    return tuple(dict.fromkeys((*(state.check_commands or ()), *(planned.tests or ()), *planned.after)))


def again(workspace: Workspace, stored: StoredPlan, reviewer: int) -> tuple[CheckResult, ...]:
    """Runs the plan's checks on a copy with its changes as they are now; see `CheckRunner` for the reviewer.

    Raises NoSandbox if there is none: a person who only looks at a plan has not allowed its code to run.
    """
    refuse_superseded(stored)
    commands = commands_of(stored.document)
    if not commands:
        return ()
    if not workspace.check.uses_sandbox():
        raise NoSandbox(why=Text("the checks of a plan under review run in one only"))
    results = workspace.check(commands, files_after(workspace, stored), CheckPhase.DRY, reviewer)
    _record(workspace, stored, results)
    return results


def _record(workspace: Workspace, stored: StoredPlan, results: Sequence[CheckResult]) -> None:
    """Checks take time; if the plan has other specs by now, it must not show these results."""
    plan_id = stored.document.plan.id
    require_as_seen(workspace.store.plans.get(plan_id), stored.document)
    add_checks(workspace, plan_id, results)


def files_after(workspace: Workspace, stored: StoredPlan) -> Files:
    """The files after the selected specs, by path; specs with unknown effects add none."""
    name, state = f"p{stored.number}", stored.document.state
    specs = select_specs(state.action_specs, state.selection)
    if state.status is PlanStatus.ABORTED:
        specs = tuple(spec for spec in specs if not _is_carried_out(workspace, spec))
    for spec in specs:
        if not spec.validated:
            raise InvalidSpecs(plan=name, issues=spec.notes)
    if wrong := find_differing(workspace.tree, files_of(specs)):
        raise Stale(plan=name, paths=", ".join(wrong))
    return files_made(workspace, name, specs)


def files_made(workspace: Workspace, name: str, specs: Iterable[ActionSpecExt]) -> Files:
    """By path, what these specs make of the files that their proposer saw."""
    files: Files = {}
    for spec in specs:
        try:
            files |= _files_of(workspace, spec)
        except Invalid as error:
            raise InvalidSpecs(plan=name, issues=error.why) from None
    return files


def _is_carried_out(workspace: Workspace, spec: ActionSpecExt) -> bool:
    left = [FileChange(spec.id, file.path, file.after, file.after) for file in spec.touched]
    return bool(left) and not find_differing(workspace.tree, left)


def _files_of(workspace: Workspace, spec: ActionSpecExt) -> Files:
    new = {effect.path: effect.new for effect in effects_now(workspace, spec)}
    files: Files = {}
    for file in spec.touched:
        if file.before == file.after or (file.after and file.after.folder):
            continue  # only read; or a folder, which exists once a file is in it
        data = new.get(file.path)
        files[file.path] = (data, int(file.after.mode, 8)) if file.after and data is not None else None
    return files


def check_after(workspace: Workspace, plan_id: str, approval: Approval) -> None:
    """Raises CheckFailed after doing what was approved for that case."""
    stored = workspace.store.plans.get(plan_id)
    planned = stored.document.state.planned_checks
    if not planned:
        return
    try:
        results = run_after(workspace, planned)
    except Interrupted:
        _deal_with_failure(workspace, plan_id, planned, approval)
        raise
    add_checks(workspace, plan_id, results)
    failed = next((result for result in results if result.exit_code != 0), None)
    if failed is None:
        return
    became = _deal_with_failure(workspace, plan_id, planned, approval)
    raise _failure(stored, failed, became)


def describe_end(document: PlanDocument, result: CheckResult) -> Text:
    """The tests of a step have the time of its run's plan, other checks that of the configuration."""
    if result.timeout_sec is UNSET or not document.step:
        return result.ended
    return Text(
        "was stopped after {seconds} s (limits.timeout_sec of the plan)", seconds=f"{result.timeout_sec:g}"
    )


def _failure(stored: StoredPlan, result: CheckResult, became: Text) -> CheckFailed:
    return CheckFailed(
        plan=f"p{stored.number}",
        command=result.command,
        exit_code=result.exit_code,
        ended=describe_end(stored.document, result),
        became=became,
    )


def _deal_with_failure(
    workspace: Workspace, plan_id: str, planned: PlannedChecks, approval: Approval
) -> Text:
    stored = workspace.store.plans.get(plan_id)
    if stored.document.step:
        return _take_back_step(workspace, plan_id, approval)
    became = _deal_with(workspace, stored, planned.on_failure, approval)
    _over(workspace)
    return became


def _deal_with(workspace: Workspace, stored: StoredPlan, wanted: CheckFailure, approval: Approval) -> Text:
    if wanted is CheckFailure.KEEP:
        return Text("what it wrote was kept, as approved")
    try:
        taken_back = undo.take_back(workspace, stored, approval)
    except NothingToUndo as error:
        return Text("nothing could be taken back: {why}", why=error.details["why"])
    except UndoStale as error:
        return Text("nothing was taken back, because somebody wrote since to: {paths}", **error.details)
    if not taken_back.overall_success:
        return Text("not everything could be taken back")
    return Text("everything was taken back")


def finish(workspace: Workspace) -> None:
    """Records checks that a crash interrupted as failed."""
    plan_id = workspace.store.plans.checking()
    if plan_id is None:
        return
    stored = workspace.store.plans.get(plan_id)
    planned = stored.document.state.planned_checks
    approval = _approval(workspace, plan_id)
    if stored.document.state.status is not PlanStatus.COMPLETED or not approval:
        _over(workspace)
    elif stored.document.step:
        _take_back_step(workspace, plan_id, approval)
    else:
        if planned:
            _deal_with(workspace, stored, planned.on_failure, approval)
        _over(workspace)


def require_committed(workspace: Workspace, approval: Approval, result: ExecutionResult) -> None:
    """What a step of a run wrote goes if it did not become a commit. Raises StepNotCommitted then."""
    outcome = result.commit
    if not outcome or outcome.commit:
        return
    stored = workspace.store.plans.get(result.plan_id)
    if step := stored.document.step:
        became = _take_back_step(workspace, result.plan_id, approval)
        raise StepNotCommitted(
            plan=f"p{stored.number}",
            why=outcome.last_line,
            became=became,
            run=step.run_id,
            rewritten=bool(outcome.rewritten),
        )


def _take_back_step(workspace: Workspace, plan_id: str, approval: Approval) -> Text:
    # A hook may have changed in the files what only the approved bytes tell.
    workspace.tidy(commit.bytes_written(workspace, approval))
    became = _deal_with(workspace, workspace.store.plans.get(plan_id), CheckFailure.UNDO, approval)
    workspace.tidy({})
    _over(workspace)
    return became


def _over(workspace: Workspace) -> None:
    with workspace.store.transaction() as transaction:
        transaction.plans.set_checking(None)


def _approval(workspace: Workspace, plan_id: str) -> Approval | None:
    """The approval of the last execution."""
    done = [one.intent for one in workspace.store.executions.of(plan_id) if one.intent.kind is Act.EXECUTE]
    approvals = {approval.id: approval for approval in workspace.store.approvals.of(plan_id)}
    return approvals.get(done[-1].approval_id) if done else None


def add_checks(workspace: Workspace, plan_id: str, results: Sequence[CheckResult]) -> None:
    passed = sum(result.passed for result in results)
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        state = stored.document.state
        passed_after = results and all((one.phase, one.exit_code) == (CheckPhase.AFTER, 0) for one in results)
        if passed_after and not state.commit:  # the commit is still to come
            transaction.plans.set_checking(None)
        own = [one.command for one in results if one.phase is UNSET]
        commands = tuple(dict.fromkeys([*(state.check_commands or ()), *own])) or UNSET
        document = with_state(stored.document, checks=(*state.checks, *results), check_commands=commands)
        reason = f"{passed} of {len(results)} checks passed"
        transaction.plans.save(stored, document, NewEvent(EventKind.CHECKED, Actor.SYSTEM, reason))
