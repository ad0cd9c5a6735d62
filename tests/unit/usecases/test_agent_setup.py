"""The files of agents in a project: found, offered, written in one step, taken back."""

import json
import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ringi.agents.table import CONFIGURABLE as AGENTS
from ringi.errors import Busy, RingiError
from ringi.fs import OsFileSystem
from ringi.store.lock import FileLock
from ringi.usecases.agent_setup import AgentSetup, Offer, present, program
from ringi.wiring.setup import agent_setup as setup_of
from ringi.workspace.places import places_of

WORDS = ["ringi"]
SETTINGS = ".claude/settings.local.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".agent").mkdir(parents=True)
    return folder


@pytest.fixture
def setup(root: Path) -> AgentSetup:
    return setup_of(root, os.environ)


def offered(root: Path, name: str, words: list[str] = WORDS) -> Offer:
    return setup_of(root, os.environ).offer(AGENTS[name], words)


def write_all(setup: AgentSetup, words: list[str] = WORDS) -> None:
    for agent in AGENTS.values():
        assert setup.carry_out(setup.offer(agent, words).changes) == {}


def folder_of(root: Path) -> Path:
    return places_of(root, os.environ).state


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and ".agent" not in path.parts)
    return {str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode) for path in found}


def folders(root: Path) -> set[str]:
    return {path.name for path in root.iterdir() if path.is_dir()}


# --- finding ---------------------------------------------------------------------------------------


def names(root: Path, **variables: str) -> list[str]:
    return [agent.name for agent in present(root, variables)]


def test_nobody_is_there(root: Path, tmp_path: Path):
    assert names(root, PATH=str(tmp_path), HOME=str(tmp_path)) == []
    assert names(root, PATH="", HOME="relative") == []


@pytest.mark.parametrize(
    ("program_name", "agent"),
    [("claude", "claude"), ("codex", "codex"), ("code", "vscode"), ("opencode", "opencode")],
)
def test_found_by_its_program(root: Path, tmp_path: Path, program_name: str, agent: str):
    there = tmp_path / "bin"
    there.mkdir()
    (there / program_name).write_text("#!/bin/sh\n")
    assert names(root, PATH=str(there)) == []
    (there / program_name).chmod(0o755)
    assert names(root, PATH=str(there)) == [agent]


@pytest.mark.parametrize(
    ("folder", "agent"),
    [(".claude", "claude"), (".codex", "codex"), (".vscode", "vscode"), (".config/opencode", "opencode")],
)
def test_found_by_its_own_folder_or_its_traces_in_the_project(
    root: Path, tmp_path: Path, folder: str, agent: str
):
    home = tmp_path / "home"
    (home / folder).mkdir(parents=True)
    assert names(root, PATH="", HOME=str(home)) == [agent]
    (root / AGENTS[agent].presence.traces[0]).mkdir()
    assert names(root, PATH="") == [agent]


def test_found_where_its_variable_says(root: Path, tmp_path: Path):
    assert names(root, PATH="", CODEX_HOME=str(tmp_path)) == ["codex"]


# --- how the program is called ---------------------------------------------------------------------


def launcher(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "ringi"
    made.write_text("#!/bin/sh\n")
    made.chmod(0o755)
    return made


def test_plain_name_only_where_it_means_this_installation(tmp_path: Path):
    own, other = launcher(tmp_path / "own"), launcher(tmp_path / "other")
    assert program({"PATH": str(own.parent)}, str(own)) == ["ringi"]
    assert program({"PATH": str(other.parent)}, str(own)) == [str(own)]
    assert program({"PATH": f"{other.parent}:{own.parent}"}, str(own)) == [str(own)]
    assert program({"PATH": ""}, str(own)) == [str(own)]
    assert program({"PATH": "."}, str(own)) == [str(own)]


def test_a_link_to_this_installation_is_this_installation(tmp_path: Path):
    own = launcher(tmp_path / "venv" / "bin")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ringi").symlink_to(own)
    assert program({"PATH": str(tmp_path / "bin")}, str(own)) == ["ringi"]


def test_an_active_environment_is_not_relied_on(tmp_path: Path):
    own = launcher(tmp_path / "venv" / "bin")
    environment = {"PATH": str(own.parent), "VIRTUAL_ENV": str(tmp_path / "venv")}
    assert program(environment, str(own)) == [str(own)]


def test_without_a_launcher_the_interpreter_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python3"))
    assert program({"PATH": ""}, "/x/__main__.py") == [str(tmp_path / "python3"), "-P", "-m", "ringi"]


# --- writing and taking back -----------------------------------------------------------------------

BEFORE: Mapping[str, bytes] = {
    ".mcp.json": b'{\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "a"} // mine\r\n\t}\r\n}',
    SETTINGS: b'\xef\xbb\xbf{"permissions": {"allow": ["Bash(ls)"]}}\n',
    ".codex/config.toml": b'# mine\nmodel = "x"',
    ".vscode/mcp.json": b"",
    "opencode.jsonc": b'{\n    // mine\n    "mcp": {},\n}\n',
}


def lay(root: Path) -> None:
    for name, data in BEFORE.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o640)


