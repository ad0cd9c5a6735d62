"""kill -9 anywhere in a run of a model with tools: the same files and records, and no call twice."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringi.cli.app import EXIT_PERSON_NEEDED as PERSON_NEEDED
from ringi.tools.effects import ErrorKind
from tests.crash.killing import FULL, KILLED, Driver
from tests.crash.office import Office, Told
from tests.crash.run_bureau import Ended, Story
from tests.fakes.model_server import Request
from tests.functional.run_desk import UNIT, a_plan, a_step, at_home
from tests.helpers import PYTHON

pytestmark = pytest.mark.req("PP-4", "PP-7", "PP-9", "PP-15")
PARTS = 16
MCP = Path(__file__).parents[1] / "fakes" / "mcp_server.py"
SAVE = "ProcessRecord.save"
EACH, LEAST = (1, 10) if FULL else (6, 2)
"""Saves from one kill to the next, and how many kills there are at least."""
campaign = pytest.mark.skipif(not FULL, reason="one run per moment: make campaign")
_HEAD = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
PATCH = f"{_HEAD}-    return a - b\n+    return a + b\n"
WRONG = f"{_HEAD}-    return b\n+    return a + b\n"
README = {"path": "README.md", "content": "# Calc\n\nIt adds.\n"}
REVISED = {
    "status": "failure",
    "evaluation": "The patch does not fit.",
    "root_cause_analysis": "Its removed line is not in the file.",
    "changes": [{"type": "modify_action", "action_id": "task_1", "description": "Copy the line, then add"}],
}
PLAN = a_plan(
    a_step(1, title="Add instead of subtracting"),
    a_step(2, scope={"target_paths": ["README.md"]}, title="Say that it adds"),
)


class Tracked(Office):
    """With a tracker outside that writes down each call it gets."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tracker = base / "here" / "tracker"
        servers = {"tracker": shlex.join([PYTHON, str(MCP), "honest"])}
        super().__init__(base, monkeypatch, Story(PLAN, {}), self._answer, mcp_servers=servers)

    def _answer(self, request: Request) -> Mapping[str, Any]:
        """By what the prompt says, so that the same question has the same answer."""
        text = request.text
        if "root_cause_analysis" in str(request.schema):
            return REVISED
        if "S02" in text:
            return self._second(text)
        failed = text.count("(failure, mismatch)")
        if "#1 read" not in text:
            return {"read": ["test_calc.py", "calc.py"], "search": ["add"], "done": False}
        if failed < 2:
            return {"patch": WRONG, "run": [UNIT], "note": f"attempt {failed + 1}"}
        return {"patch": PATCH, "run": [UNIT], "note": "It subtracted."}

    def _second(self, text: str) -> Mapping[str, Any]:
        if "tracker_create" in text.partition(" results>")[2]:
            return {"note": "told the tracker"}
        call = f'{{"log": "{self.tracker}", "title": "It adds"}}'
        return {"files": [README], "call": [{"tool": "tracker_create", "arguments": call}], "done": False}

    @property
    def called(self) -> int:
        """How often the tracker was."""
        return len(self.tracker.read_text().splitlines()) if self.tracker.exists() else 0


class Whole(NamedTuple):
    ended: Ended
    told: list[Told]
    asked: int


@pytest.fixture
def office(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tracked]:
    with at_home(monkeypatch) as base:
        office = Tracked(base, monkeypatch)
        with office.server:
            yield office


def whole(office: Tracked, driver: Driver) -> Whole:
    made = Whole(office.whole(driver), office.told(), len(office.server.requests))
    assert office.called == 1
    assert [one.partition(":")[0] for one in made.told[0].revisions] == ["openai"]
    office.server.requests.clear()
    return made


def same(office: Tracked, before: Whole) -> None:
    """Also if the outcome of the call is not known: then it is not made again, and the model is told so."""
    assert office.ended() == before.ended
    first, second = office.told()
    assert first == before.told[0]
    if second != before.told[1]:
        assert [one[3] for one in second.actions] == [None, ErrorKind.UNKNOWN_OUTCOME]
        assert second.notes == before.told[1].notes
        assert office.called <= 1
    else:
        assert office.called == 1


def test_killed_after_or_before_each_outcome_it_does_at_most_that_action_again(
    driver: Driver, office: Tracked
):
    before = whole(office, driver)
    assert office.killed_at_saves(driver, "return", SAVE, EACH) >= LEAST
    same(office, before)
    assert office.called == 1
    assert len(office.server.requests) == before.asked, "what was saved is neither asked nor called again"
    office.server.requests.clear()
    kills = office.killed_at_saves(driver, "call", SAVE, EACH)
    assert kills >= LEAST
    same(office, before)
    assert office.called == 1
    assert before.asked < len(office.server.requests) <= before.asked + kills


def test_killed_in_a_call_it_is_not_made_again(driver: Driver, office: Tracked):
    before = whole(office, driver)
    for moment, called in (("call", 0), ("return", 1)):
        office.fresh()
        there = {"moment": moment, "save": 1, "saved_by": "McpServers.call_approved"}
        assert driver.run(office.task(**there)) == KILLED
        assert driver.run(office.task()) == 0
        assert office.called == called
        same(office, before)
        assert office.called == called


def test_killed_before_it_could_say_that_it_is_stuck_it_says_so_next_time(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
):
    """And asks the model nothing more, until somebody who was told goes on."""
    shallow = {"reflection": {"depth": "shallow"}}
    with at_home(monkeypatch) as base:
        story = Story(a_plan(a_step(1)), {})
        office = Office(base, monkeypatch, story, lambda _: {"patch": WRONG}, planning=shallow)
        task = office.task(words=["continue"], told=str(base))
        with office.server:
            office.fresh()
            assert driver.run(task) == PERSON_NEEDED
            asked = len(office.server.requests)
            office.fresh()
            office.server.requests.clear()
            there = {"moment": "call", "save": 1, "saved_by": "RunContext.halt"}
            assert driver.run({**task, **there}) == KILLED
            for count in (asked, asked + 3):
                assert driver.run(task) == PERSON_NEEDED
                assert len(office.server.requests) == count


@campaign
def test_killed_at_some_moments(driver: Driver, office: Tracked):
    before = whole(office, driver)
    assert office.killed_on_its_way(driver, {"event": 90}, {"event": 210}) > 2
    same(office, before)


@campaign
@pytest.mark.parametrize("part", range(PARTS))
def test_killed_at_every_moment_of_a_process(driver: Driver, office: Tracked, part: int):
    before = whole(office, driver)
    event = 1 + part
    while True:
        office.fresh()
        if driver.run(office.task(event=event)) != KILLED:
            break
        office.look()
        assert driver.run(office.task()) == 0, event
        same(office, before)
        event += PARTS
    assert event > 200
