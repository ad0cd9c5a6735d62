"""The entries that make editors start agents through ringi."""

import json
from pathlib import Path

import pytest

from ringi.agents.editor_setup import editor_entries
from ringi.agents.editors import EDITORS, EditorAgent
from tests.tables import each

ODD = 'a "b" \\c'
CLAUDE = 'command = "/bin/ringi", args = { "acp", "--", "claude-agent-acp" }'
STARTED = [
    EditorAgent("claude", "Claude Code", ["/bin/ringi", "acp", "--", "claude-agent-acp"]),
    EditorAgent("opencode", "OpenCode", ["/bin/ringi", "acp", "--", ODD, "acp"]),
]


@pytest.mark.req("CP-11")
@each(("name", "more"), [("zed", {"type": "custom"}), ("jetbrains", {"use_idea_mcp": False})])
def test_json_entries_are_what_the_editor_reads(name: str, more: dict[str, object]) -> None:
    assert json.loads(EDITORS[name].entry(STARTED)) == {
        "agent_servers": {
            "Claude Code (ringi)": {
                **more,
                "command": "/bin/ringi",
                "args": ["acp", "--", "claude-agent-acp"],
            },
            "OpenCode (ringi)": {**more, "command": "/bin/ringi", "args": ["acp", "--", ODD, "acp"]},
        }
    }


@each(
    ("name", "lines"),
    [
        (
            "neovim",
            [
                'return require("codecompanion.adapters").extend("claude_code", {',
                'interactions = { chat = { adapter = "claude_code" } },',
                'yolo = { "/bin/ringi", "acp", "--", "claude-agent-acp", "--yolo" },',
                r'default = { "/bin/ringi", "acp", "--", "a \"b\" \\c", "acp" },',
                'provider = "claude-code",',
                f'["claude-code"] = {{ {CLAUDE}, env = vim.fn.environ() }},',
            ],
        ),
        (
            "emacs",
            [
                "(setq agent-shell-anthropic-claude-acp-command",
                '\'("/bin/ringi" "acp" "--" "claude-agent-acp"))',
                "(setq agent-shell-opencode-acp-command",
                r"""'("/bin/ringi" "acp" "--" "a \"b\" \\c" "acp")))""",
            ],
        ),
    ],
)
def test_entries_in_lua_and_lisp(name: str, lines: list[str]) -> None:
    found = [line.strip() for line in EDITORS[name].entry(STARTED).split("\n")]
    assert set(lines) <= set(found)
    text = EDITORS[name].entry(STARTED)
    assert all(text.count(one) == text.count(other) for one, other in ("()", "{}"))


def test_agents_that_are_there_are_named_in_full(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "HOME": "/home/hanako"}
    [zed] = editor_entries([EDITORS["zed"]], environment, ["ringi"])
    assert (zed.found, zed.file) == (False, "/home/hanako/.config/zed/settings.json")
    assert '"opencode"' in zed.text
    for name in ("gemini", "ringi"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    [zed] = editor_entries([EDITORS["zed"]], environment, ["ringi"])
    [server] = json.loads(zed.text)["agent_servers"].values()
    assert zed.found
    assert server["command"] == str(tmp_path / "ringi")
    assert server["args"] == ["acp", "--", str(tmp_path / "gemini"), "--acp"]
