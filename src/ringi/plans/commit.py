"""A commit of exactly what a plan wrote, if the person wants one.

The plan records that a commit is wanted; where it goes is part of what is approved; the log records the
result. Between the result of the execution and that of the commit, the ledger says that it is under way.
After a crash the repository itself says whether the commit was made; it is never made a second time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.document import Act, Approval, ApprovalSubject, CommitSubject
from ringi.approvals.who import actor_at
from ringi.errors import BranchRefused, CopyFailed, NoCommit, PathRefused, StorageFailed
from ringi.kernel import codec
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.ledger.event import Actor, EventKind, LoggedEvent, NewEvent
from ringi.patch.merge import ConflictedFile, merge_file
from ringi.patch.render import FileSide
from ringi.plans.commit_message import message_of_offer, proper_message, trailers, with_trailers
from ringi.plans.document import (
    OPEN,
    PLAN_MACHINE,
    PlanDocument,
    PlannedCommit,
    PlanState,
    PlanStatus,
    title_of,
    with_state,
)
from ringi.plans.execution import ExecutionResult, StoredIntent
from ringi.plans.place import require_here
from ringi.plans.propose import refuse_rejected
from ringi.plans.status import refusal
from ringi.policy.spec_kind import CHANGING, ONLY_READING
from ringi.tree.action_spec import ActionSpecExt, select_specs
from ringi.tree.check_result import CheckPhase
from ringi.tree.commit_order import CommitOrder, CommitOutcome, CommitPlace, Committed
from ringi.tree.file_state import FileChange, FileState, OpStatus
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.tree.commits import GitCommits

_ENDED: Final = frozenset([EventKind.COMMITTED, EventKind.COMMIT_FAILED, EventKind.COMMIT_REWRITTEN])
_CUT_OFF: Final = Text("it was cut off before the commit")
_CHECK_FAILED: Final = Text("a check failed")


class Announced(NamedTuple):
    """What a person is told about the commit before they answer."""

    subject: CommitSubject
    mixed: tuple[str, ...]
    """Files that also have uncommitted changes of the person, which go into the same commit."""


def wish(workspace: Workspace, plan_id: str, message: str | None) -> PlanState:
    """Sets, changes or (None) withdraws the wish for a commit; earlier approvals no longer cover the plan."""
    stored = workspace.store.plans.get(plan_id)
    document, status = stored.document, stored.document.state.status
    require_here(workspace, stored)
    refuse_rejected(stored)
    if message is None and document.step:
        raise NoCommit(why=Text("every step of a run is committed"))
    if status not in OPEN:
        raise refusal(document, f"p{stored.number}", PlanStatus.PENDING_REVIEW)
    wanted = UNSET if message is None else PlannedCommit(proper_message(message))
    if wanted:
        _place(workspace, _changes(document.state.action_specs), document.state.action_specs)
    if wanted == document.state.commit:
        return document.state
    if status in {PlanStatus.APPROVED, PlanStatus.ABORTED}:
        status = PLAN_MACHINE.advance(status, PlanStatus.PENDING_REVIEW)
    title = title_of(wanted.message) if wanted else ""
    said = f"to be committed: {title}" if wanted else "not to be committed"
    event = NewEvent(EventKind.AMENDED, actor_at(workspace.person), said)
    with workspace.store.transaction() as transaction:
        saved = transaction.plans.save(stored, with_state(document, status=status, commit=wanted), event)
    return saved.document.state


def _changes(specs: Iterable[ActionSpecExt]) -> list[FileChange]:
    return [
        FileChange(spec.id, file.path, file.before, file.after)
        for spec in specs
        for file in spec.touched
        if file.before != file.after
    ]


def _place(
    workspace: Workspace, changes: Iterable[FileChange], specs: Sequence[ActionSpecExt]
) -> CommitPlace:
    for spec in specs:
        if spec.base.kind not in CHANGING | ONLY_READING:
            why = Text("what {id} does is not known beforehand", id=spec.id)
            raise NoCommit(why=why)
    paths = [change.path for change in changes if not change.folder]
    if not paths:
        raise NoCommit(why=Text("no file of it changes"))
    return workspace.commits().place(paths)


def commit_subject(
    workspace: Workspace, document: PlanDocument, specs: Sequence[ActionSpecExt]
) -> CommitSubject | UnsetType:
    """What an approval would cover of the commit, as the repository is now."""
    wanted = document.state.commit
    if not wanted:
        return UNSET
    branch, parent, hooks = _place(workspace, _changes(specs), specs)
    if wanted.upon not in {UNSET, parent}:  # a step before it became another commit than the offered one
        wanted = PlannedCommit(wanted.message)
    return CommitSubject(branch, parent, wanted.message, _running(wanted, hooks), offered=wanted.offered)


def _running(wanted: PlannedCommit | CommitSubject, hooks: tuple[str, ...]) -> tuple[str, ...]:
    """No hook runs for a commit that is there already."""
    return () if wanted.offered else hooks


def announce(workspace: Workspace, document: PlanDocument) -> Announced | None:
    """None if no commit is wanted. Raises NoCommit if none can be made."""
    specs = select_specs(document.state.action_specs, document.state.selection)
    subject = commit_subject(workspace, document, specs)
    return Announced(subject, _find_mixed(workspace, subject.parent, _changes(specs))) if subject else None


def _find_mixed(workspace: Workspace, parent: str, changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Git may convert line ends in a commit; other conversions look like changes here."""
    if not parent:
        return ()
    now = {}
    for change in changes:
        with contextlib.suppress(PathRefused, StorageFailed, OSError):
            if change.before and not change.folder and (found := workspace.tree.look(change.path)):
                now[change.path] = found.data
    committed = workspace.commits().files(parent, list(now))
    return tuple(path for path, data in now.items() if not _same(committed.get(path), data))


