"""`ringi init` at a real terminal: agents found, a plan for their files, a person's yes, and the way back."""

import json
import os
from pathlib import Path

import pytest

from ringi.beside.setup import present
from tests.functional.desk import MENU, Desk, Terminal

SETTINGS = ".claude/settings.local.json"


@pytest.fixture
def desk(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """With programs of two agents on the path, and none that this machine has."""
    there = tmp_path / "bin"
    there.mkdir()
    for name in ("claude", "codex"):
        (there / name).write_text("#!/bin/sh\n")
        (there / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{there}:/usr/bin:/bin")
    if [agent.name for agent in present(repo, os.environ)] != ["claude", "codex"]:
        pytest.skip("agents are installed for everybody here")
    return Desk(repo)


def applied(terminal: Terminal) -> tuple[int, str]:
    """The person reads the plan and applies it; answers with what was said afterwards."""
    terminal.answer(MENU, "a")
    terminal.type(terminal.wanted())
    return terminal.end()


def set_up(desk: Desk, *words: str) -> tuple[int, str]:
    return applied(desk.terminal("init", *words))


def test_shows_a_plan_carries_it_out_after_yes_and_undo_takes_it_back(desk: Desk):
    before = desk.files()
    terminal = desk.terminal("init")
    shown = terminal.answer(MENU, "a")
    assert '+    "ringi": {' in shown
    assert "+[mcp_servers.ringi]" in shown
    assert "hook claude || exit 2" in "".join(shown.split("\n")).replace("  ", "")
    assert "HIGH" in shown
    terminal.type(terminal.wanted())
    code, rest = terminal.end()
    assert code == 0
    assert "ringi undo p1" in rest
    assert 'trust_level = "trusted"' in rest
    assert "ringi with claude" in rest
    made = set(desk.files()) - set(before)
    assert made == {".mcp.json", SETTINGS, ".codex/config.toml"}
    server = json.loads((desk.root / ".mcp.json").read_text())["mcpServers"]["ringi"]
    assert server["args"][-3:] == ["mcp", "--as", "claude"]
    assert Path(server["command"]).is_absolute()  # what is on this path is not this installation
    again = desk.run("init", "--agents", "claude,codex")
    assert (again.returncode, "Claude Code is set up" in again.stdout) == (0, True)
    assert [one["status"] for one in desk.json("list")] == ["completed"]
    terminal = desk.terminal("undo")
    terminal.answer(r"Go\? \[y/n\]", "y")
    assert terminal.end()[0] == 0
    assert desk.files() == before
    assert not (desk.root / ".claude").exists()


def test_an_agent_can_only_propose(desk: Desk):
    before = desk.files()
    terminal = desk.terminal("init", "--agents", "claude", CLAUDECODE="1")
    code, seen = terminal.end()
    assert code == 3
    assert "CLAUDECODE" in seen
    assert "ringi apply p1" in seen
    assert desk.files() == before


def test_an_agent_cannot_take_the_hook_away(desk: Desk):
    set_up(desk, "--agents", "claude")
    before = desk.files()
    assert desk.run("undo").returncode == 3
    assert desk.terminal("undo", CLAUDECODE="1").end()[0] == 3
    assert desk.files() == before


def test_what_is_written_during_the_question_is_theirs(desk: Desk):
    terminal = desk.terminal("init", "--agents", "codex")
    terminal.read(MENU)
    (desk.root / ".codex").mkdir()
    (desk.root / ".codex" / "config.toml").write_text("theirs = 1\n")
    terminal.type("a")
    assert "changed since" in terminal.answer(MENU, "q")
    assert terminal.end()[0] == 3
    assert (desk.root / ".codex" / "config.toml").read_text() == "theirs = 1\n"
    assert set_up(desk, "--agents", "codex")[0] == 0
    assert (desk.root / ".codex" / "config.toml").read_text().startswith("theirs = 1\n")


def test_without_the_server_nothing_is_set_up_and_the_command_is_named(desk: Desk, tmp_path: Path):
    """An agent that must have a server that is not installed would not start."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = None\n")
    path = f"{tmp_path / 'without'}:{os.environ.get('PYTHONPATH', '')}"
    found = desk.process("init", PYTHONPATH=path)
    assert found.returncode == 0
    assert "'mcp>=2'" in found.stdout
    asked = desk.process("init", "--agents", "claude", PYTHONPATH=path)
    assert asked.returncode == 2
    assert "'mcp>=2'" in asked.stderr
    assert desk.json("list") == []
