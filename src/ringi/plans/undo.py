"""Undo: a transaction of its own with its own approval, made from what really happened.

Changes by a plan and its commands are combined per file, over all its executions. If somebody wrote to a file
since, that is merged with its state before the plan; if it cannot be, the file stays and is named.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from ringi.approvals.document import (
    Act,
    Approval,
    ApprovalRequest,
    ApprovalSubject,
    CommitSubject,
    Proof,
    SignedAct,
)
from ringi.approvals.kinds import request_of
from ringi.approvals.proof import (
    StatementContext,
    approval_of,
    compose,
    prove,
    read_claimed_digest,
    require_answer,
)
from ringi.approvals.who import actor_at
from ringi.errors import EffectsUnknown, NoCommit, NothingToUndo, NotRequested, UndoChanged, UndoStale
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans import attest, commit
from ringi.plans.approve import require_time
from ringi.plans.commit import revert_subject, standing
from ringi.plans.document import PlanStatus, StoredPlan
from ringi.plans.execution import ExecutionIntent, ExecutionResult, StoredIntent
from ringi.plans.executor import WRITTEN_SINCE, Executor, storage_errors
from ringi.plans.later_edits import Back, LeftAlone, merge_back, since, together
from ringi.plans.place import is_checking, require_here, to_recover
from ringi.plans.recover import Recovery
from ringi.plans.units import units_of
from ringi.tree.file_state import FileChange, FileState, OpStatus
from ringi.tree.stage import list_emptied
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

_UNDOABLE = frozenset([PlanStatus.COMPLETED, PlanStatus.ABORTED, PlanStatus.DISCARDED])
_WRITTEN = Text(WRITTEN_SINCE)


class Undoable(NamedTuple):
    """What an undo would do."""

    execution_id: str
    changes: tuple[FileChange, ...]
    """Each from the current state to the one before."""
    left: tuple[LeftAlone, ...]
    """Files whose later edits cannot be merged."""
    beyond: tuple[str, ...]
    """What commands changed and no undo can restore."""
    emptied: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    """Commands that were cut off: what they changed is not recorded."""
    by_commands: frozenset[str] = frozenset()
    """Files that changed while a command ran, most likely because of it."""
    contents: Mapping[str, bytes] = {}
    """Bytes of files that were merged, by hash; all others are in the ledger."""
    known: frozenset[str] = frozenset()
    """All files that the plan changed, even if nothing of that is left."""
    commit: CommitSubject | None = None
    """The commit that follows."""

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(one.path for one in self.left)

    @property
    def merged(self) -> tuple[FileChange, ...]:
        return tuple(change for change in self.changes if change.later_lines is not UNSET)


class _Net:
    """The net change to one file."""

    def __init__(self, change: FileChange, unit: str) -> None:
        self.spec_id = change.spec_id
        self.before: FileState | None = change.before
        self.after: FileState | None = change.after
        self.unit = unit


class _ExecutionHistory:
    """All executions and undos of a plan, combined."""

    def __init__(self, workspace: Workspace, plan_id: str, approval: Approval | None = None) -> None:
        """With an approval, only what was done under it."""
        self._workspace = workspace
        self.files: dict[str, _Net] = {}
        self.beyond: list[str] = []
        self.unknown: list[str] = []
        self.made: set[str] = set()
        self.by_commands: set[str] = set()
        self.newest = ""
        self._same: dict[str, str] = {}
        for execution in workspace.store.executions.of(plan_id):
            if approval is None or execution.intent.approval_id == approval.id:
                self._add(execution)

    def _add(self, execution: StoredIntent) -> None:
        intent, result = execution.intent, execution.result
        if result is None:
            return
        # Keyed by the spec too: a command may run in a folder that another spec makes.
        done = {(one.spec_id, one.path) for one in result.results if one.status is OpStatus.DONE}
        changes = [
            (change, f"{intent.id} {change.unit or 0}")
            for change in intent.changes
            if (change.spec_id, change.path) in done
        ]
        if intent.kind is Act.EXECUTE:
            changes += self._effects(intent)
            self.made |= set(intent.new_folders)
        else:
            self.made -= set(intent.emptied or ())
        self.newest = intent.id
        for change, unit in changes:
            self._compose(change, unit)

    def _effects(self, intent: ExecutionIntent) -> Iterator[tuple[FileChange, str]]:
        for command in self._workspace.store.executions.commands(intent.id):
            if command.end is None or command.end.settled_by or command.end.exit_code is None:
                self.unknown.append(" ".join(command.start.argv))
                continue
            self.beyond += command.end.beyond
            for effect in command.end.effects:
                self.by_commands.add(effect.path)
                yield effect, f"{intent.id} {effect.spec_id} {effect.path}"

    def _compose(self, change: FileChange, unit: str) -> None:
        net = self.files.get(change.path)
        if net is None:
            self.files[change.path] = _Net(change, unit)
            return
        net.after = change.after
        self._join(net.unit, unit)
        # What stays of a merged file is not the plan's.
        if net.after == net.before or change.later_lines is not UNSET:
            del self.files[change.path]

    def _join(self, one: str, other: str) -> None:
        one, other = self.unit(one), self.unit(other)
        if one != other:
            self._same[other] = one

    def unit(self, name: str) -> str:
        while name in self._same:
            name = self._same[name]
        return name

    def back(self) -> list[FileChange]:
        """In reverse order; the contents of a folder before the folder."""
        numbers: dict[str, int] = {}
        found = []
        for path, net in reversed(self.files.items()):
            number = numbers.setdefault(self.unit(net.unit), len(numbers))
            found.append(FileChange(net.spec_id, path, net.after, net.before, number))
        return sorted(found, key=_folders_last)


def _folders_last(change: FileChange) -> tuple[int, int]:
    if not change.folder:
        return 1, 0
    depth = change.path.count("/")
    # A restored folder is made first, outermost first; a removed one goes last, innermost first.
    return (0, depth) if change.after else (2, -depth)


def newest(workspace: Workspace) -> str:
    """The plan that was carried out last, whatever its number."""
    found, best = "", ""
    for ref in sorted(workspace.store.plans.refs(discarded=True), key=attrgetter("updated_at"), reverse=True):
        if ref.updated_at < best:
            break  # the rest was carried out earlier
        if ref.step:
            continue  # the run is undone as a whole
        if ref.status in _UNDOABLE and not ref.undone and (at := _last_carried_out(workspace, ref.id)) > best:
            found, best = ref.id, at
    if not found:
        raise NothingToUndo(why=Text("no plan was carried out, or all were undone"))
    return found


def _last_carried_out(workspace: Workspace, plan_id: str) -> str:
    """Empty if nothing is left to undo."""
    links = workspace.store.plans.get(plan_id).document.state.executions
    done = [link.finished_at for link in links if link.kind == Act.EXECUTE]
    history = _ExecutionHistory(workspace, plan_id)
    open_end = bool(history.unknown) and links[-1].kind == Act.EXECUTE
    return max(done) if done and (history.files or open_end) else ""


def later_changes(workspace: Workspace, stored: StoredPlan) -> dict[str, str]:
    """For each file that was written to since the plan was carried out, the difference."""
    back = sorted(_back(workspace, stored).back(), key=attrgetter("path"))
    differ = set(find_differing(workspace.tree, back))
    return {change.path: since(workspace, change) for change in back if change.path in differ}


def _back(workspace: Workspace, stored: StoredPlan, approval: Approval | None = None) -> _ExecutionHistory:
    """Raises NothingToUndo."""
    name, plan_id = f"p{stored.number}", stored.document.plan.id
    history = _ExecutionHistory(workspace, plan_id, approval)
    if not history.files:
        if not history.newest:
            raise NothingToUndo(why=Text("plan {plan} was not carried out", plan=name))
        if history.unknown:
            raise EffectsUnknown(plan=name, commands=", ".join(history.unknown))
        if history.beyond:
            what = ", ".join(history.beyond)
            raise NothingToUndo(
                why=Text(
                    "what it did cannot be brought back from here ({what}); undo it where it was done",
                    what=what,
                )
            )
        if stored.document.state.executions[-1].kind != Act.UNDO:
            raise NothingToUndo(why=Text("plan {plan} changed nothing", plan=name))
        raise NothingToUndo(why=Text("plan {plan} is undone already", plan=name))
    return history


def undoable(workspace: Workspace, stored: StoredPlan, approval: Approval | None = None) -> Undoable:
    name, history = f"p{stored.number}", _back(workspace, stored, approval)
    found = _sort_out(workspace, history.back(), merge=approval is None)
    good = found.changes
    if not good and found.left:
        raise UndoStale(plan=name, paths=", ".join(one.path for one in found.left))
    if not good:
        raise NothingToUndo(why=Text("nothing of plan {plan} is left in the files", plan=name))
    if any(_is_lost(workspace, change.after, found.contents) for change in good):
        raise NothingToUndo(why=Text("the replaced bytes are no longer kept"))
    by_commands = [change for change in good if change.path in history.by_commands]
    emptied = {*history.made, *list_emptied(by_commands)} - {change.path for change in good if change.folder}
    return Undoable(
        history.newest,
        tuple(sorted(good, key=_folders_last)),
        tuple(sorted(found.left)),
        tuple(history.beyond),
        tuple(sorted(emptied)),
        tuple(history.unknown),
        frozenset(history.by_commands),
        found.contents,
        frozenset(history.files),
    )


class _SortedOut(NamedTuple):
    changes: list[FileChange]
    left: list[LeftAlone]
    contents: dict[str, bytes]


def _sort_out(workspace: Workspace, back: Sequence[FileChange], *, merge: bool) -> _SortedOut:
    """What goes back as it is, what is merged, what stays."""
    differ = set(find_differing(workspace.tree, back))
    found = _SortedOut([], [], {})
    # Without a person who sees the result nothing is merged, and a unit goes back whole or stays.
    parts = together(back) if merge else [unit.changes for unit in units_of(back)]
    for some in parts:
        if not (wrong := [change.path for change in some if change.path in differ]):
            found.changes.extend(some)
            continue
        done = merge_back(workspace, some) if merge else None
        if isinstance(done, Back):
            found.changes.extend(done.changes)
            found.contents.update(done.contents)
        else:
            found.left.extend([done] if done else [LeftAlone(path, _WRITTEN) for path in wrong])
    return found


def _is_lost(workspace: Workspace, state: FileState | None, merged: Mapping[str, bytes]) -> bool:
    if state is None or state.folder or state.sha256 in merged:
        return False
    return workspace.store.get_bytes(state.sha256) is None


def revert_commit(workspace: Workspace, stored: StoredPlan, found: Undoable) -> CommitSubject | None:
    """The commit that takes back the plan's own; None if there is none. Raises NoCommit."""
    made = standing(workspace.store.events(stored.document.plan.id))
    if not made:
        return None
    if found.left:
        raise NoCommit(why=Text("{path} cannot go back", path=found.left[0].path))
    return revert_subject(workspace.commits(), stored.document, made, found.known)


