"""The review of a planning session, whatever it is shown on: what each act does, asks and refuses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.errors import NotAsked, StorageFailed
from ringi.kernel.text import Text
from ringi.plans.review_loop import ReviewAct, ReviewEnd
from ringi.sessions.document import ApprovalPending, DecisionPending, QuestionPending, SessionStatus
from ringi.sessions.review import KEYS, ReviewedSession, SessionReview, exit_code
from tests.fakes.prompters import Answer, ScriptedPrompter, Step
from tests.helpers import Person, open_scratch

NO_FEEDBACK = "To reject it, say what should change; nothing was decided."


class PersonBesideAgent(Person):
    def __init__(self) -> None:
        super().__init__()
        self.agent_at_work: Text | None = None

    def agent(self) -> Text | None:
        return self.agent_at_work

    def refusal(self) -> Text | None:
        return self.why or self.agent_at_work


@pytest.fixture
def person() -> PersonBesideAgent:
    return PersonBesideAgent()


@pytest.fixture
def workspace(tmp_path: Path, person: PersonBesideAgent) -> Iterator[Workspace]:
    with open_scratch(tmp_path, person=person) as opened:
        yield opened


def lead(workspace: Workspace, session_id: str) -> None:
    """To the review."""
    while True:
        match workspace.planning.go_on(session_id).pending:
            case QuestionPending():
                workspace.planning.skip(session_id)
            case DecisionPending(decision=decision):
                workspace.planning.decide(session_id, decision.options[0].id)
            case _:
                return


@pytest.fixture
def session_id(workspace: Workspace) -> str:
    started = workspace.planning.start("Remove the login page").session_id
    lead(workspace, started)
    assert isinstance(workspace.planning.view(started).pending, ApprovalPending)
    return started


class Sitting:
    """One review, from its first look to its end."""

    def __init__(
        self, workspace: Workspace, session_id: str, *steps: Step, answers: tuple[Answer, ...] = ()
    ) -> None:
        self.session = ReviewedSession(workspace, session_id)
        self.prompter = ScriptedPrompter(steps, answers)
        self.ended = SessionReview(self.session, self.prompter).run()

    @property
    def status(self) -> SessionStatus:
        return self.session.view().status

    @property
    def exit_code(self) -> int:
        return exit_code(self.session.view())


def test_approve(workspace: Workspace, session_id: str) -> None:
    sitting = Sitting(workspace, session_id, ReviewAct.APPROVE, answers=("y",))
    assert (sitting.ended, sitting.exit_code) == (ReviewEnd.APPROVED, 0)
    assert sitting.prompter.asked == ["Approve? [y/n]"]
    assert sitting.prompter.said == [f"What you approve is sha256 {sitting.session.digest[:12]}…"]
    approval = workspace.planning.approval(session_id)
    assert approval is not None
    assert (approval.approver, approval.digest) == ("hanako", sitting.session.digest)


@pytest.mark.parametrize("answer", ["n", "a", ""])
def test_anything_but_a_yes_approves_nothing(workspace: Workspace, session_id: str, answer: str) -> None:
    sitting = Sitting(workspace, session_id, ReviewAct.APPROVE, answers=(answer,))
    assert (sitting.ended, sitting.exit_code) == (ReviewEnd.LEFT, 3)
    assert sitting.prompter.said[-1] == "Nothing was approved."
    assert sitting.status is SessionStatus.REVIEW


def test_whoever_is_gone_has_left(workspace: Workspace, session_id: str) -> None:
    sitting = Sitting(workspace, session_id, ReviewAct.APPROVE)
    assert (sitting.ended, sitting.status) == (ReviewEnd.LEFT, SessionStatus.REVIEW)


@pytest.mark.req("IP-9")
def test_an_approval_covers_only_what_was_shown(workspace: Workspace, session_id: str) -> None:
    def elsewhere(_: Text) -> str:
        workspace.planning.reject(session_id, "something else")
        lead(workspace, session_id)
        return "y"

    sitting = Sitting(workspace, session_id, ReviewAct.APPROVE, answers=(elsewhere,))
    assert sitting.ended is ReviewEnd.ELSEWHERE
    assert sitting.prompter.said[-1] == "wrong_answer"
    assert sitting.status is SessionStatus.REVIEW


def test_the_last_reject_cancels(workspace: Workspace, session_id: str) -> None:
    said = []
    for _ in range(3):
        sitting = Sitting(workspace, session_id, ReviewAct.REJECT, answers=(" smaller ",))
        assert sitting.ended is ReviewEnd.REJECTED
        assert sitting.prompter.asked == ["What should be different? (empty: no reject)"]
        said += sitting.prompter.said
        if sitting.status is not SessionStatus.CANCELLED:
            lead(workspace, session_id)
    assert said == [
        "3 rejects are left; the last one cancels the session.",
        "2 rejects are left; the last one cancels the session.",
        "This would be the last reject: it cancels the session.",
    ]
    assert (sitting.status, sitting.exit_code) == (SessionStatus.CANCELLED, 5)
    assert workspace.planning.get(session_id).facts.feedback == ("smaller",) * 3


@pytest.mark.parametrize("feedback", ["", "  ", None])
def test_a_reject_needs_words(workspace: Workspace, session_id: str, feedback: str | None) -> None:
    sitting = Sitting(workspace, session_id, ReviewAct.REJECT, answers=(feedback,))
    assert sitting.ended is ReviewEnd.LEFT
    assert sitting.prompter.said[-1] == NO_FEEDBACK
    assert sitting.status is SessionStatus.REVIEW


def test_feedback_that_is_too_long_is_refused_and_the_review_goes_on(
    workspace: Workspace, session_id: str
) -> None:
    steps = (ReviewAct.REJECT, ReviewAct.REJECT)
    sitting = Sitting(workspace, session_id, *steps, answers=("x" * 10**6, "shorter"))
    assert sitting.ended is ReviewEnd.REJECTED
    assert "bad_answer" in sitting.prompter.said


def test_back(workspace: Workspace, session_id: str) -> None:
    sitting = Sitting(workspace, session_id, ReviewAct.BACK)
    assert (sitting.ended, sitting.status) == (ReviewEnd.BACK, SessionStatus.DESIGN)


@pytest.mark.parametrize(
    ("answer", "ended", "code"), [("y", ReviewEnd.CANCELLED, 5), ("n", ReviewEnd.LEFT, 3)]
)
def test_cancelling_is_asked_once(
    workspace: Workspace, session_id: str, answer: str, ended: ReviewEnd, code: int
) -> None:
    sitting = Sitting(workspace, session_id, ReviewAct.CANCEL, answers=(answer,))
    assert (sitting.ended, sitting.exit_code) == (ended, code)
    assert sitting.prompter.asked == ["End the session for good? [y/n]"]


@pytest.mark.req("IP-9")
@pytest.mark.parametrize("act", [ReviewAct.APPROVE, ReviewAct.REJECT, ReviewAct.CANCEL])
def test_an_agent_is_refused_before_anything_is_asked(
    workspace: Workspace, session_id: str, person: PersonBesideAgent, act: ReviewAct
) -> None:
    person.agent_at_work = Text("an agent works here")
    sitting = Sitting(workspace, session_id, act)
    assert sitting.prompter.said == ["no_channel"]
    assert sitting.prompter.asked == []
    assert sitting.status is SessionStatus.REVIEW


@pytest.mark.parametrize("act", [ReviewAct.REJECT, ReviewAct.BACK, ReviewAct.SHOW_AGAIN])
def test_a_session_that_moved_on_elsewhere_ends_the_review(
    workspace: Workspace, session_id: str, act: ReviewAct
) -> None:
    def elsewhere() -> None:
        workspace.planning.cancel(session_id)

    sitting = Sitting(workspace, session_id, elsewhere, act, answers=("too late",))
    assert (sitting.ended, sitting.exit_code) == (ReviewEnd.ELSEWHERE, 5)
    assert "is cancelled" in sitting.prompter.said[-1]


def test_shown_again_it_is_what_it_is_now(workspace: Workspace, session_id: str) -> None:
    def elsewhere() -> None:
        workspace.planning.reject(session_id, "smaller")
        lead(workspace, session_id)

    steps = (elsewhere, ReviewAct.SHOW_AGAIN, ReviewAct.SHOW_INFO, ReviewAct.APPROVE)
    sitting = Sitting(workspace, session_id, *steps, answers=("y",))
    assert sitting.ended is ReviewEnd.APPROVED
    assert sitting.prompter.shown == 2
    assert "info" in sitting.prompter.said


def test_only_a_session_in_review_is_reviewed(workspace: Workspace) -> None:
    session_id = workspace.planning.start("Remove the login page").session_id
    with pytest.raises(NotAsked):
        ReviewedSession(workspace, session_id)


def test_a_disk_that_is_full_ends_it_with_its_error(workspace: Workspace, session_id: str) -> None:
    def full(_: Text) -> str:
        raise StorageFailed(what="it", why="no space")

    with pytest.raises(StorageFailed):
        Sitting(workspace, session_id, ReviewAct.APPROVE, answers=(full,))


def test_every_key_is_an_act_of_a_session(workspace: Workspace, session_id: str) -> None:
    for act in KEYS.values():
        sitting = Sitting(workspace, session_id, act, answers=("n", "n"))
        assert sitting.ended in ReviewEnd
        lead(workspace, session_id)
