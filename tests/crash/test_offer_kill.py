"""kill -9 between any two things that a run does on a forge: whoever goes on makes nothing twice."""

from collections.abc import Iterator

import pytest

from ringi.runs.drive import run_steps
from tests.crash.killing import KILLED, Driver
from tests.functional.forge_desk import BRANCH, KINDS, TWO, ForgeDesk, forge_desk

MOMENTS = [
    (name, moment)
    for name in (
        "GitOffers.make",
        "set_offered",
        "_OnForge.save",
        "_OnForge.save",
        "BranchExchange.push",
        "_OnForge.save",
        "_{forge}Changes.open",
        "_OnForge.save",
        "_{forge}Commits.set_status",
        "_OnForge.save",
        "_{forge}Items.write",
        "_{forge}Items.label",
    )
    for moment in ("call", "return")
]
"""In the order in which they come. What was done before is found again, and is not done."""
ENDS = [
    (name, moment)
    for name in (
        "_{forge}Items.write",
        "_{forge}Changes.edit",
        "_{forge}Commits.set_status",
        "_OnForge.save",
        "_{forge}Items.label",
    )
    for moment in ("call", "return")
]


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeDesk]:
    with forge_desk(monkeypatch, request.param) as desk:
        yield desk


def task(desk: ForgeDesk, **more: object) -> dict[str, object]:
    return {"root": str(desk.root), "environment": desk.environment(), "offer": desk.run_id, **more}


def killed(driver: Driver, desk: ForgeDesk, moments: list[tuple[str, str]]) -> int:
    """By process after process, each at the next moment; how many of them were."""
    kills = 0
    for name, moment in moments:
        code = driver.run(
            task(desk, moment=moment, save=1, saved_by=name.format(forge=desk.forge.kind.title()))
        )
        assert code in {0, KILLED}, (name, moment)
        kills += code == KILLED
        assert len(desk.repo.changes) <= 1
        assert len(desk.issue.comments) <= 1
    assert driver.run(task(desk)) == 0
    return kills


@pytest.mark.req("PP-25", "RN-4")
def test_killed_again_and_again(driver: Driver, desk: ForgeDesk):
    desk.begin(TWO)
    with desk.open() as workspace:
        run_steps(workspace, desk.run_id)
    assert killed(driver, desk, MOMENTS) > 15
    run = desk.run()
    assert run.offer is not None
    assert (run.offer.head, run.offer.left, run.offer.pushing) == (desk.repo.tip(BRANCH), "", "")
    assert run.offer.number == desk.change.number
    assert desk.change.head_commit == run.offer.head
    assert len(desk.issue.comments) == len(desk.statuses(run.offer.head)) == 1
    assert desk.issue.labels == ["coding agent help needed"]
    log = desk.repo.git("log", "--format=%s", f"main..{BRANCH}").splitlines()
    assert log == ["Say that it adds", "Add instead of subtracting"]
    with desk.open() as workspace:
        assert workspace.verify_log() == []


@pytest.mark.req("PP-25", "RN-4")
def test_killed_while_it_is_withdrawn(driver: Driver, desk: ForgeDesk):
    desk.begin(TWO)
    desk.go()
    desk.cancel()
    assert killed(driver, desk, ENDS) > 5
    assert desk.run().offer.told == "cancelled"
    assert not desk.change.open
    assert len([one for one in desk.change.comments if not one.system]) == 1
    assert desk.issue.labels == []