def _same(committed: Committed | None, data: bytes) -> bool:
    return committed is not None and committed.data in {data, data.replace(b"\r\n", b"\n")}


def difference(approved: CommitSubject, now: CommitSubject) -> Text | None:
    """How the repository differs from when the commit was approved."""
    if approved.branch != now.branch:
        return Text("HEAD (it was {before}, now it is {now})",
                    before=approved.branch or "detached", now=now.branch or "detached")  # fmt: skip
    if approved.parent != now.parent:
        return Text("the newest commit on {branch}", branch=now.branch or "HEAD")
    if approved.hooks != now.hooks:
        return Text("the hooks that would run: {hooks}", hooks=", ".join(now.hooks) or "-")
    return None


def commit(workspace: Workspace, approval: Approval, result: ExecutionResult) -> ExecutionResult:
    """Runs after everything was written and checked; the files stay even if the commit fails."""
    subject = _read_subject(approval)
    if not subject.commit:
        return result
    if workspace.store.plans.checking() != result.plan_id:
        with workspace.store.transaction() as transaction:
            transaction.plans.set_checking(result.plan_id)
    return _end(workspace, result, _attempt(workspace, approval, subject, subject.commit), subject)


def _attempt(
    workspace: Workspace, approval: Approval, subject: ApprovalSubject, wanted: CommitSubject
) -> CommitOutcome:
    try:
        return _make(workspace, approval, subject, wanted)
    except NoCommit as error:
        return CommitOutcome("", str(error.details["why"]))


def _end(
    workspace: Workspace, result: ExecutionResult, outcome: CommitOutcome, subject: ApprovalSubject
) -> ExecutionResult:
    """What a step of a run wrote does not stay without its commit, so that is not the end of it."""
    taken_back = bool(subject.step) and subject.kind is Act.EXECUTE and not outcome.commit
    result = _record(workspace, result, outcome, over=not taken_back)
    if subject.step and outcome.commit:
        # The run tries again before it goes on, and then says what is in the way.
        with contextlib.suppress(BranchRefused, CopyFailed):
            workspace.publish()
        workspace.tidy({})  # what a hook left
    return result


