"""One step of a session, or all that a file answers: then what is pending is the answer of the command."""

from pathlib import Path
from typing import NamedTuple

from ringi.cli.ask import ask, is_yes, require_terminal
from ringi.cli.planning.answers import Answers, Reply, refuse
from ringi.cli.planning.going import Going, exit_code
from ringi.cli.planning.reviewing import APPROVE, NOT_APPROVED, Shown, tell_digest
from ringi.cli.planning.showing import show_pending, show_review
from ringi.domain.approval import Proof, TypedAnswer
from ringi.domain.session_view import (
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    QuestionPending,
    SessionView,
)
from ringi.errors import BadAnswer, BadAnswers, NotAsked
from ringi.text import Text


class Order(NamedTuple):
    """What the command line says to do; at most one thing, and approving after the answers of a file."""

    answers: Answers | None = None
    answer: str | None = None
    reason: str = ""
    to: str = ""
    """Only if this question or decision is asked now."""
    skip: bool = False
    reject: str | None = None
    cancel: bool = False
    approve: bool = False
    sign: Path | None = None

    @property
    def anything(self) -> bool:
        return (
            self.answers is not None
            or self.answer is not None
            or self.reject is not None
            or self.skip
            or self.cancel
            or self.approve
        )


def carry_out(going: Going, view: SessionView, order: Order) -> int:
    """Does it, lets the model do what is due then, and shows what is pending. The exit code."""
    view = _done(going, view, order)
    if order.approve and isinstance(view.pending, ApprovalPending):
        view = _approved(going, order.sign)
    return told(going, view)


def _done(going: Going, view: SessionView, order: Order) -> SessionView:
    tool, session_id = going.tool, going.session_id
    if order.cancel:
        return tool.cancel(session_id)
    view = going.worked(view)
    if order.answers is not None:
        try:
            return _answered_all(going, view, order.answers)
        except BadAnswers as error:
            raise _to_be_gone_on(going, error) from None
    if order.answer is not None:
        return going.worked(_answered(going, view, order))
    if order.skip:
        return going.worked(tool.skip(session_id, question_id=order.to, actor=going.actor))
    if order.reject is not None:
        return going.worked(tool.reject(session_id, order.reject))
    if order.approve and not isinstance(view.pending, ApprovalPending | ApprovedSession):
        tool.request(session_id)  # says what is asked instead
    return view


def _answered(going: Going, view: SessionView, order: Order) -> SessionView:
    tool, session_id, actor, answer = going.tool, going.session_id, going.actor, order.answer or ""
    match view.pending:
        case DecisionPending(decision=decision):
            asked = order.to or decision.id
            return tool.decide(session_id, answer, order.reason, decision_id=asked, actor=actor)
        case QuestionPending(question=question) if not order.reason:
            return tool.answer(session_id, answer, question_id=order.to or question.id, actor=actor)
        case QuestionPending(question=question):
            raise BadAnswer(asked=question.id, why=Text("a reason belongs to a decision"), session=going.name)
        case ApprovalPending():
            due = Text("the summary is: --approve, or --reject with what should be different")
            raise NotAsked(given="--answer", asked=due, session=going.name)
    return tool.answer(session_id, answer)  # says that the session is over


def _answered_all(going: Going, view: SessionView, given: Answers) -> SessionView:
    """As far as the file goes."""
    while True:
        session = going.tool.get(going.session_id).session
        match view.pending:
            case QuestionPending(question=question, number=number):
                reply = given.to_question(session.questions, number - 1)
                if reply is None:
                    return view
                view = going.worked(_replied(going, question.id, reply))
            case DecisionPending(decision=decision, number=number):
                reply = given.to_decision(session.decisions, number - 1)
                if reply is None:
                    return view
                view = going.worked(_decided(going, decision.id, reply))
            case _:
                return view


def _to_be_gone_on(going: Going, error: BadAnswers) -> BadAnswers:
    """There is a session by now, and it keeps what the file answered before."""
    why = Text(
        "{why}. The session is kept; go on with: {command}", why=error.details["why"], command=going.command
    )
    return BadAnswers(what=error.details["what"], why=why)


def _replied(going: Going, question_id: str, reply: Reply) -> SessionView:
    if reply.text is None:
        return going.tool.skip(going.session_id, question_id=question_id, actor=going.actor)
    try:
        return going.tool.answer(going.session_id, reply.text, question_id=question_id, actor=going.actor)
    except BadAnswer as error:
        refuse(reply.where, error.details["why"])


def _decided(going: Going, decision_id: str, reply: Reply) -> SessionView:
    try:
        return going.tool.decide(
            going.session_id, reply.text or "", reply.reason, decision_id=decision_id, actor=going.actor
        )
    except BadAnswer as error:
        refuse(reply.where, error.details["why"])


def _approved(going: Going, key: Path | None) -> SessionView:
    """By a signature, or typed after the summary was shown."""
    if key is None:
        require_terminal(going.app, going.command)
    shown = Shown(going)
    if shown.pending is None:
        return shown.view
    if key is None or not going.ui.as_json:
        show_review(going.ui, shown.stored, shown.pending)
        going.tell_given()
    if key is not None:
        proof: Proof = going.signed(key, shown.digest)
    else:
        tell_digest(going, shown.digest)
        answer = ask(going.app, APPROVE)
        if not is_yes(answer):
            going.ui.line(NOT_APPROVED)
            return shown.view
        proof = TypedAnswer(shown.digest, answer)
    return going.tool.approve(going.session_id, going.user(), proof)


def told(going: Going, view: SessionView) -> int:
    """What is pending: as a document for programs, in words for people."""
    ui, pending = going.ui, view.pending
    if ui.as_json:
        ui.document(view)
    else:
        show_pending(ui, going.tool.get(going.session_id), pending)
    _tell_next(going, view)
    going.tell_totals(view)
    return exit_code(view)


def _tell_next(going: Going, view: SessionView) -> None:
    ui = going.ui
    match view.pending:
        case ApprovedSession(run_id=run_id):
            going.tell_approval()
            going.tell_run_waits(run_id)
        case CancelledSession():
            ui.next_step('ringi plan "…"')
        case QuestionPending():
            ui.next_step(f"{going.command} --answer …")
        case DecisionPending():
            ui.next_step(f"{going.command} --answer OPTION --reason …")
        case ApprovalPending():
            going.tell_given()
            ui.line(Text("A person approves it in a terminal of their own, or with a key:"), indent=2)
            ui.next_step(going.command)
            ui.next_step(f"{going.command} --approve --sign KEY")
        case _:
            ui.next_step(going.command)
