"""planning.json of a session: made before the review, approved with the summary, stored with the run."""

import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi.app.integrity import verify
from ringi.approvals.document import SessionSubject, TypedAnswer
from ringi.approvals.kinds import KINDS
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_plan_rules import run_plan_problems
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.errors import WrongAnswer
from ringi.kernel import codec
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import SubjectKind
from ringi.models.prompt import NewCriterion, NewPath, NewSummary
from ringi.sessions.document import ApprovalPending, FailedPending
from tests.fakes.models import Desk, ScriptedModel

SUMMARY = NewSummary(
    "Do it.",
    acceptance_criteria=(NewCriterion("a user", "they log in", "they are in"),),
    target_paths=tuple(NewPath(f"app/part{number}.py", new=True) for number in range(10)),
    test_commands=("make test",),
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state", ScriptedModel(review=SUMMARY))


def plan_of(desk: Desk, session_id: str) -> RunPlan:
    found = desk.tool.get(session_id).facts.run_plan
    assert found is not None
    return found


def approved(desk: Desk, session_id: str) -> str:
    answer = TypedAnswer(desk.tool.request(session_id).digest, "y")
    return desk.tool.approve(session_id, "hanako", answer).pending.run_id


@pytest.mark.req("RN-3", "RN-7", "RN-16")
def test_the_plan_is_there_before_anybody_is_asked(desk: Desk):
    session_id = desk.at_review()
    plan = plan_of(desk, session_id)
    assert run_plan_problems(msgspec.json.decode(codec.canonical(plan))) == ()
    pending = desk.tool.view(session_id).pending
    assert isinstance(pending, ApprovalPending)
    assert pending.run_plan == plan
    assert [step.step_id for step in plan.steps] == ["S01", "S02"], "ten files are too many for one step"
    assert {path for step in plan.steps for path in step.scope.target_paths} == {
        path.path for path in SUMMARY.target_paths
    }
    assert plan.steps[0].commands.unit == ("make test",)
    assert len(plan.context.acceptance_criteria) == 3, "one is the design's; the others are for the person"
    assert plan.base_branch == "main"


@pytest.mark.req("RN-3", "IP-9")
def test_the_run_gets_exactly_the_plan_that_was_approved(desk: Desk):
    session_id = desk.at_review()
    plan = plan_of(desk, session_id)
    run_id = approved(desk, session_id)
    run = desk.ledger.runs.get(run_id)
    assert run_id == plan.run_id
    assert desk.ledger.runs.plan(run_id) == plan
    assert (run.phase, run.request_id, run.base_branch) == (RunPhase.PLANNING, plan.request_id, "main")
    assert run.work_branch == plan.work_branch
    assert [(step.step_id, step.status) for step in run.steps] == [
        (step.step_id, StepStatus.WAITING) for step in plan.steps
    ]
    [approval] = desk.ledger.approvals.of(session_id)
    bound = KINDS[SubjectKind.SESSION].read(approval.subject)
    assert bound is not None
    assert isinstance(bound.document, SessionSubject)
    assert bound.document.planning_json == plan
    assert desk.tool.approval(session_id) == approval
    assert verify(desk.ledger) == []


@pytest.mark.req("RN-3", "IP-9")
def test_another_plan_in_the_ledger_is_not_approved(desk: Desk):
    session_id = desk.at_review()
    run_id = approved(desk, session_id)
    run = desk.ledger.runs.get(run_id)
    other = codec.canonical(msgspec.structs.replace(plan_of(desk, session_id), base_branch="other"))
    with desk.ledger.transaction() as transaction:
        changed = msgspec.structs.replace(run, plan_sha256=codec.digest(other))
        transaction.runs.save(changed, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM))
    desk.ledger.database.execute("UPDATE runs SET plan = ?", (other.decode(),))
    assert desk.tool.approval(session_id) is None
    assert any("its approval was changed or put in" in str(one) for one in verify(desk.ledger))


@pytest.mark.req("RN-3", "RN-14")
def test_a_reject_plans_anew_and_the_earlier_answer_counts_for_nothing(desk: Desk):
    session_id = desk.at_review()
    before, digest = plan_of(desk, session_id), desk.tool.request(session_id).digest
    desk.tool.reject(session_id, "smaller")
    assert desk.tool.get(session_id).facts.run_plan is None
    desk.led(session_id)
    after = plan_of(desk, session_id)
    assert after.run_id != before.run_id
    assert after.request_id == before.request_id, "nobody else took the number meanwhile"
    with pytest.raises(WrongAnswer):
        desk.tool.approve(session_id, "hanako", TypedAnswer(digest, "y"))


@pytest.mark.req("RN-13")
def test_no_two_get_the_same_request_id(tmp_path: Path):
    first = Desk(tmp_path / "state")
    plans = [plan_of(first, first.at_review()).request_id for _ in range(2)]
    assert [one[-3:] for one in plans] == ["001", "002"]
    files = Desk(tmp_path / "state", requests=lambda: [plans[0][:-3] + "007", "README", "RQ-20200101-900"])
    assert plan_of(files, files.at_review()).request_id.endswith("-008")


@pytest.mark.req("RN-13")
def test_no_two_get_the_same_request_id_at_once(tmp_path: Path):
    Desk(tmp_path / "state").ledger.close()
    desks = [Desk(tmp_path / "state") for _ in range(4)]
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda desk=desk: ids.append(plan_of(desk, desk.at_review()).request_id))
        for desk in desks
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(one[-3:] for one in ids) == ["001", "002", "003", "004"]


@pytest.mark.req("RN-2")
def test_a_plan_with_a_fault_comes_to_no_review(tmp_path: Path):
    branch = ["x" * 251]
    desk = Desk(tmp_path / "state", base_branch=lambda: branch[0])
    session_id = desk.at_review()
    pending = desk.tool.view(session_id).pending
    assert isinstance(pending, FailedPending)
    assert "$.base_branch" in pending.error
    branch[0] = "main"
    assert isinstance(desk.tool.resume(session_id).pending, ApprovalPending)
    assert plan_of(desk, session_id).base_branch == "main"


@pytest.mark.req("RN-3")
def test_a_session_from_a_file_gets_a_plan_too(desk: Desk):
    session_id = desk.at_review()
    exported = codec.pretty(desk.tool.get(session_id).session)
    taken = desk.tool.take_in(exported, "a file").session_id
    assert plan_of(desk, taken).run_id != plan_of(desk, session_id).run_id


def as_json(document: Any) -> Any:
    return msgspec.json.decode(codec.canonical(document))


@pytest.mark.req("RN-1")
def test_the_stored_plan_has_one_spelling(desk: Desk):
    plan = plan_of(desk, desk.at_review())
    assert codec.canonical(codec.decode_own(codec.canonical(plan), RunPlan, "it")) == codec.canonical(plan)
    assert as_json(plan)["limits"]["timeout_sec"] == 600.0
