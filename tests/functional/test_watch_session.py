"""`ringi watch` and planning sessions: asked, answered and decided on an issue."""

from collections.abc import Iterator

import pytest

from ringi.approvals.document import ProofKind
from ringi.approvals.forge import ForgeKind
from ringi.forges.watch_project import Standing
from ringi.sessions.document import ApprovalPending, SessionView
from tests.functional.watch_desk import WatchDesk, alike, each_forge, github, watch_desk

pytestmark = pytest.mark.req("PP-10")


@pytest.fixture
def desk(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchDesk]:
    with watch_desk(kind, monkeypatch) as made:
        yield made


def begun(desk: WatchDesk) -> str:
    """The playbook asks two questions and for one decision."""
    with desk.open() as workspace:
        view = workspace.planning.start("Make the calculator faster", forge=desk.terms)
        session_id = workspace.planning.go_on(view.session_id).session_id
    assert desk.round().standing == {session_id: Standing.WAITS}
    return session_id


def view(desk: WatchDesk, session_id: str) -> SessionView:
    with desk.open() as workspace:
        return workspace.planning.view(session_id)


def answered(desk: WatchDesk) -> str:
    """To the plan."""
    session_id = begun(desk)
    desk.repo.comment(desk.issue, "alice", "1. A second; a tenth of it\n2. python3 test_calc.py")
    for _ in range(5):
        desk.round()
        pending = view(desk, session_id).pending
        if isinstance(pending, ApprovalPending):
            break
        desk.repo.comment(desk.issue, "bob", "d1. 1\nbecause it is simple")
    assert isinstance(view(desk, session_id).pending, ApprovalPending)
    return session_id


@each_forge
def test_answers_on_the_issue_carry_a_session_on_to_its_plan(desk: WatchDesk):
    session_id = answered(desk)
    host = desk.terms.project.host
    assert [line for line in desk.said() if "answered" in line][:2] == [
        f"answered: alice@{host} answered q-1",
        f"answered: alice@{host} answered q-2",
    ]
    # One comment, edited; it ends with what a person can say.
    [progress] = desk.comments()
    assert "A second; a tenth of it" in progress
    assert "/ringi approve " in progress
    assert desk.issue.labels == ["coding agent help needed"]
    with desk.open() as workspace:
        digest = workspace.planning.request(session_id).digest
        sources = [one.event.reason for one in workspace.log(session_id)]
    assert digest[:12] in progress
    assert any("by alice" in one for one in sources)
    assert desk.round().standing == {session_id: Standing.WAITS}
    assert desk.said() == []


@github
def test_words_of_others_bots_and_ours_answer_nothing(desk: WatchDesk):
    session_id = begun(desk)
    for login in ("stranger", "reader", "robot[bot]"):
        desk.repo.comment(desk.issue, login, "1. Yes\n2. Yes")
    desk.repo.comment(desk.issue, "ringi", "1. Yes\n2. Yes\n\n<!-- ringi:anything -->")
    desk.round()
    assert desk.said() == []
    with desk.open() as workspace:
        assert all(one.answer is None for one in workspace.planning.get(session_id).session.questions)


@alike
def test_a_plan_is_sent_back_by_a_comment_with_words(desk: WatchDesk):
    session_id = answered(desk)
    desk.said()
    desk.repo.comment(desk.issue, "stranger", "/ringi reject I do not like it")
    desk.repo.comment(desk.issue, "bob", "/ringi reject")
    desk.round()
    said = desk.said()
    assert len(said) == 2
    assert said[0].startswith("ignored: stranger@")
    assert "say what should be different" in said[1]
    assert "say what should be different" in desk.comments()[-1]
    desk.repo.comment(desk.issue, "bob", "/ringi reject Measure it first")
    desk.round()
    [sent] = [line for line in desk.said() if line.startswith("sent_back")]
    assert sent.startswith("sent_back: the plan sent back by bob@")
    assert sent.endswith("Measure it first")
    with desk.open() as workspace:
        stored = workspace.planning.get(session_id)
    assert stored.facts.feedback == ("Measure it first",)
    assert stored.session.reject_count == 1
    # Taken once, also by another watcher.
    desk.round()
    with desk.open() as workspace:
        assert workspace.planning.get(session_id).session.reject_count == 1


@each_forge
@pytest.mark.req("PP-25")
def test_a_comment_with_its_digits_approves_the_plan_and_the_run_begins(desk: WatchDesk):
    session_id = answered(desk)
    desk.said()
    with desk.open() as workspace:
        digest = workspace.planning.request(session_id).digest
    for login in ("ringi", "reader", "robot[bot]"):
        desk.repo.comment(desk.issue, login, f"/ringi approve {digest}")
    desk.repo.comment(desk.issue, "bob", "/ringi reject")
    desk.repo.comment(desk.issue, "bob", "/ringi approve 0123456789ab")
    assert desk.round().standing == {session_id: Standing.WAITS}
    assert any("the plan is now" in line for line in desk.said())
    desk.repo.comment(desk.issue, "bob", f"/ringi approve {digest[:12]}")
    [(run_id, standing)] = desk.round().standing.items()
    assert standing is Standing.WAITS
    assert any(line.startswith("approved: the plan approved by bob@") for line in desk.said())
    with desk.open() as workspace:
        run = workspace.planning.run(run_id)
        [approval] = workspace.store.approvals.of(session_id)
    assert run.forge == desk.terms
    assert run.stop  # it has begun: nobody has its roles
    assert approval.proof.kind is ProofKind.REVIEW
    assert approval.approver.startswith("bob@")
    # What was said to the session is not said to the run again.
    desk.said()
    desk.round()
    assert desk.said() == []
    with desk.open() as workspace:
        assert workspace.store.processes.feedback(run_id) == ()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ForgeKind.GITHUB, "/ringi approve {digest:.8}"),
        (ForgeKind.GITLAB, "`/ringi approve {digest}`"),
    ],
)
def test_an_approval_that_is_none_is_said_once_here_and_in_the_comment(desk: WatchDesk, words: str):
    session_id = answered(desk)
    desk.said()
    with desk.open() as workspace:
        digest = workspace.planning.request(session_id).digest
    desk.repo.comment(desk.issue, "stranger", words.format(digest=digest))
    desk.repo.comment(desk.issue, "bob", words.format(digest=digest))
    for expected in (1, 0, 0):
        assert desk.round().standing == {session_id: Standing.WAITS}
        assert sum("not understood: " in line and "(by @bob)" in line for line in desk.said()) == expected
        # The comment says it as long as nothing else is understood.
        [progress] = desk.comments()
        assert progress.count("not understood: ") == 1
        assert "(by `@bob`)" in progress
    desk.repo.comment(desk.issue, "bob", "/ringi reject Measure it first")
    desk.round()
    assert "not understood: " not in desk.comments()[0]
