"""What each agent's own files get: once, and replaced if it is another program's."""

import json

import pytest

from ringi.agents.entries import merge_entry
from ringi.agents.table import AGENTS, CONFIGURABLE
from ringi.errors import BadDocument
from tests.helpers import ROOT
from tests.tables import each


@each("text", ["[]", '{"mcpServers": []}', '{"mcpServers": 1}', '{"mcpServers": null}', "3"])
def test_an_entry_that_has_no_place_is_refused(text: str):
    with pytest.raises(BadDocument):
        merge_entry(AGENTS["claude"], ".mcp.json", text, ["ringi"])


FILES = [(agent.name, names[0]) for agent in CONFIGURABLE.values() for names in agent.setup_files()]


@each(("agent", "file"), FILES)
@each("program", [["ringi"], ["/opt/a b/ringi"], ["/usr/bin/python3", "-P", "-m", "ringi"]])
def test_once_is_enough_and_another_program_replaces_it(agent: str, file: str, program: list[str]):
    made = merge_entry(AGENTS[agent], file, "", program)
    assert merge_entry(AGENTS[agent], file, made, program) == made
    other = merge_entry(AGENTS[agent], file, made, ["/elsewhere/ringi"])
    assert "/elsewhere/ringi" in other
    assert merge_entry(AGENTS[agent], file, other, program) == made


def test_formats_are_those_that_the_agents_document():
    def written(agent: str, file: str) -> object:
        return json.loads(merge_entry(AGENTS[agent], file, "", ["ringi"]))

    assert written("claude", ".mcp.json") == {
        "mcpServers": {"ringi": {"command": "ringi", "args": ["mcp", "--as", "claude"], "alwaysLoad": True}}
    }
    assert written("vscode", ".vscode/mcp.json") == {
        "servers": {"ringi": {"type": "stdio", "command": "ringi", "args": ["mcp", "--as", "vscode"]}}
    }
    assert written("opencode", "opencode.json") == {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {"ringi": {"type": "local", "command": ["ringi", "mcp", "--as", "opencode"]}},
    }
    assert written("gemini", ".gemini/settings.json") == {
        "mcpServers": {"ringi": {"command": "ringi", "args": ["mcp", "--as", "gemini"], "trust": True}}
    }
    assert written("claude", ".claude/settings.local.json") == {
        "permissions": {"allow": ["mcp__ringi"]},
        "enabledMcpjsonServers": ["ringi"],
        "hooks": {
            "PreToolUse": [
                {
                    "matcher": "Edit|Write|MultiEdit|NotebookEdit",
                    "hooks": [
                        {
                            "type": "command",
                            "command": "ringi hook claude || exit 2",
                            "timeout": 10,
                            "onFailure": "block",
                        }
                    ],
                },
            ],
        },
    }


@each(("agent", "file"), FILES)
def test_the_page_of_the_agent_shows_what_is_written(agent: str, file: str):
    page = (ROOT / "docs" / "agents" / f"{agent}.md").read_text(encoding="utf-8")
    made = merge_entry(AGENTS[agent], file, "", ["ringi"])
    if file == ".claude/settings.local.json":  # told in words there
        for group in json.loads(made)["hooks"]["PreToolUse"]:
            assert f"`{group['matcher']}`" in page
            assert f"`{group['hooks'][0]['command']}`" in page
        return
    kind = "toml" if file.endswith(".toml") else "json"
    assert f"```{kind}\n{made}```" in page


def test_opencode_of_the_second_version_keeps_its_form():
    text = '{\n  "mcp": {\n    "servers": {\n      "a": {"type": "local", "command": ["a"]}\n    }\n  }\n}\n'
    made = merge_entry(AGENTS["opencode"], "opencode.json", text, ["ringi"])
    assert list(json.loads(made)["mcp"]["servers"]) == ["a", "ringi"]


def test_a_server_of_another_kind_is_replaced_whole():
    text = '{"mcpServers": {"ringi": {"type": "http", "url": "http://127.0.0.1:1"}}}'
    made = merge_entry(AGENTS["claude"], ".mcp.json", text, ["ringi"])
    found = json.loads(made)["mcpServers"]["ringi"]
    assert (found["command"], found["args"]) == ("ringi", ["mcp", "--as", "claude"])
    assert "url" not in found


def test_what_a_person_added_to_the_entry_stays():
    text = '{"mcpServers": {"ringi": {"command": "old", "env": {"A": "1"}}}}'
    made = json.loads(merge_entry(AGENTS["claude"], ".mcp.json", text, ["ringi"]))
    assert made["mcpServers"]["ringi"]["env"] == {"A": "1"}


SETTINGS = ".claude/settings.local.json"
GUARD = {"type": "command", "command": "./guard.sh"}


def test_hooks_of_others_stay_where_they_are():
    text = json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [GUARD]}], "Stop": []}}, indent=2
    )
    made = merge_entry(AGENTS["claude"], SETTINGS, text, ["ringi"])
    groups = json.loads(made)["hooks"]["PreToolUse"]
    assert groups[0] == {"matcher": "Bash", "hooks": [GUARD]}
    assert groups[1]["hooks"][0]["command"] == "ringi hook claude || exit 2"


def test_ours_beside_another_hook_is_changed_alone():
    old = {"type": "command", "command": "'/old/ri ngi/ringi' hook claude || exit 2"}
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [GUARD, old]}]}}, indent=4)
    made = json.loads(merge_entry(AGENTS["claude"], SETTINGS, text, ["ringi"]))
    [group] = made["hooks"]["PreToolUse"]
    assert group["matcher"] == "*"
    assert group["hooks"][0] == GUARD
    assert group["hooks"][1]["command"] == "ringi hook claude || exit 2"


@each(
    "command",
    ["ringi hook claudette", "stringi hook claude", "echo ringi", "ringi hook codex", "ringi hook claude-x"],
)
def test_what_only_resembles_our_hook_is_another(command: str):
    text = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}})
    made = json.loads(merge_entry(AGENTS["claude"], SETTINGS, text, ["ringi"]))
    assert len(made["hooks"]["PreToolUse"]) == 2


def test_rules_of_a_person_stay_and_ours_is_added_once():
    text = '{"permissions": {"deny": ["WebFetch"], "allow": ["Bash(ls)"]}, "enabledMcpjsonServers": ["a"]}'
    made = merge_entry(AGENTS["claude"], SETTINGS, text, ["ringi"])
    settings = json.loads(made)
    assert settings["permissions"] == {"deny": ["WebFetch"], "allow": ["Bash(ls)", "mcp__ringi"]}
    assert settings["enabledMcpjsonServers"] == ["a", "ringi"]
    assert merge_entry(AGENTS["claude"], SETTINGS, made, ["ringi"]) == made


@each(
    "text",
    [
        '{"permissions": []}',
        '{"permissions": {"allow": "all"}}',
        '{"hooks": []}',
        '{"hooks": {"PreToolUse": 1}}',
    ],
)
def test_settings_without_a_place_are_refused(text: str):
    with pytest.raises(BadDocument):
        merge_entry(AGENTS["claude"], SETTINGS, text, ["ringi"])
