"""The newest project state, and the change plans that it supersedes."""

from typing import Final

from ringi.kernel import codec
from ringi.ledger.connection import as_bytes
from ringi.ledger.events import text_of
from ringi.ledger.ledger import Ledger
from ringi.project.state import ProjectState

_SET_STATE: Final = (
    "INSERT INTO project_state (id, snapshot_id, document) VALUES (1, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET snapshot_id = excluded.snapshot_id, document = excluded.document"
)
_STATE: Final = "SELECT document FROM project_state WHERE id = 1 AND snapshot_id = COALESCE(?, snapshot_id)"
_OTHER_CHANGES: Final = "SELECT plan_id FROM open_changes WHERE snapshot_id <> ? ORDER BY plan_id"


class ProjectStates:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def newest(self, snapshot_id: str | None = None) -> ProjectState | None:
        """The newest that was captured or pushed; None if it is of another snapshot than the given one."""
        found = self._ledger.select(_STATE, snapshot_id)
        return codec.decode_own(as_bytes(found[0][0]), ProjectState, "project state") if found else None

    def set(self, state: ProjectState) -> list[str]:
        """Replaces the previous one; returns the ids of open change plans of another snapshot."""
        self._ledger.execute(_SET_STATE, state.snapshot_id, text_of(state))
        rows = self._ledger.execute(
            _OTHER_CHANGES,
            state.snapshot_id,
        )
        return [str(row[0]) for row in rows]