def _subject(
    workspace: Workspace,
    stored: StoredPlan,
    found: Undoable,
    expires_at: str,
    made: CommitSubject | None = None,
) -> ApprovalSubject:
    return ApprovalSubject(
        kind=Act.UNDO,
        workspace=workspace.store.workspace_id(),
        plan_id=stored.document.plan.id,
        plan_version=stored.document.plan.version,
        specs=(),
        changes=found.changes,
        expires_at=expires_at,
        undoes=found.execution_id,
        commit=made or UNSET,
        step=stored.document.step,
    )


@storage_errors()
def request(workspace: Workspace, plan_id: str, *, commit: bool = False) -> tuple[ApprovalRequest, Undoable]:
    """Fixes what an undo would restore and, if wanted, the commit that follows; the digest identifies it."""
    stored = workspace.store.plans.get(plan_id)
    require_here(workspace, stored)
    if (step := stored.document.step) and not step.in_place:
        why = Text("it is a step of run {run}, which is undone as a whole: ringi undo {run}", run=step.run_id)
        raise NothingToUndo(why=why)
    found = undoable(workspace, stored)
    made = revert_commit(workspace, stored, found) if commit or step else None
    expires_at = workspace.clock.after(workspace.config.approval.expires_sec)
    asked = request_of(
        subjects.plan(plan_id),
        stored.document.plan.version,
        codec.canonical(_subject(workspace, stored, found, expires_at, made)),
        ids=workspace.ids,
        requested_at=workspace.clock.now(),
        expires_at=expires_at,
        act=Act.UNDO,
        requester=workspace.person.requester(),
    )
    with workspace.store.transaction() as transaction:
        transaction.approvals.add_request(asked)
        event = NewEvent(EventKind.APPROVAL_REQUESTED, actor_at(workspace.person), asked.digest)
        transaction.plans.save(stored, stored.document, event)
    return asked, found._replace(commit=made)


