"""Carries out what was approved: stage, intent, swap, sync, result.

The order is the protocol. Before the intent nothing in the workspace has changed; after it, recovery decides
from the files themselves, unit by unit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UnsetType

from ringi.approvals.document import Act
from ringi.errors import HalfWritten, LostRace, PathRefused, StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.text import Text, why_failed
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.document import PLAN_MACHINE, ExecutionLink, PlanStatus, StoredPlan, with_state
from ringi.plans.execution import ExecutionIntent, ExecutionResult, FileOpOutcome, Step
from ringi.plans.steps import take_step
from ringi.plans.units import ExecutionUnit, segments, stops
from ringi.tree.file_state import FileChange, FileState, OpStatus
from ringi.tree.stage import Stage, find_known, list_emptied, list_stages, reverse
from ringi.tree.tree import look_change

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

Statuses = dict[str, OpStatus]
_TROUBLED: Final = frozenset([OpStatus.CONFLICT, OpStatus.FAILED])
_EVENTS: Final = {
    (Act.EXECUTE, True): EventKind.COMPLETED,
    (Act.EXECUTE, False): EventKind.ABORTED,
    (Act.UNDO, True): EventKind.UNDONE,
    (Act.UNDO, False): EventKind.UNDO_ABORTED,
}
WRITTEN_SINCE: Final = "somebody wrote to it since"
NOT_RECORDED: Final = "nobody knows what it changed"


class ExecutionProgress:
    """The status of each file and each step so far; what is not listed was not touched."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[OpStatus, str]] = {}
        self._steps: dict[str, FileOpOutcome] = {}
        self.units: set[int] = set()
        """Units of files that are done."""

    def mark_done(self, unit: ExecutionUnit) -> None:
        self.units.add(unit.number)
        self._files |= {change.path: (OpStatus.DONE, "") for change in unit.changes}

    def mark_taken_back(self, unit: ExecutionUnit, statuses: Statuses, detail: str) -> None:
        """A path without a status was not touched; `detail` says why the unit was rolled back."""
        self.units.discard(unit.number)
        if not _TROUBLED.intersection(statuses.values()):
            paths = [change.path for change in unit.changes]
            statuses[next((path for path in paths if path not in statuses), paths[-1])] = OpStatus.FAILED
        for change in unit.changes:
            status = statuses.get(change.path, OpStatus.UNTOUCHED)
            self._files[change.path] = status, detail if status in _TROUBLED else ""

    def add_step(self, outcome: FileOpOutcome) -> None:
        self._steps[outcome.spec_id] = outcome

    def of_change(self, change: FileChange) -> FileOpOutcome:
        status, detail = self._files.get(change.path, (OpStatus.UNTOUCHED, ""))
        return FileOpOutcome(change.spec_id, change.path, status, detail, later_lines=change.later_lines)

    def of_step(self, step: Step) -> FileOpOutcome:
        return self._steps.get(step.spec_id) or FileOpOutcome(step.spec_id, step.path, OpStatus.UNTOUCHED)


def record(
    workspace: Workspace,
    intent: ExecutionIntent,
    progress: ExecutionProgress,
    kept: tuple[str, ...],
    *,
    begun: StoredPlan | None = None,
) -> ExecutionResult:
    """`begun` is the plan as the execution saved it; None if a crash cut it off since."""
    refused, unknown = intent.refused or (), intent.unknown or ()
    ended = [
        (change.unit or 0, bool(change.optional), progress.of_change(change)) for change in intent.changes
    ]
    ended += [(step.unit, step.optional, progress.of_step(step)) for step in intent.steps or ()]
    result = ExecutionResult(
        execution_id=intent.id,
        plan_id=intent.plan_id,
        kind=intent.kind,
        overall_success=not (refused or unknown)
        and all(optional or outcome.status is OpStatus.DONE for _, optional, outcome in ended),
        results=(
            *(outcome for _, _, outcome in sorted(ended, key=lambda one: one[0])),
            *(FileOpOutcome("", path, OpStatus.CONFLICT, WRITTEN_SINCE) for path in refused),
            *(FileOpOutcome("", command, OpStatus.UNKNOWN, NOT_RECORDED) for command in unknown),
        ),
        started_at=intent.started_at,
        finished_at=workspace.clock.now(),
        recovered=begun is None,
        kept=kept,
    )
    commits = result.overall_success and bool(intent.commits)
    try:
        with workspace.store.transaction() as transaction:
            _save(transaction, result, begun or transaction.plans.get(result.plan_id), commits=commits)
    except LostRace:
        # The plan was saved since, by one of its commands or by a comment.
        with workspace.store.transaction() as transaction:
            _save(transaction, result, transaction.plans.get(result.plan_id), commits=commits)
    return result


