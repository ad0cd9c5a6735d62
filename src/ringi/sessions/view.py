"""A planning session as lines: the question, the answers, the summary to approve."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.approvals.document import Approval
from ringi.approvals.view import format_approval, format_proof
from ringi.kernel.lines import EMPTY, Line, Style, TextSpan, line, prose
from ringi.kernel.markdown import markdown
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, LoggedEvent
from ringi.models.prompt import QuestionType
from ringi.models.usage import Purpose, TokenUsage
from ringi.plans.words import format_reused
from ringi.project.context import FoundFile
from ringi.sessions.document import (
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    DecisionPoint,
    DesignOption,
    FailedPending,
    Pending,
    PlanningSession,
    QuestionPending,
    SessionFacts,
    SessionStatus,
)
from ringi.sessions.run_plan_view import plan_lines
from ringi.sessions.status_view import SESSION_PHASE

if TYPE_CHECKING:
    from ringi.models.prompt import ModelProgress
    from ringi.sessions.document import StoredSession

QUESTION_TYPE: Final = {
    QuestionType.CLARIFICATION: Text("clarification"),
    QuestionType.SCOPE: Text("scope"),
    QuestionType.TECHNICAL: Text("technical"),
    QuestionType.PRIORITY: Text("priority"),
    QuestionType.CONSTRAINT: Text("constraint"),
}
_WORK: Final[Mapping[Purpose | None, Text]] = {
    Purpose.FILES: Text("Choosing files to read"),
    Purpose.DISCOVERY: Text("Preparing questions"),
    Purpose.DESIGN: Text("Preparing decisions"),
    Purpose.REVISION: Text("Working in your feedback"),
    Purpose.REVIEW: Text("Writing the summary"),
    Purpose.TARGETS: Text("Correcting paths and commands"),
}
_BRINGS: Final[Mapping[Purpose, Text]] = {
    Purpose.DISCOVERY: Text("its questions"),
    Purpose.DESIGN: Text("the decisions to make"),
    Purpose.REVISION: Text("what your feedback changes"),
    Purpose.REVIEW: Text("the design"),
}
MINUS: Final = "\u2212"
_CENT: Final = 0.01
_BEGUN: Final = frozenset([EventKind.SESSION_STARTED, EventKind.SESSION_TAKEN_IN])
_SAID: Final = frozenset([EventKind.SESSION_ANSWERED, EventKind.SESSION_DECIDED])


def pending_lines(stored: "StoredSession", pending: Pending) -> Iterator[Line]:
    """What the session waits for."""
    match pending:
        case QuestionPending():
            yield from question_lines(pending)
        case DecisionPending():
            yield from decision_lines(pending)
        case ApprovalPending():
            yield from review_lines(stored, pending)
        case _:
            yield from _position_lines(pending)


def lines_of(file: FoundFile) -> tuple[str, ...]:
    """Where in a file, without what stands there."""
    return tuple(f"{found.line}-{found.end}" for found in file.definitions)


def _proposal_lines(asked: ApprovalPending) -> Iterator[Line]:
    yield line(Text("What would be done"), Style.STRONG)
    yield from markdown(asked.summary)
    if asked.run_plan:
        yield from plan_lines(asked.run_plan, told=asked.summary, forge=asked.forge or None)


def _position_lines(pending: Pending) -> Iterator[Line]:
    """If nothing is asked."""
    match pending:
        case FailedPending(error=error):
            yield line(SESSION_PHASE[SessionStatus.FAILED], Style.BAD)
            yield prose(error, indent=2)
        case ApprovedSession(run_id=run_id):
            yield run_line(run_id)
        case CancelledSession():
            yield line(Text("The session is cancelled."), Style.WARNING)
        case AgentPending(purpose=purpose):
            what = _BRINGS.get(purpose, _BRINGS[Purpose.REVIEW])
            yield line(Text("The agent is next: it brings {what}.", what=what), Style.FAINT)
        case _:
            yield line(Text("The model is next."), Style.FAINT)


def run_line(run_id: str) -> Line:
    return line(Text("✓ approved; its run is {run}", run=run_id), Style.GOOD)


def question_lines(asked: QuestionPending) -> Iterator[Line]:
    question = asked.question
    kind = QUESTION_TYPE[question.type]
    yield EMPTY
    title = Text("Question {number} of {of} · {type}", number=asked.number, of=asked.of, type=kind)
    yield line(title, Style.STRONG)
    yield prose(question.question)
    if question.context:
        yield prose(question.context, Style.FAINT, indent=2)
    for number, option in enumerate(question.options or (), 1):
        yield prose(option, indent=2, mark=f"{number}  ")
    if question.answer is not None:
        yield line(Text("Your answer so far (an empty line keeps it):"), Style.FAINT)
        yield prose(question.answer, indent=2)
    elif question.skipped:
        yield line(Text("You skipped it (an empty line leaves it so)."), Style.FAINT)


def decision_lines(asked: DecisionPending) -> Iterator[Line]:
    decision = asked.decision
    yield EMPTY
    yield line(Text("Decision {number} of {of}", number=asked.number, of=asked.of), Style.STRONG)
    yield prose(decision.topic)
    for number, option in enumerate(decision.options, 1):
        yield EMPTY
        yield from _option_lines(str(number), option)
    if decision.selected is not None:
        yield line(Text("You chose (an empty line keeps it):"), Style.FAINT)
        yield prose(_describe_choice(decision), indent=2)


def _option_lines(label: str, option: DesignOption) -> Iterator[Line]:
    more = ("  (", Text("recommended"), ")") if option.recommendation else ()
    title = tuple(TextSpan(words, Style.STRONG) for words in (option.name, *more))
    yield Line(title, 2, f"{label}  ", folds=True)
    yield prose(option.description, indent=5)
    for mark, reasons in (("+ ", option.tradeoffs.pros), (f"{MINUS} ", option.tradeoffs.cons)):
        for reason in reasons:
            yield prose(reason, indent=5, mark=mark)


def _describe_choice(decision: DecisionPoint) -> str:
    """The option and why."""
    option = decision.selected
    name = option.name if option else "—"
    return f"{name} ({decision.rationale})" if decision.rationale else name


_AROUND: Final = " \u201c\u201d「」"
"""Spaces and quotation marks."""


def review_lines(stored: "StoredSession", asked: ApprovalPending) -> Iterator[Line]:
    """Everything the run gets: if an agent ran the session, the person sees it here for the first time."""
    session = stored.session
    yield EMPTY
    yield from _proposal_lines(asked)
    # A short request may stand in the summary already, as a line of its own.
    lines = {one.strip(_AROUND) for one in asked.summary.splitlines()}
    request = [] if session.instruction.strip() in lines else [prose(session.instruction, indent=2)]
    if basis := [*request, *answer_lines(session), *feedback_lines(stored.facts)]:
        yield EMPTY
        yield line(Text("What it is based on"), Style.STRONG)
        yield from basis
    if numbers := list(_numbers(session)):
        yield EMPTY
        yield Line(tuple(numbers), folds=True)


def _numbers(session: PlanningSession) -> Iterator[TextSpan]:
    """Only of what there was."""
    questions = len(session.questions)
    answered = questions - sum(question.skipped for question in session.questions)
    decisions, rejects = len(session.decisions), session.reject_count
    if questions:
        words = Text(
            "Answered: {answered} of {questions} questions. ", answered=answered, questions=questions
        )
        yield TextSpan(words, Style.FAINT)
    if decisions:
        yield TextSpan(Text("Decided: {count}. ", count=decisions), Style.FAINT)
    if rejects:
        yield TextSpan(Text("Rejected before: {count}.", count=rejects), Style.FAINT)


def answer_lines(session: PlanningSession | AgentPending) -> Iterator[Line]:
    """All answers so far, for a person who resumes the session."""
    for question in session.questions:
        yield prose(question.question, indent=2, mark=f"{question.id}  ")
        if question.answer is not None:
            yield prose(question.answer, indent=7, mark="→ ")
        elif question.skipped:
            yield line(Text("→ skipped"), Style.FAINT, indent=7)
    for decision in session.decisions:
        yield prose(decision.topic, indent=2, mark=f"{decision.id}  ")
        if decision.selected:
            yield prose(_describe_choice(decision), indent=7, mark="→ ")


def feedback_lines(facts: SessionFacts | AgentPending) -> Iterator[Line]:
    """The feedback of every reject."""
    for feedback in facts.feedback:
        yield line(Text("Rejected with:"), Style.FAINT, indent=2)
        yield prose(feedback, indent=7)


class ByAgent(NamedTuple):
    """What an agent did in a session."""

    began: bool
    answers: int
    """And decisions."""
    brought: bool
    """Questions, options or the design are its own."""


def count_agent_acts(events: Iterable[LoggedEvent]) -> ByAgent:
    kinds = [logged.event.event for logged in events if logged.event.actor is Actor.AI]
    return ByAgent(
        began=any(kind in _BEGUN for kind in kinds),
        answers=sum(kind in _SAID for kind in kinds),
        brought=EventKind.SESSION_BROUGHT in kinds,
    )


def agent_lines(events: Iterable[LoggedEvent]) -> Iterator[Line]:
    done = count_agent_acts(events)
    if done.began:
        yield prose(Text("An agent began this session; its instruction was not typed here."), Style.WARNING)
    if done.brought:
        words = Text(
            "The role planner or an agent brought the questions, options or the design: read closely."
        )
        yield prose(words, Style.WARNING)
    if done.answers:
        words = Text("Answers and decisions given by an agent, not typed here: {count}", count=done.answers)
        yield prose(words, Style.WARNING)


def work_lines(before: "StoredSession", after: "StoredSession") -> Iterator[Line]:
    """What the model did, if a person would wonder."""
    was, now = before.facts, after.facts
    if was.model not in {"", now.model}:
        words = Text("The session goes on with {model}; before, it was {before}.", model=now.model,
                     before=was.model)  # fmt: skip
        yield prose(words, Style.WARNING)
    if now.restless and now.restless != was.restless:
        yield prose(restless_words(now.restless), Style.WARNING, mark="! ")
    if now.files != was.files:
        yield prose(Text("Read for this: {files}", files=", ".join(now.files)), Style.FAINT)
    if now.missing != was.missing and now.missing:
        words = Text("It asked for files that are not there: {files}", files=", ".join(now.missing))
        yield prose(words, Style.FAINT)
    asked = len(after.session.questions) - len(before.session.questions)
    if before.session.questions and asked > 0:
        yield prose(Text("Your answers raise further questions: {count}", count=asked), Style.FAINT)
    if was.feedback and not was.designed and now.designed:
        yield from _revision_lines(before.session, after.session)


def restless_words(paths: Iterable[str]) -> Text:
    """Of a context that lacks files, or is a mixture of several moments."""
    words = "Could not be read, or changed meanwhile: {files}. Planning goes on with the rest."
    return Text(words, files=", ".join(paths))


def _revision_lines(before: PlanningSession, after: PlanningSession) -> Iterator[Line]:
    """What became of the decisions that were made before the feedback."""
    left = {decision.id: decision for decision in after.decisions}
    made = [decision for decision in before.decisions if decision.selected]
    for decision in made:
        choice = {"topic": decision.topic, "choice": _describe_choice(decision)}
        if decision.id not in left:
            yield prose(Text("No longer needed: {topic}: {choice}", **choice), Style.WARNING)
        elif left[decision.id] == decision:
            yield prose(Text("Stays as you decided: {topic}: {choice}", **choice), Style.FAINT)


def approval_lines(approval: Approval) -> Iterator[Line]:
    yield prose(format_approval(approval.approver, approval.timestamp), indent=2)
    yield prose(format_proof(approval.proof), indent=4)


def progress(seconds: float, reported: "ModelProgress") -> Text:
    """While the model works: at what, which one, how long, how much, and why it takes longer."""
    other = Text("The model works") if reported.spent.requests else Text("Reading the project")
    work = _WORK.get(reported.purpose, other)
    words = Text("{work} … {seconds} s", work=work, seconds=int(seconds))
    if reported.output_tokens:
        words = Text("{words} · {tokens} tokens", words=words, tokens=f"{reported.output_tokens:,}")
    if reported.note:
        words = Text("{words} · {note}", words=words, note=reported.note)
    # Last, because the name of a command can be longer than the line.
    return Text("{words} · {note}", words=words, note=reported.model) if reported.model else words


def totals(usage: TokenUsage) -> Text | None:
    """What the model used; None if it used no tokens and nothing came from the cache."""
    if not usage.input_tokens + usage.output_tokens:
        return format_reused(usage) if usage.reused else None
    used = _describe_usage(usage)
    return Text("{used}; {reused}", used=used, reused=format_reused(usage)) if usage.reused else used


def _describe_usage(usage: TokenUsage) -> Text:
    tokens = usage.input_tokens + usage.output_tokens
    calls = Text("1 call", "{count} calls", count=usage.requests)
    counted = Text("{tokens} tokens", tokens=f"{tokens:,}")
    if usage.cached_tokens:
        counted = Text(
            "{tokens} tokens, {cached} of them cached",
            tokens=f"{tokens:,}",
            cached=f"{usage.cached_tokens:,}",
        )
    took = {"calls": calls, "tokens": counted, "seconds": f"{usage.duration_sec:.0f}"}
    if usage.cost_usd is None:
        return Text("{calls}, {tokens}, {seconds} s", **took)
    return Text("{calls}, {tokens}, {cost} USD, {seconds} s", cost=_money(usage.cost_usd), **took)


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount >= _CENT else f"{amount:.4f}".rstrip("0").rstrip(".")