@storage_errors()
def undo(workspace: Workspace, plan_id: str, approver: str, proof: Proof | None) -> ExecutionResult:
    with workspace.lock("undo"):
        for here in to_recover(workspace):
            found = Recovery(here).run()
            if is_checking(here):
                commit.finish(here, found)
        stored = workspace.store.plans.get(plan_id)
        require_here(workspace, stored)
        name = f"p{stored.number}"
        proof = require_answer(workspace, proof, f"ringi undo {name}", f"ringi undo {name} --sign KEY")
        digest = read_claimed_digest(proof)
        asked = next(
            (asked for asked in workspace.store.approvals.requests(plan_id) if asked.digest == digest), None
        )
        if asked is None:
            raise NotRequested(plan=name)
        require_time(workspace, asked, name)
        undone = undoable(workspace, stored)
        data = _as_asked(workspace, stored, undone, asked)
        made_at = stored.document.plan.created_at
        record = prove(
            workspace,
            asked,
            data,
            proof,
            act=SignedAct.UNDO,
            approver=approver,
            made_at=made_at,
            about=partial(_about, workspace, stored, undone, data),
        )
        with workspace.store.transaction() as transaction:
            last = transaction.last_hash()
            approval = approval_of(workspace, asked, data, record, approver=approver, after_event=last)
            transaction.approvals.add(approval)
            event = NewEvent(EventKind.UNDO_APPROVED, Actor.USER, "", approval)
            stored = transaction.plans.save(stored, stored.document, event)
        attest.attach(workspace, stored.document, approval, _contents(workspace, undone))
        result = _carry_out(workspace, stored, undone, approval, "")
        return commit.commit(workspace, approval, result) if result.overall_success else result


