"""How a run begins: an approved session, a planning.json made elsewhere, a request; and who approved it."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.app.integrity import verify
from ringi.app.restore import restore_sessions
from ringi.approvals.document import RunSubject, TypedAnswer
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.run_parts import PartsInput
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import RunPhase
from ringi.errors import (
    NoChannel,
    NotAsked,
    NotFound,
    RunOver,
    RunRace,
    SessionOver,
    UnfitForRun,
    WrongAnswer,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.start import ReviewedRun, covering, start_from_file, start_from_request, start_from_session
from ringi.sessions.document import ApprovedSession, DecisionPending, QuestionPending
from tests.fakes.signing import MadeUpKeys
from tests.helpers import Person, ledger_of, open_scratch, rewire

KEYS = MadeUpKeys("hers")
PLAN = codec.pretty(
    compile_run_plan(
        PartsInput("Add a login"), RunNames("RQ-20260102-001", "20260102-030405-0a0b0c", "2026-01-02", "main")
    )
)


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture
def ws(tmp_path: Path, person: Person) -> Iterator[Workspace]:
    with open_scratch(tmp_path, person=person) as workspace:
        rewire(workspace, signatures=KEYS)
        yield workspace


def at_review(ws: Workspace, session_id: str) -> str:
    tool = ws.planning
    while True:
        match tool.go_on(session_id).pending:
            case QuestionPending():
                tool.skip(session_id)
            case DecisionPending():
                tool.decide(session_id, "1")
            case _:
                return session_id


def approved_session(ws: Workspace, session_id: str) -> str:
    answer = TypedAnswer(ws.planning.request(session_id).digest, "y")
    pending = ws.planning.approve(session_id, "hanako", answer).pending
    assert isinstance(pending, ApprovedSession)
    return pending.run_id


def typed(run: ReviewedRun) -> TypedAnswer:
    return TypedAnswer(run.digest, "y")


@pytest.mark.req("IP-9", "RN-3")
def test_an_approved_session_goes_on_with_its_run(ws: Workspace):
    session_id = at_review(ws, ws.planning.start("Add a login").session_id)
    with pytest.raises(NotAsked, match="not approved yet"):
        start_from_session(ws, session_id)
    run_id = approved_session(ws, session_id)
    for name in (session_id, session_id[:17], run_id, run_id[:-2]):
        run = start_from_session(ws, name)
        assert (run.run_id, run.phase) == (run_id, RunPhase.PLANNING)
    given = covering(ws, run_id)
    assert given is not None
    assert given.about.id == session_id
    ws.planning.cancel(session_id)
    assert covering(ws, run_id) is None
    with pytest.raises(SessionOver):
        start_from_session(ws, session_id)
    with pytest.raises(RunOver, match="cancelled"):
        start_from_session(ws, run_id)
    with pytest.raises(NotFound):
        start_from_session(ws, "20990101")


@pytest.mark.req("RN-3", "IP-17")
def test_a_restored_session_is_approved_with_its_plan(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        session_id = at_review(ws, ws.planning.start("Add a login").session_id)
    shutil.rmtree(tmp_path / "state")
    with open_scratch(tmp_path) as ws:
        assert restore_sessions(ws) == (1, [])
        run_id = approved_session(ws, session_id)
        plan = ws.store.runs.plan(run_id)
        assert plan
        assert plan.steps
        assert start_from_session(ws, session_id).run_id == run_id
        assert verify(ledger_of(ws)) == []


# A plan made elsewhere.


@pytest.mark.req("RN-2", "RN-3")
def test_a_plan_from_a_file_runs_only_once_a_person_approved_it(ws: Workspace):
    run = start_from_file(ws, PLAN, "planning.json")
    assert (run.run_id, run.request_id) == ("20260102-030405-0a0b0c", "RQ-20260102-001")
    assert (run.phase, run.planning_session_id) == (RunPhase.PLANNING, "")
    assert "## Acceptance criteria" in run.instruction
    assert ws.store.runs.plan(run.run_id) == codec.decode_foreign(PLAN, RunPlan, "it")
    assert covering(ws, run.run_id) is None
    waiting = ReviewedRun(ws, run.run_id)
    waiting.approve(typed(waiting))
    given = covering(ws, run.run_id)
    assert given is not None
    said = codec.decode_own(given.subject.encode(), RunSubject, "it")
    assert (said.run_id, said.planning_json) == (run.run_id, waiting.plan)
    assert [e.event.event for e in ws.log(run.run_id)] == [EventKind.RUN_CREATED, EventKind.RUN_APPROVED]
    assert verify(ledger_of(ws)) == []


@pytest.mark.req("RN-2")
def test_everything_that_is_wrong_with_it_is_said_at_once(ws: Workspace):
    raw = json.loads(PLAN)
    raw["gates"]["forbid_gh"] = False
    raw["steps"][0]["step_id"] = "one"
    raw["context"]["acceptance_criteria"] = []
    with pytest.raises(UnfitForRun) as caught:
        start_from_file(ws, json.dumps(raw).encode(), "my.json")
    said = str(caught.value)
    assert all(code in said for code in ("GH_NOT_FORBIDDEN", "STEP_ID_INVALID", "AC_TOO_FEW"))
    for data in (b"{", b"", b"[]", b"\xff", b"# A request\n"):
        with pytest.raises(UnfitForRun):
            start_from_file(ws, data, "my.json")
    assert ws.store.runs.all() == []


@pytest.mark.req("RN-16")
def test_the_sample_of_the_specification_is_a_run(ws: Workspace):
    """One criterion has no step, `unit` is a text, and the branch has the run's id without its end."""
    sample = (Path(__file__).parents[1] / "engine" / "planning-sample.json").read_bytes()
    run = start_from_file(ws, sample, "planning.json")
    assert run.work_branch == "aiflow/RQ-20251214-008/20251214-210501"
    assert [step.step_id for step in run.steps] == ["S01"]
    plan = ws.store.runs.plan(run.run_id)
    assert plan is not None
    assert plan.context.test_instructions["unit"] == "php artisan test"
    assert "AC-01" not in plan.steps[0].links_to_ac
    waiting = ReviewedRun(ws, run.run_id)
    waiting.approve(typed(waiting))
    assert covering(ws, run.run_id) is not None


