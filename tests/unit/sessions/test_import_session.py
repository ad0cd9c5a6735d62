"""Sessions from files that anybody can write: cut short, edited, or made to do harm."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi.app.integrity import verify
from ringi.errors import BadDocument
from ringi.kernel import codec
from ringi.models.usage import Purpose
from ringi.sessions.document import ApprovalPending, FailedPending, SessionStatus, WorkPending
from ringi.sessions.import_session import describe_changes
from tests.fakes.models import DECISIONS, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state")


def taken(desk: Desk, session_id: str, **changes: Any) -> Any:
    session = msgspec.structs.replace(desk.tool.get(session_id).session, **changes)
    return desk.tool.take_in(codec.pretty(session), "a file")


@pytest.mark.req("IP-14")
def test_one_that_was_cancelled_stays_so_wherever_it_stands(desk: Desk):
    view = taken(desk, desk.at_review(), status="cancelled", current_question_index=99)
    assert view.status is SessionStatus.CANCELLED


@pytest.mark.req("IP-12", "IP-14")
def test_one_that_failed_is_put_right_when_it_is_resumed(desk: Desk):
    session_id = desk.at_review()
    view = taken(desk, session_id, status="failed", error_message="why", current_question_index=99)
    assert view.pending == FailedPending("why")
    resumed = desk.tool.resume(view.session_id)
    assert (resumed.status, resumed.pending) == (SessionStatus.DISCOVERY, WorkPending(Purpose.DESIGN))
    after = desk.tool.get(view.session_id).session
    assert after.error_message is None
    assert after.questions == desk.tool.get(session_id).session.questions


def test_one_that_failed_in_design_without_questions_asks_none_again(desk: Desk):
    changes = {"questions": (), "current_question_index": 0, "design_summary": None}
    view = taken(desk, desk.at_review(), status="failed", **changes)
    assert desk.tool.resume(view.session_id).status is SessionStatus.DESIGN


@pytest.mark.req("IP-2")
def test_after_a_reject_the_feedback_is_worked_in(desk: Desk):
    session_id = desk.at_review()
    desk.tool.reject(session_id, "not so\nlarge")
    view = taken(desk, session_id)
    assert view.pending == WorkPending(Purpose.REVISION)
    assert desk.tool.get(view.session_id).facts.feedback == ("not so\nlarge",)
    assert isinstance(desk.tool.go_on(view.session_id).pending, ApprovalPending)
    assert "not so\nlarge" in [material.text for material in desk.model.asked[-2].material]


def test_decisions_half_way_after_a_reject_stay(desk: Desk):
    desk.model.words[Purpose.REVISION] = {"added": DECISIONS["decisions"]}
    session_id = desk.at_review()
    desk.tool.reject(session_id, "no")
    desk.tool.go_on(session_id)
    desk.tool.decide(session_id, "b", "better")
    view = taken(desk, session_id)
    assert view.pending == desk.tool.view(session_id).pending
    assert view.pending.number == 4


@pytest.mark.req("IP-14")
def test_a_position_that_was_lost_after_a_reject_loses_no_decision(desk: Desk):
    session_id = desk.at_review()
    desk.tool.reject(session_id, "no")
    desk.led(session_id)
    view = taken(desk, session_id, current_question_index=0)
    asked = [prompt.purpose for prompt in desk.model.asked]
    assert isinstance(desk.tool.go_on(view.session_id).pending, ApprovalPending)
    assert [prompt.purpose for prompt in desk.model.asked] == [*asked, Purpose.REVIEW]
    decisions = desk.tool.get(session_id).session.decisions
    assert desk.tool.get(view.session_id).session.decisions == decisions


def test_a_decision_without_options_is_drawn_up_anew(desk: Desk):
    session_id = desk.at_review()
    [first, *others] = desk.tool.get(session_id).session.decisions
    empty = msgspec.structs.replace(first, options=())
    view = taken(desk, session_id, decisions=(empty, *others))
    desk.led(view.session_id)
    assert isinstance(desk.tool.view(view.session_id).pending, ApprovalPending)


def test_an_empty_summary_is_none(desk: Desk):
    view = taken(desk, desk.at_review(), design_summary="")
    assert (view.status, view.pending) == (SessionStatus.DESIGN, WorkPending(Purpose.REVIEW))


def test_an_instruction_that_no_session_could_begin_with(desk: Desk):
    session_id = desk.at_review()
    for instruction, why in ((" \n", "no instruction"), ("x" * 50_001, "50001 characters")):
        with pytest.raises(BadDocument, match=why):
            taken(desk, session_id, instruction=instruction)


def test_a_file_whose_name_is_no_text(desk: Desk):
    data = codec.pretty(desk.tool.get(desk.at_review()).session)
    desk.tool.take_in(data, "\udcff.json")
    assert [*desk.ledger.events()][-1].event.reason == "\\udcff.json"
    assert verify(desk.ledger) == []


@pytest.mark.req("IP-15")
@pytest.mark.parametrize(("count", "moved"), [(99, 0), (100, 0), (101, 1), (5_000, 4_900)])
def test_the_newest_hundred_messages_stay(desk: Desk, count: int, moved: int):
    session_id = desk.at_review()
    [message, *_] = desk.tool.get(session_id).session.conversation_history
    history = tuple(msgspec.structs.replace(message, content=f"no. {number}") for number in range(count))
    view = taken(desk, session_id, conversation_history=history)
    kept = desk.tool.get(view.session_id).session
    assert kept.conversation_history == history[-100:]
    text = "".join(entry.text for entry in desk.ledger.sessions.logs(view.session_id))
    assert text.count("user: no. ") == moved
    assert (kept.discovery_log_path is not None) == bool(moved)


def test_what_is_other_than_in_the_file_is_told(desk: Desk):
    file = desk.tool.get(desk.at_review()).session

    def told(**after: Any) -> list[str]:
        return [str(change) for change in describe_changes(file, msgspec.structs.replace(file, **after))]

    assert told() == []
    [new] = told(session_id="planning-12345678-0000-4000-8000-000000000000")
    assert new.endswith("it is planning-12345678 now")
    for moved in ({"status": "design"}, {"current_question_index": 0}, {"current_decision_index": 0}):
        assert ["its position" in words for words in told(**moved)] == [True]
    approved = msgspec.structs.replace(file, status=SessionStatus.APPROVED)
    assert ["approval" in str(change) for change in describe_changes(approved, file)] == [True]