def test_new_files_come_and_go(root: Path, setup: AgentSetup):
    write_all(setup)
    assert set(contents(root)) == {
        ".claude/settings.local.json", ".codex/config.toml", ".mcp.json", ".vscode/mcp.json", "opencode.json",
    }  # fmt: skip
    for name in AGENTS:
        assert offered(root, name) == Offer(AGENTS[name], (), {})
    returns = setup.way_back()
    assert all(found.exact for found in returns)
    assert setup.go_back(returns) == {}
    assert contents(root) == {}
    assert folders(root) == {".agent"}
    assert setup.way_back() == []
    assert setup.go_back([]) == {}


def test_files_that_were_there_come_back_byte_for_byte(root: Path, setup: AgentSetup):
    lay(root)
    before = contents(root)
    write_all(setup)
    after = contents(root)
    assert {name: mode for name, (_, mode) in after.items()} == {
        name: mode for name, (_, mode) in before.items()
    }
    assert after[".mcp.json"][0].count(b"\r\n") == after[".mcp.json"][0].count(b"\n")
    assert after[SETTINGS][0].startswith(b"\xef\xbb\xbf{")
    assert b"// mine" in after["opencode.jsonc"][0]
    assert all(data.count(b"\xef\xbb\xbf") <= 1 for data, _ in after.values())
    assert setup.go_back(setup.way_back()) == {}
    assert contents(root) == before


def test_a_second_write_still_leads_back_to_the_beginning(root: Path, setup: AgentSetup):
    lay(root)
    before = contents(root)
    write_all(setup)
    write_all(setup, ["/elsewhere/ringi"])
    assert b"/elsewhere/ringi" in (root / ".mcp.json").read_bytes()
    setup.go_back(setup.way_back())
    assert contents(root) == before


def test_what_others_wrote_since_stays(root: Path, setup: AgentSetup):
    write_all(setup)
    path = root / ".mcp.json"
    servers = json.loads(path.read_text())
    servers["mcpServers"]["theirs"] = {"command": "x"}
    path.write_text(json.dumps(servers, indent=2))
    (root / ".codex" / "config.toml").write_text(
        'model = "x"\n' + (root / ".codex" / "config.toml").read_text()
    )
    (root / ".claude" / "notes.md").write_text("theirs\n")
    returns = {found.written.file: found for found in setup.way_back()}
    assert [name for name, found in returns.items() if not found.exact] == [".mcp.json", ".codex/config.toml"]
    assert setup.go_back(list(returns.values())) == {}
    assert json.loads(path.read_text()) == {"mcpServers": {"theirs": {"command": "x"}}}
    assert (root / ".codex" / "config.toml").read_text() == 'model = "x"\n'
    assert folders(root) == {".agent", ".claude", ".codex"}


def test_a_second_write_after_others_wrote_is_taken_out_alone(root: Path, setup: AgentSetup):
    lay(root)
    write_all(setup)
    path = root / "opencode.jsonc"
    path.write_text(path.read_text().replace("// mine", "// mine and theirs"))
    write_all(setup, ["/elsewhere/ringi"])
    [found] = [found for found in setup.way_back() if found.written.file == "opencode.jsonc"]
    assert not found.exact
    setup.go_back([found])
    assert path.read_bytes() == BEFORE["opencode.jsonc"].replace(b"// mine", b"// mine and theirs")


