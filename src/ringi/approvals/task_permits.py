"""What the people behind a task may do, for whoever asks or is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi.approvals.permits import askers
from ringi.kernel.text import Text

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.plans.document import PlanDocument


def always_asked(workspace: Workspace, document: PlanDocument) -> Text | None:
    """Why a person answers for this plan alone, whatever else would cover it; None if that is not so."""
    return workspace.permits.always_asked(*askers(workspace, document))


def skips_question(workspace: Workspace, run_id: str) -> bool:
    """Whether a run that was approved is carried out without asking when."""
    creator = workspace.store.runs.get(run_id).created_by
    return workspace.permits.skips_question(creator, workspace.person.user())
