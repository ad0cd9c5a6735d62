"""Executes what was approved, through one protocol that can recover from a crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.document import Act, Approval, ApprovalSubject, files_of
from ringi.approvals.permits import check_danger
from ringi.errors import (
    CheckFailed,
    Expired,
    GrantRefused,
    Interrupted,
    InvalidSpecs,
    NoChannel,
    NotApproved,
    NotFound,
    NoTool,
    PathRefused,
    SignatureRefused,
    Stale,
    UnknownCommand,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans import attest, check, commit, undo
from ringi.plans.approve import covering, subject_now
from ringi.plans.change import require_valid
from ringi.plans.document import ENDED, PLAN_MACHINE, PlanStatus, StoredPlan, with_state
from ringi.plans.effects import Invalid
from ringi.plans.execution import CommandEnd, ExecutionIntent, ExecutionResult, StoredCommand, StoredIntent
from ringi.plans.executor import Executor, Stages, storage_errors
from ringi.plans.place import is_checking, require_here, to_recover
from ringi.plans.preview import after_bytes
from ringi.plans.propose import refuse_rejected
from ringi.plans.reading import require_free
from ringi.plans.recover import Recovery
from ringi.plans.rows import PlanRecord
from ringi.plans.status import refusal
from ringi.plans.steps import end_command
from ringi.plans.units import number_units
from ringi.plans.validate import find_embedded
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpecExt, only_reads, select_specs
from ringi.tree.check_result import CheckResult
from ringi.tree.file_state import FileChange, OpStatus
from ringi.tree.stage import list_emptied
from ringi.tree.tree import find_differing, look_change

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

_RUNNABLE = frozenset([PlanStatus.APPROVED, PlanStatus.ABORTED])


@storage_errors()
def execute(workspace: Workspace, plan_id: str, *, leaves: bool = False) -> ExecutionResult:
    """`leaves`: what the plan reads is sent away with the result."""
    with workspace.lock("execute"):
        record = _recover_record(workspace, plan_id)
        stored = record.plan
        require_here(workspace, stored)
        refuse_rejected(stored)
        approval = _approval(workspace, record)
        if approval is None:
            require_free(workspace, stored, leaves=leaves)
        specs = _remaining(workspace, record, approval)
        _require_runnable(workspace, stored, specs, cut_off(workspace, record.executions))
        if why := check_danger(workspace, lambda: stored.document, specs):
            raise InvalidSpecs(plan=f"p{stored.number}", issues=why)
        planned = stored.document.state.planned_checks
        checked = check.require_before(workspace, stored, planned) if approval and planned else ()
        contents = _contents(workspace, stored, specs)
        if tested := check.require_tested(workspace, stored) if approval else ():
            contents = _contents(workspace, stored, specs)  # it took a while
        checked += tested
        intent = _intent(workspace, stored, approval, specs)

        def begin(transaction: Store) -> StoredPlan:
            return _begin(transaction, _with_checks(stored, checked), intent)

        if approval:
            attest.attach(workspace, stored.document, approval, contents)
        result = Executor(workspace).carry_out(intent, contents, begin)
        if approval and result.overall_success:
            result = _afterwards(workspace, approval, result, checks=bool(planned and planned.after))
        workspace.store.forget_bytes(workspace.clock.now())
        return result


def _recover_record(workspace: Workspace, plan_id: str) -> PlanRecord:
    """The plan, once nothing is left of what a crash cut off."""
    record = workspace.store.record(plan_id)
    if record.interrupted:
        _recover(workspace)
        return workspace.store.record(plan_id)
    Stages(workspace).sweep()
    return record


def _afterwards(
    workspace: Workspace, approval: Approval, result: ExecutionResult, *, checks: bool
) -> ExecutionResult:
    """Checks what was written, then commits it, each if approved."""
    if checks:
        try:
            check.check_after(workspace, result.plan_id, approval)
        except (CheckFailed, Interrupted):
            commit.not_made(workspace, approval, result)
            raise
    result = commit.commit(workspace, approval, result)
    check.require_committed(workspace, approval, result)
    return result


def _approval(workspace: Workspace, record: PlanRecord) -> Approval | None:
    """None for a plan that only reads and was not approved."""
    stored = record.plan
    document, name = stored.document, f"p{stored.number}"
    status, found = document.state.status, None
    if status in ENDED:
        raise refusal(document, name, PlanStatus.SCHEDULED)
    if status in _RUNNABLE:
        try:
            found = covering(workspace, record)
        except (Expired, GrantRefused, SignatureRefused):
            _send_to_review(workspace, stored, EventKind.APPROVAL_EXPIRED)
            raise
    reading = status in {*_RUNNABLE, PlanStatus.PENDING_REVIEW} and only_reads(document.state.action_specs)
    if found and _was_undone(record.executions, found):
        # What a person undid is not done again without a new approval.
        _send_to_review(workspace, stored, EventKind.FOUND_STALE)
        raise NotApproved(plan=name, status=str(PlanStatus.PENDING_REVIEW))
    if found is None and (moved := _describe_move(workspace, record) if status in _RUNNABLE else None):
        _send_to_review(workspace, stored, EventKind.FOUND_STALE)
        raise Stale(plan=name, paths=moved)
    if found is None and not reading:
        raise NotApproved(plan=name, status=str(status))
    if found:
        require_valid(workspace, stored, found.selection)
    return found


def _describe_move(workspace: Workspace, record: PlanRecord) -> Text | None:
    """How the repository differs from the approval, if that alone keeps the newest approval from counting."""
    for approval in reversed(record.approvals):
        said = codec.decode_own(approval.subject.encode(), ApprovalSubject, "approval")
        if said.kind is Act.EXECUTE:
            now = subject_now(workspace, record.plan.document, approval.selection, approval.expires_at)
            if said.commit and now.commit and msgspec.structs.replace(now, commit=said.commit) == said:
                return commit.difference(said.commit, now.commit)
            return None
    return None


def _was_undone(executions: Sequence[StoredIntent], approval: Approval) -> bool:
    used = [n for n, one in enumerate(executions) if one.intent.approval_id == approval.id]
    return bool(used) and any(one.intent.kind is Act.UNDO for one in executions[used[0] :])


def _remaining(
    workspace: Workspace, record: PlanRecord, approval: Approval | None
) -> tuple[ActionSpecExt, ...]:
    """The approved specs that were not yet carried out under this approval."""
    specs = record.plan.document.state.action_specs
    if approval is None:
        return specs
    done: set[str] = set()
    for execution in record.executions:
        if execution.result and execution.intent.approval_id == approval.id:
            ended = execution.result.results
            failed = {outcome.spec_id for outcome in ended if outcome.status is not OpStatus.DONE}
            done |= {outcome.spec_id for outcome in ended} - failed
            done |= {
                command.end.spec_id
                for command in workspace.store.executions.commands(execution.intent.id)
                if command.end and command.end.settled_by
            }
    return tuple(spec for spec in select_specs(specs, approval.selection) if spec.id not in done)


def _require_runnable(
    workspace: Workspace,
    stored: StoredPlan,
    specs: Sequence[ActionSpecExt],
    commands: Sequence[StoredCommand],
) -> None:
    name = f"p{stored.number}"
    unknown = {command.start.spec_id: command for command in commands}
    for spec in specs:
        if spec.id in unknown:
            command = " ".join(unknown[spec.id].start.argv)
            raise UnknownCommand(plan=name, spec=spec.id, command=command)
        if spec.base.kind is SpecKind.CALL and workspace.tools is None and not spec.base.optional:
            raise NoTool(plan=name, spec=spec.id, tool=spec.base.tool or "")


def cut_off(workspace: Workspace, executions: Sequence[StoredIntent]) -> list[StoredCommand]:
    """Commands of these executions that started but have no recorded end."""
    return [
        command
        for execution in executions
        if execution.intent.steps
        for command in workspace.store.executions.commands(execution.intent.id)
        if command.end is None
    ]


def _contents(workspace: Workspace, stored: StoredPlan, specs: Sequence[ActionSpecExt]) -> dict[str, bytes]:
    """The bytes that are about to be replaced, and those that are about to be written."""
    name, files = f"p{stored.number}", files_of(specs)
    contents = _before_bytes(workspace, files)
    if contents is None:
        wrong = ", ".join(find_differing(workspace.tree, files))
        _send_to_review(workspace, stored, EventKind.FOUND_STALE)
        raise Stale(plan=name, paths=wrong)
    # Another plan may have written the rest of a repository since it was approved.
    if problem := next(find_embedded(specs, workspace.tree), None):
        raise InvalidSpecs(plan=name, issues=problem)
    try:
        return contents | _after_bytes(workspace, specs, known=contents)
    except Invalid as error:
        # The configuration now forbids what was allowed when it was approved.
        raise InvalidSpecs(plan=name, issues=error.why) from None


def _intent(
    workspace: Workspace, stored: StoredPlan, approval: Approval | None, specs: Sequence[ActionSpecExt]
) -> ExecutionIntent:
    changes, steps = number_units(specs, sandboxed=_read_sandbox(approval))
    folders = {change.path for change in changes if change.folder}
    return ExecutionIntent(
        id=workspace.ids(),
        kind=Act.EXECUTE,
        plan_id=stored.document.plan.id,
        plan_version=stored.document.plan.version,
        approval_id=approval.id if approval else "",
        changes=changes,
        new_folders=undo.new_folders(workspace, changes),
        started_at=workspace.clock.now(),
        emptied=tuple(folder for folder in list_emptied(changes) if folder not in folders),
        steps=steps or UNSET,
    )


def _read_sandbox(approval: Approval | None) -> bool | UnsetType:
    if approval is None:
        return UNSET
    return codec.decode_own(approval.subject.encode(), ApprovalSubject, "approval").sandboxed


def _begin(transaction: Store, stored: StoredPlan, intent: ExecutionIntent) -> StoredPlan:
    status = PLAN_MACHINE.advance(stored.document.state.status, PlanStatus.SCHEDULED)
    status = PLAN_MACHINE.advance(status, PlanStatus.EXECUTING)
    # Saves the revision that was checked: if the plan was changed since, nothing runs.
    event = NewEvent(EventKind.EXECUTED, Actor.SYSTEM, "", intent)
    return transaction.plans.save(stored, with_state(stored.document, status=status), event)


def _with_checks(stored: StoredPlan, checked: tuple[CheckResult, ...]) -> StoredPlan:
    checks = (*stored.document.state.checks, *checked)
    return stored._replace(document=with_state(stored.document, checks=checks))


def _before_bytes(workspace: Workspace, changes: Sequence[FileChange]) -> dict[str, bytes] | None:
    """None if any file differs from before."""
    contents = {}
    with workspace.tree.open_root() as root:
        for change in changes:
            try:
                state, found = look_change(workspace.tree, root, change)
            except PathRefused:
                return None
            if state != change.before:
                return None
            if found and not change.folder:
                contents[found.state.sha256] = found.data
    return contents


def _after_bytes(
    workspace: Workspace, specs: Sequence[ActionSpecExt], *, known: Mapping[str, bytes]
) -> dict[str, bytes]:
    """A file that keeps its bytes was read already."""
    contents: dict[str, bytes] = {}
    for spec in specs:
        if spec.after and spec.after != spec.before and spec.after.sha256 not in known:
            contents |= after_bytes(workspace, spec, known)
    return contents


def _send_to_review(workspace: Workspace, stored: StoredPlan, why: EventKind) -> None:
    with workspace.store.transaction() as transaction:
        status = PLAN_MACHINE.advance(stored.document.state.status, PlanStatus.PENDING_REVIEW)
        document = with_state(stored.document, status=status)
        transaction.plans.save(stored, document, NewEvent(why, Actor.SYSTEM))


@storage_errors()
def recover(workspace: Workspace) -> list[ExecutionResult]:
    with workspace.lock("recover"):
        return _recover(workspace)


def _recover(workspace: Workspace) -> list[ExecutionResult]:
    results: list[ExecutionResult] = []
    for here in to_recover(workspace):
        found = Recovery(here).run()
        if is_checking(here):
            found = commit.finish(here, found)
            check.finish(here)
        results += found
    return results


@storage_errors()
def settle(workspace: Workspace, plan_id: str, spec_id: str, *, done: bool) -> None:
    """A person says how an interrupted command ended."""
    with workspace.lock("recover"):
        _recover(workspace)
        stored = workspace.store.plans.get(plan_id)
        require_here(workspace, stored)
        name = f"p{stored.number}"
        if refusal := workspace.person.refusal():
            raise NoChannel(why=refusal, command=f"ringi recover {name}")
        found = next(
            (
                one
                for one in cut_off(workspace, workspace.store.executions.of(plan_id))
                if one.start.spec_id == spec_id
            ),
            None,
        )
        if found is None:
            raise NotFound(what=Text("command without an end"), name=spec_id, see=f"ringi show {name}")
        end = CommandEnd(
            execution_id=found.start.execution_id,
            plan_id=plan_id,
            spec_id=spec_id,
            exit_code=None,
            output="",
            cut=False,
            timed_out=False,
            duration_sec=0.0,
            ended_at=workspace.clock.now(),
            settled_by=workspace.person.user() if done else "",
        )
        end_command(workspace, end, {})
