"""The review of a planning session: what a person can do, what they are asked, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ringi.approvals.document import Proof
from ringi.approvals.forge import task_of
from ringi.approvals.prompter import Asker, agrees, ask_approval, require_person
from ringi.approvals.who import actor_at, refuse_agent
from ringi.errors import (
    Busy,
    NotAsked,
    NotGranted,
    PersonNeeded,
    RingiError,
    SessionOver,
    SessionRace,
    StorageFailed,
    WrongAnswer,
)
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.plans.review_loop import (
    ACTS_OF_ANY,
    ReviewAct,
    ReviewChoice,
    ReviewEnd,
    ReviewLoop,
    ReviewPrompter,
    ask_rejection,
)
from ringi.sessions.document import ApprovalPending, ApprovedSession, CancelledSession, SessionView
from ringi.sessions.status_view import short_names

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

KEYS: Final[Mapping[str, ReviewAct]] = {
    "a": ReviewAct.APPROVE,
    "r": ReviewAct.REJECT,
    "s": ReviewAct.SHOW_AGAIN,
    "i": ReviewAct.SHOW_INFO,
    "b": ReviewAct.BACK,
    "c": ReviewAct.CANCEL,
    "q": ReviewAct.QUIT,
}


class SessionInReview:
    """A planning session, as the user here continues it: every step is recorded as theirs."""

    def __init__(self, workspace: Workspace, session_id: str) -> None:
        forge = workspace.planning.get(session_id).facts.forge
        self.tool = workspace.for_task(task_of(forge)).planning
        self.person = workspace.person
        self.signers = workspace.signers
        self.session_id = session_id

    @cached_property
    def name(self) -> str:
        """What people type."""
        ids = [ref.session_id for ref in self.tool.list()]
        return short_names(ids).get(self.session_id, self.session_id)

    @property
    def command(self) -> str:
        return f"ringi plan --resume {self.name}"

    @cached_property
    def actor(self) -> Actor:
        return actor_at(self.person)

    def view(self) -> SessionView:
        return self.tool.view(self.session_id)

    def answer(self, text: str, question_id: str = "") -> SessionView:
        return self.tool.answer(self.session_id, text, question_id=question_id, actor=self.actor)

    def skip(self, question_id: str) -> SessionView:
        return self.tool.skip(self.session_id, question_id=question_id, actor=self.actor)

    def decide(self, option: str, reason: str, decision_id: str) -> SessionView:
        return self.tool.decide(self.session_id, option, reason, decision_id=decision_id, actor=self.actor)

    def back(self) -> SessionView:
        return self.tool.back(self.session_id, actor=self.actor)

    def refuse_agent(self) -> None:
        """Only a person rejects or cancels."""
        refuse_agent(self.person, self.command)


class ReviewedSession(SessionInReview):
    """A session whose summary waits for approval, as last shown to the person."""

    def __init__(self, workspace: Workspace, session_id: str) -> None:
        super().__init__(workspace, session_id)
        self.look()

    def look(self) -> None:
        """Raises NotAsked, SessionOver or SessionRace if the session has left the review."""
        # The digest is read first, so that it covers no later change.
        self.digest = self.tool.request(self.session_id).digest
        self.stored = self.tool.get(self.session_id)
        pending = self.view().pending
        if not isinstance(pending, ApprovalPending):
            raise SessionRace(session=self.name)
        self.pending = pending

    def approve(self, proof: Proof) -> SessionView:
        return self.tool.approve(self.session_id, self.person.user(), proof)

    def reject(self, feedback: str) -> None:
        self.tool.reject(self.session_id, feedback)


class SessionReview(ReviewLoop[ReviewedSession, ReviewPrompter]):
    def act(self, choice: ReviewChoice) -> ReviewEnd | None:
        return _ACTS[choice.act](self, choice)

    def settle(self, error: RingiError) -> ReviewEnd | None:
        match error:
            case SessionRace() | NotAsked() | SessionOver():
                self.prompter.say(Text(error.message, **error.details), Style.WARNING)
                return ReviewEnd.ELSEWHERE
            case WrongAnswer():  # it changed since it was shown
                self.prompter.fail(error)
                return ReviewEnd.ELSEWHERE
            case StorageFailed() | Busy():
                raise error
            case _:
                self.prompter.fail(error)
        return None


def _approve(review: SessionReview, _: ReviewChoice) -> ReviewEnd | None:
    session = review.subject
    session.signers.require_typing(f"{session.command} --approve --sign KEY")
    require_person(session.person, session.command)
    proof = ask_approval(review.prompter, session.digest)
    if proof is None:
        return None
    session.approve(proof)
    return ReviewEnd.APPROVED


def _reject(review: SessionReview, _: ReviewChoice) -> ReviewEnd | None:
    session, prompter = review.subject, review.prompter
    session.refuse_agent()
    if (left := session.pending.rejects_left) > 1:
        count = Text("{left} rejects are left; the last one cancels the session.", left=left)
        prompter.say(count, Style.FAINT)
    else:
        prompter.say(Text("This would be the last reject: it cancels the session."), Style.WARNING)
    return ask_rejection(review, Text("What should be different? (empty: no reject)"))


def _back(review: SessionReview, _: ReviewChoice) -> ReviewEnd:
    review.subject.back()
    return ReviewEnd.BACK


def _cancel(review: SessionReview, _: ReviewChoice) -> ReviewEnd | None:
    return ReviewEnd.CANCELLED if confirm_cancel(review.subject, review.prompter) else None


def confirm_cancel(session: SessionInReview, asker: Asker) -> bool:
    """In any phase of the session; asks first. Raises NoChannel if an agent is running."""
    session.refuse_agent()
    agreed = agrees(asker, Text("End the session for good? [y/n]"))
    if agreed:
        session.tool.cancel(session.session_id)
    return agreed


_ACTS: Final[Mapping[ReviewAct, Callable[[SessionReview, ReviewChoice], ReviewEnd | None]]] = {
    **ACTS_OF_ANY,
    ReviewAct.APPROVE: _approve,
    ReviewAct.REJECT: _reject,
    ReviewAct.BACK: _back,
    ReviewAct.CANCEL: _cancel,
}


def exit_code(view: SessionView) -> int:
    """Says that a person is needed, unless the session has ended."""
    if isinstance(view.pending, ApprovedSession):
        return 0
    return NotGranted.exit_code if isinstance(view.pending, CancelledSession) else PersonNeeded.exit_code
