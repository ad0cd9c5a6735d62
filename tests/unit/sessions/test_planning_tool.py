"""Whole sessions on a real ledger, with a model whose words are written down."""

import sqlite3
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi.app.integrity import verify
from ringi.app.store import Store
from ringi.approvals.document import TypedAnswer
from ringi.engine.run_state import RunPhase
from ringi.errors import (
    BadAnswer,
    BadDocument,
    ModelRejected,
    NewerVersion,
    NoChannel,
    NotAsked,
    NotFound,
    SessionFailed,
    SessionOver,
    SessionRace,
    StorageFailed,
    UnknownModel,
    WrongAnswer,
)
from ringi.kernel import codec
from ringi.models.prompt import Exchange, ModelProgress
from ringi.models.usage import Purpose, TokenUsage
from ringi.sessions.approve import build_enhanced_instruction
from ringi.sessions.document import (
    MOST_MESSAGES,
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    FailedPending,
    PlanningSession,
    QuestionPending,
    SessionStatus,
    WorkPending,
)
from ringi.sessions.tool import PlanningTool
from tests.fakes.models import Desk, ScriptedModel
from tests.fakes.people import AgentAtWork, InterruptingClock, NoTerminal


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "state")


def yes(desk: Desk, session_id: str) -> TypedAnswer:
    return TypedAnswer(desk.tool.request(session_id).digest, "y")


@pytest.mark.req("IP-1", "IP-2", "IP-3", "IP-4", "IP-5", "IP-9")
def test_from_an_instruction_to_a_run(desk: Desk):
    started = desk.tool.start("Add a login")
    assert isinstance(started.pending, WorkPending)
    session_id = started.session_id
    assert isinstance(desk.tool.go_on(session_id).pending, QuestionPending)
    assert desk.tool.go_on(session_id).pending.number == 1, "nothing was due"
    for number in (1, 2, 3):
        view = desk.tool.answer(session_id, f"answer {number}", question_id=f"q-{number}")
    assert isinstance(view.pending, WorkPending)
    assert isinstance(desk.tool.go_on(session_id).pending, DecisionPending)
    desk.tool.decide(session_id, "opt-a", "simple", decision_id="d-1")
    desk.tool.decide(session_id, "2", decision_id="d-2")
    assert isinstance(desk.tool.go_on(session_id).pending, ApprovalPending)
    done = desk.tool.approve(session_id, "person", yes(desk, session_id))
    session = desk.tool.get(session_id).session
    assert isinstance(done.pending, ApprovedSession)
    assert session.planner_session_id == done.pending.run_id
    run = desk.ledger.runs.get(done.pending.run_id)
    assert (run.phase, run.planning_session_id) == (RunPhase.PLANNING, session_id)
    assert run.instruction == build_enhanced_instruction(session)
    approval = desk.ledger.approvals.of(session_id)[-1]
    assert approval.spent_by == run.run_id
    assert verify(desk.ledger) == []
    facts = desk.tool.get(session_id).facts
    assert facts.usage == TokenUsage(
        requests=3, input_tokens=300, output_tokens=60, cost_usd=1.5, duration_sec=0.75
    )


@pytest.mark.req("IP-9")
def test_only_a_person_approves_and_only_what_was_shown(tmp_path: Path):
    agent = Desk(tmp_path / "state", person=AgentAtWork())
    session_id = agent.at_review()
    with pytest.raises(NoChannel, match="agent"):
        agent.tool.approve(session_id, "person", yes(agent, session_id))
    desk = Desk(tmp_path / "state")
    with pytest.raises(WrongAnswer, match="something else"):
        desk.tool.approve(session_id, "person", TypedAnswer("0" * 64, "y"))
    with pytest.raises(WrongAnswer, match="no yes"):
        desk.tool.approve(session_id, "person", TypedAnswer(desk.tool.request(session_id).digest, "maybe"))
    before = yes(desk, session_id)
    desk.tool.reject(session_id, "not like this")
    desk.tool.go_on(session_id)
    desk.led(session_id)
    with pytest.raises(WrongAnswer, match="something else"):
        desk.tool.approve(session_id, "person", before)
    assert desk.ledger.runs.all() == []


