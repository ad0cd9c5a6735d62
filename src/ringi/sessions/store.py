"""The ledger as planning sessions use it."""

from typing import TYPE_CHECKING

from ringi.plans.store import PlanStore
from ringi.sessions.rows import Sessions

if TYPE_CHECKING:
    from ringi.sessions.run_plan import RunRows


class SessionStore(PlanStore):
    """With the rows of planning sessions, and of the runs they become."""

    sessions: Sessions
    runs: "RunRows"
