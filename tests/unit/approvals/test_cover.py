"""Which approval counts, of all that the ledger says of one subject."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.approvals.cover import SubjectHistory, covering_approval
from ringi.approvals.document import Approval
from ringi.ledger import subject as subjects
from ringi.ledger.event import Event, EventKind
from ringi.plans.rows import PlanRecord
from tests.helpers import approved, create, open_scratch


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as opened:
        yield opened


def covered(workspace: Workspace, record: PlanRecord, *later: Event) -> Approval | None:
    about = subjects.plan(record.plan.document.plan.id)
    history = SubjectHistory(about, "p1", record.approvals, [*record.events, *later])
    return covering_approval(workspace, history, lambda approval: approval.subject.encode())


@pytest.mark.req("PT-8", "PT-9")
@pytest.mark.parametrize("kind", [EventKind.DECLINED, EventKind.SENT_BACK, EventKind.DISCARDED])
def test_no_approval_counts_from_before_a_person_said_no(workspace: Workspace, kind: EventKind):
    """Whatever else the state of the plan is taken for."""
    plan_id = approved(workspace, create("b.txt", "b\n"))
    record = workspace.store.record(plan_id)
    assert covered(workspace, record) == record.approvals[-1]
    no = msgspec.structs.replace(record.events[-1], event=kind, evidence="")
    assert covered(workspace, record, no) is None