def statement(workspace: Workspace, asked: ApprovalRequest, approver: str) -> str:
    """What a key signs to approve the undo that was asked for."""
    stored = workspace.store.plans.get(asked.subject_id)
    require_here(workspace, stored)
    undone = undoable(workspace, stored)
    about = _about(workspace, stored, undone, _as_asked(workspace, stored, undone, asked))
    return compose(workspace, SignedAct.UNDO, asked.digest, approver, about=about)


def _about(workspace: Workspace, stored: StoredPlan, found: Undoable, data: bytes) -> StatementContext | None:
    subject = codec.decode_own(data, ApprovalSubject, "approval")
    return attest.about(workspace, stored.document, subject, _contents(workspace, found))


def _as_asked(workspace: Workspace, stored: StoredPlan, found: Undoable, asked: ApprovalRequest) -> bytes:
    """What would be approved now, without a commit or with one. Raises UndoChanged if neither was asked."""
    data = codec.canonical(_subject(workspace, stored, found, asked.expires_at))
    if codec.digest(data) != asked.digest:
        with contextlib.suppress(NoCommit):
            made = revert_commit(workspace, stored, found)
            data = codec.canonical(_subject(workspace, stored, found, asked.expires_at, made))
    if codec.digest(data) != asked.digest:
        raise UndoChanged(plan=f"p{stored.number}")
    return data


def take_back(workspace: Workspace, stored: StoredPlan, approval: Approval) -> ExecutionResult:
    """Rolls back after failed checks, as approved with the plan."""
    return _carry_out(workspace, stored, undoable(workspace, stored, approval), approval, "a check failed")


def _carry_out(
    workspace: Workspace, stored: StoredPlan, found: Undoable, approval: Approval, reason: str
) -> ExecutionResult:
    contents = _contents(workspace, found)
    intent = ExecutionIntent(
        id=workspace.ids(),
        kind=Act.UNDO,
        plan_id=stored.document.plan.id,
        plan_version=stored.document.plan.version,
        approval_id=approval.id,
        changes=found.changes,
        new_folders=new_folders(workspace, found.changes),
        started_at=workspace.clock.now(),
        emptied=found.emptied,
        refused=found.refused or UNSET,
        unknown=found.unknown or UNSET,
        commits=True if commit.follows_undo(approval) else UNSET,
    )

    def begin(transaction: Store) -> StoredPlan:
        event = NewEvent(EventKind.UNDO_STARTED, Actor.SYSTEM, reason, intent)
        return transaction.plans.save(stored, stored.document, event)

    return Executor(workspace).carry_out(intent, contents, begin)


def _contents(workspace: Workspace, found: Undoable) -> dict[str, bytes]:
    """Restored bytes come from the ledger or a merge; removed ones from the ledger, or from the files."""
    contents = dict(found.contents)
    for change in found.changes:
        for state in (change.before, change.after):
            if state is None or state.folder or state.sha256 in contents:
                continue
            data = workspace.store.get_bytes(state.sha256)
            if data is None and state is change.before and (there := workspace.tree.look(change.path)):
                data = there.data
            if data is not None:
                contents[state.sha256] = data
    return contents


def new_folders(workspace: Workspace, changes: Sequence[FileChange]) -> tuple[str, ...]:
    """Folders made along the way, without those that are changes themselves."""
    made = {change.path for change in changes if change.folder}
    new = [change.path for change in changes if change.before is None]
    return tuple(folder for folder in workspace.tree.missing_folders(new) if folder not in made)
