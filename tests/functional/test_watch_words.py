"""`ringi watch` and words: what people say about a run reaches whoever works on it."""

from collections.abc import Iterator

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import StepStatus
from ringi.forges.watch_project import Standing
from ringi.runs.document import StopCode
from tests.functional.run_desk import FIX, a_plan, a_step
from tests.functional.watch_desk import WatchDesk, each_forge, gitlab, watch_desk

pytestmark = pytest.mark.req("PP-20")
ONE = a_plan(a_step(1))
PLEASE = f"if grep -q 'Say please' \"$1\"; then {FIX}; else exit 3; fi"


@pytest.fixture
def desk(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchDesk]:
    with watch_desk(kind, monkeypatch, implementer=PLEASE) as made:
        yield made


@each_forge
def test_a_run_begins_by_itself_and_tries_again_with_a_persons_words(desk: WatchDesk):
    run_id = desk.begin(ONE)
    assert desk.round().standing == {run_id: Standing.WAITS}
    run = desk.run()
    assert run.stop
    assert run.stop.reason_code is StopCode.ROLE_FAILED
    assert desk.issue.labels == ["coding agent help needed"]
    desk.said()
    # Nothing new: nothing is tried again.
    desk.round()
    assert desk.said() == []
    assert len(desk.run().steps[0].attempts) == 1
    said = desk.repo.comment(desk.issue, "bob", "Say please\n\nand thank you")
    desk.round()
    host = desk.terms.project.host
    assert desk.said()[0] == f"heard: bob@{host}: Say please"
    run = desk.run()
    assert run.steps[0].status is StepStatus.PROPOSED
    with desk.open() as workspace:
        [row] = workspace.store.processes.feedback(run_id)
    assert (row.ref, row.who, row.source) == (f"comment:{said.id}", f"bob@{host}", "issue_comment")
    assert row.text == "Say please\n\nand thank you"
    assert run.heard == (row.feedback_id,)


@gitlab
def test_nobody_elses_words_are_heard_unless_all_are_read(desk: WatchDesk):
    run_id = desk.begin(ONE)
    desk.round()
    desk.said()
    for login in ("stranger", "reader", "robot[bot]"):
        desk.repo.comment(desk.issue, login, "Say please")
    desk.repo.comment(desk.issue, "ringi", "Say please\n\n<!-- ringi:anything -->")
    desk.round()
    assert [line.partition("@")[0] for line in desk.said()] == ["ignored: stranger", "ignored: reader"]
    desk.round()
    assert desk.said() == []
    with desk.open() as workspace:
        assert workspace.store.processes.feedback(run_id) == ()
    desk.configure("forge:\n  read_all: true\nroles:\n  implementer:\n    command: "
                   f"{desk.scripts / 'implementer'} {{brief}}\n")  # fmt: skip
    desk.round()
    with desk.open() as workspace:
        rows = workspace.store.processes.feedback(run_id)
    assert [row.who.partition("@")[0] for row in rows] == ["stranger", "reader"]


@each_forge
def test_what_is_said_after_a_full_page_is_heard_by_the_same_watcher(desk: WatchDesk):
    """On the issue and on the change; the progress is told in one comment, however long the page is."""
    for number in range(100):
        desk.repo.comment(desk.issue, "robot[bot]", f"chatter {number}")
    desk.begin(ONE)
    with desk.open() as workspace:
        watching = desk.watcher(workspace)
        for _ in range(2):
            watching.round()
        desk.said()
        desk.repo.comment(desk.issue, "bob", "Say please")
        watching.round()
        assert desk.said()[0] == f"heard: bob@{desk.terms.project.host}: Say please"
        assert len(desk.comments()) == 1
        [change] = desk.repo.changes.values()
        while not change.comments or len(change.comments) % 100:
            desk.repo.comment(change, "robot[bot]", "more")
        for _ in range(2):
            watching.round()
        desk.said()
        desk.repo.comment(change, "alice", "/ringi reject Say please, too")
        watching.round()
        assert any("Say please, too" in one for one in desk.said())
    assert len(desk.comments()) == 1


@each_forge
def test_a_round_without_news_makes_few_calls_and_moves_no_bodies(desk: WatchDesk):
    """Also if there is a change with reviews."""
    desk.begin(ONE)
    desk.repo.comment(desk.issue, "bob", "Say please")
    with desk.open() as workspace:
        watching = desk.watcher(workspace)
        watching.round()
        assert workspace.planning.run(desk.run_id).offer
        watching.round()
        before = len(desk.forge.calls())
        watching.round()
        calls = desk.forge.calls()[before:]
    assert calls
    assert {call.answered for call in calls} == {304}
    assert len(calls) <= 8
