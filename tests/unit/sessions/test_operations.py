"""Changes of the session's document, one by one, without a store and without a model."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from ringi.engine.instruction import language_of
from ringi.errors import BadAnswer, BadInstruction, BadTransition
from ringi.models.prompt import NewDecisions, NewQuestions, NewRevision, QuestionType
from ringi.sessions import operations
from ringi.sessions.document import Question, SessionFacts, SessionStatus
from ringi.sessions.operations import SessionState, is_consistent, pending, repair_position
from tests.fakes.models import DECISIONS, QUESTIONS
from tests.tables import each

NOW = "2026-01-01T00:00:00.000000Z"
ID = "planning-00000000-0000-4000-8000-000000000001"


def begun(instruction: str = "Add a login") -> SessionState:
    return operations.begin(ID, instruction, SessionFacts(), NOW)


def asked() -> SessionState:
    return operations.set_questions(begun(), msgspec.convert(QUESTIONS, NewQuestions), NOW)


def designed() -> SessionState:
    state = asked()
    for _ in range(3):
        state = operations.answer_question(state, "yes", NOW)
    return operations.set_decisions(state, msgspec.convert(DECISIONS, NewDecisions), NOW)


def in_review() -> SessionState:
    state = designed()
    for _ in range(2):
        state = operations.decide(state, "opt-a", "", NOW)
    return operations.set_summary(state, "# Summary", NOW)


@each("instruction", ["", " \n\t", "x" * 50_001, "half a \ud800 character"])
def test_an_instruction_that_is_none(instruction: str):
    with pytest.raises(BadInstruction) as caught:
        begun(instruction)
    assert caught.value.exit_code == 6


@pytest.mark.req("IP-3", "IP-7")
def test_questions_get_ids_and_stand_in_the_conversation():
    session = asked().session
    assert [question.id for question in session.questions] == ["q-1", "q-2", "q-3"]
    assert session.questions[0].options == ("password", "token")
    assert session.questions[1].options is UNSET
    assert session.questions[1].context == "it decides the order"
    assert [(message.role, message.content) for message in session.conversation_history] == [
        ("user", "Add a login"),
        ("assistant", "q-1: Which logins?"),
        ("assistant", "q-2: What matters most?"),
        ("assistant", "q-3: Which part?"),
    ]


@pytest.mark.req("IP-2")
def test_without_questions_design_is_next():
    state = operations.set_questions(begun(), NewQuestions(()), NOW)
    assert state.session.status is SessionStatus.DESIGN


@each(
    ("text", "answer"),
    [
        ("password", "password"),
        ("PASSWORD ", "password"),
        ("2", "token"),
        ("3", "3"),
        ("0", "0"),
        ("both of them\nand a key", "both of them\nand a key"),
        ("²", "²"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_an_option_by_its_words_or_its_number_or_something_else(text: str, answer: str):
    assert operations.answer_question(asked(), text, NOW).session.questions[0].answer == answer


def test_the_words_of_an_option_come_before_its_number():
    raw = {"questions": [{"type": "technical", "question": "How many?", "options": ["2", "1"]}]}
    found = msgspec.convert(raw, NewQuestions)
    state = operations.set_questions(begun(), found, NOW)
    assert operations.answer_question(state, "1", NOW).session.questions[0].answer == "1"


@each("text", ["", "  ", "x" * 10_001, "\udcff"])
def test_what_is_no_answer(text: str):
    with pytest.raises(BadAnswer):
        operations.answer_question(asked(), text, NOW)


@pytest.mark.req("IP-10")
def test_a_skipped_question_keeps_no_answer_and_is_not_asked_again():
    state = operations.skip_question(asked(), NOW)
    question = state.session.questions[0]
    assert (question.answer, question.answered_at, question.skipped) == (None, NOW, True)
    assert state.session.current_question_index == 1
    assert is_consistent(state.session)


@pytest.mark.req("IP-2", "IP-4")
def test_all_answers_then_all_decisions():
    state = asked()
    for _ in range(3):
        assert state.session.status is SessionStatus.DISCOVERY
        state = operations.answer_question(state, "yes", NOW)
    assert state.session.status is SessionStatus.DESIGN
    session = in_review().session
    assert session.status is SessionStatus.REVIEW
    assert [point.selected_option_id for point in session.decisions] == ["opt-a", "opt-a"]
    assert session.design_summary == "# Summary"


@each("given", ["opt-b", "OPT-B", "b", "2", "Table", "table"])
def test_an_option_of_a_decision_by_any_of_its_names(given: str):
    state = operations.decide(designed(), given, " because ", NOW)
    point = state.session.decisions[0]
    assert (point.selected_option_id, point.rationale, point.decided_at) == ("opt-b", "because", NOW)


@each("given", ["0000000011", "000000001" + "1" * 5000, "01", "0", "-1", "3", "٢"])
def test_a_number_that_is_none_of_the_options_is_an_answer_in_words(given: str):
    assert operations.answer_question(asked(), given, NOW).session.questions[0].answer == given


def test_many_options_and_names_that_look_like_numbers():
    state = designed()
    [first, *others] = state.session.decisions
    [one, *_] = first.options
    names = [("2", "1"), ("1", "b"), *((f"O-{number}", f"n{number}") for number in range(40))]
    options = tuple(msgspec.structs.replace(one, id=id_, name=name) for id_, name in names)
    state = state.with_session(decisions=(msgspec.structs.replace(first, options=options), *others))

    def chosen(given: str) -> str | None:
        return operations.decide(state, given, "", NOW).session.decisions[0].selected_option_id

    assert [chosen(given) for given in ("2", "1", "a", "B", "o-39", "42", "N7")] == [
        "2", "1", "2", "1", "O-39", "O-39", "O-7",
    ]  # fmt: skip


@each("given", ["", "opt-c", "3", "c", "Tables"])
def test_no_such_option(given: str):
    with pytest.raises(BadAnswer, match="opt-a, opt-b"):
        operations.decide(designed(), given, "", NOW)


def test_one_recommendation_and_no_decision_without_a_topic():
    option = {"description": "d", "pros": ["p"], "cons": ["c"], "recommendation": True}
    raw = {
        "decisions": [
            {"topic": "A", "options": [{"name": "X", **option}, {"name": "Y", **option}]},
            {"topic": " ", "options": [{"name": "X", **option}, {"name": "Y", **option}]},
        ]
    }
    [only] = operations.set_decisions(asked(), msgspec.convert(raw, NewDecisions), NOW).session.decisions
    assert [option.recommendation for option in only.options] == [True, UNSET]


@pytest.mark.req("IP-2")
def test_after_a_reject_the_model_says_what_changes_and_the_third_is_the_end():
    state = in_review()
    for count in (1, 2):
        state = operations.reject(state, f"no {count}", NOW)
        session = state.session
        assert (session.status, session.reject_count) == (SessionStatus.DESIGN, count)
        assert (session.current_decision_index, session.design_summary) == (0, None)
        assert pending(state).purpose == "revision"  # type: ignore[union-attr]
        state = operations.revise_decisions(state, NewRevision(), NOW)
        state = operations.set_summary(state, "again", NOW)
    state = operations.reject(state, "no 3", NOW)
    assert (state.session.status, state.session.reject_count) == (SessionStatus.CANCELLED, 3)
    assert state.facts.feedback == ("no 1", "no 2", "no 3")


def test_back_leads_through_decisions_to_questions_and_no_further():
    state = in_review()
    places = []
    for _ in range(5):
        state = operations.go_back(state)
        due = pending(state)
        places.append(due.decision.id if hasattr(due, "decision") else due.question.id)  # type: ignore[union-attr]
    assert places == ["d-2", "d-1", "q-3", "q-2", "q-1"]
    with pytest.raises(BadAnswer, match="nothing before"):
        operations.go_back(state)


def test_another_answer_makes_the_decisions_anew_and_the_same_one_does_not():
    state = operations.go_back(designed())
    same = operations.answer_question(state, "yes", NOW)
    assert (same.facts.designed, len(same.session.decisions)) == (True, 2)
    other = operations.answer_question(state, "no", NOW)
    assert (other.facts.designed, other.session.decisions) == (False, ())


@pytest.mark.req("IP-2", "IP-12")
@each("at", [begun, asked, designed, in_review])
def test_failed_from_any_phase_and_back_again(at: Any):
    state = at()
    broken = operations.fail(state, "it rained")
    assert (broken.session.status, broken.session.error_message) == (SessionStatus.FAILED, "it rained")
    assert operations.resume(broken) == state
    assert operations.cancel(broken).session.status is SessionStatus.CANCELLED


def test_what_failed_cannot_fail_again_and_forgets_nothing():
    broken = operations.fail(asked(), "it rained")
    with pytest.raises(BadTransition):
        operations.fail(broken, "it snowed")
    with pytest.raises(BadTransition):
        operations.fail(operations.cancel(asked()), "too late")
    assert operations.fail(asked(), "\ud800").session.error_message == "\\ud800"


def test_a_step_back_resumes_what_failed():
    state = operations.go_back(operations.fail(operations.answer_question(asked(), "yes", NOW), "it rained"))
    assert (state.session.status, state.session.current_question_index) == (SessionStatus.DISCOVERY, 0)
    assert (state.session.error_message, state.facts.failed_in) == (None, None)


@pytest.mark.req("IP-14")
@each("end", [SessionStatus.CANCELLED, SessionStatus.APPROVED, SessionStatus.FAILED])
def test_what_has_ended_is_not_put_right(end: SessionStatus):
    state = in_review().with_session(status=end, current_question_index=99)
    assert repair_position(state) == state


@pytest.mark.req("IP-16")
def test_a_review_without_a_summary_is_design_again():
    state = in_review().with_session(design_summary=None)
    assert repair_position(state).session.status is SessionStatus.DESIGN
    assert operations.set_summary(designed(), "  ", NOW).session.status is SessionStatus.DESIGN


@pytest.mark.req("IP-14")
@given(
    status=st.sampled_from([SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.REVIEW]),
    asked_at=st.integers(0, 6),
    decided_at=st.integers(0, 5),
    answers=st.lists(st.sampled_from(["answered", "skipped", "open"]), max_size=4),
    choices=st.lists(st.sampled_from(["opt-a", "opt-z", None]), max_size=3),
    summary=st.sampled_from([None, "", "done"]),
)
def test_whatever_the_position_no_answer_is_lost_and_it_can_go_on(
    status: SessionStatus,
    asked_at: int,
    decided_at: int,
    answers: list[str],
    choices: list[str | None],
    summary: str | None,
):
    questions = tuple(
        Question(
            id=f"q-{number}",
            type=QuestionType.SCOPE,
            question="?",
            answer="a" if kind == "answered" else None,
            answered_at=None if kind == "open" else NOW,
        )
        for number, kind in enumerate(answers, 1)
    )
    template = designed().session.decisions[0]
    decisions = tuple(
        msgspec.structs.replace(template, id=f"d-{number}", selected_option_id=choice)
        for number, choice in enumerate(choices, 1)
    )
    state = begun().with_session(
        status=status,
        questions=questions,
        decisions=decisions,
        current_question_index=asked_at,
        current_decision_index=decided_at,
        design_summary=summary,
    )
    right = repair_position(state)
    session = right.session
    assert [question.answer for question in session.questions] == [question.answer for question in questions]
    assert is_consistent(session)
    assert session.status is not SessionStatus.REVIEW or session.design_summary
    assert repair_position(right) == right
    if not is_consistent(state.session):
        assert session.status is SessionStatus.DISCOVERY
    pending(right)


@each(
    ("text", "language"),
    [
        ("Add a login", "en"),
        ("認証機能を追加", "ja"),
        ("ログイン", "ja"),
        ("Añade 日本", "ja"),
        ("", "en"),
        ("Rename the button 保存 in the toolbar of the editor", "en"),
        ("APIのrate limitを追加", "ja"),
        ("…", "en"),
    ],
)
def test_language(text: str, language: str):
    assert language_of(text) == language
