"""How often the ledger is asked for one plan: reads that nobody needs come back unnoticed."""

from pathlib import Path

from ringi.app.api import open_workspace
from tests.fakes.people import SeatedPerson
from tests.helpers import approved, create, environment_of, ledger_of

MOST = 37


def test_a_plan_from_its_proposal_to_its_result(tmp_path: Path):
    (tmp_path / "ws" / ".agent").mkdir(parents=True)
    environment = environment_of(tmp_path)
    with open_workspace(tmp_path / "ws", environment=environment, person=SeatedPerson()) as ws:
        ws.plan.execute(approved(ws, create("first.txt", "1\n")))
        asked: list[str] = []
        ledger_of(ws).database.set_trace_callback(asked.append)
        ws.plan.execute(approved(ws, create("second.txt", "2\n")))
        ledger_of(ws).database.set_trace_callback(None)
    assert len(asked) <= MOST, asked
