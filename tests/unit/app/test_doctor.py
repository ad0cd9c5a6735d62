"""What is wrong is found, named, and can be mended with the command beside it."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ringi import open_workspace
from ringi.app.doctor import REPAIR, Doctor, DoctorFinding, Mark
from ringi.errors import NewerVersion, NothingToAdopt
from ringi.plans.document import PlanStatus
from tests.helpers import (
    approved,
    assert_whole,
    environment_of,
    fingerprint,
    ledger_of,
    open_scratch,
    proposed,
    write,
)


def examined(tmp_path: Path, root: str = "ws", **variables: str) -> list[DoctorFinding]:
    return Doctor(tmp_path / root, environment_of(tmp_path, **variables)).examine()


def bad(findings: list[DoctorFinding]) -> list[tuple[str, str]]:
    found = [(str(finding.text), str(finding.mend)) for finding in findings if finding.mark is Mark.BAD]
    assert all(mend for _, mend in found), found
    return found


def mended(tmp_path: Path, root: str = "ws") -> list[str]:
    def no_copy(*_: object) -> None:
        pytest.fail("there is no copy")

    return [str(one.text) for one in Doctor(tmp_path / root, environment_of(tmp_path)).repair(no_copy)]


def database(tmp_path: Path) -> Path:
    return next((tmp_path / "state").glob("*/ringi.db"))


@pytest.fixture
def plan_id(tmp_path: Path) -> str:
    with open_scratch(tmp_path) as ws:
        return approved(ws, write("README.md", "x\n"))


def test_all_is_well(tmp_path: Path, plan_id: str):
    findings = examined(tmp_path)
    assert bad(findings) == []
    assert {finding.mark for finding in findings} == {Mark.GOOD, Mark.NOTE}
    assert mended(tmp_path) == []
    assert list((tmp_path / "ws" / ".agent" / "tmp").iterdir()) == []


def test_looking_changes_nothing(tmp_path: Path, plan_id: str):
    (tmp_path / "ws" / ".agent" / "tmp").mkdir()
    before = fingerprint(tmp_path / "ws", agent=True)
    examined(tmp_path)
    assert fingerprint(tmp_path / "ws", agent=True) == before


@pytest.mark.req("PT-10")
def test_files_written_out_are_compared_and_mended(tmp_path: Path, plan_id: str):
    plans = tmp_path / "ws" / ".agent" / "logs" / "plans"
    (plans / plan_id / "plan.json").write_text("{}")
    (plans / "index.json").unlink()
    found = bad(examined(tmp_path))
    assert [mend for _, mend in found] == [REPAIR] * 2
    assert "plan.json is missing or was changed; ringi does not rely on it" in found[0][0]
    assert mended(tmp_path)
    assert bad(examined(tmp_path)) == []


@pytest.mark.req("PT-10")
def test_after_git_clean(tmp_path: Path, plan_id: str):
    shutil.rmtree(tmp_path / "ws" / ".agent")
    (tmp_path / "ws" / ".git").mkdir()
    assert bad(examined(tmp_path))
    mended(tmp_path)
    assert bad(examined(tmp_path)) == []
    with open_scratch(tmp_path) as ws:
        assert ws.plan.get_state(plan_id).status is PlanStatus.APPROVED
        assert ws.plan.execute(plan_id).overall_success
        assert_whole(ws)


def test_many_differences_are_counted(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        for number in range(10):
            ws.plan.propose(f"Plan {number}")
    shutil.rmtree(tmp_path / "ws" / ".agent" / "logs")
    found = bad(examined(tmp_path))
    assert len(found) == 6
    assert "16 more" in found[-1][0]


@pytest.mark.req("PT-11")
def test_a_changed_log_is_named(tmp_path: Path, plan_id: str):
    with closing(sqlite3.connect(database(tmp_path))) as ledger, ledger:
        ledger.execute("UPDATE events SET document = replace(document, '\"user\"', '\"system\"')")
    found = bad(examined(tmp_path))
    assert any("event 3: its text was changed" in text for text, _ in found)
    # It is evidence, not damage: repair leaves it as it is.
    mended(tmp_path)
    assert not list(database(tmp_path).parent.glob("*damaged*"))
    assert bad(examined(tmp_path))


def test_a_wrong_configuration_is_named(tmp_path: Path, plan_id: str):
    (tmp_path / "ws" / ".agent" / "config.yaml").write_text("aproval: {}\n")
    found = bad(examined(tmp_path))
    assert ("ringi config check") in [mend for _, mend in found]


def test_no_git(tmp_path: Path, plan_id: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    found = bad(examined(tmp_path))
    assert ("git is not installed", "apt install git / brew install git") in found


def test_a_ledger_inside_the_workspace_is_noted(tmp_path: Path, plan_id: str):
    inside = str(tmp_path / "ws" / "state")
    findings = examined(tmp_path, RINGI_STATE_DIR=inside)
    assert any("the ledger is inside the workspace" in str(finding.text) for finding in findings)


def test_a_newer_ledger_is_named_and_repair_keeps_its_hands_off(tmp_path: Path, plan_id: str):
    with closing(sqlite3.connect(database(tmp_path))) as ledger, ledger:
        ledger.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    before = database(tmp_path).read_bytes()
    assert len(bad(examined(tmp_path))) == 1
    with pytest.raises(NewerVersion):
        mended(tmp_path)
    assert database(tmp_path).read_bytes() == before


def test_links_below_agent_lead_nowhere(tmp_path: Path, plan_id: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(tmp_path / "ws" / ".agent")
    (tmp_path / "ws" / ".git").mkdir()
    (tmp_path / "ws" / ".agent").symlink_to(outside)
    assert bad(examined(tmp_path))
    assert list(outside.iterdir()) == []


def test_an_interrupted_execution_is_told(tmp_path: Path, plan_id: str):
    with open_scratch(tmp_path) as ws:
        ws.plan.execute(plan_id)
        ledger_of(ws).database.execute("UPDATE executions SET result = NULL")
        ledger_of(ws).database.execute(
            "UPDATE plans SET status = 'executing', document = replace(document, 'completed', 'executing')"
        )
    notes = [str(finding.mend) for finding in examined(tmp_path) if finding.mark is Mark.NOTE]
    assert "ringi show p1" in notes


# --- lost ledgers ---------------------------------------------------------------------------------


@pytest.mark.req("PT-10")
def test_plans_come_back_as_proposed_and_nothing_a_person_decided_does(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        done = approved(ws, write("README.md", "x\n"))
        ws.plan.execute(done)
        ready = approved(ws, write("app/hello.py", "x\n"))
        ws.plan.set_action_specs(ready, [write("app/hello.py", "y\n")])
        sent_back = proposed(ws, write("app/hello.py", "z\n"), title="Third")
        ws.plan.reject(sent_back, "why?")
    shutil.rmtree(tmp_path / "state")
    assert ("the ledger has no plan, but .agent has 3", REPAIR) in bad(examined(tmp_path))
    assert any("3 plans came back" in line for line in mended(tmp_path))
    with open_scratch(tmp_path) as ws:
        assert [ref.title for ref in ws.plan.list()] == ["Third", "A change", "A change"]
        for plan_id in (done, ready, sent_back):
            document = ws.plan.get(plan_id)
            assert document.state.status is PlanStatus.PROPOSED
            assert (document.state.approvals, document.state.executions, document.state.checks) == (
                (),
                (),
                (),
            )
            assert not any(spec.validated for spec in document.state.action_specs)
            assert ledger_of(ws).approvals.of(plan_id) == ()
        assert ws.plan.get(ready).plan.version == 2
        assert ws.plan.get_state(sent_back).feedback[0].text == "why?"
        assert_whole(ws)
    assert bad(examined(tmp_path)) == []


@pytest.mark.parametrize(
    "way", ["not json", "empty", "newer", "huge", "folder", "pipe", "link", "another id", "no uuid"]
)
def test_what_cannot_come_back_is_named_and_stops_nothing(tmp_path: Path, plan_id: str, way: str):
    with open_scratch(tmp_path) as ws:
        other = ws.plan.propose("Fine")
    shutil.rmtree(tmp_path / "state")
    plans = tmp_path / "ws" / ".agent" / "logs" / "plans"
    path = plans / plan_id / "plan.json"
    data = path.read_bytes()
    match way:
        case "not json":
            path.write_bytes(b"\xff{")
        case "empty":
            path.write_bytes(b"")
        case "newer":
            path.write_bytes(data.replace(b'"schema_version": 1', b'"schema_version": 9'))
        case "huge":
            os.truncate(path, 200_000_000)
        case "another id":
            (plans / plan_id).rename(plans / "0f0e0d0c-0000-4000-8000-000000000000")
        case "no uuid":
            (plans / plan_id).rename(plans / "history")
            (plans / "history" / "plan.json").write_bytes(data.replace(plan_id.encode(), b"history"))
        case _:
            path.unlink()
    if way == "folder":
        path.mkdir()
    elif way == "pipe":
        os.mkfifo(path)
    elif way == "link":
        path.symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").write_bytes(data)
    said = mended(tmp_path)
    assert any("1 plan came back" in line for line in said)
    assert any("plan.json: " in line for line in said) == (way in {"not json", "empty", "newer", "huge"})
    with open_scratch(tmp_path) as ws:
        assert [ref.id for ref in ws.plan.list()] == [other]
        assert ws.verify_log() == []


def test_a_plan_that_the_ledger_has_is_not_taken_from_the_file(tmp_path: Path, plan_id: str):
    path = tmp_path / "ws" / ".agent" / "logs" / "plans" / plan_id / "plan.json"
    path.write_bytes(path.read_bytes().replace(b"A change", b"An evil change"))
    said = mended(tmp_path)
    assert said == ["the files in .agent were rebuilt"]
    with open_scratch(tmp_path) as ws:
        assert ws.plan.list()[0].title == "A change"


# --- moved and copied -----------------------------------------------------------------------------


def test_a_moved_workspace_gets_its_ledger_back(tmp_path: Path, plan_id: str):
    (tmp_path / "ws").rename(tmp_path / "moved")
    found = bad(examined(tmp_path, "moved"))
    assert found == [(f"this workspace was at {tmp_path / 'ws'} before", "ringi doctor --adopt")]
    text = str(Doctor(tmp_path / "moved", environment_of(tmp_path)).adopt())
    assert str(tmp_path / "ws") in text
    assert bad(examined(tmp_path, "moved")) == []
    (tmp_path / "moved").rename(tmp_path / "ws")
    Doctor(tmp_path / "ws", environment_of(tmp_path)).adopt()
    with open_scratch(tmp_path) as ws:
        assert ledger_of(ws).meta("workspace") == str(tmp_path / "ws")
        # The approval was given for this workspace, and it still is this workspace.
        assert ws.plan.execute(plan_id).overall_success
        assert_whole(ws)


def test_a_workspace_looked_at_in_its_new_place_can_still_be_adopted(tmp_path: Path, plan_id: str):
    (tmp_path / "ws").rename(tmp_path / "moved")
    (tmp_path / "moved").rename(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "moved")
    with open_workspace(tmp_path / "moved", environment=environment_of(tmp_path)) as ws:
        assert ws.plan.list() == []
    Doctor(tmp_path / "moved", environment_of(tmp_path)).adopt()
    with open_workspace(tmp_path / "moved", environment=environment_of(tmp_path)) as ws:
        assert [ref.id for ref in ws.plan.list()] == [plan_id]
    assert len(list((tmp_path / "state").glob("*.empty"))) == 1


def test_a_copied_workspace_is_not_adopted(tmp_path: Path, plan_id: str):
    shutil.copytree(tmp_path / "ws", tmp_path / "copy")
    with pytest.raises(NothingToAdopt):
        Doctor(tmp_path / "copy", environment_of(tmp_path)).adopt()
    assert not any(mend == "ringi doctor --adopt" for _, mend in bad(examined(tmp_path, "copy")))
    with open_scratch(tmp_path) as ws:
        assert [ref.id for ref in ws.plan.list()] == [plan_id]


def test_a_workspace_with_plans_of_its_own_adopts_nothing(tmp_path: Path, plan_id: str):
    shutil.copytree(tmp_path / "ws", tmp_path / "copy")
    with open_workspace(tmp_path / "copy", environment=environment_of(tmp_path)) as ws:
        mine = ws.plan.propose("Mine")
    shutil.rmtree(tmp_path / "ws")
    with pytest.raises(NothingToAdopt):
        Doctor(tmp_path / "copy", environment_of(tmp_path)).adopt()
    # And moved on, it finds its own ledger, not that of the folder it was copied from.
    (tmp_path / "copy").rename(tmp_path / "further")
    Doctor(tmp_path / "further", environment_of(tmp_path)).adopt()
    with open_workspace(tmp_path / "further", environment=environment_of(tmp_path)) as ws:
        assert [ref.id for ref in ws.plan.list()] == [mine]


@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"workspace_id": 7}', b'{"workspace_id": "x", "schema_version": 9}', b"\xff"]
)
def test_an_identity_that_cannot_be_read_is_none(tmp_path: Path, plan_id: str, data: bytes):
    (tmp_path / "ws").rename(tmp_path / "moved")
    (tmp_path / "moved" / ".agent" / "workspace.json").write_bytes(data)
    with pytest.raises(NothingToAdopt):
        Doctor(tmp_path / "moved", environment_of(tmp_path)).adopt()
    assert not any(mend == "ringi doctor --adopt" for _, mend in bad(examined(tmp_path, "moved")))


def test_a_damaged_ledger_beside_it_does_not_stop_the_search(tmp_path: Path, plan_id: str):
    for name in ("0000", "zzzz"):
        (tmp_path / "state" / name).mkdir()
        (tmp_path / "state" / name / "ringi.db").write_bytes(b"broken" * 1000)
    (tmp_path / "state" / "file").write_text("")
    (tmp_path / "ws").rename(tmp_path / "moved")
    assert "now belongs to this workspace" in str(
        Doctor(tmp_path / "moved", environment_of(tmp_path)).adopt()
    )