def _save(transaction: Store, result: ExecutionResult, stored: StoredPlan, *, commits: bool) -> None:
    """`commits` says that a commit follows an undo."""
    state = stored.document.state
    link = ExecutionLink(result.execution_id, str(result.kind), result.finished_at, result.overall_success)
    status = state.status
    if result.kind is Act.EXECUTE:
        target = PlanStatus.COMPLETED if result.overall_success else PlanStatus.ABORTED
        status = PLAN_MACHINE.advance(status, target)
        checks = state.planned_checks and state.planned_checks.after
        if result.overall_success and (checks or state.commit):
            transaction.plans.set_checking(result.plan_id)
    else:
        transaction.plans.set_checking(result.plan_id if commits else None)
    document = with_state(stored.document, status=status, executions=(*state.executions, link))
    document = msgspec.structs.replace(document, result="result.json")
    reason = "recovered after a crash" if result.recovered else ""
    event = NewEvent(_EVENTS[result.kind, result.overall_success], Actor.SYSTEM, reason, result)
    transaction.executions.add_result(result)
    transaction.plans.save(stored, document, event)


_FOREIGN: Final = FileState("", "")
"""Something at a path that is not a regular file: never as before, never as after."""


class Stages:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._fs = workspace.tree.fs
        self.others = False
        """Whether an execution was given more than its first stage."""

    def stage(self, name: str) -> Stage:
        return Stage(self._fs, self._workspace.tree.root, name)

    def fresh(self, execution_id: str) -> Stage:
        """Another stage for the same execution."""
        self.others = True
        taken = set(list_stages(self._fs, self._workspace.tree.root))
        number = 1
        while f"{execution_id}.{number}" in taken:
            number += 1
        return self.stage(f"{execution_id}.{number}")

    def now(self, change: FileChange) -> FileState | None:
        try:
            with self._workspace.tree.open_root() as root:
                state, _ = look_change(self._workspace.tree, root, change)
        except PathRefused:
            return _FOREIGN
        return state

    def restore(self, intent: ExecutionIntent, unit: ExecutionUnit, theirs: str = "") -> Statuses:
        """Brings every file that is as after back to before, with the ledger's bytes."""
        mine = [change for change in unit.changes if change.path != theirs]
        ours = [reverse(change) for change in reversed(mine) if self.now(change) == change.after]
        stage = self.fresh(intent.id)
        stage.prepare(ours, self.read_saved_bytes)
        conflicts = stage.swap_in(ours, go_on=True)
        settle_back(stage, intent, [unit])
        statuses = {change.path: OpStatus.UNDONE for change in ours}
        return statuses | {conflict.change.path: OpStatus.CONFLICT for conflict in conflicts}

    def clear(self, intent: ExecutionIntent) -> tuple[str, ...]:
        """Removes the execution's stages; returns the files in them that others wrote."""
        kept = []
        for name in list_stages(self._fs, self._workspace.tree.root):
            if _execution_of(name) == intent.id:
                stage = self.stage(name)
                stage.drop(self._ours(name, intent))
                kept += stage.kept
        return tuple(kept)

    def sweep(self) -> None:
        """Removes stages that no execution needs; files that are not ours stay, and the result names them."""
        for name in list_stages(self._fs, self._workspace.tree.root):
            intent = self._workspace.store.executions.intent(_execution_of(name))
            with suppress(PathRefused):
                self.stage(name).drop(self._ours(name, intent) if intent else everything)

    def _ours(self, stage: str, intent: ExecutionIntent) -> Callable[[bytes], bool]:
        known = find_known(intent.changes)
        if stage == intent.id:
            return known
        hashes = [
            state.sha256 for change in intent.changes for state in (change.before, change.after) if state
        ]
        # Also the beginning of a known file: a crash may have interrupted staging.
        return lambda data: (
            known(data)
            or any((self._workspace.store.get_bytes(sha256) or b"").startswith(data) for sha256 in hashes)
        )

    def read_saved_bytes(self, sha256: str) -> bytes:
        return verify_bytes(sha256, self._workspace.store.get_bytes(sha256))

    @contextlib.contextmanager
    def report_progress(self, intent: ExecutionIntent) -> Iterator[None]:
        """If the storage fails once the intent is in the ledger, the error says how far it came."""
        try:
            yield
        except (OSError, StorageFailed) as error:
            if not intent.changes or self._workspace.store.executions.intent(intent.id) is None:
                raise
            why = why_failed(error) if isinstance(error, OSError) else Text(error.message, **error.details)
            raise HalfWritten(done=self._count_written(intent), total=len(intent.changes), why=why) from None

    def _count_written(self, intent: ExecutionIntent) -> int | str:
        try:
            return sum(self.now(change) == change.after for change in intent.changes)
        except (OSError, StorageFailed):
            return "?"


def settle(stage: Stage, intent: ExecutionIntent, units: Sequence[ExecutionUnit]) -> None:
    """Syncs what is done."""
    changes = [change for unit in units for change in unit.changes]
    stage.settle(changes, intent.new_folders, _folders_emptied(intent, changes), forward=True)


def settle_back(stage: Stage, intent: ExecutionIntent, units: Sequence[ExecutionUnit]) -> None:
    """Syncs what was rolled back."""
    changes = [change for unit in units for change in unit.changes]
    stage.settle(changes, intent.new_folders, _folders_emptied(intent, changes), forward=False)


def _folders_emptied(intent: ExecutionIntent, changes: Sequence[FileChange]) -> Sequence[str]:
    return list_emptied(changes) if isinstance(intent.emptied, UnsetType) else intent.emptied


