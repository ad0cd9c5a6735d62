"""Execute, undo and recover: the three that change the workspace, all through one protocol."""

from collections.abc import Mapping, Sequence

from ringi.domain import codec
from ringi.domain.approval import ApprovalRequest, FileChange, SubjectKind, TypedAnswer
from ringi.domain.events import Actor, EventKind
from ringi.domain.execution import ExecutionIntent, ExecutionResult
from ringi.domain.plan import ALL_SPECS, PLAN_MACHINE, ActionSpecExt, PlanStatus, selected, with_state
from ringi.domain.risk import Risk
from ringi.errors import (
    Expired,
    InvalidSpecs,
    NotApproved,
    NothingToUndo,
    NotRequested,
    PathRefused,
    Stale,
    UndoStale,
)
from ringi.plans.approving import changes_of, differing, files_of, grant, require_person, undo_subject
from ringi.plans.changing import refuse_superseded, require_valid
from ringi.plans.deciding import covering_approval
from ringi.plans.effects import Invalid
from ringi.plans.execution import Executor, storage_errors
from ringi.plans.parts import Parts
from ringi.plans.proposing import after_bytes
from ringi.ports import NewEvent, StoredPlan, Transaction
from ringi.text import Text

_RUNNABLE = frozenset([PlanStatus.APPROVED, PlanStatus.ABORTED])


@storage_errors()
def execute(parts: Parts, plan_id: str) -> ExecutionResult:
    with parts.lock("execute"):
        executor = Executor(parts)
        executor.recover()
        stored = parts.store.plan(plan_id)
        document, name = stored.document, f"p{stored.number}"
        approval = None
        refuse_superseded(stored)
        if document.state.status in _RUNNABLE:
            try:
                approval = covering_approval(parts, document, name)
            except Expired:
                _send_to_review(parts, stored, EventKind.APPROVAL_EXPIRED)
                raise
        if approval is None:
            raise NotApproved(plan=name, status=str(document.state.status))
        require_valid(parts, stored, approval.selection)
        specs = selected(document.state.action_specs, approval.selection)
        changes, files = changes_of(specs), files_of(specs)
        contents = _before_bytes(parts, files)
        if contents is None:
            _send_to_review(parts, stored, EventKind.FOUND_STALE)
            raise Stale(plan=name, paths=", ".join(differing(parts.tree, files)))
        try:
            contents |= _after_bytes(parts, specs, known=contents)
        except Invalid as error:
            # The configuration forbids by now what was fine when it was approved.
            raise InvalidSpecs(plan=name, issues=error.why) from None
        intent = _intent(parts, SubjectKind.EXECUTE, stored, approval.id, changes)

        def begin(transaction: Transaction) -> None:
            status = PLAN_MACHINE.advance(document.state.status, PlanStatus.SCHEDULED)
            status = PLAN_MACHINE.advance(status, PlanStatus.EXECUTING)
            event = NewEvent(EventKind.EXECUTED, Actor.SYSTEM, "", intent)
            transaction.spend(approval.id, intent.id)
            # Saved on the revision that was checked: if somebody changed the plan since, nothing runs.
            transaction.save_plan(stored, with_state(document, status=status), event)

        result = executor.carry_out(intent, contents, begin)
        parts.store.forget_bytes(parts.clock.now())
        return result


def _intent(
    parts: Parts, kind: SubjectKind, stored: StoredPlan, approval_id: str, changes: Sequence[FileChange]
) -> ExecutionIntent:
    new = [change.path for change in changes if change.before is None]
    return ExecutionIntent(
        id=parts.ids(),
        kind=kind,
        plan_id=stored.document.plan.id,
        plan_version=stored.document.plan.version,
        approval_id=approval_id,
        changes=tuple(changes),
        new_folders=tuple(parts.tree.missing_folders(new)),
        started_at=parts.clock.now(),
    )


def _before_bytes(parts: Parts, changes: Sequence[FileChange]) -> dict[str, bytes] | None:
    """The bytes that are about to be replaced; None as soon as a file is not as before."""
    contents = {}
    with parts.tree.open_root() as root:
        for change in changes:
            try:
                found = parts.tree.look_from(root, change.path)
            except PathRefused:
                return None
            if (found.state if found else None) != change.before:
                return None
            if found:
                contents[found.state.sha256] = found.data
    return contents


