"""Carrying out what was approved, and finishing what a crash cut off.

The order is the protocol: lock, recheck, stage, intent, swap, sync, result. Before the intent nothing of
the workspace has changed; after it, recovery decides from the files themselves, unit by unit.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping

from ringi.domain.execution import ExecutionIntent, ExecutionResult, OpStatus, Step
from ringi.errors import PathRefused, StorageFailed
from ringi.plans.outcome import Progress, Statuses, record
from ringi.plans.parts import Parts
from ringi.plans.staging import Stages, everything, settle, settle_back, verified
from ringi.plans.stepping import take_step
from ringi.plans.units import Unit, segments, stops
from ringi.ports import Transaction
from ringi.text import Text, why_failed
from ringi.workspace.apply import Stage


class Executor:
    """Everything here runs under the workspace's lock."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._stages = Stages(parts)

    def carry_out(
        self, intent: ExecutionIntent, contents: Mapping[str, bytes], begin: Callable[[Transaction], None]
    ) -> ExecutionResult:
        """`contents` has the bytes before and after; `begin` adds to the transaction of the intent."""
        stage = self._stages.stage(intent.id)
        # A command may clean up where we stage; then it is made anew.
        with stage.held() if intent.changes and not intent.steps else contextlib.nullcontext():
            try:
                self._commit(stage, intent, contents, begin)
            except BaseException:
                with contextlib.suppress(OSError, PathRefused):
                    stage.drop(everything)
                raise
            progress = self._run(stage, intent)
        return record(self._parts, intent, progress, self._stages.clear(intent))

    def _commit(
        self,
        stage: Stage,
        intent: ExecutionIntent,
        contents: Mapping[str, bytes],
        begin: Callable[[Transaction], None],
    ) -> None:
        if intent.changes:
            stage.prepare(intent.changes, lambda sha256: verified(sha256, contents.get(sha256)))
        kept_until = self._parts.clock.after(self._parts.rules.keep_sec)
        with self._parts.store.transaction() as transaction:
            for data in contents.values():
                transaction.put_bytes(data, kept_until)
            transaction.add_intent(intent)
            begin(transaction)
            if not intent.steps:  # a command may take long, and people look meanwhile
                transaction.hold_back()

    def _run(self, stage: Stage, intent: ExecutionIntent) -> Progress:
        """An OSError that comes out of here leaves no result, so recovery will settle it."""
        progress = Progress()
        for segment in segments(intent):
            if isinstance(segment, Step):
                outcome = take_step(self._parts, intent, segment, progress.units)
                progress.stepped(outcome)
                if outcome.status is not OpStatus.DONE and not segment.optional:
                    break
            elif not self._write(stage, intent, segment, progress):
                break
        return progress

    def _write(self, stage: Stage, intent: ExecutionIntent, units: list[Unit], progress: Progress) -> bool:
        """Unit by unit; False where one failed that was not optional, and those after it are left alone."""
        done: list[Unit] = []
        failed: list[Unit] = []
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
            # What cannot be brought to the disk is not there.
            for unit in reversed(done):
                progress.taken_back(unit, self._take_back(stage, intent, unit), why_failed(error))
            failed += done
            go_on = False
        if failed:
            settle_back(stage, intent, failed)
        return go_on

    def _swap(self, stage: Stage, intent: ExecutionIntent, unit: Unit, progress: Progress) -> bool:
        try:
            conflicts = stage.swap_in(unit.changes)
        except OSError as error:
            progress.taken_back(unit, self._take_back(stage, intent, unit), why_failed(error))
            return False
        if conflicts:
            theirs = conflicts[0].change.path
            statuses = self._take_back(stage, intent, unit, theirs) | {theirs: OpStatus.CONFLICT}
            progress.taken_back(unit, statuses, str(conflicts[0].detail))
            return False
        progress.done(unit)
        return True

    def _take_back(self, stage: Stage, intent: ExecutionIntent, unit: Unit, theirs: str = "") -> Statuses:
        """All but the file that is somebody else's: what is there, or is not, is their doing."""
        statuses: Statuses = {}
        with contextlib.suppress(OSError):
            statuses = stage.take_back(unit.changes)
        # The stage may have been deleted under our hands; then the ledger's bytes are used.
        if any(self._stages.now(change) == change.after for change in unit.changes if change.path != theirs):
            return statuses | self._stages.restore(intent, unit, theirs)
        return statuses


@contextlib.contextmanager
def storage_errors() -> Iterator[None]:
    """Faults of the workspace's file system, in our words."""
    try:
        yield
    except OSError as error:
        what = error.filename if isinstance(error.filename, str) else Text("The workspace")
        raise StorageFailed(what=what, why=why_failed(error)) from None