def _make(
    workspace: Workspace, approval: Approval, subject: ApprovalSubject, wanted: CommitSubject
) -> CommitOutcome:
    files = find_written(workspace.store.executions.of(subject.plan_id), approval.id, subject)
    commits = workspace.commits()
    order = _order(workspace, approval, subject, wanted)
    now = commits.place(list(order.files), unstaged=bool(wanted.reverts))
    hooks = _running(wanted, now.hooks)
    if moved := difference(wanted, CommitSubject(now.branch, now.parent, wanted.message, hooks)):
        raise NoCommit(why=Text("this changed since it was approved: {what}", what=moved))
    outcome = commits.make(order)
    wrong = find_differing(
        workspace.tree, [FileChange("", path, state, None) for path, state in files.items()]
    )
    if not (outcome.commit and wrong):
        return outcome
    note = str(Text("a hook changed in your files: {paths}", paths=", ".join(wrong)))
    return CommitOutcome(outcome.commit, "; ".join(filter(None, [outcome.why, note])))


def _order(
    workspace: Workspace, approval: Approval, subject: ApprovalSubject, wanted: CommitSubject
) -> CommitOrder:
    data: Mapping[str, bytes | Committed | None]
    if wanted.reverts:
        data = revert_files(workspace.commits(), wanted.reverts)
    else:
        files = find_written(workspace.store.executions.of(subject.plan_id), approval.id, subject)
        data = _bytes_of(workspace, files)
    if wanted.offered:
        if not subject.step:
            raise NoCommit(why=Text("only a step of a run is offered for review"))
        message = message_of_offer(wanted.message, subject.plan_id, subject.step)
        return CommitOrder(wanted.parent, message, (), data, exact=True, offered=wanted.offered)
    marks = trailers(approval, subject.step or None)
    message = with_trailers(wanted.message, marks)
    return CommitOrder(wanted.parent, message, marks[:2], data, exact=bool(subject.step))


def bytes_written(workspace: Workspace, approval: Approval) -> dict[str, tuple[bytes, int] | None]:
    """The files after all executions under the approval, with their permission bits, as far as they are
    kept.
    """
    files = find_written(
        workspace.store.executions.of(approval.subject_id), approval.id, _read_subject(approval)
    )
    found: dict[str, tuple[bytes, int] | None] = {}
    for path, state in files.items():
        data = workspace.store.get_bytes(state.sha256) if state else b""
        if data is not None:
            found[path] = (data, int(state.mode, 8)) if state else None
    return found


def _bytes_of(workspace: Workspace, files: Mapping[str, FileState | None]) -> Mapping[str, bytes | None]:
    data: dict[str, bytes | None] = {}
    for path, state in files.items():
        data[path] = workspace.store.get_bytes(state.sha256) if state else None
        if state and data[path] is None:
            raise NoCommit(why=Text("the bytes of {path} are no longer kept", path=path))
    return data


def find_written(
    executions: Iterable[StoredIntent], approval_id: str, subject: ApprovalSubject
) -> dict[str, FileState | None]:
    """The files after all executions under the approval."""
    done = {
        (outcome.spec_id, outcome.path)
        for execution in executions
        if execution.result and execution.intent.approval_id == approval_id
        for outcome in execution.result.results
        if outcome.status is OpStatus.DONE
    }
    return {
        change.path: change.after
        for change in subject.changes
        if (change.spec_id, change.path) in done and not change.folder
    }


def follows_undo(approval: Approval) -> bool:
    """The approval of an execution also covers the rollback after a failed check, without its commit."""
    subject = _read_subject(approval)
    return subject.kind is Act.UNDO and bool(subject.commit)


