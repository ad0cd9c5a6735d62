"""Reading planning sessions and runs from the ledger."""

from typing import Final

from ringi.domain.run import Run
from ringi.domain.session import LogEntry, SessionStatus
from ringi.domain.subject import SESSION_PREFIX
from ringi.errors import Ambiguous
from ringi.ports import StoredSession
from ringi.store import sql
from ringi.store.connection import translated
from ringi.store.planrows import as_bytes
from ringi.store.reading import PlanReader
from ringi.store.sessionrows import as_log_entry, as_run, load_session, no_run, no_session

_SHORTEST_NAME: Final = 4
_OF_AN_ID: Final = frozenset("0123456789abcdef-")


class SessionReader(PlanReader):
    """Beside the plans, the sessions and the runs."""

    def find_session(self, name: str) -> str:
        beginning = name.lower().removeprefix(SESSION_PREFIX)
        found = self._beginning_with(sql.SESSIONS_FROM, name, beginning, SESSION_PREFIX + beginning)
        if found is None:
            raise no_session(name)
        return found

    def session(self, session_id: str) -> StoredSession:
        with translated(self.folder):
            return load_session(self.database, session_id)

    def session_revision(self, session_id: str) -> int:
        found = self._select(sql.SESSION_REVISION, session_id)
        return int(str(found[0][0])) if found else 0

    def session_ids(self) -> list[str]:
        return [str(row[0]) for row in self._select(sql.SESSION_IDS)]

    def session_logs(self, session_id: str) -> tuple[LogEntry, ...]:
        return tuple(as_log_entry(row) for row in self._select(sql.LOGS, session_id))

    def log_size(self, session_id: str, phase: SessionStatus) -> int:
        """How long the log of the phase is, in bytes."""
        return int(str(self._select(sql.LOG_END, session_id, phase)[0][0]))

    def log_after(self, session_id: str, phase: SessionStatus, size: int) -> tuple[int, bytes]:
        """Where the first entry begins that does not fit into so many bytes, and what follows from there."""
        begins = int(str(self._select(sql.LOG_END_BEFORE, session_id, phase, size)[0][0]))
        rows = self._select(sql.LOG_AFTER, session_id, phase, begins)
        return begins, b"".join(as_bytes(row[0]) for row in rows)

    def find_run(self, name: str) -> str:
        found = self._beginning_with(sql.RUNS_FROM, name, name.lower(), name.lower())
        if found is None:
            raise no_run(name)
        return found

    def run(self, run_id: str) -> Run:
        found = self._select(sql.RUN, run_id)
        if not found:
            raise no_run(run_id)
        return as_run(found[0])

    def runs(self) -> list[Run]:
        return [as_run(row) for row in self._select(sql.RUNS)]

    def _beginning_with(self, statement: str, name: str, typed: str, first: str) -> str | None:
        """The one id that begins so; `typed` is the part that tells it from others."""
        if len(typed) < _SHORTEST_NAME or not set(typed) <= _OF_AN_ID:
            return None
        found = [str(row[0]) for row in self._select(statement, first, first + "~")]
        if len(found) > 1:
            raise Ambiguous(name=name, candidates=", ".join(found))
        return found[0] if found else None
