"""What can be done to a session, as changes of the document: no store, no model, no clock."""

from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from ringi.domain.model_output import NewDecision, NewDecisions, NewQuestions
from ringi.domain.session import (
    MOST_REJECTS,
    SESSION_MACHINE,
    DecisionPoint,
    DesignOption,
    PlanningSession,
    Question,
    Role,
    SessionFacts,
    SessionStatus,
    Tradeoffs,
    short,
)
from ringi.errors import BadAnswer, BadInstruction
from ringi.planning.position import put_right
from ringi.planning.state import State, writable
from ringi.text import Text

LONGEST_INSTRUCTION: Final = 50_000
LONGEST_ANSWER: Final = 10_000
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_SKIPPED: Final = "(skipped)"
APPROVED_WORDS: Final = "(approved)"


def begun(session_id: str, instruction: str, facts: SessionFacts, now: str) -> State:
    words = instruction.strip()
    if why := unfit(words, LONGEST_INSTRUCTION):
        raise BadInstruction(why=why)
    session = PlanningSession(
        session_id=session_id,
        instruction=words,
        status=SessionStatus.DISCOVERY,
        questions=(),
        decisions=(),
        design_summary=None,
        conversation_history=(),
        planner_session_id=None,
        created_at=now,
        updated_at=now,
    )
    return State(session, facts).said(Role.USER, words, now)


def questioned(state: State, found: NewQuestions, now: str) -> State:
    """The questions stand; without any, design is next."""
    asked = [new for new in found.questions if new.question.strip()]
    questions = tuple(
        Question(
            id=f"q-{number}",
            type=new.type,
            question=new.question.strip(),
            context=new.context.strip() or UNSET,
            options=tuple(dict.fromkeys(option.strip() for option in new.options if option.strip())) or UNSET,
        )
        for number, new in enumerate(asked, 1)
    )
    state = state.with_(questions=questions, current_question_index=0)
    for question in questions:
        state = state.said(Role.ASSISTANT, f"{question.id}: {question.question}", now)
    return state if questions else state.moved(SessionStatus.DESIGN)


def answered(state: State, text: str, now: str) -> State:
    """Takes the question that is asked now: the words of an option, its number, or words of one's own."""
    session = state.session
    question = session.questions[session.current_question_index]
    words = text.strip()
    if why := unfit(words, LONGEST_ANSWER):
        raise BadAnswer(asked=question.id, why=why, session=short(session.session_id))
    return _dealt_with(state, replace(question, answer=_chosen(question, words), answered_at=now), now)


def skipped(state: State, now: str) -> State:
    question = state.session.questions[state.session.current_question_index]
    return _dealt_with(state, replace(question, answer=None, answered_at=now), now)


def _chosen(question: Question, words: str) -> str:
    options = question.options or ()
    for option in options:
        if option.casefold() == words.casefold():
            return option
    numbered = {str(number): option for number, option in enumerate(options, 1)}
    return numbered.get(words, words)


def _dealt_with(state: State, question: Question, now: str) -> State:
    session = state.session
    at = session.current_question_index
    before = session.questions[at]
    if before.done and before.answer != question.answer:
        # What was drawn up rests on another answer.
        state = state.knowing(designed=False).with_(decisions=(), current_decision_index=0)
    questions = (*session.questions[:at], question, *session.questions[at + 1 :])
    said = question.answer if question.answer is not None else _SKIPPED
    state = state.said(Role.USER, f"{question.id}: {said}", now)
    state = state.with_(questions=questions, current_question_index=at + 1)
    return state.moved(SessionStatus.DESIGN) if at + 1 == len(questions) else state


def designed(state: State, found: NewDecisions, now: str) -> State:
    """Decision points, in place of all earlier ones; there may be none."""
    drawn = [new for new in found.decisions if new.topic.strip()]
    decisions = tuple(_decision(number, new) for number, new in enumerate(drawn, 1))
    state = state.moved(SessionStatus.DESIGN).knowing(designed=True)
    state = state.with_(decisions=decisions, current_decision_index=0, design_summary=None)
    for decision in decisions:
        names = " / ".join(option.name for option in decision.options)
        state = state.said(Role.ASSISTANT, f"{decision.id}: {decision.topic}: {names}", now)
    return state


def _decision(number: int, new: NewDecision) -> DecisionPoint:
    recommended = next((option for option in new.options if option.recommendation), None)
    return DecisionPoint(
        id=f"d-{number}",
        topic=new.topic.strip(),
        options=tuple(
            DesignOption(
                id=f"opt-{letter}",
                name=option.name.strip(),
                description=option.description.strip(),
                tradeoffs=Tradeoffs(option.pros, option.cons),
                recommendation=True if option is recommended else UNSET,
            )
            for letter, option in zip(_LETTERS, new.options, strict=False)
        ),
    )