@pytest.mark.req("RN-3")
def test_the_same_file_again_is_another_run(ws: Workspace):
    first, second = start_from_file(ws, PLAN, "a"), start_from_file(ws, PLAN, "a")
    assert first.run_id != second.run_id
    assert first.work_branch != second.work_branch
    plan = ws.store.runs.plan(second.run_id)
    assert plan is not None
    text = codec.canonical(plan).decode()
    assert first.run_id not in text
    assert text.count(f"runs/{plan.request_id}/{second.run_id}/") == 6


@pytest.mark.req("RN-3")
def test_the_approval_of_a_run_is_for_nothing_else(ws: Workspace, person: Person):
    one, other = start_from_file(ws, PLAN, "a"), start_from_file(ws, PLAN, "b")
    waiting = ReviewedRun(ws, one.run_id)
    with pytest.raises(WrongAnswer):
        ReviewedRun(ws, other.run_id).approve(typed(waiting))
    with pytest.raises(WrongAnswer, match="no yes"):
        waiting.approve(TypedAnswer(waiting.digest, "n"))
    person.why = Text("an agent is running")
    with pytest.raises(NoChannel):
        waiting.approve(typed(waiting))
    waiting.approve(KEYS.sign("hers", waiting.statement(person.user())))
    given = covering(ws, one.run_id)
    assert given is not None
    assert given.proof.kind == "signed"
    assert covering(ws, other.run_id) is None
    with pytest.raises(RunRace):
        waiting.approve(KEYS.sign("hers", waiting.statement(person.user())))


@pytest.mark.req("RN-3")
def test_another_plan_in_the_ledger_counts_for_nothing(ws: Workspace):
    run = start_from_file(ws, PLAN, "a")
    waiting = ReviewedRun(ws, run.run_id)
    approved = waiting.approve(typed(waiting))
    text = codec.canonical(msgspec.structs.replace(waiting.plan, base_branch="other"))
    changed = msgspec.structs.replace(approved, plan_sha256=codec.digest(text))
    with ws.store.transaction() as transaction:
        transaction.runs.save(changed, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM))
    ledger_of(ws).database.execute("UPDATE runs SET plan = ?", (text.decode(),))
    assert covering(ws, run.run_id) is None
    assert any("its approval was changed or put in" in str(one) for one in verify(ledger_of(ws)))


