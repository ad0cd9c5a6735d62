"""Chapter 13.3 end to end: every kind of task, on GitHub's emulator and on the small forges of the tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import RunPhase
from tests.forges.conftest import pytestmark
from tests.forges.emulated import EmulatedHands, emulated
from tests.functional.forge_scenarios import (
    FILES,
    MEMBERS,
    PATH,
    SCENARIOS,
    USERS,
    Scenario,
    Task,
    at_a_clone,
    merged_and_verified,
    on_a_small_forge,
)
from tests.functional.run_desk import at_home

__all__ = ["pytestmark"]


@contextmanager
def on_an_emulator(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Task, Path]]:
    with (
        at_home(monkeypatch) as base,
        emulated(base / "forge", USERS, PATH, FILES, MEMBERS) as forge,
        at_a_clone(forge, base, monkeypatch) as root,
    ):
        yield Task(root, forge, EmulatedHands(forge, forge.repos[PATH]), scenario), base / "runner"


def went_well(task: Task, folder: Path) -> None:
    task.planned()
    task.offered()
    task.reviewed()
    task.approved()
    assert task.run.phase is RunPhase.COMPLETED
    merged_and_verified(task, folder)
    assert task.secrets_in_the_open() == []


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
@pytest.mark.req("PP-19", "PP-20", "PP-25")
def test_on_an_emulator_of_github(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    with on_an_emulator(scenario, monkeypatch) as (task, folder):
        went_well(task, folder)
        assert task.run.phase is RunPhase.COMPLETED


@pytest.mark.parametrize("kind", [*ForgeKind])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario.name for scenario in SCENARIOS])
@pytest.mark.req("PP-19", "PP-20", "PP-25")
def test_on_a_small_forge(scenario: Scenario, kind: ForgeKind, monkeypatch: pytest.MonkeyPatch) -> None:
    with on_a_small_forge(kind, scenario, monkeypatch) as (task, folder):
        went_well(task, folder)
        assert task.run.phase is RunPhase.COMPLETED
