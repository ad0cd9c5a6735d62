"""Whole tasks, from an issue to what was merged. `make test-forges` does all of them, on an emulator, too."""

import re
from pathlib import Path

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import RunPhase
from tests.functional.forge_scenarios import SCENARIOS, Task, merged_and_verified, on_a_small_forge

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "forges.md", DOCS / "ja" / "forges.md")


@pytest.mark.req("PP-19", "PP-20", "PP-25")
def test_from_an_issue_to_a_verified_merge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is shown in the documentation."""
    [shown] = [scenario for scenario in SCENARIOS if scenario.name == "tutorial"]
    with on_a_small_forge(ForgeKind.GITHUB, shown, monkeypatch) as (task, folder):
        task.planned()
        task.offered()
        task.reviewed()
        task.approved()
        assert task.run.phase is RunPhase.COMPLETED
        merged_and_verified(task, folder)
        assert task.secrets_in_the_open() == []
        lines = {*as_on_github(task).splitlines()}
        for page in PAGES:
            assert [line for line in shown_on(page) if line not in lines] == []


def as_on_github(task: Task) -> str:
    """What was printed, with names as in the documentation."""
    told = task.told.replace("http://", "https://").replace(task.forge.url.partition("://")[2], "github.com")
    told = re.sub(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b", "20260102-030405-0a0b0c", told)
    return re.sub(r"\bplanning-[0-9a-f-]{36}", "planning-1a2b3c4d", told)


def shown_on(page: Path) -> list[str]:
    """The output in the first section, without what a person types."""
    first = page.read_text(encoding="utf-8").partition("\n## ")[0]
    blocks = re.findall(r"```text\n(.*?)```", first, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if not line.startswith("$ ")]
