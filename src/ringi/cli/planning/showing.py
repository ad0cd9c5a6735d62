"""A session in words: what is asked, what was answered, what there is to approve."""

import re
from collections.abc import Iterable
from typing import Final

from ringi.cli.planning.markdown import show_markdown
from ringi.cli.planning.naming import PHASE
from ringi.cli.planning.wrapping import paragraph
from ringi.cli.ui import Ui, translated
from ringi.domain.approval import ProofKind, ProofRecord
from ringi.domain.events import Actor, EventKind, LoggedEvent
from ringi.domain.session import (
    DecisionPoint,
    DesignOption,
    PlanningSession,
    QuestionType,
    SessionApproval,
    SessionFacts,
)
from ringi.domain.session_view import (
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    FailedPending,
    Pending,
    QuestionPending,
)
from ringi.domain.usage import Usage
from ringi.ports import StoredSession
from ringi.text import Text
from ringi.views import words

QUESTION_TYPE: Final = {
    QuestionType.CLARIFICATION: Text("clarification"),
    QuestionType.SCOPE: Text("scope"),
    QuestionType.TECHNICAL: Text("technical"),
    QuestionType.PRIORITY: Text("priority"),
    QuestionType.CONSTRAINT: Text("constraint"),
}
MINUS: Final = "\u2212"
_CENT: Final = 0.01
_BEGUN: Final = frozenset([EventKind.SESSION_STARTED, EventKind.SESSION_TAKEN_IN])
_SAID: Final = frozenset([EventKind.SESSION_ANSWERED, EventKind.SESSION_DECIDED])
# What is explained stands in a column of its own.
_EXPLAINED: Final = re.compile(r"(\S+ {2,})(.+)")


def show_help(ui: Ui, lines: Iterable[Text]) -> None:
    for line in map(translated, lines):
        explained = _EXPLAINED.fullmatch(line)
        mark, rest = explained.groups() if explained else ("", line)
        paragraph(ui, rest, indent=2, mark=mark)


def show_question(ui: Ui, asked: QuestionPending) -> None:
    question = asked.question
    ui.line()
    ui.line(
        Text(
            "Question {number} of {of} · {type}",
            number=asked.number,
            of=asked.of,
            type=QUESTION_TYPE[question.type],
        ),
        style="bold",
    )
    paragraph(ui, question.question)
    if question.context:
        paragraph(ui, question.context, style="dim", indent=2)
    for number, option in enumerate(question.options or (), 1):
        paragraph(ui, option, indent=2, mark=f"{number}  ")
    if question.answer is not None:
        _said(ui, Text("Your answer so far (an empty line keeps it):"), question.answer)
    elif question.skipped:
        ui.line(Text("You skipped it (an empty line leaves it so)."), style="dim")


def _said(ui: Ui, what: Text, words: str) -> None:
    ui.line(what, style="dim")
    paragraph(ui, words, indent=2)


def show_decision(ui: Ui, asked: DecisionPending) -> None:
    decision = asked.decision
    ui.line()
    ui.line(Text("Decision {number} of {of}", number=asked.number, of=asked.of), style="bold")
    paragraph(ui, decision.topic)
    for number, option in enumerate(decision.options, 1):
        _show_option(ui, number, option)
    if decision.selected is not None:
        _said(ui, Text("You chose (an empty line keeps it):"), _chosen(decision))


def _show_option(ui: Ui, number: int, option: DesignOption) -> None:
    ui.line()
    recommended = f"  ({translated(Text('recommended'))})" if option.recommendation else ""
    paragraph(ui, option.name + recommended, style="bold", indent=2, mark=f"{number}  ")
    paragraph(ui, option.description, indent=5)
    for mark, reasons in (("+ ", option.tradeoffs.pros), (f"{MINUS} ", option.tradeoffs.cons)):
        for reason in reasons:
            paragraph(ui, reason, indent=5, mark=mark)


def _chosen(decision: DecisionPoint) -> str:
    """The option and why, as somebody else may have written them: to be filtered."""
    option = decision.selected
    name = option.name if option else "—"
    return f"{name} ({decision.rationale})" if decision.rationale else name


