"""The stages of executions: what lies in `.agent/tmp`, and the way back with the ledger's bytes."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec import UnsetType

from ringi.domain.approval import FileChange
from ringi.domain.codec import digest
from ringi.domain.execution import ExecutionIntent, OpStatus
from ringi.domain.plan import FileState
from ringi.errors import PathRefused, StorageFailed
from ringi.plans.looking import found_at
from ringi.plans.outcome import Statuses
from ringi.plans.parts import Parts
from ringi.plans.units import Unit
from ringi.text import Text
from ringi.workspace.apply import Stage, emptied_by, known_to, reverse, staged

_FOREIGN: Final = FileState("", "")
"""Stands for something at a path that is no regular file: never as before, never as after."""


class Stages:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._fs = parts.tree.fs

    def stage(self, name: str) -> Stage:
        return Stage(self._fs, self._parts.tree.root, name)

    def fresh(self, execution_id: str) -> Stage:
        """Another one for the same execution."""
        taken = set(staged(self._fs, self._parts.tree.root))
        number = 1
        while f"{execution_id}.{number}" in taken:
            number += 1
        return self.stage(f"{execution_id}.{number}")

    def now(self, change: FileChange) -> FileState | None:
        try:
            with self._parts.tree.open_root() as root:
                state, _ = found_at(self._parts.tree, root, change)
        except PathRefused:
            return _FOREIGN
        return state

    def restore(self, intent: ExecutionIntent, unit: Unit, theirs: str = "") -> Statuses:
        """Bring every file that is as after back to before, with the ledger's bytes."""
        mine = [change for change in unit.changes if change.path != theirs]
        ours = [reverse(change) for change in reversed(mine) if self.now(change) == change.after]
        stage = self.fresh(intent.id)
        stage.prepare(ours, self.saved_bytes)
        conflicts = stage.swap_in(ours, go_on=True)
        settle_back(stage, intent, [unit])
        statuses = {change.path: OpStatus.UNDONE for change in ours}
        return statuses | {conflict.change.path: OpStatus.CONFLICT for conflict in conflicts}

    def clear(self, intent: ExecutionIntent) -> tuple[str, ...]:
        """Drop the execution's stages; answers with the files in them that somebody else wrote."""
        kept = []
        for name in staged(self._fs, self._parts.tree.root):
            if _execution_of(name) == intent.id:
                stage = self.stage(name)
                stage.drop(self._ours(name, intent))
                kept += stage.kept
        return tuple(kept)

    def sweep(self) -> None:
        """Remove stages that nobody needs; what in them is not ours was named by the result, and stays."""
        for name in staged(self._fs, self._parts.tree.root):
            intent = self._parts.store.intent(_execution_of(name))
            with suppress(PathRefused):
                self.stage(name).drop(self._ours(name, intent) if intent else everything)

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

    def saved_bytes(self, sha256: str) -> bytes:
        return verified(sha256, self._parts.store.get_bytes(sha256))


def settle(stage: Stage, intent: ExecutionIntent, units: Sequence[Unit]) -> None:
    """What is done comes to the disk."""
    changes = [change for unit in units for change in unit.changes]
    stage.settle(changes, intent.new_folders, _emptied(intent, changes), forward=True)


def settle_back(stage: Stage, intent: ExecutionIntent, units: Sequence[Unit]) -> None:
    """What was taken back comes to the disk as well."""
    changes = [change for unit in units for change in unit.changes]
    stage.settle(changes, intent.new_folders, _emptied(intent, changes), forward=False)


def _emptied(intent: ExecutionIntent, changes: Sequence[FileChange]) -> Sequence[str]:
    return emptied_by(changes) if isinstance(intent.emptied, UnsetType) else intent.emptied


def verified(sha256: str, data: bytes | None) -> bytes:
    """What was approved is written, or nothing."""
    if data is None or digest(data) != sha256:
        raise StorageFailed(what=sha256, why=Text("its bytes are missing from the ledger"))
    return data


def everything(data: bytes) -> bool:
    del data
    return True


def _execution_of(stage: str) -> str:
    return stage.partition(".")[0]
