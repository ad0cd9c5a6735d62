"""The ledger as approvals use it."""

from typing import TYPE_CHECKING

from ringi.approvals.grant_rows import GrantRows
from ringi.approvals.rows import Approvals
from ringi.ledger.ledger import Ledger

if TYPE_CHECKING:
    from ringi.approvals.grant import PlanRows
    from ringi.approvals.run_terms import RunRows


class ApprovalStore(Ledger):
    """Each package sees the one store of a workspace with the rows it may know; `runs.store` makes it."""

    approvals: Approvals
    grants: GrantRows
    plans: "PlanRows"
    runs: "RunRows"