def show_review(ui: Ui, stored: StoredSession, asked: ApprovalPending) -> None:
    """All that the run gets: an agent may have led the session, and the person sees it here first."""
    session = stored.session
    ui.line()
    ui.line(Text("What would be done"), style="bold")
    show_markdown(ui, asked.summary)
    ui.line()
    ui.line(Text("What it rests on"), style="bold")
    paragraph(ui, session.instruction, indent=2)
    show_answers(ui, session)
    show_feedback(ui, stored.facts)
    ui.line()
    skipped = sum(question.skipped for question in session.questions)
    numbers = Text(
        "Answered: {answered} of {questions} questions. Decided: {decisions}. Rejected before: {rejects}.",
        answered=len(session.questions) - skipped,
        questions=len(session.questions),
        decisions=len(session.decisions),
        rejects=session.reject_count,
    )
    paragraph(ui, translated(numbers), style="dim")


def show_answers(ui: Ui, session: PlanningSession) -> None:
    """Everything that was said so far, for somebody who comes back to it."""
    for question in session.questions:
        paragraph(ui, question.question, indent=2, mark=f"{question.id}  ")
        if question.answer is not None:
            paragraph(ui, question.answer, indent=7, mark="→ ")
        elif question.skipped:
            ui.line(Text("→ skipped"), indent=7, style="dim")
    for decision in session.decisions:
        paragraph(ui, decision.topic, indent=2, mark=f"{decision.id}  ")
        if decision.selected:
            paragraph(ui, _chosen(decision), indent=7, mark="→ ")


def show_feedback(ui: Ui, facts: SessionFacts) -> None:
    """Of every reject, in its words."""
    for feedback in facts.feedback:
        ui.line(Text("Rejected with:"), style="dim", indent=2)
        paragraph(ui, feedback, indent=7)


def given_by_agent(events: Iterable[LoggedEvent]) -> tuple[bool, int]:
    """Whether an agent began the session, and how often it answered or decided."""
    by_agent = [logged.event.event for logged in events if logged.event.actor is Actor.AI]
    return any(kind in _BEGUN for kind in by_agent), sum(kind in _SAID for kind in by_agent)


def show_given(ui: Ui, events: Iterable[LoggedEvent]) -> None:
    begun, count = given_by_agent(events)
    if begun:
        _warned(ui, Text("An agent began this session; its instruction was not typed here."))
    if count:
        _warned(ui, Text("Answers and decisions given by an agent, not typed here: {count}", count=count))


def _warned(ui: Ui, sentence: Text) -> None:
    paragraph(ui, translated(sentence), style="yellow")


def show_approval(ui: Ui, approval: SessionApproval) -> None:
    line = Text("approved by {who}, {when}", who=approval.approver, when=words.moment(approval.timestamp))
    paragraph(ui, translated(line), indent=2)
    paragraph(ui, translated(_proof(approval.proof)), indent=4)


def _proof(record: ProofRecord) -> Text:
    if record.kind is ProofKind.SIGNED:
        return Text("signed with a listed key of {name} (strong)", name=record.principal or record.user)
    return Text("typed by {user} at {terminal} (weak)", user=record.user, terminal=record.channel)


def show_pending(ui: Ui, stored: StoredSession, pending: Pending) -> None:
    """What the session waits for."""
    match pending:
        case QuestionPending():
            show_question(ui, pending)
        case DecisionPending():
            show_decision(ui, pending)
        case ApprovalPending():
            show_review(ui, stored, pending)
        case FailedPending(error=error):
            ui.line(PHASE[stored.session.status], style="red")
            paragraph(ui, error, indent=2)
        case ApprovedSession(run_id=run_id):
            ui.line(Text("✓ approved; its run is {run}", run=run_id), style="green")
        case CancelledSession():
            ui.line(Text("The session is cancelled."), style="yellow")
        case _:
            ui.line(Text("The model is next."), style="dim")


def totals(usage: Usage) -> Text | None:
    """What the model took; None where it took nothing worth telling."""
    tokens = usage.input_tokens + usage.output_tokens
    if not tokens:
        return None
    calls = Text("1 call") if usage.requests == 1 else Text("{count} calls", count=usage.requests)
    took = {"calls": calls, "tokens": f"{tokens:,}", "seconds": f"{usage.duration_sec:.0f}"}
    if usage.cost_usd is None:
        return Text("{calls}, {tokens} tokens, {seconds} s", **took)
    return Text("{calls}, {tokens} tokens, {cost} USD, {seconds} s", cost=_money(usage.cost_usd), **took)


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount >= _CENT else f"{amount:.4f}".rstrip("0").rstrip(".")