def verify_bytes(sha256: str, data: bytes | None) -> bytes:
    """Raises unless the bytes are exactly those approved."""
    if data is None or digest(data) != sha256:
        raise StorageFailed(what=sha256, why=Text("its bytes are missing from the ledger"))
    return data


def everything(data: bytes) -> bool:
    del data
    return True


def _execution_of(stage: str) -> str:
    return stage.partition(".")[0]


class Executor:
    """The caller holds the workspace's lock."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stages = Stages(workspace)

    def carry_out(
        self,
        intent: ExecutionIntent,
        contents: Mapping[str, bytes],
        begin: Callable[[Store], StoredPlan],
    ) -> ExecutionResult:
        """`contents` has the bytes before and after; `begin` saves the plan with the intent."""
        stage = self._stages.stage(intent.id)
        # A command may delete our stage; then it is made again.
        held = stage.hold() if intent.changes and not intent.steps else contextlib.nullcontext()
        with self._stages.report_progress(intent), held:
            try:
                begun = self._commit(stage, intent, contents, begin)
            except BaseException:
                with contextlib.suppress(OSError, PathRefused):
                    stage.drop(everything)
                raise
            progress = self._run(stage, intent)
            if not self._stages.others and not intent.steps:
                stage.drop(find_known(intent.changes))
                return record(self._workspace, intent, progress, tuple(stage.kept), begun=begun)
            return record(self._workspace, intent, progress, self._stages.clear(intent), begun=begun)

    def _commit(
        self,
        stage: Stage,
        intent: ExecutionIntent,
        contents: Mapping[str, bytes],
        begin: Callable[[Store], StoredPlan],
    ) -> StoredPlan:
        if intent.changes:
            stage.prepare(intent.changes, lambda sha256: verify_bytes(sha256, contents.get(sha256)))
        kept_until = self._workspace.clock.after(self._workspace.config.keep.replaced_sec)
        with self._workspace.store.transaction() as transaction:
            for data in contents.values():
                transaction.put_bytes(data, kept_until)
            transaction.executions.add(intent)
            begun = begin(transaction)
            if not intent.steps:  # with commands it may take long, and people look meanwhile
                transaction.hold_back()
        return begun

    def _run(self, stage: Stage, intent: ExecutionIntent) -> ExecutionProgress:
        """An OSError from here leaves no result, so recovery will settle it."""
        progress = ExecutionProgress()
        for segment in segments(intent):
            if isinstance(segment, Step):
                outcome = take_step(self._workspace, intent, segment, progress.units)
                progress.add_step(outcome)
                if outcome.status is not OpStatus.DONE and not segment.optional:
                    break
            elif not self._write(stage, intent, segment, progress):
                break
        return progress

    def _write(
        self, stage: Stage, intent: ExecutionIntent, units: list[ExecutionUnit], progress: ExecutionProgress
    ) -> bool:
        """Unit by unit; False if one failed that was not optional, and those after it did not start."""
        done: list[ExecutionUnit] = []
        failed: list[ExecutionUnit] = []
        go_on = True
        for unit in units:
            if self._swap(stage, intent, unit, progress):
                done.append(unit)
                continue
            failed.append(unit)
            if stops(intent, unit):
                go_on = False
                break
        try:
            if done:
                settle(stage, intent, done)
        except OSError as error:
            # What cannot be synced does not count as written.
            for unit in reversed(done):
                progress.mark_taken_back(unit, self._take_back(stage, intent, unit), why_failed(error))
            failed += done
            go_on = False
        if failed:
            settle_back(stage, intent, failed)
        return go_on

    def _swap(
        self, stage: Stage, intent: ExecutionIntent, unit: ExecutionUnit, progress: ExecutionProgress
    ) -> bool:
        try:
            conflicts = stage.swap_in(unit.changes)
        except OSError as error:
            progress.mark_taken_back(unit, self._take_back(stage, intent, unit), why_failed(error))
            return False
        if conflicts:
            theirs = conflicts[0].change.path
            statuses = self._take_back(stage, intent, unit, theirs) | {theirs: OpStatus.CONFLICT}
            progress.mark_taken_back(unit, statuses, str(conflicts[0].detail))
            return False
        progress.mark_done(unit)
        return True

    def _take_back(
        self, stage: Stage, intent: ExecutionIntent, unit: ExecutionUnit, theirs: str = ""
    ) -> Statuses:
        """All but the file that others wrote or deleted."""
        statuses: Statuses = {}
        with contextlib.suppress(OSError):
            statuses = stage.take_back(unit.changes)
        # The stage may have been deleted meanwhile; then use the ledger's bytes.
        if any(self._stages.now(change) == change.after for change in unit.changes if change.path != theirs):
            return statuses | self._stages.restore(intent, unit, theirs)
        return statuses


@contextlib.contextmanager
def storage_errors() -> Iterator[None]:
    """Turns errors of the workspace's file system into ours."""
    try:
        yield
    except OSError as error:
        what = error.filename if isinstance(error.filename, str) else Text("The workspace")
        raise StorageFailed(what=what, why=why_failed(error)) from None