def decided(state: State, given: str, rationale: str, now: str) -> State:
    """The option by its id, its letter, its number or its name."""
    session = state.session
    at = session.current_decision_index
    decision = session.decisions[at]
    name = short(session.session_id)
    option = _option(decision, given.strip())
    if option is None:
        known = ", ".join(option.id for option in decision.options)
        why = Text("{given} is none of its options: {known}", given=given.strip()[:40], known=known)
        raise BadAnswer(asked=decision.id, why=why, session=name)
    reason = rationale.strip()
    if reason and (why_not := unfit(reason, LONGEST_ANSWER)):
        raise BadAnswer(asked=decision.id, why=why_not, session=name)
    made = replace(decision, selected_option_id=option.id, rationale=reason or None, decided_at=now)
    said = f"{decision.id}: {option.name}" + (f" ({reason})" if reason else "")
    decisions = (*session.decisions[:at], made, *session.decisions[at + 1 :])
    return state.said(Role.USER, said, now).with_(decisions=decisions, current_decision_index=at + 1)


def _option(decision: DecisionPoint, given: str) -> DesignOption | None:
    options = decision.options
    numbers = [str(number) for number in range(1, len(options) + 1)]
    # An id before all else: by it scripts choose.
    for names in ([option.id for option in options], numbers, _LETTERS, [option.name for option in options]):
        for name, option in zip(names, options, strict=False):
            if name.casefold() == given.casefold() != "":
                return option
    return None


def back(state: State) -> State:
    """One step: what was answered there stays until something else is."""
    state = resumed(state)
    session = state.session
    in_review = session.status is SessionStatus.REVIEW
    decided_before = len(session.decisions) if in_review else session.current_decision_index
    in_discovery = session.status is SessionStatus.DISCOVERY
    if decided_before and state.facts.designed and not in_discovery:
        state = state.with_(current_decision_index=decided_before - 1, design_summary=None)
        return state.moved(SessionStatus.DESIGN)
    asked = session.current_question_index
    if asked == 0:
        why = Text("there is nothing before it")
        raise BadAnswer(asked=Text("that"), why=why, session=short(session.session_id))
    state = state.with_(current_question_index=asked - 1, design_summary=None)
    return state.moved(SessionStatus.DISCOVERY)


def summarised(state: State, summary: str, now: str) -> State:
    """In review; with nothing to show for it, design stays (IP-16)."""
    words = summary.strip() or None
    state = state.with_(design_summary=words)
    if words is None:
        return state
    return state.moved(SessionStatus.REVIEW).said(Role.ASSISTANT, words, now)


def approved(state: State, run_id: str, now: str) -> State:
    return (
        state.said(Role.USER, APPROVED_WORDS, now)
        .with_(planner_session_id=run_id)
        .moved(SessionStatus.APPROVED)
    )


def rejected(state: State, feedback: str, now: str) -> State:
    """Decisions are made anew with the feedback; the third one is the end."""
    session = state.session
    words = feedback.strip()
    if why := unfit(words, LONGEST_ANSWER):
        raise BadAnswer(asked=Text("the summary"), why=why, session=short(session.session_id))
    count = session.reject_count + 1
    state = state.said(Role.USER, words, now).knowing(feedback=(*state.facts.feedback, words), designed=False)
    state = state.with_(reject_count=count, current_decision_index=0, design_summary=None)
    return state.moved(SessionStatus.CANCELLED if count >= MOST_REJECTS else SessionStatus.DESIGN)


def cancelled(state: State) -> State:
    return state.moved(SessionStatus.CANCELLED)


def failed(state: State, why: str) -> State:
    phase = state.session.status
    status = SESSION_MACHINE.advance(phase, SessionStatus.FAILED)
    return state.with_(status=status, error_message=writable(why)).knowing(failed_in=phase)


def resumed(state: State) -> State:
    """Where it stopped, put right."""
    if state.session.status is SessionStatus.FAILED:
        phase = state.facts.failed_in or _phase(state.session)
        state = state.moved(phase).with_(error_message=None).knowing(failed_in=None)
    return put_right(state)


def _phase(session: PlanningSession) -> SessionStatus:
    """Of a failed session that does not say where it failed."""
    if session.planner_session_id:
        return SessionStatus.APPROVED
    if session.design_summary:
        return SessionStatus.REVIEW
    questions = session.questions
    answered_all = bool(questions) and session.current_question_index == len(questions)
    return SessionStatus.DESIGN if session.decisions or answered_all else SessionStatus.DISCOVERY


def unfit(words: str, longest: int) -> Text | None:
    if not words:
        return Text("it is empty")
    if len(words) > longest:
        return Text("it has {count} characters, {most} are allowed", count=len(words), most=longest)
    if any("\ud800" <= c <= "\udfff" for c in words):
        return Text("it is not UTF-8")
    return None
