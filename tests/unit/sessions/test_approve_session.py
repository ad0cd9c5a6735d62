"""What a person said yes to, by which proof, and that it counts for nothing else."""

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi.app.integrity import verify
from ringi.approvals.document import TypedAnswer
from ringi.engine.run_state import RunPhase
from ringi.errors import Busy, ModelDeclined, NotProven, SessionFailed, SessionOver, SessionRace, WrongAnswer
from ringi.kernel.lock import PassingLock
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.models.prompt import Exchange
from ringi.models.usage import Purpose
from ringi.sessions.approve import build_enhanced_instruction
from ringi.sessions.document import DecisionPending, QuestionPending, SessionStatus
from ringi.sessions.tool import PlanningTool
from tests.fakes.models import Desk, ScriptedModel
from tests.fakes.people import InterruptingClock, SteppingClock
from tests.fakes.signing import MadeUpKeys
from tests.helpers import PATIENCE_SEC

KEYS = MadeUpKeys("hers")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state", signatures=KEYS)


def signed(desk: Desk, session_id: str) -> Any:
    return KEYS.sign("hers", desk.tool.statement(session_id, "hanako"))


def approved(desk: Desk, session_id: str) -> str:
    answer = TypedAnswer(desk.tool.request(session_id).digest, "y")
    return desk.tool.approve(session_id, "hanako", answer).pending.run_id


@pytest.mark.req("IP-9")
def test_a_signature_counts_once_for_these_words_only(desk: Desk):
    session_id = desk.at_review()
    early = signed(desk, session_id)
    other = desk.at_review()
    with pytest.raises(WrongAnswer, match="something else"):
        desk.tool.approve(other, "hanako", early)
    with pytest.raises(WrongAnswer, match="in the name of hanako"):
        desk.tool.approve(session_id, "taro", early)
    desk.tool.reject(session_id, "no")
    desk.led(session_id)
    with pytest.raises(WrongAnswer, match="something else"):
        desk.tool.approve(session_id, "hanako", early)
    late = signed(desk, session_id)
    desk.tool.approve(session_id, "hanako", late)
    with pytest.raises(SessionOver):
        desk.tool.approve(session_id, "hanako", late)
    assert len(desk.ledger.runs.all()) == 1
    assert verify(desk.ledger) == []


@pytest.mark.req("IP-9")
def test_a_signature_of_before_the_last_change_counts_for_nothing(desk: Desk):
    session_id = desk.at_review()
    early, digest = signed(desk, session_id), desk.tool.request(session_id).digest
    desk.tool.fail(session_id, "it rained")
    desk.tool.resume(session_id)
    assert desk.tool.request(session_id).digest == digest, "the same words and the same plan"
    with pytest.raises(WrongAnswer, match="when nobody was asked"):
        desk.tool.approve(session_id, "hanako", early)


@pytest.mark.req("IP-9")
def test_a_clock_that_was_set_back(desk: Desk):
    session_id = desk.at_review()
    desk.workspace = desk.workspace.replace(clock=SteppingClock(datetime(2020, 1, 1, tzinfo=UTC)))
    desk.tool = type(desk.tool)(desk.workspace)
    desk.tool.approve(session_id, "hanako", signed(desk, session_id))
    assert verify(desk.ledger) == []


@pytest.mark.req("IP-9")
def test_its_approval_covers_exactly_what_its_run_got(desk: Desk):
    session_id = desk.at_review()
    assert desk.tool.approval(session_id) is None
    run_id = approved(desk, session_id)
    given = desk.tool.approval(session_id)
    assert given is not None
    assert given.spent_by == run_id
    run = desk.ledger.runs.get(run_id)
    with desk.ledger.transaction() as transaction:
        other = msgspec.structs.replace(run, instruction=f"{run.instruction} And more.")
        transaction.runs.save(other, NewEvent(EventKind.RUN_CREATED, Actor.SYSTEM))
    assert desk.tool.approval(session_id) is None


@pytest.mark.req("IP-9")
def test_a_cancelled_session_is_not_approved(desk: Desk):
    session_id = desk.at_review()
    approved(desk, session_id)
    desk.tool.cancel(session_id)
    assert len(desk.ledger.approvals.of(session_id)) == 1
    assert desk.tool.approval(session_id) is None


@pytest.mark.req("IP-9")
def test_an_approval_put_into_the_ledger_is_refused(desk: Desk):
    session_id = desk.at_review()
    approved(desk, session_id)
    desk.ledger.database.execute("UPDATE approvals SET document = replace(document, 'hanako', 'tarou')")
    with pytest.raises(NotProven, match="the log knows nothing of it"):
        desk.tool.approval(session_id)


@pytest.mark.req("IP-2")
def test_cancelling_what_was_approved_and_failed_takes_its_run_along(desk: Desk):
    session_id = desk.at_review()
    run_id = approved(desk, session_id)
    desk.tool.fail(session_id, "it rained")
    desk.tool.cancel(session_id)
    assert desk.ledger.runs.get(run_id).phase is RunPhase.CANCELLED
    assert verify(desk.ledger) == []


