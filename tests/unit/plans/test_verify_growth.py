"""Verifying every plan costs each of them the same, however many there are."""

from pathlib import Path

import pytest

from ringi.plans.verify import Examination
from tests.helpers import approved, create, ledger_of, open_scratch, write

FEW = 15


def steps(place: Path, count: int) -> int:
    """How many steps SQLite takes to verify so many plans that all write the same file."""
    with open_scratch(place) as ws:
        for number in range(count):
            content = f"{number}\n"
            ws.plan.execute(approved(ws, write("a.txt", content) if number else create("a.txt", content)))
        taken = [0]

        def step() -> None:
            taken[0] += 1

        ledger_of(ws).database.set_progress_handler(step, 10)
        with ws.one_moment():
            looked = Examination(ws, every=True)
            verdicts = [looked.plan(name) for name in looked.list_carried_out()]
        ledger_of(ws).database.set_progress_handler(None, 0)
    assert [verdict.document.proven for verdict in verdicts] == [True] * count
    later = [file.since for verdict in verdicts[1:] for file in verdict.document.files]
    assert set(later) == {f"p{count}"}
    return taken[0]


@pytest.mark.req("PT-11")
def test_all_plans_cost_in_proportion(tmp_path: Path):
    few, many = steps(tmp_path / "few", FEW), steps(tmp_path / "many", 4 * FEW)
    assert many < 5 * few