def test_a_file_that_only_we_filled_goes_even_if_it_was_formatted_since(root: Path, setup: AgentSetup):
    write_all(setup)
    for name in (".mcp.json", SETTINGS, ".vscode/mcp.json", "opencode.json"):
        (root / name).write_text(json.dumps(json.loads((root / name).read_text()), indent=7))
    setup.go_back(setup.way_back())
    assert contents(root) == {}


def test_gone_or_without_our_entry_is_nothing_to_do(root: Path, setup: AgentSetup):
    write_all(setup)
    (root / ".mcp.json").unlink()
    (root / SETTINGS).write_text("{}")
    left = {found.written.file: found.change for found in setup.way_back()}
    assert left[".mcp.json"] is None
    assert left[SETTINGS] is None


def test_what_cannot_be_read_any_more_is_named_and_stays_known(root: Path, setup: AgentSetup):
    write_all(setup)
    (root / ".mcp.json").write_text("{ broken")
    [found] = [found for found in setup.way_back() if found.problem]
    assert found.written.file == ".mcp.json"
    setup.go_back(setup.way_back())
    assert (root / ".mcp.json").read_text() == "{ broken"
    assert [known.written.file for known in setup.way_back()] == [".mcp.json"]


# --- what is left alone ----------------------------------------------------------------------------


def make_link(path: Path) -> None:
    (path.parent.parent / "elsewhere.json").write_text("{}")
    path.symlink_to(path.parent.parent / "elsewhere.json")


def problem(root: Path, name: str = "claude") -> Any:
    found = offered(root, name)
    [why] = found.problems.values()
    return str(why)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (make_link, "symbolic link"),
        (lambda path: path.symlink_to("nowhere"), "symbolic link"),
        (lambda path: path.mkdir(), "folder"),
        (os.mkfifo, "named pipe"),
        (lambda path: path.write_bytes(b'{"a": "\xff"}'), "not UTF-8 at byte 7"),
        (lambda path: path.write_bytes("{}".encode("utf-16")), "not UTF-8"),
        (lambda path: path.write_text("{ nothing"), "line 1"),
        (lambda path: path.write_text('{\n"a": 1,\n"a": 2}'), "line 3: the key a is in it twice"),
        (lambda path: path.write_text("[]"), "no object"),
        (lambda path: path.write_bytes(b'{"a": "' + b"x" * 2_000_000 + b'"}'), "bytes"),
        (lambda path: (path.write_text("{}"), path.chmod(0o444)), "read-only"),
    ],
    ids=["link", "dangling", "folder", "pipe", "bytes", "utf16", "broken", "twice", "list", "huge", "locked"],
)  # fmt: skip
def test_left_alone_and_named(root: Path, setup: AgentSetup, make: Any, says: str):
    make(root / ".mcp.json")
    seen = os.lstat(root / ".mcp.json")
    assert says in problem(root)
    # The other file of the agent is written all the same.
    assert [change.file for change in offered(root, "claude").changes] == [SETTINGS]
    setup.carry_out(offered(root, "claude").changes)
    assert os.lstat(root / ".mcp.json")[:7] == seen[:7]


