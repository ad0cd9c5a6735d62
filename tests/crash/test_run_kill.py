"""kill -9 anywhere in a run: whoever goes on makes the same commits, and nothing twice."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.engine.run_state import RunPhase
from ringi.errors import RunOver
from ringi.plans.document import PlanStatus
from ringi.runs.document import StopCode
from ringi.runs.drive import cancel_run
from tests.crash.killing import EVERY, FULL, KILLED, Driver
from tests.crash.run_bureau import Bureau, Ended, Story
from tests.functional.run_desk import FIX, a_plan, a_step, at_home, by_step

PARTS = 16
PLAIN = Story(
    a_plan(
        a_step(1, title="Add instead of subtracting"),
        a_step(2, scope={"target_paths": ["README.md"]}, title="Say that it adds"),
    ),
    {"implementer": by_step(FIX, "echo 'It adds.' >> README.md")},
)
ADDS = "def add(a, b):\n    return a + b\n"
_WRONG = "sed -i -e 's/a - b/a * b/' -e '1i # How to add' calc.py"
_MENDED = "sed -i 's/a [*] b/a + b/' calc.py"
_SUB = "grep -q sub calc.py || printf 'def sub(a, b):\\n    return a - b\\n' >> calc.py"
_TOLD = "if grep -q 'say so' $1; then echo '# It subtracts' >> calc.py; fi"
_PAGES = "; ".join(
    f"if grep -q '^- .{page}' $1; then printf 'It adds.\\nIt subtracts.\\nIt is fast.\\n' >> {page}; fi"
    for page in ("README.md", "usage.md")
)
_FINDING = '{"passed": false, "findings": [{"severity": "error", "path": "calc.py", "message": "say so"}]}'
EVENTFUL = Story(
    a_plan(
        a_step(1, title="Add instead of subtracting"),
        a_step(2, title="Subtract, too"),
        a_step(3, scope={"target_paths": ["README.md", "usage.md"], "max_diff_lines": 4}, title="Say so"),
    ),
    {
        "implementer": by_step(
            f"if grep -q AssertionError $1; then {_MENDED}; else {_WRONG}; fi",
            f"{_SUB}; {_TOLD}",
            _PAGES,
            _PAGES,
        ),
        "reviewer": 'case "$(head -n 5 $1)$(cat calc.py)" in'
        f" *S02*subtracts*) ;; *S02*) echo '{_FINDING}'; exit;; esac;"
        ' echo \'{"passed": true, "findings": []}\'',
    },
    edits={"S01": ADDS},
)
"""S01 fails its tests and is mended, then edited by the person, so that the later ones are merged; S02 is
sent back by the reviewer; S03 is too large, and planned anew as two."""


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


@pytest.mark.req("RN-4", "RN-5", "RN-7", "RN-10", "RN-14")
@pytest.mark.parametrize(
    ("story", "first", "each"),
    [
        (PLAIN, 70, 150),
        (PLAIN._replace(in_place=True), 120, 150),
        (PLAIN._replace(granted=True), 70, 150),
        (EVENTFUL, 170, 420),
    ],
    ids=["plain", "in place", "granted", "eventful"],
)
def test_killed_again_and_again(
    driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch, story: Story, first: int, each: int
):
    bureau = Bureau(base, monkeypatch, story)
    whole = bureau.whole(driver)
    if story is EVENTFUL:
        _is_eventful(bureau, whole)
    assert bureau.killed_on_its_way(driver, {"event": first}, {"event": each}) > 3
    assert bureau.ended() == whole


def _is_eventful(bureau: Bureau, whole: Ended) -> None:
    assert [[step.cycle for step in run.steps] for run in bureau.runs()] == [[1, 1, 0], [1, 1, 0, 0]]
    assert bureau.runs()[-1].steps[1].plan_version == 2
    assert [message.partition("\n")[0] for _, message in whole.commits] == [
        "Add instead of subtracting",
        "Subtract, too",
        "Say so (1 of 2)",
        "Say so (2 of 2)",
    ]


@pytest.mark.req("RN-4", "RN-5", "RN-7", "RN-10", "RN-14")
@pytest.mark.skipif(not FULL, reason="one process per transition: make campaign")
@pytest.mark.parametrize("moment", ["call", "return"])
def test_killed_at_every_transition(driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch, moment: str):
    """Before it is saved, so that all it did is done again; or as soon as it is."""
    bureau = Bureau(base, monkeypatch, EVENTFUL)
    whole = bureau.whole(driver)
    assert bureau.killed_at_saves(driver, moment) > 30
    assert bureau.ended() == whole


@pytest.mark.req("RN-4", "RN-5")
@pytest.mark.skipif(not FULL, reason="one run per moment: make campaign")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("in_place", [False, True])
def test_killed_at_every_moment(
    driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool, part: int
):
    bureau = Bureau(base, monkeypatch, PLAIN._replace(in_place=in_place))
    whole = bureau.whole(driver)
    event = 1 + part
    while True:
        bureau.fresh()
        if driver.run(bureau.task(event=event)) != KILLED:
            break
        bureau.look()
        assert driver.run(bureau.task()) == 0, event
        assert bureau.ended() == whole, event
        event += PARTS
    assert event > 400


@pytest.mark.req("RN-4")
def test_killed_while_it_is_cancelled(driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch):
    bureau, event, kills = Bureau(base, monkeypatch, PLAIN._replace(half=True)), 0, 0
    while True:
        bureau.fresh()
        event += EVERY + 1
        code = driver.run(bureau.task(event=event, cancel=True))
        kills += code == KILLED
        bureau.look()
        cancelled_again(bureau)
        if code != KILLED:
            break
    assert code == 0
    assert kills > 1


def cancelled_again(bureau: Bureau) -> None:
    """What was committed stays, and nothing else of the run."""
    with bureau.desk.open() as workspace:
        with contextlib.suppress(RunOver):
            cancel_run(workspace, bureau.desk.run_id)
        run = workspace.store.runs.get(bureau.desk.run_id)
        assert run.phase is RunPhase.CANCELLED
        assert workspace.verify_log() == []
        states = [workspace.plan.get_state(step.plan_id).status for step in run.steps]
        assert states == [PlanStatus.COMPLETED, PlanStatus.DISCARDED]
        copies = workspace.places.copies
    folders = (copies, copies.with_name(f"{copies.name}.runs"))
    assert [path for folder in folders for path in folder.glob("[!.]*")] == []
    assert bureau.desk.commits() == ["Add instead of subtracting"]
    with pytest.raises(RunOver):
        bureau.desk.go()


@pytest.mark.req("RN-4")
def test_killed_while_it_is_cancelled_and_then_continued_after_all(
    driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch
):
    bureau, event = Bureau(base, monkeypatch, PLAIN._replace(half=True)), 0
    while True:
        bureau.fresh()
        event += EVERY + 1
        if driver.run(bureau.task(event=event, cancel=True)) != KILLED:
            break
        bureau.look()
        if bureau.desk.run().phase is not RunPhase.CANCELLED:
            run = bureau.desk.go()
            assert run.stop is not None, event
            run = bureau.desk.go(retry=True)
            assert run.stop is not None
            assert run.stop.reason_code is StopCode.APPROVAL_NEEDED, run.stop
            assert bureau.desk.decide("S02").phase is RunPhase.COMPLETED
            assert bureau.desk.commits() == ["Add instead of subtracting", "Say that it adds"]