@pytest.mark.req("IP-9")
def test_an_agent_neither_rejects_nor_cancels(tmp_path: Path, desk: Desk):
    agent = Desk(tmp_path / "state", person=AgentAtWork())
    session_id = agent.at_review()
    before = agent.tool.get(session_id)
    for act in (lambda: agent.tool.reject(session_id, "no"), lambda: agent.tool.cancel(session_id)):
        with pytest.raises(NoChannel, match="agent") as refused:
            act()
        assert "ringi plan --resume planning-" in str(refused.value.details["command"])
    assert agent.tool.get(session_id) == before


@pytest.mark.req("IP-2")
@pytest.mark.parametrize("failed", [False, True])
def test_what_was_approved_is_ended_only_where_a_person_is(tmp_path: Path, desk: Desk, failed: bool):
    script = Desk(tmp_path / "state", person=NoTerminal())
    rejected, session_id = desk.at_review(), desk.at_review()
    assert script.tool.reject(rejected, "no").status is SessionStatus.DESIGN
    assert script.tool.cancel(rejected).status is SessionStatus.CANCELLED
    desk.tool.approve(session_id, "person", yes(desk, session_id))
    if failed:
        desk.tool.fail(session_id, "it rained")
    with pytest.raises(NoChannel, match="terminal"):
        script.tool.cancel(session_id)
    assert desk.tool.cancel(session_id).status is SessionStatus.CANCELLED


@pytest.mark.req("IP-3")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("2", "token"),
        (" 02 ", "token"),
        ("２", "token"),  # noqa: RUF001
        ("3", None),
        ("0", None),
        ("00", None),
        ("9" * 9000, None),
        ("3 of them", "3 of them"),
        ("-1", "-1"),
        ("1.", "1."),
        ("①", "password"),
        ("²", "token"),
    ],
)
def test_a_bare_number_is_that_of_an_option(desk: Desk, typed: str, answer: str | None):
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    if answer is None:
        with pytest.raises(BadAnswer, match="its options are 1 to 2"):
            desk.tool.answer(session_id, typed)
    else:
        desk.tool.answer(session_id, typed)
    assert desk.tool.get(session_id).session.questions[0].answer == answer


@pytest.mark.req("IP-2")
def test_the_third_reject_cancels(desk: Desk):
    session_id = desk.at_review()
    for feedback in ("one", "two"):
        assert desk.tool.reject(session_id, feedback).status is SessionStatus.DESIGN
        desk.tool.go_on(session_id)
        desk.led(session_id)
    purposes = [prompt.purpose for prompt in desk.model.asked]
    assert (purposes.count(Purpose.DESIGN), purposes.count(Purpose.REVISION)) == (1, 2)
    assert isinstance(desk.tool.reject(session_id, "three").pending, CancelledSession)
    with pytest.raises(SessionOver):
        desk.tool.reject(session_id, "four")
    with pytest.raises(SessionOver):
        desk.tool.cancel(session_id)
    assert isinstance(desk.tool.go_on(session_id).pending, CancelledSession)


@pytest.mark.req("IP-2")
def test_cancelling_an_approved_session_takes_its_run_along(desk: Desk):
    session_id = desk.at_review()
    run_id = desk.tool.approve(session_id, "person", yes(desk, session_id)).pending.run_id
    assert isinstance(desk.tool.cancel(session_id).pending, CancelledSession)
    assert desk.ledger.runs.get(run_id).phase is RunPhase.CANCELLED
    assert verify(desk.ledger) == []


