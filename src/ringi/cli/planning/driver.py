"""One planning session as a command drives it: run the model, take single steps, choose the exit code."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ringi.approvals.document import Proof, SignedAnswer
from ringi.approvals.prompter import ask_approval
from ringi.cli.app import App
from ringi.cli.ask import LinePrompter, require_terminal, sign_statement
from ringi.cli.planning.answers import Answers, GivenReply, refuse
from ringi.cli.progress import progress_on
from ringi.cli.ui import Ui, cut
from ringi.errors import BadAnswer, BadAnswers, Interrupted, NotAsked, RingiError, SessionRace
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.sessions.document import (
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    FailedPending,
    QuestionPending,
    SessionRef,
    SessionView,
    WorkPending,
)
from ringi.sessions.plan_cache import CachedPlanOffer
from ringi.sessions.review import ReviewedSession, SessionInReview, exit_code
from ringi.sessions.status_view import session_facts, short_names
from ringi.sessions.view import (
    agent_lines,
    approval_lines,
    pending_lines,
    review_lines,
    run_line,
    totals,
    work_lines,
)

if TYPE_CHECKING:
    from ringi.runs.role_planner import Planner

_LEAST_TITLE: Final = 12


def interactive_or_json(app: App) -> bool:
    """Whether a person can read and answer. If not, a program reads: text goes to standard error."""
    seated = not app.ui.as_json and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if not seated and not app.ui.as_json:
        app.ui = Ui(as_json=True, environment=app.environment)
    return seated


class Driver(SessionInReview):
    def __init__(
        self,
        app: App,
        session_id: str,
        planner: "Planner | None" = None,
        offer: CachedPlanOffer | None = None,
    ) -> None:
        """A planner brings what is due from an agent; `offer` could have been used instead."""
        super().__init__(app.workspace, session_id)
        self.app = app
        self.ui = app.ui
        self._planner = planner
        self.offer = offer

    def run_model(self, view: SessionView) -> SessionView:
        """Runs the model, and retries what failed, until a person is needed."""
        if isinstance(view.pending, FailedPending):
            view = self.tool.resume(self.session_id)
        if isinstance(view.pending, AgentPending) and self._planner is not None:
            return self._plan(self._planner)
        return self._work() if isinstance(view.pending, WorkPending) else view

    def _plan(self, planner: "Planner") -> SessionView:
        """By whoever has that role; if that fails, the model goes on."""
        self.ui.line(Text("{who} plans", who=planner.who), style=Style.FAINT)
        try:
            return planner.bring(self.tool, self.session_id)
        except Interrupted:
            raise
        except RingiError as error:
            model = self.app.workspace.config.model
            why = Text(error.message, **error.details)
            words = Text("{why} Going on with {model}.", why=why, model=model)
            self.ui.prose(words, Style.WARNING, mark="! ")
        return self.replace_agent()

    def replace_agent(self) -> SessionView:
        """Lets the model do what the agent was to bring."""
        return self._work(instead_of_agent=True)

    def _work(self, *, instead_of_agent: bool = False) -> SessionView:
        before = self.tool.get(self.session_id)
        with progress_on(self.app) as progress:
            view = self.tool.go_on(self.session_id, progress, instead_of_agent=instead_of_agent)
        self.ui.show(work_lines(before, self.tool.get(self.session_id)))
        return view

    def sign(self, key: Path, digest: str) -> SignedAnswer:
        """Signs only what the digest covers: the session may have moved on since."""
        statement = self.tool.statement(self.session_id, self.person.user())
        if digest not in statement:
            raise SessionRace(session=self.name)
        return sign_statement(self.app, key, statement)

    def tell_saved(self) -> None:
        self.ui.prose(Text("Everything is saved. Resume with:"))
        self.ui.next_step(self.command)

    def tell_totals(self, view: SessionView) -> None:
        if (words := totals(view.usage)) is not None:
            self.ui.line(words, style=Style.FAINT)

    def tell_agents_part(self) -> None:
        """What an agent contributed; shown before a person decides."""
        self.ui.show(agent_lines(self.app.workspace.log(self.session_id)))

    def tell_approval(self) -> None:
        """Who approved it, and how that is known."""
        try:
            approval = self.tool.approval(self.session_id)
        except RingiError as error:  # only shown: looking at a session acts on nothing
            why = error.details.get("why") or Text(error.message, **error.details)
            self.ui.line(Text("! its approval does not count: {why}", why=why), style=Style.WARNING)
            return
        if approval is not None:
            self.ui.show(approval_lines(approval))

    def tell_run(self, run_id: str) -> None:
        self.ui.show([run_line(run_id)])
        self.tell_approval()

    def tell_run_waits(self, run_id: str) -> None:
        self.ui.prose(Text("{run} waits. Start it with:", run=run_id))
        self.ui.next_step(f"ringi run {run_id}")


def show_sessions(app: App, refs: Sequence[SessionRef], *, numbered: bool = False) -> None:
    """Two lines each: the subject, and the name to type."""
    names = short_names(ref.session_id for ref in refs)
    for number, ref in enumerate(refs, 1):
        mark = f"{number}  " if numbered else ""
        room = app.ui.columns - len(mark) - 2
        app.ui.line(mark + cut(ref.title, max(room, _LEAST_TITLE)), style="bold", indent=2)
        app.ui.line(session_facts(ref, names[ref.session_id]), indent=2 + len(mark))


class PlanningRequest(NamedTuple):
    """What the command line asks for: at most one thing, except that --approve may follow --answers."""

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


def carry_out(driver: Driver, view: SessionView, order: PlanningRequest) -> int:
    """Carries out the order, runs the model, shows what is pending. Returns the exit code."""
    view = _carry_out_first(driver, view, order)
    if order.approve and isinstance(view.pending, ApprovalPending):
        view = approve_summary(driver, order.sign)
    return show_pending(driver, view)


def _carry_out_first(driver: Driver, view: SessionView, order: PlanningRequest) -> SessionView:
    tool, session_id = driver.tool, driver.session_id
    if order.cancel:
        return tool.cancel(session_id)
    view = driver.run_model(view)
    if order.answers is not None:
        try:
            return _answer_all(driver, view, order.answers)
        except BadAnswers as error:
            raise _add_saved(driver, error) from None
    if order.answer is not None:
        return driver.run_model(_answer(driver, view, order))
    if order.skip:
        return driver.run_model(driver.skip(order.to))
    if order.reject is not None:
        return driver.run_model(tool.reject(session_id, order.reject))
    if order.approve and not isinstance(view.pending, ApprovalPending | ApprovedSession):
        tool.request(session_id)  # raises, naming what is asked instead
    return view


def _answer(driver: Driver, view: SessionView, order: PlanningRequest) -> SessionView:
    answer = order.answer or ""
    match view.pending:
        case DecisionPending(decision=decision):
            return driver.decide(answer, order.reason, order.to or decision.id)
        case QuestionPending(question=question) if not order.reason:
            return driver.answer(answer, order.to or question.id)
        case QuestionPending(question=question):
            raise BadAnswer(
                asked=question.id, why=Text("a reason belongs to a decision"), session=driver.name
            )
        case ApprovalPending():
            due = Text("the summary is: --approve, or --reject with what should be different")
            raise NotAsked(given="--answer", asked=due, session=driver.name)
    return driver.answer(answer)  # raises: the session is over


def _answer_all(driver: Driver, view: SessionView, given: Answers) -> SessionView:
    """Until a question or decision that the file does not answer."""
    while True:
        session = driver.tool.get(driver.session_id).session
        match view.pending:
            case QuestionPending(question=question, number=number):
                reply = given.to_question(session.questions, number - 1)
                if reply is None:
                    return view
                view = driver.run_model(_reply(driver, question.id, reply))
            case DecisionPending(decision=decision, number=number):
                reply = given.to_decision(session.decisions, number - 1)
                if reply is None:
                    return view
                view = driver.run_model(_decide(driver, decision.id, reply))
            case _:
                return view


def _add_saved(driver: Driver, error: BadAnswers) -> BadAnswers:
    """Adds that the session exists and keeps the answers before the bad one."""
    why = Text(
        "{why}. The session is kept; resume with: {command}", why=error.details["why"], command=driver.command
    )
    return BadAnswers(what=error.details["what"], why=why)


def _reply(driver: Driver, question_id: str, reply: GivenReply) -> SessionView:
    if reply.text is None:
        return driver.skip(question_id)
    try:
        return driver.answer(reply.text, question_id)
    except BadAnswer as error:
        refuse(reply.where, error.details["why"])


def _decide(driver: Driver, decision_id: str, reply: GivenReply) -> SessionView:
    try:
        return driver.decide(reply.text or "", reply.reason, decision_id)
    except BadAnswer as error:
        refuse(reply.where, error.details["why"])


def approve_summary(driver: Driver, key: Path | None) -> SessionView:
    """By a signature, or typed after seeing the summary."""
    if key is None:
        driver.app.workspace.signers.require_typing(f"{driver.command} --approve --sign KEY")
        require_terminal(driver.app, driver.command)
    session = ReviewedSession(driver.app.workspace, driver.session_id)
    # Also beside a JSON document: what is signed must have been shown.
    driver.ui.show(review_lines(session.stored, session.pending))
    driver.tell_agents_part()
    proof: Proof | None
    if key is not None:
        proof = driver.sign(key, session.digest)
    else:
        proof = ask_approval(LinePrompter(driver.app), session.digest)
    return driver.view() if proof is None else session.approve(proof)


def show_pending(driver: Driver, view: SessionView) -> int:
    """Shows what is pending: a document for programs, text for people. Returns the exit code."""
    ui, pending = driver.ui, view.pending
    if ui.as_json:
        similar = {"similar": driver.offer.describe()} if driver.offer else {}
        ui.document({**msgspec.to_builtins(view), **similar} if similar else view)
    else:
        ui.show(pending_lines(driver.tool.get(driver.session_id), pending))
    _tell_next(driver, view)
    driver.tell_totals(view)
    return exit_code(view)


def _tell_next(driver: Driver, view: SessionView) -> None:
    ui = driver.ui
    match view.pending:
        case ApprovedSession(run_id=run_id):
            driver.tell_approval()
            driver.tell_run_waits(run_id)
        case CancelledSession():
            ui.next_step('ringi plan "…"')
        case QuestionPending():
            ui.next_step(f"{driver.command} --answer …")
        case DecisionPending():
            ui.next_step(f"{driver.command} --answer OPTION --reason …")
        case ApprovalPending():
            driver.tell_agents_part()
            ui.line(Text("A person approves it in a terminal of their own, or with a key:"), indent=2)
            ui.next_step(driver.command)
            ui.next_step(f"{driver.command} --approve --sign KEY")
        case _:
            ui.next_step(driver.command)