def not_made(workspace: Workspace, approval: Approval, result: ExecutionResult) -> None:
    """A check failed after the execution, so there is nothing to commit."""
    if _read_subject(approval).commit:
        _record(workspace, result, CommitOutcome("", str(_CHECK_FAILED)))


def finish(workspace: Workspace, recovered: Sequence[ExecutionResult]) -> list[ExecutionResult]:
    """Records what the repository shows after a crash; commits nothing but a step of a run."""
    plan_id = workspace.store.plans.checking()
    stored = workspace.store.plans.get(plan_id) if plan_id else None
    if stored is None:
        return list(recovered)
    done = [one for one in workspace.store.executions.of(stored.document.plan.id) if one.result]
    last = done[-1] if done else None
    approvals = {approval.id: approval for approval in workspace.store.approvals.of(stored.document.plan.id)}
    approval = approvals.get(last.intent.approval_id) if last else None
    subject = _read_subject(approval) if approval else None
    if last is None or last.result is None or approval is None or subject is None or not subject.commit:
        return list(recovered)
    outcome = CommitOutcome("", str(_CUT_OFF))
    if subject.kind is Act.EXECUTE and not _was_checked(stored.document):
        _record(workspace, last.result, outcome, over=False)
        return list(recovered)
    if last.intent.kind is subject.kind:
        found = _find_commit(workspace, approval, subject, subject.commit)
        outcome = found or _once_more(workspace, approval, last.result) or outcome
    result = _end(workspace, last.result, outcome, subject)
    others = [one for one in recovered if one.execution_id != result.execution_id]
    return [*others, msgspec.structs.replace(result, recovered=True)]


def _once_more(workspace: Workspace, approval: Approval, result: ExecutionResult) -> CommitOutcome | None:
    """A step is nothing without its commit: taken back, a person would have to approve it again.

    Tried once, in case a hook is what cuts it off.
    """
    subject = _read_subject(approval)
    if not subject.step or not subject.commit or subject.kind is not Act.EXECUTE:
        return None
    if outcome_of(workspace.store.events(result.plan_id)) is not None:
        return None
    _record(workspace, result, CommitOutcome("", str(_CUT_OFF)), over=False)
    return _attempt(workspace, approval, subject, subject.commit)


def _find_commit(
    workspace: Workspace, approval: Approval, subject: ApprovalSubject, wanted: CommitSubject
) -> CommitOutcome | None:
    """The commit that was made before the crash."""
    order = CommitOrder(wanted.parent, "", trailers(approval)[:2], {})
    if subject.step:
        try:
            order = _order(workspace, approval, subject, wanted)
        except NoCommit as error:
            return CommitOutcome("", str(error.details["why"]))
    commits = workspace.commits()
    found = commits.find(order)
    if found and found.commit:
        commits.settle(found.commit)
    return found


def _was_checked(document: PlanDocument) -> bool:
    """Otherwise the checks were interrupted, and what happens to the files then was approved."""
    planned = document.state.planned_checks
    if not planned or not planned.after:
        return True
    after = [check for check in document.state.checks if check.phase is CheckPhase.AFTER]
    return bool(after) and all(check.passed for check in after)


def _record(
    workspace: Workspace, result: ExecutionResult, outcome: CommitOutcome, *, over: bool = True
) -> ExecutionResult:
    """Unless `over`, it is not known yet what happens to the files."""
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(result.plan_id)
        transaction.plans.set_checking(None if over else result.plan_id)
        transaction.plans.save(stored, stored.document, _event(outcome))
    return msgspec.structs.replace(result, commit=outcome)


def _event(outcome: CommitOutcome) -> NewEvent:
    if outcome.commit:
        reason = f"{outcome.commit}: {outcome.why}" if outcome.why else outcome.commit
        return NewEvent(EventKind.COMMITTED, Actor.SYSTEM, reason)
    kind = EventKind.COMMIT_REWRITTEN if outcome.rewritten else EventKind.COMMIT_FAILED
    return NewEvent(kind, Actor.SYSTEM, outcome.last_line)


