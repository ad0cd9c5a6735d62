"""Carrying out what was approved, and finishing what a crash cut off.

The order is the protocol: lock, recheck, stage, intent, swap, sync, result. Before the intent nothing of
the workspace has changed; after it, recovery decides from the files themselves.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ringi.domain.approval import FileChange
from ringi.domain.codec import digest
from ringi.domain.execution import ExecutionIntent, ExecutionResult, OpStatus
from ringi.domain.plan import FileState
from ringi.errors import PathRefused, StorageFailed
from ringi.plans.outcome import Statuses, record
from ringi.plans.parts import Parts
from ringi.ports import Transaction
from ringi.text import Text
from ringi.workspace.apply import Stage, known_to, reverse, staged

_FOREIGN: Final = FileState("", "")
"""Stands for something at a path that is no regular file: never as before, never as after."""


class Executor:
    """Everything here runs under the workspace's lock."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._fs = parts.tree.fs

    def carry_out(
        self, intent: ExecutionIntent, contents: Mapping[str, bytes], begin: Callable[[Transaction], None]
    ) -> ExecutionResult:
        """`contents` has the bytes before and after; `begin` adds to the transaction of the intent."""
        stage = self._stage(intent.id)
        kept_until = self._parts.clock.after(self._parts.rules.keep_sec)
        try:
            stage.prepare(intent.changes, lambda sha256: _verified(sha256, contents.get(sha256)))
            with self._parts.store.transaction() as transaction:
                for data in contents.values():
                    transaction.put_bytes(data, kept_until)
                transaction.add_intent(intent)
                begin(transaction)
        except BaseException:
            with contextlib.suppress(OSError, PathRefused):
                stage.drop(_everything)
            raise
        return self._swap(stage, intent)

    def _swap(self, stage: Stage, intent: ExecutionIntent) -> ExecutionResult:
        """An OSError that comes out of here leaves no result, so recovery will settle it."""
        detail: Text | str = ""
        try:
            conflicts = stage.swap_in(intent.changes)
            if not conflicts:
                stage.settle(intent.changes, intent.new_folders, forward=True)
        except OSError as error:
            detail = _why(error)
            statuses = self._take_back(stage, intent)
        else:
            if conflicts:
                detail = conflicts[0].detail
                theirs = conflicts[0].change.path
                statuses = self._take_back(stage, intent, theirs) | {theirs: OpStatus.CONFLICT}
            else:
                statuses = {change.path: OpStatus.DONE for change in intent.changes}
        return record(self._parts, intent, statuses, str(detail), self._clear(intent))

    def _take_back(self, stage: Stage, intent: ExecutionIntent, theirs: str = "") -> Statuses:
        """All but the file that is somebody else's: what is there, or is not, is their doing."""
        statuses: Statuses = {}
        with contextlib.suppress(OSError):
            statuses = stage.take_back(intent.changes)
        # The stage may have been deleted under our hands; then the ledger's bytes are used.
        if any(self._now(change) == change.after for change in intent.changes if change.path != theirs):
            return statuses | self._restore(intent, theirs)
        stage.settle(intent.changes, intent.new_folders, forward=False)
        return statuses

    def recover(self) -> list[ExecutionResult]:
        """Finish or take back every execution that has no result. A second call finds nothing to do."""
        results = [self._recover_one(intent) for intent in self._parts.store.unfinished()]
        self._sweep()
        return results

    def _recover_one(self, intent: ExecutionIntent) -> ExecutionResult:
        now = {change.path: self._now(change) for change in intent.changes}
        foreign = [c.path for c in intent.changes if now[c.path] not in {c.before, c.after}]
        detail = ""
        try:
            foreign = foreign or self._finish(intent, now)
        except OSError as error:
            # What cannot be finished is taken back; if that fails too, the next recovery tries again.
            detail = _why(error)
        if foreign:
            detail = str(Text("somebody wrote to it meanwhile"))
        if detail:
            statuses = self._restore(intent) | dict.fromkeys(foreign, OpStatus.CONFLICT)
        else:
            statuses = {change.path: OpStatus.DONE for change in intent.changes}
        return record(self._parts, intent, statuses, detail, self._clear(intent), recovered=True)

    def _finish(self, intent: ExecutionIntent, now: Mapping[str, FileState | None]) -> list[str]:
        """Bring the files that are as before to after; answers with those that somebody wrote meanwhile."""
        todo = [change for change in intent.changes if now[change.path] == change.before]
        stage = self._stage(self._fresh_name(intent.id))
        stage.prepare(todo, self._saved_bytes)
        if conflicts := stage.swap_in(todo):
            return [conflict.change.path for conflict in conflicts]
        stage.settle(intent.changes, intent.new_folders, forward=True)
        return []

    def _restore(self, intent: ExecutionIntent, theirs: str = "") -> Statuses:
        """Bring every file that is as after back to before, with the ledger's bytes."""
        mine = [change for change in intent.changes if change.path != theirs]
        ours = [reverse(change) for change in mine if self._now(change) == change.after]
        stage = self._stage(self._fresh_name(intent.id))
        stage.prepare(ours, self._saved_bytes)
        conflicts = stage.swap_in(ours, go_on=True)
        stage.settle(intent.changes, intent.new_folders, forward=False)
        statuses = {change.path: OpStatus.UNDONE for change in ours}
        return statuses | {conflict.change.path: OpStatus.CONFLICT for conflict in conflicts}

    def _now(self, change: FileChange) -> FileState | None:
        try:
            found = self._parts.tree.look(change.path)
        except PathRefused:
            return _FOREIGN
        return found.state if found else None

    def _clear(self, intent: ExecutionIntent) -> tuple[str, ...]:
        """Drop the execution's stages; answers with the files in them that somebody else wrote."""
        kept = []
        for name in staged(self._fs, self._parts.tree.root):
            if _execution_of(name) == intent.id:
                stage = self._stage(name)
                stage.drop(self._ours(name, intent))
                kept += stage.kept
        return tuple(kept)

    def _sweep(self) -> None:
        """Remove stages that nobody needs; what in them is not ours was named by the result, and stays."""
        for name in staged(self._fs, self._parts.tree.root):
            intent = self._parts.store.intent(_execution_of(name))
            with contextlib.suppress(PathRefused):
                self._stage(name).drop(self._ours(name, intent) if intent else _everything)

    def _ours(self, stage: str, intent: ExecutionIntent) -> Callable[[bytes], bool]:
        known = known_to(intent.changes)
        if stage == intent.id:
            return known
        hashes = [
            state.sha256 for change in intent.changes for state in (change.before, change.after) if state
        ]
        # Also the beginning of a known file: a recovery may have been cut while staging.
        return lambda data: (
            known(data)
            or any((self._parts.store.get_bytes(sha256) or b"").startswith(data) for sha256 in hashes)
        )

    def _saved_bytes(self, sha256: str) -> bytes:
        return _verified(sha256, self._parts.store.get_bytes(sha256))

    def _stage(self, name: str) -> Stage:
        return Stage(self._fs, self._parts.tree.root, name)

    def _fresh_name(self, execution_id: str) -> str:
        taken = set(staged(self._fs, self._parts.tree.root))
        number = 1
        while f"{execution_id}.{number}" in taken:
            number += 1
        return f"{execution_id}.{number}"


def _execution_of(stage: str) -> str:
    return stage.partition(".")[0]


def _verified(sha256: str, data: bytes | None) -> bytes:
    """What was approved is written, or nothing."""
    if data is None or digest(data) != sha256:
        raise StorageFailed(what=sha256, why=Text("its bytes are missing from the ledger"))
    return data


def _everything(data: bytes) -> bool:
    del data
    return True


def _why(error: OSError) -> str:
    return error.strerror or str(error)


@contextlib.contextmanager
def storage_errors() -> Iterator[None]:
    """Faults of the workspace's file system, in our words."""
    try:
        yield
    except OSError as error:
        what = error.filename if isinstance(error.filename, str) else Text("The workspace")
        raise StorageFailed(what=what, why=_why(error)) from None
