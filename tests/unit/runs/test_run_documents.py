"""The documents of a run in `.agent/`: written after the commit, compared, rebuilt, never followed."""

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.app.store import Store
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import RunPhase
from ringi.kernel import codec
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.document import Run, StepState, StopCode
from tests.helpers import ledger_of, open_scratch
from tests.unit.runs.run_samples import REQUEST_ID, done, passed, plan_of, run_of, step_of, stopped

CREATED = NewEvent(EventKind.RUN_CREATED, Actor.SYSTEM)
ADVANCED = NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM, "S01")
NAMES = ["errors.json", "planning.json", "report.md", "stage.json"]


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        yield workspace


def differences(ws: Workspace) -> list[str]:
    return ws.upkeep._projection.differences(ledger_of(ws))


def added(ledger: Store, number: int = 1) -> tuple[Run, RunPlan]:
    plan = plan_of(step_of(1, ["AC-01"]), step_of(2, ["AC-02"]), run_id=f"20260102-030405-{number:06x}")
    run = run_of(plan, StepState(step_id="S01"), StepState(step_id="S02"), phase=RunPhase.PLANNING)
    with ledger.transaction() as transaction:
        transaction.runs.add(run, CREATED, plan)
    return run, plan


def saved(ledger: Store, run: Run) -> Run:
    with ledger.transaction() as transaction:
        transaction.runs.save(run, ADVANCED)
    return run


def folder_of(ws: Workspace, run: Run) -> Path:
    return ws.places.root / ".agent" / "runs" / REQUEST_ID / run.run_id


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


@pytest.mark.req("RN-4", "RN-11")
def test_the_documents_follow_the_ledger(ws):
    ledger = ledger_of(ws)
    run, plan = added(ledger)
    folder = folder_of(ws, run)
    assert names(folder) == ["planning.json", "report.md", "stage.json"]
    assert codec.decode_foreign((folder / "planning.json").read_bytes(), RunPlan, "planning.json") == plan
    stage = json.loads((folder / "stage.json").read_bytes())
    assert (stage["phase"], stage["current_step_index"]) == ("planning", 0)
    assert [step["step_id"] for step in stage["steps"]] == ["S01", "S02"]
    failed = replace(run, phase=RunPhase.FAILED, stop=stopped(StopCode.UNIT_TEST_FAILED))
    saved(ledger, failed)
    assert names(folder) == NAMES
    errors = json.loads((folder / "errors.json").read_bytes())
    assert (errors["reason_code"], errors["next_action"]) == ("UNIT_TEST_FAILED", "ringi continue --retry")
    saved(ledger, replace(run, steps=(done(1, passed()), run.steps[1]), current_step_index=1))
    assert names(folder) == ["planning.json", "report.md", "stage.json"]
    assert "### AC-01 — not checked" in (folder / "report.md").read_text()
    assert json.loads((folder / "stage.json").read_bytes())["current_step_index"] == 1
    assert ws.upkeep.problem() is None
    assert differences(ws) == []


@pytest.mark.req("RN-11", "RN-3")
def test_an_edit_by_hand_is_named_not_followed_and_mended(ws):
    ledger = ledger_of(ws)
    run, plan = added(ledger)
    folder = folder_of(ws, run)
    (folder / "stage.json").write_text("{}")
    (folder / "planning.json").write_bytes(codec.pretty(replace(plan, work_branch="main")))
    (folder / "errors.json").write_text("{}")
    path = f".agent/runs/{REQUEST_ID}/{run.run_id}"
    assert differences(ws) == [f"{path}/planning.json", f"{path}/stage.json", f"{path}/errors.json"]
    assert ws.upkeep.differences(run.run_id) == differences(ws)
    assert ws.upkeep.differences("20260102-030405-ffffff") == []
    assert ledger.runs.plan(run.run_id) == plan
    ws.upkeep.write_anew()
    assert differences(ws) == []
    assert names(folder) == ["planning.json", "report.md", "stage.json"]
    shutil.rmtree(folder)
    (folder.parent / "20250101-000000-abcdef").mkdir()
    assert ws.upkeep.foreign() == [f".agent/runs/{REQUEST_ID}/20250101-000000-abcdef"]
    ws.upkeep.write_anew()
    assert differences(ws) == []


@pytest.mark.req("RN-11")
def test_only_the_newest_have_files(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        runs = [added(ledger_of(ws), number)[0] for number in range(1, 5)]
        logs = folder_of(ws, runs[0]) / "logs"
        logs.mkdir()
        (logs / "step.S01.unit.log").write_text("x")
        (folder_of(ws, runs[1]) / "mine.txt").write_text("stays")
    with open_scratch(tmp_path, RINGI_KEEP_PROJECTIONS="2") as ws:
        assert differences(ws) == []
        saved(ledger_of(ws), runs[0])
        assert names(folder_of(ws, runs[0]).parent) == [one.run_id for one in runs[1:]]
        assert names(folder_of(ws, runs[1])) == ["mine.txt"]
        assert differences(ws) == []


@pytest.mark.req("RN-11")
def test_what_a_killed_process_committed_is_written_by_the_next(ws):
    ledger = ledger_of(ws)
    run, _plan = added(ledger)
    folder = folder_of(ws, run)
    ledger._after_commit = lambda *_: None
    saved(ledger, replace(run, phase=RunPhase.EXECUTING))
    assert b'"planning"' in (folder / "stage.json").read_bytes()
    ws.plan.propose("another")
    with open_scratch(ws.places.root.parent) as again:
        again.plan.propose("and another")
    assert json.loads((folder / "stage.json").read_bytes())["phase"] == "executing"


@pytest.mark.req("RN-11")
def test_links_in_our_folder_are_not_followed(ws, tmp_path: Path):
    ledger = ledger_of(ws)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (ws.places.root / ".agent").mkdir(exist_ok=True)
    (ws.places.root / ".agent" / "runs").symlink_to(elsewhere)
    run, _plan = added(ledger)
    assert ws.upkeep.problem() is not None
    assert not list(elsewhere.iterdir())
    (ws.places.root / ".agent" / "runs").unlink()
    folder = folder_of(ws, run)
    folder.mkdir(parents=True)
    precious = tmp_path / "precious"
    precious.write_text("stays")
    for name in NAMES:
        (folder / name).symlink_to(precious)
    ws.upkeep.write_anew()
    assert precious.read_text() == "stays"
    assert differences(ws) == []


@pytest.mark.req("RN-11")
def test_a_run_of_an_earlier_version_or_with_an_odd_request_has_no_files(ws):
    ledger = ledger_of(ws)
    run, _plan = added(ledger)
    for number, request in enumerate(("", "../..", "a/b", ".", "..")):
        odd = replace(run, run_id=f"20260102-030405-00ff0{number}", request_id=request, plan_sha256="")
        with ledger.transaction() as transaction:
            transaction.runs.add(odd, CREATED)
    assert names(ws.places.root / ".agent" / "runs") == [REQUEST_ID]
    assert ws.upkeep.problem() is None
    assert differences(ws) == []
