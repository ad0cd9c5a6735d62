"""`ringi watch` and a revision of how a step is made: shown on the issue, approved or declined there."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ringi.approvals.document import ProofKind
from ringi.approvals.forge import ForgeKind
from ringi.engine.process import Process
from ringi.forges.watch_project import Standing
from tests.fakes.model_server import ModelServer
from tests.functional.run_desk import a_plan, a_step
from tests.functional.test_revision import CONFIGURATION, FIXED, LOST
from tests.functional.watch_desk import WatchDesk, each_forge, github, gitlab, watch_desk
from tests.helpers import SetClock

pytestmark = pytest.mark.req("PP-20")


@contextmanager
def waiting(
    kind: ForgeKind, monkeypatch: pytest.MonkeyPatch, clock: SetClock | None = None
) -> Iterator[WatchDesk]:
    """A run whose step waits with a revision, which its comment shows."""
    with ModelServer([LOST, LOST, FIXED]) as server, watch_desk(kind, monkeypatch) as desk:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        desk.configure(CONFIGURATION.format(url=server.url))
        desk.clock = clock
        desk.begin(a_plan(a_step(1, title="Fix the sum")))
        assert desk.round().standing == {desk.run_id: Standing.WAITS}
        run = desk.run()
        assert run.stop
        assert run.stop.reason_code == "REVISION_WAITS"
        desk.said()
        yield desk


def process_of(desk: WatchDesk) -> Process:
    with desk.open() as workspace:
        return workspace.store.processes.of(desk.run_id)[-1]


def digits(desk: WatchDesk) -> str:
    [progress] = desk.comments()
    assert "task_0 search: Find the file that is meant by sum.py" in progress
    return progress.partition("/ringi approve ")[2].split()[0]


@each_forge
def test_a_comment_with_its_digits_approves_it(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch):
    with waiting(kind, monkeypatch) as desk:
        desk.repo.comment(desk.issue, "reader", f"/ringi approve {digits(desk)}")
        desk.repo.comment(desk.issue, "bob", "/ringi approve 0123456789ab")
        desk.round()
        assert process_of(desk).revisions == ()
        desk.repo.comment(desk.issue, "bob", f"/ringi approve {digits(desk)}")
        desk.round()
        assert any(
            line.startswith("approved: the revision of the plan approved by bob@") for line in desk.said()
        )
        assert [one.approved for one in process_of(desk).revisions] == [True]
        with desk.open() as workspace:
            kinds = [one.proof.kind for one in workspace.store.approvals.of(desk.run_id)]
        assert kinds == [ProofKind.TYPED, ProofKind.REVIEW]


@gitlab
def test_a_comment_with_words_declines_it(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch):
    with waiting(kind, monkeypatch) as desk:
        desk.repo.comment(desk.issue, "bob", "/ringi reject The file is calc.py")
        desk.round()
        assert any(line.startswith("sent_back: the revision") for line in desk.said())
        process = process_of(desk)
        assert [one.approved for one in process.revisions] == [False]
        # What was said is a revision, too, and waits as such.
        assert process.proposed
        assert "The file is calc.py" in desk.comments()[0]


@github
def test_time_approves_nothing(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch):
    clock = SetClock()
    with waiting(kind, monkeypatch, clock) as desk:
        approving = f"/ringi approve {digits(desk)}"
        clock.pass_by(3_601)
        desk.repo.comment(desk.issue, "bob", approving)
        desk.round()
        assert not any(line.startswith("approved") for line in desk.said())
        assert process_of(desk).proposed is None
        with desk.open() as workspace:
            kinds = [one.proof.kind for one in workspace.store.approvals.of(desk.run_id)]
        assert kinds == [ProofKind.TYPED]