def test_a_linked_folder_is_not_written_through(root: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (root / ".codex").symlink_to(tmp_path / "elsewhere")
    assert ".codex is a symbolic link" in problem(root, "codex")


@pytest.mark.parametrize("blank", [b"", b"\n", b"\xef\xbb\xbf", b"\r\n"])
def test_an_empty_file_is_filled_and_emptied_again(root: Path, setup: AgentSetup, blank: bytes):
    (root / ".mcp.json").write_bytes(blank)
    setup.carry_out(offered(root, "claude").changes)
    assert "ringi" in json.loads((root / ".mcp.json").read_text(encoding="utf-8-sig"))["mcpServers"]
    setup.go_back(setup.way_back())
    assert (root / ".mcp.json").read_bytes() == blank


def test_written_meanwhile_is_theirs(root: Path, setup: AgentSetup):
    (root / ".mcp.json").write_text("{}")
    changes = offered(root, "claude").changes
    (root / ".mcp.json").write_text('{"theirs": 1}')
    conflicts = setup.carry_out(changes)
    assert list(conflicts) == [".mcp.json"]
    assert (root / ".mcp.json").read_text() == '{"theirs": 1}'
    assert (root / SETTINGS).exists()
    setup.go_back(setup.way_back())
    assert contents(root) == {".mcp.json": (b'{"theirs": 1}', (root / ".mcp.json").stat().st_mode)}


def test_made_meanwhile_is_theirs(root: Path, setup: AgentSetup):
    changes = offered(root, "codex").changes
    (root / ".codex").mkdir()
    (root / ".codex" / "config.toml").write_text("theirs = 1\n")
    assert list(setup.carry_out(changes)) == [".codex/config.toml"]
    assert (root / ".codex" / "config.toml").read_text() == "theirs = 1\n"


def test_the_record_is_for_its_owner_only(root: Path, setup: AgentSetup):
    write_all(setup)
    record = folder_of(root) / "agents.json"
    assert record.stat().st_mode & 0o777 == 0o600
    assert folder_of(root).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": [{"agent": "claude"}]}', '{"schema_version": 9}'])
def test_a_broken_record_is_told(root: Path, setup: AgentSetup, text: str):
    write_all(setup)
    (folder_of(root) / "agents.json").write_text(text)
    with pytest.raises(RingiError) as told:
        setup.way_back()
    assert "agents.json" in str(told.value)


def test_not_while_somebody_else_sweeps_the_stage(
    root: Path,
):
    setup = setup_of(root, os.environ, wait_sec=0.1)
    setup.carry_out(offered(root, "claude").changes)
    before, returns, changes = contents(root), setup.way_back(), offered(root, "codex").changes
    with FileLock(folder_of(root) / "lock", 0)("execute"):
        with pytest.raises(Busy):
            setup.carry_out(changes)
        with pytest.raises(Busy):
            setup.go_back(returns)
    assert contents(root) == before


def test_what_another_init_wrote_during_the_question_stays_known(root: Path, setup: AgentSetup):
    setup.carry_out(offered(root, "claude").changes)
    returns = setup.way_back()
    setup.carry_out(offered(root, "codex").changes)
    setup.go_back(returns)
    assert [found.written.agent for found in setup.way_back()] == ["codex"]


# --- killed in the middle --------------------------------------------------------------------------


class Mortal(OsFileSystem):
    """Ends the process before its n-th operation."""

    left = 0

    def __getattribute__(self, name: str) -> Any:
        if name in {
            "create",
            "move",
            "exchange",
            "link",
            "remove",
            "make_folder",
            "sync_file",
            "sync_folder",
        }:
            Mortal.left -= 1
            if Mortal.left < 0:
                os._exit(9)
        return super().__getattribute__(name)


def killed_at(number: int, root: Path, act: Any) -> bool:
    child = os.fork()
    if child == 0:
        state = folder_of(root)
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(state / "lock", 10.0)
        Mortal.left = number
        act(AgentSetup(root, state, fs=Mortal(), lock=lock, new_file_mode=0o644))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_killed_anywhere_every_file_is_old_or_new_and_can_be_taken_back(tmp_path: Path):
    number, survived = 0, False
    while not survived:
        root = tmp_path / str(number)
        (root / ".agent").mkdir(parents=True)
        setup = setup_of(root, os.environ)
        lay(root)
        before = contents(root)
        survived = not killed_at(number, root, write_all)
        halfway = contents(root)
        for name, (data, mode) in halfway.items():
            assert mode == before[name][1]
            assert data == BEFORE[name] or b"ringi" in data
        for name in AGENTS:
            setup.carry_out(offered(root, name).changes)
        if number % 2:
            killed_at(number // 2, root, lambda found: found.go_back(found.way_back()))
        setup.go_back(setup.way_back())
        assert {name: data for name, (data, _) in contents(root).items()} == BEFORE
        number += 1
    assert number > 20
