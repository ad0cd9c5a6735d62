"""What the people behind a task may do, for whoever asks or is asked."""

from ringi.app.context import OpenWorkspace
from ringi.approvals.permits import askers
from ringi.kernel.text import Text
from ringi.plans.document import PlanDocument


def always_asked(workspace: OpenWorkspace, document: PlanDocument) -> Text | None:
    """Why a person answers for this plan alone, whatever else would cover it; None if that is not so."""
    return workspace.services.permits.always_asked(*askers(workspace.services, document))


def skips_question(workspace: OpenWorkspace, run_id: str) -> bool:
    """Whether a run that was approved is carried out without asking when."""
    creator = workspace.store.runs.get(run_id).created_by
    return workspace.services.permits.skips_question(creator, workspace.person.user())