@pytest.mark.req("IP-12")
@pytest.mark.parametrize("phase", ["discovery", "design", "review"])
def test_a_model_that_fails_in_any_phase(tmp_path: Path, phase: str):
    error = ModelRejected(model="scripted:model", why="401, and the key is hunter2hunter2")
    error.exchanges = (Exchange("asked hunter2hunter2", "no, \nhunter2hunter2"), Exchange("again", " "))
    error.usage = TokenUsage(requests=1, input_tokens=7)
    model = ScriptedModel(**{phase: error})
    desk = Desk(tmp_path / "state", model)
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(SessionFailed) as caught:
        desk.led(session_id)
    assert "--resume planning-" in caught.value.hint.format_map(caught.value.details)
    stored = desk.tool.get(session_id)
    assert stored.session.status is SessionStatus.FAILED
    why = "scripted:model refused the call: 401, and the key is [masked] It said: no, [masked]"
    assert stored.session.error_message == why
    hint = caught.value.hint.format_map(caught.value.details)
    assert f"the log is .agent/logs/{session_id}/{phase}.log" in hint
    assert f"RINGI_MODEL=playbook ringi plan --resume {session_id[:17]}" in hint
    assert getattr(stored.session, f"{phase}_log_path") == f"logs/{session_id}/{phase}.log"
    log = "".join(entry.text for entry in desk.ledger.sessions.logs(session_id) if entry.phase == phase)
    assert "Traceback (most recent call last)" in log
    assert "ModelRejected" in log
    assert "hunter2" not in log
    assert stored.facts.usage.input_tokens % 100 == 7
    answers = [question.answer for question in stored.session.questions]
    model.words[Purpose(phase)] = ScriptedModel().words[Purpose(phase)]
    resumed = desk.tool.resume(session_id)
    assert not isinstance(resumed.pending, FailedPending)
    desk.tool.go_on(session_id)
    desk.led(session_id)
    after = desk.tool.get(session_id).session
    assert (after.status, after.error_message) == (SessionStatus.REVIEW, None)
    assert [question.answer for question in after.questions][: len(answers)] == answers


def test_a_model_that_cannot_be_had_leaves_everything_as_it_was(tmp_path: Path):
    def nowhere() -> Any:
        raise UnknownModel(model="openal:x", why="?")

    desk = Desk(tmp_path / "state", model=object())
    broken = Desk(tmp_path / "state", model=None)
    broken.workspace = broken.workspace.replace(model=nowhere)
    broken.tool = type(broken.tool)(broken.workspace)
    with pytest.raises(UnknownModel):
        broken.tool.start("Add a login")
    assert broken.tool.list() == []
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(UnknownModel):
        broken.tool.go_on(session_id)
    assert broken.tool.get(session_id).session.status is SessionStatus.DISCOVERY


@pytest.mark.req("IP-15")
def test_the_newest_messages_stay_and_older_ones_go_to_the_log(desk: Desk):
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    for number in range(120):
        desk.tool.answer(session_id, f"answer {number} hunter2hunter2")
        desk.tool.back(session_id)
    history = desk.tool.get(session_id).session.conversation_history
    assert len(history) == MOST_MESSAGES
    assert history[-1].content == "q-1: answer 119 hunter2hunter2"
    log = "".join(entry.text for entry in desk.ledger.sessions.logs(session_id))
    kept = {message.content for message in history}
    for number in range(120):
        words = f"q-1: answer {number} "
        assert (words + "hunter2hunter2" in kept) != (f"user: {words}[masked]" in log)
        # In a line of its own, with what it was about, whether or not everything is logged.
        assert (words + "hunter2hunter2" in kept) != (
            f"\nq-1 Which logins? → answer {number} [masked]" in log
        )
    assert "older messages of the conversation" in log


class FullDisk:
    """The ledger, on a disk that has no space for the next few transactions."""

    def __init__(self, ledger: Store) -> None:
        self._ledger = ledger
        self.failures = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def transaction(self) -> Any:
        if self.failures:
            self.failures -= 1
            raise StorageFailed(what="the ledger", why="No space left on device")
        return self._ledger.transaction()


@pytest.mark.req("IP-11")
def test_saving_is_tried_four_times_and_nothing_is_half_written(desk: Desk):
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    disk = FullDisk(desk.ledger)
    tool = PlanningTool(desk.workspace.replace(store=disk))
    disk.failures = 3
    assert tool.answer(session_id, "one").pending.number == 2
    assert len(desk.pauses) == 3
    disk.failures = 4
    with pytest.raises(StorageFailed, match="No space"):
        tool.answer(session_id, "two")
    assert desk.tool.view(session_id).pending.number == 2
    assert desk.tool.get(session_id).session.questions[1].answer is None


