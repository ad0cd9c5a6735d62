"""The files of agents in a project: found, offered, changed by an ordinary plan, taken back by its undo."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ringi.agents.table import CONFIGURABLE as AGENTS
from ringi.app.api import Workspace
from ringi.beside.setup import SetupOffer, make_alias, missing, offer, present, program, propose
from ringi.errors import NameTaken
from ringi.plans.document import PlanStatus
from tests.helpers import approve, make_files, open_scratch, undo

WORDS = ["ringi"]
SETTINGS = ".claude/settings.local.json"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path, {}) as opened:
        yield opened


@pytest.fixture
def root(workspace: Workspace) -> Path:
    return workspace.places.root


def all_offers(workspace: Workspace, words: list[str] = WORDS) -> list[SetupOffer]:
    return [offer(workspace, agent, words) for agent in AGENTS.values()]


def set_up(workspace: Workspace, words: list[str] = WORDS) -> str:
    plan_id = propose(workspace, all_offers(workspace, words), "hanako")
    approve(workspace, plan_id)
    assert workspace.plan.execute(plan_id).overall_success
    return plan_id


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
    [("claude", "claude"), ("codex", "codex"), ("code", "vscode"), ("gemini", "gemini")],
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


# --- the plan --------------------------------------------------------------------------------------

BEFORE: Mapping[str, bytes] = {
    ".mcp.json": b'{\r\n\t"mcpServers": {\r\n\t\t"a": {"command": "a"} // mine\r\n\t}\r\n}',
    SETTINGS: b'\xef\xbb\xbf{"permissions": {"allow": ["Bash(ls)"]}}\n',
    ".codex/config.toml": b'# mine\nmodel = "x"',
    ".gemini/settings.json": b'{\n  "theme": "dark", // mine\n}\n',
    ".vscode/mcp.json": b"",
    "opencode.jsonc": b'{\n    // mine\n    "mcp": {},\n}\n',
}


def lay(root: Path) -> None:
    make_files(root, BEFORE)
    for name in BEFORE:
        (root / name).chmod(0o640)


def test_new_files_come_and_go(workspace: Workspace, root: Path):
    plan_id = set_up(workspace)
    assert set(contents(root)) == {
        SETTINGS, ".codex/config.toml", ".gemini/settings.json", ".mcp.json", ".vscode/mcp.json",
        "opencode.json",
    }  # fmt: skip
    assert all_offers(workspace) == [SetupOffer(agent, {}, {}) for agent in AGENTS.values()]
    undo(workspace, plan_id)
    assert contents(root) == {}
    assert folders(root) == {".agent"}


def test_files_that_were_there_keep_every_other_byte_and_come_back(workspace: Workspace, root: Path):
    lay(root)
    before = contents(root)
    plan_id = set_up(workspace)
    after = contents(root)
    assert {name: mode for name, (_, mode) in after.items()} == {
        name: mode for name, (_, mode) in before.items()
    }
    assert after[".mcp.json"][0].count(b"\r\n") == after[".mcp.json"][0].count(b"\n")
    assert after[SETTINGS][0].startswith(b"\xef\xbb\xbf{")
    for name, data in BEFORE.items():
        rest = iter(after[name][0])
        assert all(byte in rest for byte in data), name
        assert after[name][0].count(b"\xef\xbb\xbf") == data.count(b"\xef\xbb\xbf")
    assert all_offers(workspace) == [SetupOffer(agent, {}, {}) for agent in AGENTS.values()]
    undo(workspace, plan_id)
    assert contents(root) == before


def test_the_same_plan_is_not_proposed_twice(workspace: Workspace):
    first = propose(workspace, all_offers(workspace), "hanako")
    assert propose(workspace, all_offers(workspace), "hanako") == first
    assert workspace.plan.ref(first).status is PlanStatus.PENDING_REVIEW
    other = propose(workspace, all_offers(workspace, ["/elsewhere/ringi"]), "hanako")
    assert other != first


def test_a_moved_program_is_a_plan_again(workspace: Workspace, root: Path):
    set_up(workspace)
    set_up(workspace, ["/elsewhere/ringi"])
    assert b"/elsewhere/ringi" in (root / ".mcp.json").read_bytes()


# --- what is missing -------------------------------------------------------------------------------


def test_codex_has_to_be_told_to_trust_the_project(root: Path, tmp_path: Path):
    home = tmp_path / "codex"
    variables = {"HOME": str(tmp_path), "CODEX_HOME": str(home)}
    lacking = missing(AGENTS["codex"], root, variables)
    assert lacking is not None
    assert str(home / "config.toml") in str(lacking.why)
    home.mkdir()
    (home / "config.toml").write_text("model = [broken")
    assert missing(AGENTS["codex"], root, variables) == lacking
    (home / "config.toml").write_text(f'[projects."{root}"]\ntrust_level = "untrusted"\n')
    assert missing(AGENTS["codex"], root, variables) == lacking
    (home / "config.toml").write_text("\n".join(lacking.lines))
    assert missing(AGENTS["codex"], root, variables) is None


def test_nothing_is_said_where_nothing_can_be_looked_up(root: Path):
    assert missing(AGENTS["claude"], root, {"HOME": "/nowhere"}) is None
    assert missing(AGENTS["codex"], root, {}) is None


# --- what is left alone ----------------------------------------------------------------------------


def make_link(path: Path) -> None:
    (path.parent.parent / "elsewhere.json").write_text("{}")
    path.symlink_to(path.parent.parent / "elsewhere.json")


def problem(workspace: Workspace, name: str = "claude") -> str:
    [why] = offer(workspace, AGENTS[name], WORDS).problems.values()
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
def test_left_alone_and_named(workspace: Workspace, root: Path, make: Any, says: str):
    make(root / ".mcp.json")
    seen = os.lstat(root / ".mcp.json")
    assert says in problem(workspace)
    # The other file of the agent is changed all the same.
    found = offer(workspace, AGENTS["claude"], WORDS)
    assert [*found.files] == [SETTINGS]
    plan_id = propose(workspace, [found], "hanako")
    approve(workspace, plan_id)
    assert workspace.plan.execute(plan_id).overall_success
    assert os.lstat(root / ".mcp.json")[:7] == seen[:7]


def test_a_linked_folder_is_not_written_through(workspace: Workspace, root: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (root / ".codex").symlink_to(tmp_path / "elsewhere")
    assert ".codex is a symbolic link" in problem(workspace, "codex")


@pytest.mark.parametrize("blank", [b"", b"\n", b"\xef\xbb\xbf", b"\r\n"])
def test_an_empty_file_is_filled_and_emptied_again(workspace: Workspace, root: Path, blank: bytes):
    (root / ".mcp.json").write_bytes(blank)
    plan_id = set_up(workspace)
    assert "ringi" in json.loads((root / ".mcp.json").read_text(encoding="utf-8-sig"))["mcpServers"]
    undo(workspace, plan_id)
    assert (root / ".mcp.json").read_bytes() == blank


def test_an_alias_lies_beside_ringi_and_overwrites_nothing(tmp_path: Path) -> None:
    own = tmp_path / "some bin" / "ringi"
    own.parent.mkdir()
    own.write_text('#!/bin/sh\necho "$@"\n')
    own.chmod(0o755)
    made = make_alias("agent", {"PATH": "/nowhere"}, str(own))
    assert made == own.parent / "agent"
    assert subprocess.run([made, "a b", "c"], capture_output=True, text=True, check=True).stdout == "a b c\n"
    before = made.read_bytes()
    for path in ("/nowhere", str(own.parent)):
        with pytest.raises(NameTaken):
            make_alias("agent", {"PATH": path}, str(own))
    assert made.read_bytes() == before
