"""`ringi watch` when things go wrong there, or while it works."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ringi.approvals.forge import ForgeKind, Project
from ringi.errors import Busy, ForgeUnreachable, NoChannel
from ringi.forges.document import ForgeReview
from ringi.forges.port import ChangeRequests, CodeHost
from ringi.forges.watch import LONGEST_PAUSE, Watcher, lock_watching, watch
from ringi.forges.watch_project import NewsKind, Standing, WatchEvent
from ringi.kernel.lock import PassingLock
from tests.fakes.people import AgentAtWork
from tests.functional.run_desk import FIX, a_plan, a_step
from tests.functional.watch_desk import WatchDesk, each_forge, github, gitlab, state, watch_desk
from tests.support.forge_server import ChangeThing

pytestmark = pytest.mark.req("PP-20")
ONE = a_plan(a_step(1))
AGAIN = f"{FIX}; if grep -q 'Say more' \"$1\"; then echo '# more' >> calc.py; fi"


@pytest.fixture
def desk(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchDesk]:
    with watch_desk(kind, monkeypatch, implementer=AGAIN) as made:
        yield made


def offered(desk: WatchDesk) -> ChangeThing:
    desk.begin(ONE)
    desk.round()
    run = desk.run()
    assert run.offer
    desk.said()
    return desk.repo.changes[run.offer.number]


@github
def test_a_change_that_was_merged_without_an_approval(desk: WatchDesk):
    change = offered(desk)
    desk.repo.merge(change.number)
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    [said] = desk.said()
    assert "was merged, and nobody has approved it" in said
    assert state(desk.run()) == ["proposed"]
    desk.round()
    [progress] = desk.comments()
    assert progress.count("was merged, and nobody has approved it") == 1
    assert f"ringi cancel {desk.run_id}" in progress


@gitlab
def test_commits_of_somebody_else_on_the_branch_are_not_approved(desk: WatchDesk):
    change = offered(desk)
    theirs = desk.repo.commit(change.head, {"evil.py": "import os\n"})
    desk.repo.review(change.number, "bob", "approve")
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    [said] = desk.said()
    assert theirs[:7] in said
    assert "nothing is approved" in said
    assert state(desk.run()) == ["proposed"]
    assert desk.repo.tip(change.head) == theirs


class _Dismissing:
    """What somebody reads there is dismissed right afterwards."""

    def __init__(self, changes: ChangeRequests, dismiss: Callable[[], None]) -> None:
        self._changes = changes
        self._dismiss = dismiss

    def __getattr__(self, name: str) -> Any:
        return getattr(self._changes, name)

    def reviews(self, number: int) -> Sequence[ForgeReview]:
        found = self._changes.reviews(number)
        self._dismiss()
        return found


@each_forge
def test_a_review_that_is_dismissed_between_the_look_and_the_execution(desk: WatchDesk):
    change = offered(desk)
    given = desk.repo.review(change.number, "bob", "approve")
    with desk.open() as workspace:
        watcher = desk.watcher(workspace)
        found = watcher.host

        def host(project: Project) -> CodeHost:
            there = found(project)
            changes: Any = _Dismissing(there.changes, lambda: desk.repo.dismiss(change.number, given))
            return there._replace(changes=changes)

        watcher.host = host
        assert watcher.round().standing == {desk.run_id: Standing.WAITS}
    [said] = desk.said()
    assert said.startswith("refused: bob@")
    assert state(desk.run()) == ["proposed"]


@github
def test_it_goes_on_after_the_network_was_lost_ever_more_slowly(desk: WatchDesk):
    change = offered(desk)
    desk.repo.review(change.number, "bob", "approve")
    pauses: list[float] = []
    with desk.open() as workspace:
        watcher = desk.watcher(workspace)
        found = watcher.host

        def host(project: Project) -> CodeHost:
            if len(pauses) < 4:
                raise ForgeUnreachable(host=project.host, why="no route")
            return found(project)

        watcher.host = host
        assert watch(watcher, "", 60, pauses.append).standing == {desk.run_id: Standing.OVER}
    assert pauses == [120, 240, 480, LONGEST_PAUSE]
    # Said once, not every time.
    assert sum("cannot be reached" in line for line in desk.said()) == 1


@github
def test_what_was_sent_back_before_a_crash_goes_on(desk: WatchDesk):
    change = offered(desk)
    desk.repo.review(change.number, "alice", "request_changes", "Say more")
    with desk.open() as workspace, pytest.raises(KeyboardInterrupt):
        Watcher(workspace, _die_once_sent_back).round()
    assert state(desk.run()) == ["proposed"]
    assert desk.round().standing == {desk.run_id: Standing.WAITS}
    run = desk.run()
    assert len(run.steps[0].attempts) == 2
    assert desk.file_in_copy(run, "calc.py").endswith("# more\n")
    told = next((desk.root / ".agent/runs").rglob("S01-implementer-2.md")).read_text()
    assert told.count("Say more") == 1


def _die_once_sent_back(event: WatchEvent) -> None:
    if event.kind is NewsKind.SENT_BACK:
        raise KeyboardInterrupt


@gitlab
def test_only_one_watches_and_nobody_disturbs_a_run_at_work(desk: WatchDesk):
    offered(desk)
    with desk.open() as workspace, lock_watching(workspace.places.state), pytest.raises(Busy):
        workspace.watch()
    with desk.open() as workspace:
        watcher = desk.watcher(workspace)
        with PassingLock(workspace.places.state / f"{desk.run_id}.lock", 0.0)("watch"):
            desk.repo.comment(desk.issue, "alice", "Say more")
            assert watcher.round().standing == {desk.run_id: Standing.AT_WORK}
        # Whoever works on it hears it.
        assert [one.text for one in workspace.store.processes.feedback(desk.run_id)] == ["Say more"]
        assert workspace.store.runs.get(desk.run_id).heard == ()


@github
def test_an_agent_watches_nothing(desk: WatchDesk):
    desk.person = AgentAtWork()
    with desk.open() as workspace, pytest.raises(NoChannel):
        workspace.watch()