@pytest.mark.req("IP-13")
def test_two_on_one_session_and_nobody_overwrites_the_other(tmp_path: Path):
    first, second = Desk(tmp_path / "state"), Desk(tmp_path / "state")
    session_id = first.tool.start("Add a login").session_id
    first.tool.go_on(session_id)
    clock = InterruptingClock(second.workspace.clock, lambda: first.tool.answer(session_id, "by the first"))
    with pytest.raises(SessionRace) as caught:
        PlanningTool(second.workspace.replace(clock=clock)).answer(session_id, "by the second")
    assert caught.value.exit_code == 7
    assert first.tool.get(session_id).session.questions[0].answer == "by the first"
    with pytest.raises(NotAsked, match="q-2"):
        second.tool.answer(session_id, "late", question_id="q-1")


@pytest.mark.req("IP-13")
def test_ten_sessions_side_by_side(tmp_path: Path):
    Desk(tmp_path / "state").ledger.close()
    done: list[str] = []

    def lead(number: int) -> None:
        desk = Desk(tmp_path / "state")
        desk.workspace = desk.workspace.replace(sleep=lambda _: None)
        done.append(desk.at_review(f"instruction {number}"))
        desk.ledger.close()

    threads = [threading.Thread(target=lead, args=[number]) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    desk = Desk(tmp_path / "state")
    assert len(set(done)) == 10
    sessions = [desk.tool.get(session_id).session for session_id in done]
    assert {session.instruction for session in sessions} == {f"instruction {number}" for number in range(10)}
    assert {session.status for session in sessions} == {SessionStatus.REVIEW}
    assert verify(desk.ledger) == []


def test_what_is_not_asked_is_not_taken(desk: Desk):
    session_id = desk.tool.start("Add a login").session_id
    for call in (
        lambda: desk.tool.answer(session_id, "x"),
        lambda: desk.tool.skip(session_id),
        lambda: desk.tool.decide(session_id, "opt-a"),
        lambda: desk.tool.reject(session_id, "x"),
        lambda: desk.tool.approve(session_id, "person", TypedAnswer("", "y")),
        lambda: desk.tool.request(session_id).digest,
    ):
        with pytest.raises(NotAsked):
            call()
    with pytest.raises(NotFound) as caught:
        desk.tool.view("planning-ffffffff")
    assert "ringi plan --resume" in caught.value.hint.format_map(caught.value.details)


def written(desk: Desk, session_id: str, **changes: Any) -> bytes:
    session = desk.tool.get(session_id).session
    return codec.pretty(msgspec.structs.replace(session, **changes))


@pytest.mark.req("IP-14", "IP-17")
def test_a_file_comes_in_as_a_session_of_its_own(desk: Desk):
    session_id = desk.at_review()
    desk.tool.approve(session_id, "person", yes(desk, session_id))
    view = desk.tool.take_in(written(desk, session_id), "a file")
    assert view.session_id != session_id
    assert view.status is SessionStatus.REVIEW, "that it was approved is not believed"
    taken = desk.tool.get(view.session_id).session
    assert taken.planner_session_id is None
    assert [question.answer for question in taken.questions] == [
        "re Which logins?",
        "re What matters most?",
        "re Which part?",
    ]
    assert verify(desk.ledger) == []


@pytest.mark.req("IP-14")
def test_an_inconsistent_position_restarts_at_discovery_with_every_answer(desk: Desk):
    session_id = desk.at_review()
    data = written(desk, session_id, current_question_index=1, current_decision_index=2)
    view = desk.tool.take_in(data, "a file")
    assert view.status is SessionStatus.DISCOVERY
    asked = len(desk.model.asked)
    assert isinstance(desk.tool.go_on(view.session_id).pending, ApprovalPending)
    assert len(desk.model.asked) == asked + 1, "only the summary was asked for again"
    before, after = desk.tool.get(session_id).session, desk.tool.get(view.session_id).session
    assert after.questions == before.questions
    assert after.decisions == before.decisions


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda data: data[: len(data) // 2], BadDocument),
        (lambda data: b"", BadDocument),
        (lambda data: data.replace(b'"schemaVersion": 1', b'"schemaVersion": 2'), NewerVersion),
        (lambda data: data.replace(b'"planning-', b'"../../x-'), BadDocument),
        (lambda data: data.replace(b'"q-2"', b'"q-1"'), BadDocument),
        (lambda data: data.replace(b'"rejectCount": 0', b'"rejectCount": -1'), BadDocument),
        (lambda data: data.replace(b'"rejectCount"', b'"rejectcount"'), BadDocument),
    ],
)
def test_files_that_are_none(desk: Desk, change: Any, error: type[Exception]):
    data = written(desk, desk.at_review())
    with pytest.raises(error):
        desk.tool.take_in(change(data), "a file")
    assert len(desk.tool.list()) == 1


