"""`ringi init` at a real terminal: agents found, the difference first, a person's yes, and the way back."""

import json
import os
import sys
from pathlib import Path

import pytest

from ringi.usecases.agent_setup import present
from tests.functional.desk import Desk

SETTINGS = ".claude/settings.local.json"
QUESTION = r"Write this\? \[y/n\]"
BACK = r"Take it back\? \[y/n\]"


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


def answer(desk: Desk, words: str, *command: str, question: str = QUESTION) -> tuple[int, str]:
    terminal = desk.terminal(*command)
    seen = terminal.answer(question, words)
    code, rest = terminal.end()
    return code, seen + rest


def test_shows_the_difference_writes_after_yes_and_takes_it_back(desk: Desk):
    before = desk.files()
    code, seen = answer(desk, "y", "init")
    assert code == 0
    shown, _, rest = seen.partition("Write this?")
    assert '+    "ringi": {' in shown
    assert "+[mcp_servers.ringi]" in shown
    assert "hook claude || exit 2" in "".join(shown.split("\r\n")).replace("  ", "")
    assert "ringi init --undo" in rest
    assert "ringi with claude" in rest
    made = set(desk.files()) - set(before)
    assert made == {".mcp.json", SETTINGS, ".codex/config.toml"}
    server = json.loads((desk.root / ".mcp.json").read_text())["mcpServers"]["ringi"]
    assert server["args"][-3:] == ["mcp", "--as", "claude"]
    assert Path(server["command"]).is_absolute()  # what is on this path is not this installation
    again = desk.run("init", "--agents", "claude,codex")
    assert (again.returncode, "Claude Code is set up" in again.stdout) == (0, True)
    code, seen = answer(desk, "y", "init", "--undo", question=BACK)
    assert code == 0
    assert '-    "ringi": {' in seen
    assert desk.files() == before
    assert not (desk.root / ".claude").exists()
    once_more = desk.run("init", "--undo")
    assert (once_more.returncode, once_more.stdout.strip()) == (0, "There is nothing to take back.")


def test_no_means_no(desk: Desk):
    before = desk.files()
    code, seen = answer(desk, "n", "init")
    assert (code, "Nothing was written." in seen) == (0, True)
    code, _ = answer(desk, "maybe", "init", "--agents", "claude")
    assert code == 5
    assert desk.files() == before
    assert (desk.root / ".agent" / "config.yaml").exists()


def test_without_a_terminal_nothing_is_written_and_the_command_is_named(desk: Desk):
    before = desk.files()
    done = desk.run("init")
    assert done.returncode == 0
    assert "ringi init --agents claude,codex" in done.stdout
    explicit = desk.run("init", "--agents", "codex")
    assert explicit.returncode == 3
    assert "ringi init --agents codex" in explicit.stderr
    assert desk.files() == before


def test_an_agent_cannot_say_yes(desk: Desk):
    before = desk.files()
    terminal = desk.terminal("init", "--agents", "claude", CLAUDECODE="1")
    code, seen = terminal.end()
    assert code == 3
    assert "CLAUDECODE" in seen
    assert desk.files() == before


def test_an_agent_cannot_take_the_hook_away(desk: Desk):
    answer(desk, "y", "init", "--agents", "claude")
    before = desk.files()
    done = desk.run("init", "--undo")
    assert done.returncode == 3
    assert "ringi init --undo" in done.stderr
    terminal = desk.terminal("init", "--undo", CLAUDECODE="1")
    assert terminal.end()[0] == 3
    assert desk.files() == before


def test_one_agent_alone_and_a_file_that_stays(desk: Desk):
    (desk.root / ".mcp.json").write_text('{"mcpServers": ')
    code, seen = answer(desk, "y", "init", "--agents", "claude")
    assert code == 0
    assert "! .mcp.json is left as it is: line 1" in seen
    assert (desk.root / ".mcp.json").read_text() == '{"mcpServers": '
    assert (desk.root / SETTINGS).exists()
    assert not (desk.root / ".codex").exists()


def test_undo_after_others_wrote_takes_only_ours_and_says_so(desk: Desk):
    (desk.root / ".mcp.json").write_text('{\n  "mcpServers": {}\n}\n')
    answer(desk, "y", "init", "--agents", "claude")
    path = desk.root / ".mcp.json"
    path.write_text(
        path.read_text().replace('"mcpServers": {', '"mcpServers": {\n    "a": {"command": "a"},')
    )
    code, seen = answer(desk, "y", "init", "--undo", question=BACK)
    assert code == 0
    assert ".mcp.json was changed since; only what ringi wrote is removed" in " ".join(seen.split())
    assert json.loads(path.read_text()) == {"mcpServers": {"a": {"command": "a"}}}


def test_what_is_written_during_the_question_is_theirs(desk: Desk):
    terminal = desk.terminal("init", "--agents", "codex")
    terminal.read(QUESTION)
    (desk.root / ".codex").mkdir()
    (desk.root / ".codex" / "config.toml").write_text("theirs = 1\n")
    terminal.type("y")
    code, seen = terminal.end()
    assert code == 4
    assert "somebody made it meanwhile" in seen
    assert (desk.root / ".codex" / "config.toml").read_text() == "theirs = 1\n"


def test_a_program_is_told_what_was_written_and_what_was_not(desk: Desk):
    answer(desk, "y", "init", "--agents", "claude")
    terminal = desk.terminal("--json", "init")
    terminal.read(QUESTION)
    (desk.root / ".codex").mkdir()
    (desk.root / ".codex" / "config.toml").write_text("theirs = 1\n")
    terminal.type("y")
    code, seen = terminal.end()
    assert code == 4
    found = json.loads(seen[seen.index("{") :])
    assert [(agent["agent"], agent["written"], list(agent["left_alone"])) for agent in found["agents"]] == [
        ("claude", False, []),
        ("codex", False, [".codex/config.toml"]),
    ]


@pytest.mark.parametrize("words", [["--agents", "emacs"], ["--agents", ""], ["--agents", "claude", "--undo"]])
def test_wrong_usage_is_told(desk: Desk, words: list[str]):
    done = desk.run("init", *words)
    assert done.returncode == 2
    assert done.stderr


def test_json_tells_what_there_would_be(desk: Desk):
    document = desk.json("init")
    assert [(found["agent"], found["files"], found["written"]) for found in document["agents"]] == [
        ("claude", [".mcp.json", SETTINGS], False),
        ("codex", [".codex/config.toml"], False),
    ]
    assert desk.json("init", "--undo")["taken_back"] == []


def test_the_plain_name_is_written_where_it_means_this_installation(desk: Desk, tmp_path: Path):
    own = Path(sys.executable).parent / "ringi"
    if not own.exists():
        pytest.skip("no launcher beside this interpreter")
    (tmp_path / "bin" / "ringi").symlink_to(own)
    code, _ = answer(desk, "y", "init", "--agents", "claude")
    assert code == 0
    server = json.loads((desk.root / ".mcp.json").read_text())["mcpServers"]["ringi"]
    assert server["command"] == "ringi"