def outcome_of(events: Iterable[LoggedEvent]) -> CommitOutcome | None:
    """Of the last execution, as logged; None if no commit was wanted, or its result is not known yet."""
    last, undoing, reverted_by = None, False, ""
    for event in (logged.event for logged in events):
        if event.event is EventKind.EXECUTED:
            undoing, reverted_by = False, ""
        elif event.event is EventKind.UNDO_APPROVED:
            undoing = True
        elif undoing and event.event is EventKind.COMMITTED:
            reverted_by = event.reason.partition(":")[0]
        elif not undoing and event.event in _ENDED:
            last = event
    if last is None:
        return None
    if last.event is not EventKind.COMMITTED:
        return CommitOutcome("", last.reason, last.event is EventKind.COMMIT_REWRITTEN or UNSET)
    made, _, why = last.reason.partition(": ")
    note = str(Text("commit {id} reverts it", id=reverted_by[:COMMIT_SHOWN])) if reverted_by else ""
    return CommitOutcome(made, "; ".join(filter(None, [why, note])))


def _read_subject(approval: Approval) -> ApprovalSubject:
    return codec.decode_own(approval.subject.encode(), ApprovalSubject, "approval")


Files = dict[str, Committed | None]
_E: Final = EventKind


def standing(events: Iterable[LoggedEvent]) -> tuple[str, ...]:
    """The plan's commits that no commit of ours took back, newest first."""
    found: list[str] = []
    undoing = False
    for logged in events:
        match logged.event.event:
            case _E.UNDO_APPROVED:
                undoing = True
            case _E.EXECUTED:
                undoing = False
            case _E.COMMITTED if undoing:
                found.clear()
            case _E.COMMITTED:
                found.append(logged.event.reason.partition(":")[0])
    return tuple(reversed(found))


def revert_subject(
    commits: GitCommits, document: PlanDocument, made: Sequence[str], known: Iterable[str]
) -> CommitSubject:
    """Raises NoCommit. `known` are the files that the undo knows."""
    files = revert_files(commits, made)
    if others := sorted(files.keys() - set(known)):
        raise NoCommit(why=Text("commit {id} also changed {path}", id=made[0][:COMMIT_SHOWN], path=others[0]))
    if not files:
        raise NoCommit(why=Text("nothing of it is left in the branch"))
    branch, parent, hooks = commits.place(list(files), unstaged=True)
    return CommitSubject(branch, parent, _message(document, made), hooks, tuple(made))


def _message(document: PlanDocument, made: Sequence[str]) -> str:
    wish = document.state.commit
    title = title_of(wish.message) if wish else document.plan.title
    return f'Revert "{title}"\n\n' + "\n".join(f"This reverts commit {commit}." for commit in made)


def revert_files(commits: GitCommits, made: Sequence[str]) -> Files:
    """The files that differ from HEAD once the commits are taken back, newest first."""
    head: Files = {}
    now: Files = {}
    for commit in made:
        parent, paths = commits.change(commit)
        new = [path for path in paths if path not in head]
        found = commits.files("HEAD", new)
        head |= found
        now |= found
        theirs: Mapping[str, Committed | None] = commits.files(parent, paths) if parent else {}
        for path, base in commits.files(commit, paths).items():
            now[path] = _without(path, base, now[path], theirs.get(path))
    return {path: file for path, file in now.items() if file != head[path]}


def _without(
    path: str, base: Committed | None, ours: Committed | None, theirs: Committed | None
) -> Committed | None:
    merged = merge_file(_side(base), _side(ours), _side(theirs))
    if isinstance(merged, ConflictedFile):
        raise NoCommit(why=Text("later commits changed the same in {path}", path=path))
    return Committed(merged.side.mode, merged.side.data) if merged.side else None


def _side(file: Committed | None) -> FileSide | None:
    return FileSide(file.data, file.mode) if file else None