@pytest.mark.req("IP-2")
def test_cancelling_if_the_run_is_lost(desk: Desk):
    session_id = desk.at_review()
    approved(desk, session_id)
    desk.ledger.database.execute("DELETE FROM runs")
    assert desk.tool.cancel(session_id).status is SessionStatus.CANCELLED


def test_a_run_that_began_meanwhile_is_not_cancelled(tmp_path: Path, desk: Desk):
    session_id = desk.at_review()
    run_id = approved(desk, session_id)
    runner = Desk(tmp_path / "state")

    def begin() -> None:
        with runner.ledger.transaction() as transaction:
            begun = msgspec.structs.replace(runner.ledger.runs.get(run_id), phase=RunPhase.EXECUTING)
            transaction.runs.save(begun, NewEvent(EventKind.RUN_CREATED, Actor.SYSTEM))

    clock = InterruptingClock(desk.workspace.clock, begin)
    with pytest.raises(SessionOver):
        PlanningTool(desk.workspace.replace(clock=clock)).cancel(session_id)
    assert desk.ledger.runs.get(run_id).phase is RunPhase.EXECUTING
    assert desk.tool.view(session_id).status is SessionStatus.APPROVED


@pytest.mark.req("IP-14")
def test_going_on_puts_right_first_and_leaves_no_question_out(desk: Desk):
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    stored = desk.tool.get(session_id)
    wrong = msgspec.structs.replace(stored.session, status=SessionStatus.DESIGN)
    event = NewEvent(EventKind.SESSION_ANSWERED, Actor.USER)
    with desk.ledger.transaction() as transaction:
        transaction.sessions.save(stored, wrong, stored.facts, event)
    view = desk.tool.go_on(session_id)
    assert isinstance(view.pending, QuestionPending)
    assert [prompt.purpose for prompt in desk.model.asked] == [Purpose.DISCOVERY]


def test_an_error_with_half_a_character(tmp_path: Path):
    desk = Desk(tmp_path / "state", ScriptedModel(discovery=ModelDeclined(model="m", why="\ud800")))
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(SessionFailed):
        desk.tool.go_on(session_id)
    assert "\\ud800" in (desk.tool.get(session_id).session.error_message or "")


@pytest.mark.req("PP-17")
def test_a_secret_that_is_cut_in_two_is_masked_in_the_log(tmp_path: Path):
    error = ModelDeclined(model="m", why="no")
    error.exchanges = (Exchange("x" * (65_536 - 9) + "hunter2hunter2", "y" * 65_530 + "hunter2hunter2 z"),)
    desk = Desk(tmp_path / "state", ScriptedModel(discovery=error))
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(SessionFailed):
        desk.tool.go_on(session_id)
    desk.tool.resume(session_id)
    log = "".join(entry.text for entry in desk.ledger.sessions.logs(session_id))
    assert "characters more" in log
    assert "hunter" not in log


@pytest.mark.req("IP-13")
def test_two_who_let_the_model_work_at_once_pay_once(tmp_path: Path):
    begun, go = threading.Event(), threading.Event()

    def slowly(_: Any) -> Any:
        begun.set()
        assert go.wait(60)
        return ScriptedModel().words[Purpose.DISCOVERY]

    def working_on(wait_sec: float) -> Any:
        return lambda session_id: PassingLock(tmp_path / f"{session_id}.lock", wait_sec)("planning")

    Desk(tmp_path / "state").ledger.close()
    model = ScriptedModel(discovery=slowly)
    first, second = (Desk(tmp_path / "state", model, working_on=working_on(10)) for _ in range(2))
    hasty = Desk(tmp_path / "state", model, working_on=working_on(0))
    session_id = first.tool.start("Add a login").session_id
    views: list[Any] = []
    threads = [
        threading.Thread(target=lambda desk=desk: views.append(desk.tool.go_on(session_id)))
        for desk in (first, second)
    ]
    for thread in threads:
        thread.start()
    assert begun.wait(60)
    with pytest.raises(Busy, match="planning") as caught:
        hasty.tool.go_on(session_id)
    assert not isinstance(caught.value, SessionRace)
    go.set()
    for thread in threads:
        thread.join(PATIENCE_SEC)
    assert [view.pending.number for view in views] == [1, 1]
    assert len(model.asked) == 1
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.req("IP-8")
def test_what_an_agent_chose_says_so_in_what_is_approved(tmp_path: Path):
    desk = Desk(tmp_path / "state", ScriptedModel())
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    while isinstance(desk.tool.view(session_id).pending, QuestionPending):
        desk.tool.answer(session_id, "yes")
        desk.tool.go_on(session_id)
    desk.tool.decide(session_id, "1", "it is simple", actor=Actor.AI)
    decided = desk.tool.get(session_id).session.decisions[0]
    assert decided.rationale == "Chosen by the agent: it is simple"
    desk.tool.go_on(session_id)
    while isinstance(desk.tool.view(session_id).pending, DecisionPending):
        desk.tool.decide(session_id, "1", actor=Actor.AI)
        desk.tool.go_on(session_id)
    instruction = build_enhanced_instruction(desk.tool.get(session_id).session)
    assert instruction.count("Chosen by the agent") == len(desk.tool.get(session_id).session.decisions)
