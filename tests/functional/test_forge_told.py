"""What people are told about sessions and runs on a forge: the right command, and nothing that is not so."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import UNSET

from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import RunPhase
from ringi.forges.watch_project import Standing
from ringi.kernel.text import in_language
from ringi.ledger.subject import short
from ringi.runs.document import StopCode
from tests.functional.desk import Desk
from tests.functional.issue_desk import IssueDesk, issue_desk
from tests.functional.run_desk import FIX, a_plan, a_step
from tests.functional.watch_desk import WatchDesk, alike, gitlab, watch_desk
from tests.support.forge_server import ChangeThing

pytestmark = pytest.mark.req("PP-20")


@pytest.fixture
def desk(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchDesk]:
    with watch_desk(kind, monkeypatch, implementer=FIX) as made:
        yield made


@pytest.fixture
def asked(isolated: Path, tmp_path: Path) -> Iterator[IssueDesk]:
    with issue_desk(ForgeKind.GITHUB, tmp_path / "all") as found:
        yield found


def offered(desk: WatchDesk) -> ChangeThing:
    desk.begin(a_plan(a_step(1)))
    desk.round()
    run = desk.run()
    assert run.offer
    desk.said()
    return desk.repo.changes[run.offer.number]


def test_a_session_is_named_with_commands_that_work(asked: IssueDesk):
    issue = asked.repo.issue("alice", "Adding is wrong", "It subtracts.")
    code, view = asked.ask("run", "--issue", str(issue.number), "--review", "forge")
    page, session = f"{asked.repo.url}/issues/{issue.number}", view["sessionId"]
    # Without a terminal: where the questions are, and who reads the answers.
    assert code == 3
    assert page in asked.told
    assert "→ ringi watch" in asked.told
    told = asked.run("watch", "--once", **asked.variables).stdout
    assert f"→ ringi plan --resume {short(session)}" in told
    assert page in told
    assert f"ringi status {session}" not in told
    assert session in asked.run("status", short(session)).stdout
    # The same issue a second time.
    code, _ = asked.ask("run", "--issue", str(issue.number))
    assert code == 2
    assert f"{short(session)} is open about it" in asked.told
    assert f"ringi cancel {short(session)}" in asked.told
    assert asked.progress(issue)
    done = asked.run("cancel", short(session), **asked.variables)
    assert done.returncode == 5, done.stderr
    assert "### Cancelled" in asked.progress(issue).body
    assert issue.labels == []
    words = ("run", "--issue", str(issue.number), "--review", "forge")
    asked.model.answers(questions=[], decisions=[])
    code, view = asked.ask(*words, RINGI_FORGE_REVIEWS="off")
    assert code == 3
    assert "→ ringi watch" not in asked.told  # nobody can approve it there
    assert f"→ ringi plan --resume {short(view['sessionId'])}" in asked.told
    assert view["sessionId"] != session
    with asked.opened() as workspace:
        here = [workspace.planning.get(one).facts.forge for one in (session, view["sessionId"])]
    assert [one and one.approved_here for one in here] == [UNSET, True]


@alike
def test_a_change_that_was_closed_is_said_where_people_look(desk: WatchDesk):
    change = offered(desk)
    desk.repo.close(change)
    desk.round()
    [progress] = desk.comments()
    assert "approving review" not in progress
    assert "nothing is opened a second time" in progress
    assert f"ringi cancel {desk.run_id}" in progress
    status = Desk(desk.root).run("status", desk.run_id).stdout
    assert "is closed; nothing is" in status
    before = len(desk.said())
    desk.round()
    assert (before, desk.said()) == (1, [])
    change.open = True
    desk.repo.review(change.number, "bob", "approve")
    assert desk.round().standing == {desk.run_id: Standing.OVER}


@alike
def test_a_branch_that_was_moved_is_said_where_people_look(desk: WatchDesk):
    change = offered(desk)
    head = desk.repo.tip(change.head)
    desk.repo.commit(change.head, {"evil.py": "import os\n"})
    desk.round()
    run, [progress] = desk.run(), desk.comments()
    assert run.stop
    assert run.stop.reason_code is StopCode.BRANCH_MOVED
    assert "approving review" not in progress
    assert "is not as the run left it" in progress
    # In Japanese, too, with what is to be done.
    say = in_language("ja")
    assert "ランが残した" in say(run.stop.why)
    assert "the run did not push" not in say(run.stop.why)
    assert say(run.stop.todo) != run.stop.next_action
    assert run.offer
    assert say(run.offer.why_left) == say(run.stop.why)
    desk.repo.git("update-ref", f"refs/heads/{change.head}", head)
    desk.repo.pushed()
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    assert "### Ready for review" in desk.comments()[0]
    desk.repo.review(change.number, "bob", "approve")
    assert desk.round().standing == {desk.run_id: Standing.OVER}
    assert desk.run().phase is RunPhase.COMPLETED


@gitlab
def test_where_reviews_do_not_count_nobody_is_told_that_they_do(
    desk: WatchDesk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RINGI_FORGE_REVIEWS", "off")
    change = offered(desk)
    run, [progress] = desk.run(), desk.comments()
    assert run.stop
    assert run.stop.next_action == "ringi review"
    for text in (progress, change.body):
        assert "approving review" not in text.lower()
        assert "`ringi review`" in text
    for more, words in (
        ({}, ("forge.reviews is off", "→ ringi review")),
        (
            {"RINGI_WITH_SANDBOX": "off"},
            ("no sandbox to test it in before that", "asked about each step here"),
        ),
    ):
        done = Desk(desk.root).run("run", "--issue", str(desk.issue.number), "--review", "forge", **more)
        assert "A review on the forge cannot approve this" in done.stderr
        assert all(one in " ".join(done.stderr.split()) for one in words)
