"""What can be done to a session, as pure functions on the document: no store, no model, no clock."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ringi.engine.design import Design
from ringi.errors import BadAnswer, BadInstruction
from ringi.kernel.text import Text, writable
from ringi.ledger.subject import short
from ringi.models.prompt import (
    MOST_QUESTIONS,
    NewDecision,
    NewDecisions,
    NewQuestion,
    NewQuestions,
    NewRevision,
)
from ringi.models.usage import Purpose
from ringi.sessions.document import (
    MOST_REJECTS,
    SESSION_MACHINE,
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    ConversationMessage,
    DecisionPending,
    DecisionPoint,
    DesignOption,
    FailedPending,
    Pending,
    PlanningSession,
    Question,
    QuestionPending,
    Role,
    SessionFacts,
    SessionStatus,
    StoredSession,
    Tradeoffs,
    WorkPending,
)

ENDED: Final = {SessionStatus.APPROVED: Text("approved"), SessionStatus.CANCELLED: Text("cancelled")}


class SessionState(NamedTuple):
    session: PlanningSession
    facts: SessionFacts

    def with_session(self, **changes: Any) -> "SessionState":
        return self._replace(session=replace(self.session, **changes))

    def with_facts(self, **changes: Any) -> "SessionState":
        return self._replace(facts=replace(self.facts, **changes))

    def move_to(self, target: SessionStatus) -> "SessionState":
        """In another status; unchanged if it already has it."""
        current = self.session.status
        return (
            self if current is target else self.with_session(status=SESSION_MACHINE.advance(current, target))
        )

    def add_message(self, role: Role, content: str, now: str) -> "SessionState":
        """Adds a message to the conversation."""
        message = ConversationMessage(role=role, phase=self.session.status, content=content, created_at=now)
        return self.with_session(conversation_history=(*self.session.conversation_history, message))


def state_of(stored: StoredSession) -> SessionState:
    return SessionState(stored.session, stored.facts)


def pending(state: SessionState) -> Pending:
    """What follows from the two documents; instead of a model an agent may be next."""
    session, facts = state
    due = _due(state)
    if not (facts.agent_brings and isinstance(due, WorkPending)):
        return due
    return AgentPending(due.purpose, session.questions, session.decisions, facts.feedback, facts.rejected)


def _due(state: SessionState) -> Pending:
    session = state.session
    match session.status:
        case SessionStatus.DISCOVERY:
            return _in_discovery(state)
        case SessionStatus.DESIGN:
            return _in_design(state)
        case SessionStatus.REVIEW:
            if not session.design_summary:
                return WorkPending(Purpose.REVIEW)
            left = max(0, MOST_REJECTS - session.reject_count)
            facts = state.facts
            return ApprovalPending(
                session.design_summary, left, facts.run_plan or UNSET, facts.forge or UNSET
            )
        case SessionStatus.FAILED:
            return FailedPending(session.error_message or "")
        case SessionStatus.APPROVED:
            return ApprovedSession(session.planner_session_id or "")
        case SessionStatus.CANCELLED:
            return CancelledSession()


def _in_discovery(state: SessionState) -> Pending:
    session = state.session
    if not session.questions:
        return WorkPending(Purpose.DISCOVERY)
    at, count = session.current_question_index, len(session.questions)
    if at >= count:
        return WorkPending(_design_purpose(state))
    return QuestionPending(session.questions[at], at + 1, count)


def _in_design(state: SessionState) -> Pending:
    session = state.session
    if not state.facts.designed:
        return WorkPending(_design_purpose(state))
    at, count = session.current_decision_index, len(session.decisions)
    if at >= count:
        return WorkPending(Purpose.TARGETS if state.facts.wrong else Purpose.REVIEW)
    return DecisionPending(session.decisions[at], at + 1, count)


def _design_purpose(state: SessionState) -> Purpose:
    """After a rejection, decisions that were made stay unless the feedback changes them."""
    decisions = state.session.decisions
    made = bool(decisions) and all(decision.selected for decision in decisions)
    return Purpose.REVISION if made and state.facts.feedback else Purpose.DESIGN


_AFTER_QUESTIONS: Final = frozenset([SessionStatus.DESIGN, SessionStatus.REVIEW, SessionStatus.APPROVED])
_PHASES: Final = frozenset([SessionStatus.DISCOVERY, SessionStatus.DESIGN, SessionStatus.REVIEW])
_AFTER_DECISIONS: Final = frozenset([SessionStatus.REVIEW, SessionStatus.APPROVED])


def is_consistent(session: PlanningSession) -> bool:
    """Whether everything before the position is answered or skipped, and the status fits."""
    asked, decided = session.current_question_index, session.current_decision_index
    if asked > len(session.questions) or decided > len(session.decisions):
        return False
    if not all(question.done for question in session.questions[:asked]):
        return False
    if not all(decision.selected for decision in session.decisions[:decided]):
        return False
    if any(decision.selected_option_id and not decision.selected for decision in session.decisions):
        return False
    if session.status in _AFTER_QUESTIONS and asked != len(session.questions):
        return False
    return session.status not in _AFTER_DECISIONS or decided == len(session.decisions)


def repair_position(state: SessionState) -> SessionState:
    """Repairs the position and status from the answers; a review without a summary goes back to design.

    A session that has ended stays as it is, and so does a failed one until it is resumed.
    """
    session = state.session
    if session.status not in _PHASES:
        return state
    if not is_consistent(session):
        decisions = tuple(map(_without_unknown, session.decisions))
        state = state.with_session(
            current_question_index=_first(question.done for question in session.questions),
            current_decision_index=_first(bool(decision.selected) for decision in decisions),
            decisions=decisions,
        )
        return _without_summary(state).move_to(SessionStatus.DISCOVERY)
    if session.status is SessionStatus.REVIEW and not session.design_summary:
        return _without_summary(state).move_to(SessionStatus.DESIGN)
    return state


def _first(done: Iterable[bool]) -> int:
    """How many were answered or skipped before the first that was not."""
    count = 0
    for one in done:
        if not one:
            break
        count += 1
    return count


def _without_unknown(decision: DecisionPoint) -> DecisionPoint:
    if decision.selected:
        return decision
    return replace(decision, selected_option_id=None, rationale=None, decided_at=None)


LONGEST_INSTRUCTION: Final = 50_000
LONGEST_ANSWER: Final = 10_000
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_SKIPPED: Final = "(skipped)"
APPROVED_WORDS: Final = "(approved)"


def begin(session_id: str, instruction: str, facts: SessionFacts, now: str) -> SessionState:
    words = instruction.strip()
    if why := why_unfit(words, LONGEST_INSTRUCTION):
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
    return SessionState(session, facts).add_message(Role.USER, words, now)


def set_questions(state: SessionState, found: NewQuestions, now: str) -> SessionState:
    """Sets the questions; if there are none, design is next."""
    state = _add_questions(state.with_session(questions=(), current_question_index=0), found.questions, now)
    return state if state.session.questions else state.move_to(SessionStatus.DESIGN)


def questions_left(state: SessionState) -> int:
    """How many further questions the model may ask after the answers."""
    asked = state.session.questions
    return MOST_QUESTIONS - len(asked) if any(question.answer is not None for question in asked) else 0


def _add_questions(state: SessionState, found: Iterable[NewQuestion], now: str) -> SessionState:
    """With these questions at the end, but none that was asked before."""
    before = state.session.questions
    known = {question.question.casefold() for question in before}
    fresh = {new.question.strip(): new for new in reversed(list(found)) if new.question.strip()}
    asked = [new for words, new in reversed(fresh.items()) if words.casefold() not in known]
    questions = tuple(
        Question(
            id=f"q-{number}",
            type=new.type,
            question=new.question.strip(),
            context=new.context.strip() or UNSET,
            options=tuple(dict.fromkeys(option.strip() for option in new.options if option.strip())) or UNSET,
        )
        for number, new in enumerate(asked, len(before) + 1)
    )
    for question in questions:
        state = state.add_message(Role.ASSISTANT, f"{question.id}: {question.question}", now)
    return state.with_session(questions=(*before, *questions))


def answer_question(state: SessionState, text: str, now: str) -> SessionState:
    """Answers the current question: with the words of an option, its number, or other words."""
    session = state.session
    question = session.questions[session.current_question_index]
    words = text.strip()
    if why := why_unfit(words, LONGEST_ANSWER):
        raise BadAnswer(asked=question.id, why=why, session=short(session.session_id))
    return _finish_question(
        state, replace(question, answer=_match_option(question, words), answered_at=now), now
    )


def skip_question(state: SessionState, now: str) -> SessionState:
    question = state.session.questions[state.session.current_question_index]
    return _finish_question(state, replace(question, answer=None, answered_at=now), now)


def _match_option(question: Question, words: str) -> str:
    options = question.options or ()
    for option in options:
        if option.casefold() == words.casefold():
            return option
    numbered = {str(number): option for number, option in enumerate(options, 1)}
    return numbered.get(words, words)


def _finish_question(state: SessionState, question: Question, now: str) -> SessionState:
    session = state.session
    at = session.current_question_index
    before = session.questions[at]
    if before.done and before.answer != question.answer:
        # The decision points were based on another answer.
        state = _without_summary(state.with_facts(designed=False))
        state = state.with_session(decisions=(), current_decision_index=0)
    questions = (*session.questions[:at], question, *session.questions[at + 1 :])
    said = question.answer if question.answer is not None else _SKIPPED
    state = state.add_message(Role.USER, f"{question.id}: {said}", now)
    state = state.with_session(questions=questions, current_question_index=at + 1)
    return state.move_to(SessionStatus.DESIGN) if at + 1 == len(questions) else state


def set_decisions(state: SessionState, found: NewDecisions, now: str) -> SessionState:
    """Replaces all decision points; there may be none. Further questions come first, if any are left."""
    further = _add_questions(state, found.further_questions[: questions_left(state)], now)
    if further.session.questions != state.session.questions:
        return further.move_to(SessionStatus.DISCOVERY)
    decisions = tuple(
        _decision(f"d-{number}", new) for number, new in enumerate(_drop_blank(found.decisions), 1)
    )
    return _ask_decisions(state, decisions, decisions, now)


def revise_decisions(state: SessionState, found: NewRevision, now: str) -> SessionState:
    """Only what changed is decided again; it comes after what stays as the person decided it."""
    before = {decision.id: decision for decision in state.session.decisions}
    changed = {new.id: _decision(new.id, new) for new in found.changed if new.id in before}
    changed = {id_: new for id_, new in changed.items() if not _alike(new, before[id_])}
    gone = [id_ for id_ in dict.fromkeys(found.dropped) if id_ in before and id_ not in changed]
    for id_ in gone:
        state = state.add_message(Role.ASSISTANT, f"{id_}: dropped: {_in_words(before[id_])}", now)
    stays = tuple(one for id_, one in before.items() if id_ not in changed and id_ not in gone)
    unknown = [new for new in found.changed if new.id not in before]
    drawn = _drop_blank([*unknown, *found.added])
    added = (_decision(f"d-{number}", new) for number, new in enumerate(drawn, _last_number(before) + 1))
    again = (*changed.values(), *added)
    return _ask_decisions(state, (*stays, *again), again, now)


def _drop_blank(found: Iterable[NewDecision]) -> list[NewDecision]:
    return [new for new in found if new.topic.strip()]


def _ask_decisions(
    state: SessionState, decisions: tuple[DecisionPoint, ...], asked: tuple[DecisionPoint, ...], now: str
) -> SessionState:
    """With these decision points, of which the last ones are still to be decided."""
    state = _without_summary(state.move_to(SessionStatus.DESIGN).with_facts(designed=True))
    state = state.with_session(decisions=decisions, current_decision_index=len(decisions) - len(asked))
    for decision in asked:
        names = " / ".join(option.name for option in decision.options)
        state = state.add_message(Role.ASSISTANT, f"{decision.id}: {decision.topic}: {names}", now)
    return state


def _alike(new: DecisionPoint, old: DecisionPoint) -> bool:
    """The same choice again: it is not made twice, unless another option is recommended now."""
    advised, before = ([o.name for o in one.options if o.recommendation is True] for one in (new, old))
    stays = advised == before or (old.selected is not None and advised == [old.selected.name])
    return stays and (new.topic, {o.name for o in new.options}) == (old.topic, {o.name for o in old.options})


def _last_number(ids: Iterable[str]) -> int:
    numbers = [
        int(number) for id_ in ids if (number := id_.removeprefix("d-")).isascii() and number.isdigit()
    ]
    return max(numbers, default=0)


def _in_words(decision: DecisionPoint) -> str:
    chosen = decision.selected.name if decision.selected else ""
    return f"{decision.topic}: {chosen}" + (f" ({decision.rationale})" if decision.rationale else "")


def _without_summary(state: SessionState) -> SessionState:
    """Also without one that waits to be corrected, and without its planning.json."""
    return state.with_session(design_summary=None).with_facts(draft="", wrong=(), design=None, run_plan=None)


def _decision(id_: str, new: NewDecision) -> DecisionPoint:
    recommended = next((option for option in new.options if option.recommendation), None)
    return DecisionPoint(
        id=id_,
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


def decide(state: SessionState, given: str, rationale: str, now: str) -> SessionState:
    """Chooses an option by its id, letter, number or name."""
    session = state.session
    at = session.current_decision_index
    decision = session.decisions[at]
    name = short(session.session_id)
    option = option_of(decision, given, ids_first=True)
    if option is None:
        known = ", ".join(option.id for option in decision.options)
        why = Text("{given} is none of its options: {known}", given=given.strip()[:40], known=known)
        raise BadAnswer(asked=decision.id, why=why, session=name)
    reason = rationale.strip()
    if reason and (why_not := why_unfit(reason, LONGEST_ANSWER)):
        raise BadAnswer(asked=decision.id, why=why_not, session=name)
    made = replace(decision, selected_option_id=option.id, rationale=reason or None, decided_at=now)
    said = f"{decision.id}: {option.name}" + (f" ({reason})" if reason else "")
    decisions = (*session.decisions[:at], made, *session.decisions[at + 1 :])
    return state.add_message(Role.USER, said, now).with_session(
        decisions=decisions, current_decision_index=at + 1
    )


def option_of(decision: DecisionPoint, given: str, *, ids_first: bool) -> DesignOption | None:
    """By id, number, letter or name. Ids come first for scripts, after numbers and letters for people."""
    options, words = decision.options, given.strip().casefold()
    ids, names = [option.id for option in options], [option.name for option in options]
    shown = [[str(number) for number in range(1, len(options) + 1)], list(_LETTERS)]
    for known in [ids, *shown, names] if ids_first else [*shown, ids, names]:
        for name, option in zip(known, options, strict=False):
            if words == name.casefold() != "":
                return option
    return None


def go_back(state: SessionState) -> SessionState:
    """Goes back one step; the answer there stays until it is replaced."""
    state = resume(state)
    session = state.session
    in_review = session.status is SessionStatus.REVIEW
    decided_before = len(session.decisions) if in_review else session.current_decision_index
    in_discovery = session.status is SessionStatus.DISCOVERY
    if decided_before and state.facts.designed and not in_discovery:
        state = _without_summary(state).with_session(current_decision_index=decided_before - 1)
        return state.move_to(SessionStatus.DESIGN)
    asked = session.current_question_index
    if asked == 0:
        why = Text("there is nothing before it")
        raise BadAnswer(asked=Text("that"), why=why, session=short(session.session_id))
    state = _without_summary(state).with_session(current_question_index=asked - 1)
    return state.move_to(SessionStatus.DISCOVERY)


def keep_draft(state: SessionState, summary: str, design: Design, wrong: tuple[str, ...]) -> SessionState:
    """A summary with paths or commands that do not exist: the model is asked for others once."""
    return state.with_facts(draft=summary, design=design, wrong=wrong)


def set_summary(state: SessionState, summary: str, now: str, design: Design | None = None) -> SessionState:
    """Moves to review; without a summary it stays in design (IP-16)."""
    words = summary.strip() or None
    state = _without_summary(state).with_facts(design=design).with_session(design_summary=words)
    if words is None:
        return state
    return state.move_to(SessionStatus.REVIEW).add_message(Role.ASSISTANT, words, now)


def approve(state: SessionState, run_id: str, now: str) -> SessionState:
    return (
        state.add_message(Role.USER, APPROVED_WORDS, now)
        .with_session(planner_session_id=run_id)
        .move_to(SessionStatus.APPROVED)
    )


def reject(state: SessionState, feedback: str, now: str) -> SessionState:
    """The feedback may change decisions; the third rejection cancels the session."""
    session = state.session
    words = feedback.strip()
    if why := why_unfit(words, LONGEST_ANSWER):
        raise BadAnswer(asked=Text("the summary"), why=why, session=short(session.session_id))
    count = session.reject_count + 1
    state = state.add_message(Role.USER, words, now).with_facts(
        feedback=(*state.facts.feedback, words), designed=False, rejected=session.design_summary or ""
    )
    state = _without_summary(state).with_session(reject_count=count, current_decision_index=0)
    return state.move_to(SessionStatus.CANCELLED if count >= MOST_REJECTS else SessionStatus.DESIGN)


def cancel(state: SessionState) -> SessionState:
    return state.move_to(SessionStatus.CANCELLED)


def fail(state: SessionState, why: str) -> SessionState:
    phase = state.session.status
    status = SESSION_MACHINE.advance(phase, SessionStatus.FAILED)
    return state.with_session(status=status, error_message=writable(why)).with_facts(failed_in=phase)


def resume(state: SessionState) -> SessionState:
    """Continues where it stopped, after repairs."""
    if state.session.status is SessionStatus.FAILED:
        phase = state.facts.failed_in or _phase(state.session)
        state = state.move_to(phase).with_session(error_message=None).with_facts(failed_in=None)
    return repair_position(state)


def _phase(session: PlanningSession) -> SessionStatus:
    """The phase of a failed session that does not say where it failed."""
    if session.planner_session_id:
        return SessionStatus.APPROVED
    if session.design_summary:
        return SessionStatus.REVIEW
    questions = session.questions
    answered_all = bool(questions) and session.current_question_index == len(questions)
    return SessionStatus.DESIGN if session.decisions or answered_all else SessionStatus.DISCOVERY


def why_unfit(words: str, longest: int) -> Text | None:
    if not words:
        return Text("it is empty")
    if len(words) > longest:
        return Text("it has {count} characters, {most} are allowed", count=len(words), most=longest)
    if any("\ud800" <= c <= "\udfff" for c in words):
        return Text("it is not UTF-8")
    return None