@pytest.mark.req("IP-7")
def test_the_document_has_the_fields_of_the_specification(desk: Desk):
    session = desk.tool.get(desk.at_review()).session
    raw = msgspec.json.decode(msgspec.json.encode(session))
    assert set(raw) == {
        "schemaVersion", "sessionId", "instruction", "status", "currentQuestionIndex", "currentDecisionIndex",
        "questions", "decisions", "designSummary", "conversationHistory", "rejectCount", "errorMessage",
        "plannerSessionId", "discoveryLogPath", "designLogPath", "reviewLogPath", "createdAt", "updatedAt",
    }  # fmt: skip
    assert set(raw["questions"][0]) == {"id", "type", "question", "options", "answer", "answeredAt"}
    assert set(raw["questions"][1]) == {"id", "type", "question", "context", "answer", "answeredAt"}
    assert set(raw["decisions"][0]) == {
        "id", "topic", "options", "selectedOptionId", "rationale", "decidedAt",
    }  # fmt: skip
    assert set(raw["decisions"][0]["options"][0]) == {
        "id", "name", "description", "tradeoffs", "recommendation",
    }  # fmt: skip
    assert "recommendation" not in raw["decisions"][0]["options"][1], "optional, not null"
    least = {name: raw[name] for name in (
        "sessionId", "instruction", "status", "questions", "decisions", "designSummary",
        "conversationHistory", "plannerSessionId", "createdAt", "updatedAt",
    )}  # fmt: skip
    read = msgspec.convert(least, PlanningSession)
    assert (read.current_question_index, read.current_decision_index, read.reject_count) == (0, 0, 0)


@pytest.mark.req("IP-14")
def test_a_position_that_was_tampered_with_is_put_right_on_resume(desk: Desk):
    session_id = desk.at_review()
    stored = desk.tool.get(session_id)
    wrong = msgspec.structs.replace(stored.session, current_question_index=99)
    desk.ledger.database.execute(
        "UPDATE sessions SET document = ? WHERE id = ?", (codec.canonical(wrong).decode(), session_id)
    )
    view = desk.tool.resume(session_id)
    assert view.status is SessionStatus.DISCOVERY
    assert desk.tool.get(session_id).session.questions == stored.session.questions
    assert isinstance(desk.ledger.database, sqlite3.Connection)


def test_a_call_that_is_interrupted_counts(tmp_path: Path):
    class Impatient(ScriptedModel):
        def ask(self, *given):
            given[-1](ModelProgress(1.0, 9, "", TokenUsage(requests=1, input_tokens=70, output_tokens=9)))
            raise KeyboardInterrupt

    desk = Desk(tmp_path / "state", Impatient())
    session_id = desk.tool.start("Add a login").session_id
    for count in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            desk.tool.go_on(session_id)
        stored = desk.tool.get(session_id)
        assert stored.facts.usage == TokenUsage(count, 70 * count, 9 * count)
        assert stored.session.status is SessionStatus.DISCOVERY
