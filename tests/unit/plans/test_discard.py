"""A discarded plan is gone from the lists, kept in the log, and never carried out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.errors import BadTransition, NoChannel, NotNow
from ringi.plans.document import OutcomeKind, PlanStatus
from tests.fakes.people import AgentAtWork
from tests.helpers import approved, assert_whole, create, open_scratch, proposed, rewire


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as opened:
        yield opened


def test_no_list_shows_it_and_the_log_does(workspace: Workspace):
    tool = workspace.plan
    kept, gone = (
        proposed(workspace, create("kept.txt", "x\n")),
        proposed(workspace, create("gone.txt", "x\n")),
    )
    assert tool.discard(gone, "a duplicate").status is PlanStatus.DISCARDED
    assert [ref.id for ref in tool.list()] == [kept]
    assert [ref.id for ref in tool.list(waiting=True)] == [kept]
    assert tool.get_current() is None
    assert tool.get(gone).state.action_specs[0].base.path == "gone.txt"
    last = list(workspace.log(gone))[-1].event
    assert (last.event, last.actor, last.reason) == ("discarded", "user", "a duplicate")
    assert_whole(workspace)


def test_its_request_ends_and_its_approval_does_not_count(workspace: Workspace):
    tool = workspace.plan
    asked = proposed(workspace, create("asked.txt", "x\n"))
    tool.request_approval(asked)
    tool.discard(asked)
    assert tool.answer(asked).outcome is OutcomeKind.CANCELLED
    given = approved(workspace, create("given.txt", "x\n"))
    tool.discard(given)
    with pytest.raises(NotNow):
        tool.execute(given)
    assert not (workspace.places.root / "given.txt").exists()
    assert_whole(workspace)


def test_nothing_follows_and_what_is_done_stays(workspace: Workspace):
    tool = workspace.plan
    gone, done = (
        proposed(workspace, create("gone.txt", "x\n")),
        approved(workspace, create("done.txt", "x\n")),
    )
    tool.discard(gone)
    tool.execute(done)
    for plan_id in (gone, done):
        with pytest.raises(BadTransition):
            tool.discard(plan_id)
    again = workspace.versions.fork(gone)
    assert [ref.id for ref in tool.list()] == [again, done]


def test_an_agent_discards_only_its_own_as_long_as_nobody_decided(workspace: Workspace):
    mine, decided = (
        proposed(workspace, create("mine.txt", "x\n")),
        approved(workspace, create("decided.txt", "x\n")),
    )
    rewire(workspace, person=AgentAtWork())
    tool = workspace.plan
    with pytest.raises(NoChannel):
        tool.discard(mine)
    with pytest.raises(NoChannel):
        tool.discard(decided, own=True)
    assert tool.discard(mine, own=True).status is PlanStatus.DISCARDED
    assert list(workspace.log(mine))[-1].event.actor == "ai"
