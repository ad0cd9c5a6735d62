"""TOML in any form that a person wrote, edited without touching any other byte."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.agents import toml
from ringi.agents.entries import merge_entry
from ringi.agents.table import AGENTS
from ringi.errors import BadDocument
from tests.tables import each

TABLE = ("mcp_servers", "ringi")
TOMLS = [
    "",
    "# only a comment\n",
    'model = "x"\n',
    "a = 1",
    '[mcp_servers.x]\ncommand = "y" # c\n\n[profiles.a]\nb = 1\n',
    'a = 1\r\n\r\n[b]\r\nc = """\r\n[mcp_servers.ringi]\r\n"""\r\n',
    "[[list]]\na = 1\n[[list]]\na = 2\n",
    'mcp_servers.x.command = "y"\n',
]


@each("text", TOMLS)
def test_toml_there_and_back(text: str):
    made = merge_entry(AGENTS["codex"], ".codex/config.toml", text, ["ringi"])
    assert made.startswith(text)
    meant = tomllib.loads(text)
    server = tomllib.loads(made)["mcp_servers"]["ringi"]
    meant.setdefault("mcp_servers", {})["ringi"] = server
    assert tomllib.loads(made) == meant
    assert (server["command"], server["args"]) == ("ringi", ["mcp", "--as", "codex"])
    assert {"RINGI_WITH", "RINGI_MCP_SOCKET"} <= set(server["env_vars"])
    assert merge_entry(AGENTS["codex"], ".codex/config.toml", made, ["ringi"]) == made
    back = toml.take(made, TABLE, "c.toml")
    assert back == (text if not text or text.endswith("\n") else text + "\n")


def test_toml_of_another_program_is_changed_in_its_lines():
    lines = [
        "[mcp_servers.ringi]", "# mine", 'command = "/old/ringi" # too', 'args = ["mcp"]',
        'env = { A = "1" }', "", "[z]", "a = 1", "",
    ]  # fmt: skip
    made = merge_entry(AGENTS["codex"], "c.toml", "\n".join(lines), ['/new/ri"ngi']).split("\n")
    assert made.pop(5).startswith('env_vars = ["RINGI_WITH", ')
    assert made.pop(2) == r'command = "/new/ri\"ngi" # too'
    assert made.pop(2) == 'args = ["mcp", "--as", "codex"]'
    made.remove("required = true")
    made.remove('default_tools_approval_mode = "approve"')
    assert made == [*lines[:2], *lines[4:]]


@each(
    ("text", "without"),
    [
        ('mcp_servers = {b = {}, ringi = {command = "x"}}\n', "mcp_servers = {b = {} }\n"),
        ("mcp_servers = { b = {} } # all\n", "mcp_servers = { b = {} } # all\n"),
        ('[mcp_servers]\nringi = { command = "x" }\n', "[mcp_servers]\n"),
        ('mcp_servers.ringi.command = "x"\nb = 1\n', "b = 1\n"),
        ('[mcp_servers.ringi]\ncommand = "x"\nargs = [\n  "mcp",\n]\n', ""),
        ('[mcp_servers.ringi]\r\ncommand = "x"\r\n\r\n[z]\r\n', "[z]\r\n"),
        ("[a]\n\n[mcp_servers.ringi]\n[mcp_servers.ringi.env]\nb = 1\n\n[z]\n", "[a]\n\n[z]\n"),
        ("[mcp_servers.a]\n[z]\n[mcp_servers.ringi]\n[y]\n", "[mcp_servers.a]\n[z]\n[y]\n"),
    ],
)
def test_toml_in_an_unusual_form_keeps_it(text: str, without: str):
    made = merge_entry(AGENTS["codex"], "c.toml", text, ["ringi"])
    meant = tomllib.loads(text)
    meant["mcp_servers"].setdefault("ringi", {}).update(tomllib.loads(made)["mcp_servers"]["ringi"])
    assert tomllib.loads(made) == meant
    assert meant["mcp_servers"]["ringi"]["args"] == ["mcp", "--as", "codex"]
    assert made.count("\r") == (made.count("\n") if "\r" in text else 0)
    assert toml.take(made, TABLE, "c.toml") == without


@each(
    "text",
    [
        "mcp_servers = 1\n",
        "mcp_servers = [{ringi = 1}]\n",
        "[mcp_servers\n",
        "a = 1\na = 2\n",
        "a = " + "[" * 3000,
    ],
)
def test_toml_without_a_place_for_it_is_refused(text: str):
    with pytest.raises(BadDocument):
        merge_entry(AGENTS["codex"], "c.toml", text, ["ringi"])


@given(st.sampled_from(TOMLS), st.text(min_size=1, max_size=12))
def test_any_program_can_be_written_to_toml(text: str, program: str):
    made = toml.put(text, ("mcp_servers", "ringi"), {"command": program, "args": [program]}, "x")
    assert tomllib.loads(made)["mcp_servers"]["ringi"] == {"command": program, "args": [program]}