def _after_bytes(
    parts: Parts, specs: Sequence[ActionSpecExt], *, known: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The bytes that are about to be written. A file that keeps its own was read already, and not again."""
    contents: dict[str, bytes] = {}
    for spec in specs:
        if spec.after and spec.after != spec.before and spec.after.sha256 not in known:
            contents |= after_bytes(parts, spec, known)
    return contents


def _send_to_review(parts: Parts, stored: StoredPlan, why: EventKind) -> None:
    with parts.store.transaction() as transaction:
        status = PLAN_MACHINE.advance(stored.document.state.status, PlanStatus.PENDING_REVIEW)
        document = with_state(stored.document, status=status)
        transaction.save_plan(stored, document, NewEvent(why, Actor.SYSTEM))


@storage_errors()
def recover(parts: Parts) -> list[ExecutionResult]:
    with parts.lock("recover"):
        return Executor(parts).recover()


def newest_undoable(parts: Parts) -> str:
    for ref in parts.store.refs():
        if ref.status is PlanStatus.COMPLETED and not ref.undone:
            return ref.id
    raise NothingToUndo(why=Text("no plan was carried out, or all were undone"))


@storage_errors()
def request_undo(parts: Parts, plan_id: str) -> tuple[ApprovalRequest, ExecutionIntent]:
    """Fix what an undo would bring back; the digest names it."""
    stored = parts.store.plan(plan_id)
    done = _done(parts, stored)
    expires_at = parts.clock.after(parts.rules.expires_sec)
    subject = undo_subject(done, parts.store.workspace_id(), expires_at)
    _require_undoable(parts, stored, done)
    asked = ApprovalRequest(
        id=parts.ids(),
        plan_id=plan_id,
        plan_version=stored.document.plan.version,
        selection=ALL_SPECS,
        digest=codec.digest(codec.canonical(subject)),
        requested_at=parts.clock.now(),
        expires_at=expires_at,
    )
    with parts.store.transaction() as transaction:
        transaction.add_request(asked)
        event = NewEvent(EventKind.APPROVAL_REQUESTED, Actor.SYSTEM, asked.digest)
        transaction.save_plan(stored, stored.document, event)
    return asked, done


def _done(parts: Parts, stored: StoredPlan) -> ExecutionIntent:
    executions = parts.store.executions(stored.document.plan.id)
    newest = executions[-1] if executions else None
    for execution in reversed(executions):
        if execution.result is None or not execution.result.overall_success:
            continue
        if execution.intent.kind is SubjectKind.EXECUTE:
            return execution.intent
        break
    name = f"p{stored.number}"
    if newest is None:
        raise NothingToUndo(why=Text("plan {plan} was not carried out", plan=name))
    raise NothingToUndo(why=Text("plan {plan} is undone already", plan=name))


def _require_undoable(parts: Parts, stored: StoredPlan, done: ExecutionIntent) -> None:
    back = undo_subject(done, "", "").changes
    if wrong := differing(parts.tree, back):
        raise UndoStale(plan=f"p{stored.number}", paths=", ".join(wrong))
    if any(change.after and parts.store.get_bytes(change.after.sha256) is None for change in back):
        raise NothingToUndo(why=Text("the replaced bytes are no longer kept"))


@storage_errors()
def undo(parts: Parts, plan_id: str, approver: str, answer: TypedAnswer | None) -> ExecutionResult:
    with parts.lock("undo"):
        executor = Executor(parts)
        executor.recover()
        stored = parts.store.plan(plan_id)
        name = f"p{stored.number}"
        answer = require_person(parts, name, answer)
        asked = next(
            (asked for asked in parts.store.requests(plan_id) if asked.digest == answer.digest), None
        )
        if asked is None:
            raise NotRequested(plan=name)
        if asked.expires_at < parts.clock.now():
            raise Expired(plan=name, when=asked.expires_at)
        done = _done(parts, stored)
        _require_undoable(parts, stored, done)
        subject = undo_subject(done, parts.store.workspace_id(), asked.expires_at)
        contents = {
            state.sha256: parts.store.get_bytes(state.sha256) or b""
            for change in subject.changes
            for state in (change.before, change.after)
            if state
        }
        with parts.store.transaction() as transaction:
            approval = grant(
                parts, asked, subject, answer,
                approver=approver, risk=Risk.LOW, after_event=transaction.last_hash(),
            )  # fmt: skip
            transaction.add_approval(approval)
            event = NewEvent(EventKind.UNDO_APPROVED, Actor.USER, "", approval)
            stored = transaction.save_plan(stored, stored.document, event)
        intent = _intent(parts, SubjectKind.UNDO, stored, approval.id, subject.changes)

        def begin(transaction: Transaction) -> None:
            transaction.spend(approval.id, intent.id)
            event = NewEvent(EventKind.UNDO_STARTED, Actor.SYSTEM, "", intent)
            transaction.save_plan(stored, stored.document, event)

        return executor.carry_out(intent, contents, begin)
