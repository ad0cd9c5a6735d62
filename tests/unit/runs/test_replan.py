"""Planning again: a new run that names the old one, for the named reasons only, approved like any other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi.app.api import Workspace
from ringi.app.integrity import verify
from ringi.approvals.document import TypedAnswer
from ringi.beside.launch import make_copy
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.design import Design, TargetPath
from ringi.engine.run_parts import PartsInput
from ringi.engine.run_state import RunPhase
from ringi.errors import CannotReplan, RunOver
from ringi.kernel import codec
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.document import Run, Stop, StopCode
from ringi.runs.drive import cancel_run
from ringi.runs.replan import ANEW, replan
from ringi.runs.start import ReviewedRun, covering, start_from_file, start_from_request, start_from_session
from ringi.sessions.document import ApprovedSession, SessionView
from tests.helpers import ledger_of, open_scratch
from tests.unit.runs.test_run_start import PLAN, REQUEST, approved_session, at_review


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as workspace:
        yield workspace


def plan_of(*paths: str, retries: int = 1) -> bytes:
    design = Design(target_paths=tuple(map(TargetPath, paths)))
    names = RunNames("RQ-20260102-001", "20260102-030405-0a0b0c", "2026-01-02", "main")
    plan = compile_run_plan(PartsInput("Sort it", design=design), names)
    gates = msgspec.structs.replace(plan.gates, max_step_too_large_retries=retries)
    return codec.pretty(msgspec.structs.replace(plan, gates=gates))


def stopped(ws: Workspace, run: Run, code: StopCode, **more: Any) -> None:
    stop = Stop(
        reason_code=code, message="it was too much", next_action="", step_id="S01", detail="E: 1 != 2"
    )
    with ws.store.transaction() as transaction:
        made = msgspec.structs.replace(
            ws.store.runs.get(run.run_id),
            phase=RunPhase.FAILED,
            stopped_in=RunPhase.EXECUTING,
            stop=stop,
            **more,
        )
        transaction.runs.save(made, NewEvent(EventKind.RUN_STOPPED, Actor.SYSTEM, str(code)))


@pytest.mark.req("RN-7", "RN-14")
def test_a_step_that_was_too_large_becomes_two_that_a_person_approves(ws: Workspace):
    run = start_from_file(ws, plan_of("a.py", "b.py"), "a")
    reviewed = ReviewedRun(ws, run.run_id)
    reviewed.approve(TypedAnswer(reviewed.digest, "y"))
    stopped(ws, run, StopCode.STEP_TOO_LARGE)
    again = replan(ws, run.run_id, StopCode.STEP_TOO_LARGE)
    assert isinstance(again, Run)
    plan = ws.store.runs.plan(again.run_id)
    assert plan is not None
    assert [step.scope.target_paths for step in plan.steps] == [("a.py",), ("b.py",)]
    assert (again.replaces, again.request_id) == (run.run_id, run.request_id)
    assert again.work_branch != run.work_branch
    assert run.run_id not in codec.canonical(plan).decode()
    before = ws.store.runs.get(run.run_id)
    assert (before.replaced_by, before.plan_sha256) == (again.run_id, run.plan_sha256)
    assert covering(ws, again.run_id) is None, "the old approval is for the old plan"
    with pytest.raises(RunOver, match="planned anew"):
        start_from_session(ws, run.run_id)
    with pytest.raises(RunOver):
        replan(ws, run.run_id)
    waiting = ReviewedRun(ws, again.run_id)
    waiting.approve(TypedAnswer(waiting.digest, "y"))
    assert covering(ws, again.run_id) is not None
    assert verify(ledger_of(ws)) == []


@pytest.mark.req("RN-14")
@pytest.mark.parametrize("retries", [0, 1, 2])
def test_only_as_often_as_the_plan_allows(ws: Workspace, retries: int):
    run = start_from_file(ws, plan_of("a.py", retries=retries), "a")
    for _ in range(retries):
        stopped(ws, run, StopCode.STEP_TOO_LARGE)
        again = replan(ws, run.run_id)
        assert isinstance(again, Run)
        cancel_run(ws, run.run_id)  # as soon as the new one begins
        run = again
    stopped(ws, run, StopCode.STEP_TOO_LARGE)
    with pytest.raises(CannotReplan):
        replan(ws, run.run_id)


@pytest.mark.req("RN-14")
@pytest.mark.parametrize("code", [code for code in StopCode if code not in {*ANEW, StopCode.STEP_TOO_LARGE}])
def test_no_other_reason_counts(ws: Workspace, code: StopCode):
    run = start_from_file(ws, PLAN, "a")
    with pytest.raises(CannotReplan):
        replan(ws, run.run_id)
    stopped(ws, run, code)
    with pytest.raises(CannotReplan):
        replan(ws, run.run_id)
    with pytest.raises(CannotReplan):
        replan(ws, run.run_id, StopCode.STEP_TOO_LARGE)


@pytest.mark.req("RN-14")
@pytest.mark.parametrize("code", sorted(ANEW))
def test_another_design_begins_with_what_happened(ws: Workspace, code: StopCode):
    view = start_from_request(ws, REQUEST.encode(), str(ws.places.root / "requests/RQ-20260102-009.md"))
    run = ws.store.runs.get(approved_session(ws, at_review(ws, view.session_id)))
    if code is StopCode.NO_CHANGES:
        stopped(ws, run, code)
        with pytest.raises(CannotReplan):
            replan(ws, run.run_id)
        return
    stopped(ws, run, code)
    again = replan(ws, run.run_id)
    assert isinstance(again, SessionView)
    assert again.session_id != view.session_id
    assert again.instruction.startswith("# Print the report as JSON")
    assert all(
        words in again.instruction for words in (run.run_id, str(code), "it was too much", "E: 1 != 2")
    )
    assert ws.store.runs.get(run.run_id).replaced_by == "", "until a person approves the new design"
    made = ws.store.runs.get(approved_session(ws, at_review(ws, again.session_id)))
    assert (made.replaces, made.request_id) == (run.run_id, run.request_id)
    assert ws.store.runs.get(run.run_id).replaced_by == made.run_id
    plan = ws.store.runs.plan(made.run_id)
    assert plan is not None
    assert plan.context.acceptance_criteria[0].id == "AC-07", "what the request demands still holds"
    assert isinstance(ws.planning.view(again.session_id).pending, ApprovedSession)
    assert verify(ledger_of(ws)) == []


@pytest.mark.req("RN-7", "RN-14")
def test_it_is_split_by_what_was_really_changed(ws: Workspace):
    run = start_from_file(ws, plan_of("src"), "a")
    copy = make_copy(ws, ["true"], (), lambda _: None)
    (copy.tree / "src").mkdir()
    for name, lines in {"one": 300, "two": 200, "three": 150}.items():
        (copy.tree / "src" / f"{name}.py").write_text("x = 1\n" * lines)
    state = msgspec.structs.replace(run.steps[0], base_tree=copy.record.base)
    stopped(ws, run, StopCode.STEP_TOO_LARGE, copy_id=copy.id, steps=(state,))
    again = replan(ws, run.run_id)
    assert isinstance(again, Run)
    plan = ws.store.runs.plan(again.run_id)
    assert plan is not None
    assert [step.scope.target_paths for step in plan.steps] == [
        ("src/one.py",),
        ("src/three.py", "src/two.py", "src"),
    ]
    copy.remove()
