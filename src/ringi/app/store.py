"""The whole ledger of a workspace: the core, and the rows of each subject."""

from collections.abc import Callable
from pathlib import Path

from ringi.approvals.rows import Approvals, GrantRows
from ringi.kernel.system import Clock, Ids, new_id
from ringi.ledger.events import PendingProjections
from ringi.ledger.ledger import Ledger
from ringi.plans.rows import Executions, PlanRecord, Plans, plan_record
from ringi.project.rows import ProjectStates
from ringi.runs.process_rows import Processes
from ringi.runs.rows import Runs
from ringi.sessions.rows import Sessions


class Store(Ledger):
    """Transactions give the same store, so that every subject reads and writes its rows in one of them."""

    def __init__(
        self,
        folder: Path,
        wait_sec: float,
        *,
        clock: Clock | None = None,
        ids: Ids = new_id,
        after_commit: Callable[[PendingProjections], None] = lambda _: None,
    ) -> None:
        super().__init__(folder, wait_sec, clock=clock, ids=ids, after_commit=after_commit)
        self.approvals = Approvals(self)
        self.grants = GrantRows(self)
        self.states = ProjectStates(self)
        self.plans = Plans(self)
        self.executions = Executions(self)
        self.sessions = Sessions(self)
        self.runs = Runs(self)
        self.processes = Processes(self)

    def record(self, plan_id: str) -> PlanRecord:
        """A plan with its requests, approvals, events and executions, read in one query."""
        return plan_record(self, plan_id)
