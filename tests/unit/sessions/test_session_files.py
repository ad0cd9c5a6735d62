"""The files of planning sessions (IP-17): written after the commit, compared, rebuilt, never followed."""

import os
import shutil
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.app.api import Workspace, open_workspace
from ringi.errors import StorageFailed
from ringi.kernel import codec
from ringi.sessions.document import PlanningSession, SessionStatus
from tests.helpers import Person, environment_of, in_child, ledger_of, open_scratch
from tests.unit.sessions.made_sessions import added, approved, id_of, log, saved

ONE = id_of(1)
NAMES = ("discovery.log", "design.log", "review.log")


@pytest.fixture
def ws(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def agent(ws) -> Path:
    return ws.places.root / ".agent"


def file_of(agent: Path, session_id: str = ONE) -> Path:
    return agent / "planning-sessions" / f"{session_id}.json"


def read(agent: Path, name: str) -> str:
    return (agent / "logs" / ONE / name).read_text()


def shown(agent: Path) -> set[str]:
    files = [path for path in agent.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(agent)) for path in files} - {"workspace.json"}


def differences(ws: Workspace) -> list[str]:
    return ws.upkeep._projection.differences(ledger_of(ws))


@pytest.mark.req("IP-17")
def test_the_layout(ws, agent: Path):
    ledger = ledger_of(ws)
    stored = added(ledger, 1)
    assert shown(agent) == {f"planning-sessions/{ONE}.json"}
    stored = saved(ledger, stored, log("discovery", "one\n"), log("discovery", "two\n"))
    stored = saved(ledger, stored, log("design", "three"), status=SessionStatus.DESIGN)
    stored = saved(
        ledger, stored, log("review", "四\n"), log("failed", "five\n"), status=SessionStatus.REVIEW
    )
    logs = {f"logs/{ONE}/{name}" for name in NAMES}
    assert shown(agent) == {f"planning-sessions/{ONE}.json"} | logs
    assert [read(agent, name) for name in NAMES] == ["one\ntwo\n", "three\n", "四\nfive\n"]
    approved(ledger, stored)
    assert shown(agent) == {f"planning-sessions/{ONE}.json"} | logs
    written = codec.decode_foreign(file_of(agent).read_bytes(), PlanningSession, "session")
    assert written == ledger.sessions.get(ONE).session
    assert file_of(agent).read_bytes() == codec.pretty(written)
    assert written.status is SessionStatus.APPROVED
    assert ws.upkeep._projection.problem is None
    assert differences(ws) == []


