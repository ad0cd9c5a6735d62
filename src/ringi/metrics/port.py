"""What metrics are computed from: the ledger, read in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ringi.approvals.document import Approval
    from ringi.engine.process import ActionRecord, Feedback, Process
    from ringi.engine.run_plan import RunPlan
    from ringi.ledger.event import LoggedEvent
    from ringi.plans.document import ActionSpecExt, PlanDocument
    from ringi.runs.document import Run
    from ringi.sessions.document import StoredSession


class History(Protocol):
    def one_moment(self) -> AbstractContextManager[None]: ...
    def events(self, subject_id: str | None = None, *, after: int = 0) -> Iterator[LoggedEvent]: ...
    def every_approval(self) -> Iterator[Approval]:
        """In the order they were given."""

    def every_plan(self) -> Iterator[tuple[int, PlanDocument]]:
        """With its number, the newest first; without its specs."""

    def specs(self, plan_id: str, version: int) -> tuple[ActionSpecExt, ...]: ...
    def get_bytes(self, sha256: str) -> bytes | None: ...
    def session_ids(self) -> list[str]: ...
    def session(self, session_id: str) -> StoredSession: ...
    def runs(self) -> list[Run]:
        """The newest first."""

    def run_plan(self, run_id: str) -> RunPlan | None: ...
    def processes(self, run_id: str = "") -> list[Process]: ...
    def actions(self, process_id: str) -> tuple[ActionRecord, ...]: ...
    def feedback(self, run_id: str) -> tuple[Feedback, ...]: ...