@pytest.mark.req("RN-3")
def test_what_has_begun_or_is_cancelled_is_not_approved(ws: Workspace):
    run = start_from_file(ws, PLAN, "a")
    waiting = ReviewedRun(ws, run.run_id)
    waiting.approve(typed(waiting))

    def save(kind: EventKind, **changes: Any) -> None:
        with ws.store.transaction() as transaction:
            made = msgspec.structs.replace(ws.store.runs.get(run.run_id), **changes)
            transaction.runs.save(made, NewEvent(kind, Actor.USER))

    save(EventKind.RUN_ADVANCED, phase=RunPhase.EXECUTING)
    with pytest.raises(RunOver, match="begun"):
        ReviewedRun(ws, run.run_id)
    assert covering(ws, run.run_id) is not None
    save(EventKind.RUN_CANCELLED, phase=RunPhase.CANCELLED)
    assert covering(ws, run.run_id) is None


# A request.

REQUEST = """\
# Print the report as JSON

Somebody wants to read it with jq.
<!-- a comment
- AC-77: Given x, When y, Then z -->

## Acceptance criteria
- AC-07: Given two rows, When --json is passed, Then a JSON list is printed
- Given no rows, When --json is passed, Then [] is printed

## Constraints
- No new dependency

## Tests
- unit: make test
- e2e: make e2e

## Allowed paths
- app/

## Forbidden paths
- app/secret.py
"""


@pytest.mark.req("RN-13")
def test_what_a_request_demands_is_in_the_plan(ws: Workspace):
    path = ws.places.root / "requests" / "RQ-20260102-009.md"
    view = start_from_request(ws, REQUEST.encode(), str(path))
    assert "jq" in view.instruction
    assert "a comment" not in view.instruction
    at_review(ws, view.session_id)
    plan = ws.planning.get(view.session_id).facts.run_plan
    assert plan is not None
    assert plan.request_id == "RQ-20260102-009"
    criteria = plan.context.acceptance_criteria
    assert [one.id for one in criteria][:2] == ["AC-07", "AC-01"]
    assert (criteria[0].given, criteria[0].then) == ("two rows", "a JSON list is printed")
    assert len(criteria) >= 3
    assert len({one.id for one in criteria}) == len(criteria)
    assert plan.context.constraints[0] == "No new dependency"
    assert plan.context.test_instructions == {"unit": "make test", "e2e": ("make e2e",)}
    for step in plan.steps:
        assert step.commands.unit == ("make test",)
        assert step.scope.target_paths
        assert all(one == "app" or one.startswith("app/") for one in step.scope.target_paths)
        assert "app/secret.py" in (step.scope.forbidden_paths or ())
        assert step.inputs.request_path == "requests/RQ-20260102-009.md"


@pytest.mark.req("RN-13")
def test_sections_that_were_left_empty_say_nothing(ws: Workspace):
    text = (
        "# Sort\n\nBy date.\n\n## Constraints\n<!-- none -->\n\n## Tests\n- make test\n\n## Allowed paths\n\n"
    )
    view = start_from_request(ws, text.encode(), "RQ-20260102-009.md")
    assert view.instruction == "# Sort\n\nBy date.\n\n## Tests\n- make test"


@pytest.mark.req("RN-13")
def test_a_request_from_elsewhere_gets_a_number(ws: Workspace, tmp_path: Path):
    view = start_from_request(ws, REQUEST.encode(), str(tmp_path / "私の要望.md"))
    at_review(ws, view.session_id)
    plan = ws.planning.get(view.session_id).facts.run_plan
    assert plan is not None
    assert plan.request_id.startswith("RQ-")
    assert plan.steps[0].inputs.request_path == f"runs/{plan.request_id}/{plan.run_id}/request.md"


@pytest.mark.req("RN-13")
@pytest.mark.parametrize(
    "data", [b"", b"no title\n", b"# \n", b"\xff# x\n", b"# x\n\n## Allowed paths\n- ../up\n"]
)
def test_a_request_that_says_too_little(ws: Workspace, data: bytes):
    with pytest.raises(UnfitForRun):
        start_from_request(ws, data, "RQ-20260102-009.md")
    assert ws.planning.list() == []


@pytest.mark.req("RN-3")
def test_a_project_without_git(ws: Workspace):
    found = subprocess.run(
        ["git", "rev-parse", "--git-dir"], cwd=ws.places.root, capture_output=True, check=False
    )
    session_id = at_review(ws, ws.planning.start("Add a login").session_id)
    plan = ws.planning.get(session_id).facts.run_plan
    assert plan is not None
    assert found.returncode != 0
    assert plan.base_branch == "main"