@pytest.mark.req("IP-17")
def test_only_the_newest_have_files(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        agent, ledger = ws.places.root / ".agent", ledger_of(ws)
        stored = [added(ledger, number) for number in range(1, 6)]
        stored = [saved(ledger, one, log("discovery", "one\n")) for one in stored]
        (agent / "logs" / ONE / "note.txt").write_text("mine")
    with open_scratch(tmp_path, RINGI_KEEP_PROJECTIONS="2") as ws:
        ledger = ledger_of(ws)
        assert differences(ws) == []
        (agent / "logs" / id_of(2) / "discovery.log").write_text("forged")
        assert differences(ws) == [f".agent/logs/{id_of(2)}/discovery.log"]
        saved(ledger, stored[2], log("discovery", "two\n"))
        newest = {f"planning-sessions/{id_of(number)}.json" for number in (4, 5)}
        logs = {f"logs/{id_of(number)}/discovery.log" for number in (4, 5)}
        assert shown(agent) == {*newest, *logs, f"logs/{ONE}/note.txt"}
        assert differences(ws) == []
        shutil.rmtree(agent / "planning-sessions")
        added(ledger, 6)
        assert len(shown(agent / "planning-sessions")) == 2
        ws.upkeep.write_anew()
        assert differences(ws) == []
        assert ledger.sessions.get(ONE).session.session_id == ONE


@pytest.mark.req("IP-17")
def test_a_long_log_grows_and_is_not_written_again(ws, agent: Path):
    ledger = ledger_of(ws)
    stored = added(ledger, 1, log("discovery", "x" * 1_000_000))
    path = agent / "logs" / ONE / "discovery.log"
    before, data = path.stat(), path.read_bytes()
    # A mark that a second writing would wipe out.
    os.pwrite(descriptor := os.open(path, os.O_RDWR), b"y", 5)
    os.close(descriptor)
    stored = saved(ledger, stored, log("discovery", "more\n"))
    stored = saved(ledger, stored, log("design", "elsewhere\n"))
    assert path.read_bytes() == data[:5] + b"y" + data[6:] + b"more\n"
    assert path.stat().st_ino == before.st_ino
    assert differences(ws) == [f".agent/logs/{ONE}/discovery.log"]
    ws.upkeep._projection.rebuild(ledger)
    assert path.read_bytes() == data + b"more\n"
    assert differences(ws) == []


@pytest.mark.req("IP-17")
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_a_crash_left_of_a_log_is_completed(tmp_path_factory, data: st.DataObject):
    """Any beginning of the file, with or without a bit more, is what a crash can leave."""
    tmp_path = tmp_path_factory.mktemp("cut")
    with open_scratch(tmp_path) as ws:
        texts = data.draw(st.lists(st.text("aé\n", min_size=1, max_size=8), min_size=1, max_size=5))
        stored = added(ledger_of(ws), 1, *(log("design", text) for text in texts))
        path = tmp_path / "ws" / ".agent" / "logs" / ONE / "design.log"
        whole = path.read_bytes()
        os.truncate(path, data.draw(st.integers(0, len(whole))))
        saved(ledger_of(ws), stored, log("design", "last\n"))
        assert path.read_bytes() == whole + b"last\n"
        assert differences(ws) == []


@pytest.mark.parametrize("by_hand", [b"", b"added by hand\n", b"no line", b"x" * 200])
def test_a_log_written_by_hand_is_not_followed(ws, agent: Path, by_hand: bytes):
    ledger = ledger_of(ws)
    stored = added(ledger, 1, log("design", "one\n"), log("design", "two\n"))
    path = agent / "logs" / ONE / "design.log"
    path.write_bytes(b"on" + by_hand)
    assert differences(ws) == [f".agent/logs/{ONE}/design.log"]
    saved(ledger, stored, log("design", "three\n"))
    ws.upkeep._projection.rebuild(ledger)
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert differences(ws) == []


@pytest.mark.req("IP-17")
@pytest.mark.parametrize(
    "way", ["changed", "gone", "log gone", "log too many", "link", "pipe", "folder gone"]
)
def test_what_differs_is_named_and_rebuilt(ws, agent: Path, way: str):
    ledger = ledger_of(ws)
    added(ledger, 1, log("discovery", "one\n"))
    added(ledger, 2)
    before, path = {name: (agent / name).read_bytes() for name in shown(agent)}, file_of(agent)
    named = [f".agent/planning-sessions/{ONE}.json"]
    if way == "changed":
        path.write_bytes(path.read_bytes().replace(b"Instruction", b"Evil"))
    elif way == "gone":
        path.unlink()
    elif way == "log gone":
        (agent / "logs" / ONE / "discovery.log").unlink()
        named = [f".agent/logs/{ONE}/discovery.log"]
    elif way == "log too many":
        (agent / "logs" / ONE / "review.log").write_text("approved by all\n")
        named = [f".agent/logs/{ONE}/review.log"]
    elif way == "link":
        path.rename(agent / "elsewhere.json")
        path.symlink_to(agent / "elsewhere.json")
    elif way == "pipe":
        path.unlink()
        os.mkfifo(path)
    else:
        shutil.rmtree(agent / "planning-sessions")
        named.append(f".agent/planning-sessions/{id_of(2)}.json")
    assert differences(ws) == named
    ws.upkeep._projection.rebuild(ledger)
    assert differences(ws) == []
    if way == "link":
        (agent / "elsewhere.json").unlink()
    assert {name: (agent / name).read_bytes() for name in before} == before
    assert shown(agent) - {"logs/plans/index.json"} == before.keys()
    assert ledger.sessions.get(ONE).session.instruction.startswith("# Instruction 1")


@pytest.mark.req("IP-17")
@pytest.mark.parametrize("way", ["link", "hard link", "pipe", "socket"])
def test_a_log_that_leads_elsewhere_is_replaced(ws, agent: Path, tmp_path: Path, monkeypatch, way: str):
    ledger, outside = ledger_of(ws), tmp_path / "outside.log"
    stored = added(ledger, 1, log("design", "one\n"))
    path = agent / "logs" / ONE / "design.log"
    path.unlink()
    outside.write_bytes(b"")
    if way == "link":
        path.symlink_to(outside)
    elif way == "hard link":
        path.hardlink_to(outside)
    elif way == "pipe":
        os.mkfifo(path)
    else:
        # From within: the whole path can be too long for the name of a socket.
        monkeypatch.chdir(path.parent)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    saved(ledger, stored, log("design", "two\n"))
    assert ws.upkeep._projection.problem is None
    assert (outside.read_bytes(), path.read_bytes()) == (b"", b"one\ntwo\n")
    assert differences(ws) == []


@pytest.mark.req("IP-17")
@pytest.mark.parametrize("name", ["planning-sessions", "logs", f"logs/{ONE}"])
def test_a_folder_that_is_a_link_is_not_followed(ws, agent: Path, tmp_path: Path, name: str):
    ledger, outside = ledger_of(ws), tmp_path / "outside"
    outside.mkdir()
    (agent / name).parent.mkdir(exist_ok=True)
    (agent / name).symlink_to(outside)
    stored = added(ledger, 1, log("design", "one\n"))
    assert isinstance(ws.upkeep._projection.problem, StorageFailed)
    assert list(outside.iterdir()) == []
    with pytest.raises(StorageFailed):
        ws.upkeep._projection.rebuild(ledger)
    # The ledger has it all the same, and the next save writes what is missing.
    (agent / name).unlink()
    saved(ledger, stored, log("design", "two\n"))
    assert read(agent, "design.log") == "one\ntwo\n"
    assert differences(ws) == []


@pytest.mark.req("IP-17")
def test_what_a_dead_process_left_is_written_by_the_next(tmp_path: Path):
    def opened() -> Workspace:
        return open_workspace(tmp_path / "ws", environment=environment_of(tmp_path), person=Person())

    def dies() -> None:
        ledger = ledger_of(opened())
        saved(ledger, added(ledger, 1, log("design", "one\n")), log("design", "two\n"))
        added(ledger, 2)
        os._exit(0)

    (tmp_path / "ws" / ".agent").mkdir(parents=True)
    assert in_child(dies) == 0
    with opened() as workspace:
        # A plan shows them too.
        workspace.plan.propose("a plan")
        workspace.flush()
        assert differences(workspace) == []
        assert read(tmp_path / "ws" / ".agent", "design.log") == "one\ntwo\n"

    def dies_with_a_plan() -> None:
        opened().plan.propose("unwritten")
        os._exit(0)

    assert in_child(dies_with_a_plan) == 0
    with opened() as workspace:
        saved(ledger_of(workspace), ledger_of(workspace).sessions.get(ONE), log("design", "three\n"))
        workspace.flush()
        assert differences(workspace) == []


def test_written_within_a_moment(tmp_path: Path):
    (tmp_path / "ws" / ".agent").mkdir(parents=True)
    path = file_of(tmp_path / "ws" / ".agent")
    with open_workspace(tmp_path / "ws", environment=environment_of(tmp_path), person=Person()) as workspace:
        stored = added(ledger_of(workspace), 1)
        for turn in range(5):
            stored = saved(ledger_of(workspace), stored, log("design", f"{turn}\n"))
        end = time.monotonic() + 60
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert path.exists()
        workspace.flush()
        assert differences(workspace) == []


def test_after_git_clean_all_sessions_are_written(ws, agent: Path):
    stored = [added(ledger_of(ws), number, log("design", f"{number}\n")) for number in (1, 2, 3)]
    shutil.rmtree(agent / "planning-sessions")
    shutil.rmtree(agent / "logs")
    saved(ledger_of(ws), stored[1])
    assert differences(ws) == []
    assert len(shown(agent)) == 6


def test_sessions_alone_make_no_files_of_plans(ws, agent: Path):
    approved(ledger_of(ws), added(ledger_of(ws), 1))
    assert shown(agent) == {f"planning-sessions/{ONE}.json"}
    assert not (agent / "runs").exists()
    assert differences(ws) == []


def test_git_does_not_see_them(ws, agent: Path):
    added(ledger_of(ws), 1, log("design", "x\n"))
    assert (agent / ".gitignore").read_text().splitlines()[1] == "*"
    assert differences(ws) == []
