"""Whatever stands in a file stays as it is, but for the entry that goes in or out."""

import contextlib
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.agents import jsonc, toml
from ringi.agents.entries import holders, merged, taken
from ringi.agents.table import AGENTS, CONFIGURABLE
from ringi.errors import BadDocument
from tests.helpers import ROOT

VALUE = {"command": "ringi", "args": ["mcp"]}
STEPS = ("mcpServers", "ringi")

scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.text(max_size=5), values, max_size=4)
blanks = st.sampled_from(["", " ", "\n", "\n  ", "\t", " /* c, } */ ", ' // c ] "\n', "\r\n"])


@st.composite
def loose(draw: st.DrawFn, value: object) -> str:
    """The value as somebody could have written it by hand."""
    gap = draw(blanks)
    if isinstance(value, dict | list) and value:
        pairs = value.items() if isinstance(value, dict) else ((None, item) for item in value)
        parts = []
        for key, item in pairs:
            head = f"{json.dumps(key)}{draw(blanks)}:{draw(blanks)}" if key is not None else ""
            parts.append(f"{draw(blanks)}{head}{draw(loose(item))}{draw(blanks)}")
        inside = ",".join(parts) + ("," if draw(st.booleans()) else "") + draw(blanks)
        return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"
    return json.dumps(value, ensure_ascii=draw(st.booleans())) + gap


@given(st.data(), documents)
def test_reads_what_json_says_between_comments(data: st.DataObject, document: dict[str, object]):
    text = data.draw(loose(document))
    assert jsonc.read(text, "x").value == document


@given(values)
def test_plain_json_is_read_as_json_reads_it(value: object):
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, indent="\t")):
        assert jsonc.read(text, "x").value == json.loads(text)


def is_subsequence(small: str, large: str) -> bool:
    rest = iter(large)
    return all(character in rest for character in small)


@given(st.data(), documents)
def test_put_adds_and_takes_nothing_away(data: st.DataObject, document: dict[str, object]):
    document.pop("mcpServers", None)
    if data.draw(st.booleans()):
        document["mcpServers"] = data.draw(documents.map(lambda found: {**found, "x": 1}))
        document["mcpServers"].pop("ringi", None)  # type: ignore[attr-defined]
    text = data.draw(loose(document))
    made = jsonc.put(text, STEPS, VALUE, "x")
    assert is_subsequence("".join(text.split()), made)
    back = jsonc.take(made, STEPS, "x")
    without = jsonc.read(back, "x").value
    if "mcpServers" not in document:
        assert without.pop("mcpServers") == {}
    assert without == document


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "mcpServers": {\n    "x": {"command": "y"} // note\n  },\n}\n',
        '{\n\t"mcpServers": {}\n}\n',
        '{"mcpServers": {"a": 1}}',
        '{\r\n    "mcpServers": {\r\n        "a": 1\r\n    }\r\n}\r\n',
        '{\n  "mcpServers": {\n    "x": 1, /* b */ // note\n  }\n}\n',
        '{\n  // first\n  "z": [1,],\n  "mcpServers": {\n    "a": {\n      "b": "}"\n    }\n    // c\n  }\n}',
    ],
)
def test_there_and_back_is_the_same_text(text: str):
    made = jsonc.put(text, STEPS, VALUE, "x")
    assert jsonc.read(made, "x").value["mcpServers"]["ringi"] == VALUE
    assert jsonc.take(made, STEPS, "x") == text
    assert ("\r\n" in made) == ("\r\n" in text)
    assert made.count("\r") == (made.count("\n") if "\r" in text else 0)


def test_a_comment_behind_the_last_line_stays_with_it():
    made = jsonc.put('{\n  "a": 1 // of a\n}\n', ("b",), 2, "x")
    assert made == '{\n  "a": 1, // of a\n  "b": 2\n}\n'


def test_two_comments_on_a_line_are_not_one():
    made = jsonc.put('{"mcpServers": {\n  "a": 1 /* of a */ } /* of all */\n}\n', STEPS, VALUE, "x")
    assert jsonc.read(made, "x").value == {"mcpServers": {"a": 1, "ringi": VALUE}}


@pytest.mark.parametrize(
    "text",
    [
        "{", "}", "{]", '{"a" 1}', '{"a": }', "{'a': 1}", '{"a": 1} {}', "{,}", "/* never closed {}",
        '{"a": 1, "a": 2}', '{"a": "\n"}', '{"a": tru}', '{"a": 1.2.3}', '{"a": NaN}', "[" * 1000,
        '{"a": ' * 200, '{"a": \x00}', "nothing",
    ],
)  # fmt: skip
def test_what_is_no_json_is_refused_with_its_line(text: str):
    with pytest.raises(BadDocument) as refused:
        jsonc.read(text, "x")
    assert "line " in str(refused.value)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text: str):
    with contextlib.suppress(BadDocument):
        read = jsonc.read(text, "x")
        assert read.end <= len(text)


@pytest.mark.parametrize(
    "text", ["[]", '{"mcpServers": []}', '{"mcpServers": 1}', '{"mcpServers": null}', "3"]
)
def test_an_entry_that_has_no_place_is_refused(text: str):
    with pytest.raises(BadDocument):
        merged(AGENTS["claude"], ".mcp.json", text, ["ringi"])


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


@pytest.mark.parametrize("text", TOMLS)
def test_toml_there_and_back(text: str):
    made = merged(AGENTS["codex"], ".codex/config.toml", text, ["ringi"])
    assert made.startswith(text)
    meant = tomllib.loads(text)
    server = tomllib.loads(made)["mcp_servers"]["ringi"]
    meant.setdefault("mcp_servers", {})["ringi"] = server
    assert tomllib.loads(made) == meant
    assert (server["command"], server["args"]) == ("ringi", ["mcp", "--as", "codex"])
    assert {"RINGI_WITH", "RINGI_MCP_SOCKET"} <= set(server["env_vars"])
    assert merged(AGENTS["codex"], ".codex/config.toml", made, ["ringi"]) == made
    back = taken(AGENTS["codex"], ".codex/config.toml", made, 0)
    assert back == (text if not text or text.endswith("\n") else text + "\n")


def test_toml_of_another_program_is_changed_in_its_lines():
    lines = [
        "[mcp_servers.ringi]", "# mine", 'command = "/old/ringi" # too', 'args = ["mcp"]',
        'env = { A = "1" }', "", "[z]", "a = 1", "",
    ]  # fmt: skip
    made = merged(AGENTS["codex"], "c.toml", "\n".join(lines), ['/new/ri"ngi']).split("\n")
    assert made.pop(5).startswith('env_vars = ["RINGI_WITH", ')
    assert made.pop(2) == r'command = "/new/ri\"ngi" # too'
    assert made.pop(2) == 'args = ["mcp", "--as", "codex"]'
    assert made == [*lines[:2], *lines[4:]]


@pytest.mark.parametrize(
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
    made = merged(AGENTS["codex"], "c.toml", text, ["ringi"])
    meant = tomllib.loads(text)
    meant["mcp_servers"].setdefault("ringi", {}).update(tomllib.loads(made)["mcp_servers"]["ringi"])
    assert tomllib.loads(made) == meant
    assert meant["mcp_servers"]["ringi"]["args"] == ["mcp", "--as", "codex"]
    assert made.count("\r") == (made.count("\n") if "\r" in text else 0)
    assert taken(AGENTS["codex"], "c.toml", made, 0) == without


@pytest.mark.parametrize(
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
        merged(AGENTS["codex"], "c.toml", text, ["ringi"])


@given(st.sampled_from(TOMLS), st.text(min_size=1, max_size=12))
def test_any_program_can_be_written_to_toml(text: str, program: str):
    made = toml.put(text, ("mcp_servers", "ringi"), {"command": program, "args": [program]}, "x")
    assert tomllib.loads(made)["mcp_servers"]["ringi"] == {"command": program, "args": [program]}


# --- what each agent gets --------------------------------------------------------------------------

FILES = [(agent.name, names[0]) for agent in CONFIGURABLE.values() for names in agent.setup_files()]


@pytest.mark.parametrize(("agent", "file"), FILES)
@pytest.mark.parametrize(
    "program", [["ringi"], ["/opt/a b/ringi"], ["/usr/bin/python3", "-P", "-m", "ringi"]]
)
def test_once_is_enough_and_another_program_replaces_it(agent: str, file: str, program: list[str]):
    made = merged(AGENTS[agent], file, "", program)
    assert merged(AGENTS[agent], file, made, program) == made
    other = merged(AGENTS[agent], file, made, ["/elsewhere/ringi"])
    assert "/elsewhere/ringi" in other
    assert merged(AGENTS[agent], file, other, program) == made
    assert "ringi" not in taken(AGENTS[agent], file, made, 0)


def test_formats_are_those_that_the_agents_document():
    def written(agent: str, file: str) -> object:
        return json.loads(merged(AGENTS[agent], file, "", ["ringi"]))

    assert written("claude", ".mcp.json") == {
        "mcpServers": {"ringi": {"command": "ringi", "args": ["mcp", "--as", "claude"]}}
    }
    assert written("vscode", ".vscode/mcp.json") == {
        "servers": {"ringi": {"type": "stdio", "command": "ringi", "args": ["mcp", "--as", "vscode"]}}
    }
    assert written("opencode", "opencode.json") == {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {"ringi": {"type": "local", "command": ["ringi", "mcp", "--as", "opencode"]}},
    }
    assert written("claude", ".claude/settings.local.json") == {
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
                }
            ]
        }
    }


@pytest.mark.parametrize(("agent", "file"), FILES)
def test_the_page_of_the_agent_shows_what_is_written(agent: str, file: str):
    page = (ROOT / "docs" / "agents" / f"{agent}.md").read_text(encoding="utf-8")
    made = merged(AGENTS[agent], file, "", ["ringi"])
    if file == ".claude/settings.local.json":  # told in words there
        [group] = json.loads(made)["hooks"]["PreToolUse"]
        assert f"`{group['matcher']}`" in page
        assert f"`{group['hooks'][0]['command']}`" in page
        return
    kind = "toml" if file.endswith(".toml") else "json"
    assert f"```{kind}\n{made}```" in page


def test_opencode_of_the_second_version_keeps_its_form():
    text = '{\n  "mcp": {\n    "servers": {\n      "a": {"type": "local", "command": ["a"]}\n    }\n  }\n}\n'
    made = merged(AGENTS["opencode"], "opencode.json", text, ["ringi"])
    assert list(json.loads(made)["mcp"]["servers"]) == ["a", "ringi"]
    assert taken(AGENTS["opencode"], "opencode.json", made, 2) == text


def test_a_server_of_another_kind_is_replaced_whole():
    text = '{"mcpServers": {"ringi": {"type": "http", "url": "http://127.0.0.1:1"}}}'
    made = merged(AGENTS["claude"], ".mcp.json", text, ["ringi"])
    assert json.loads(made)["mcpServers"]["ringi"] == {"command": "ringi", "args": ["mcp", "--as", "claude"]}


def test_what_a_person_added_to_the_entry_stays():
    text = '{"mcpServers": {"ringi": {"command": "old", "env": {"A": "1"}}}}'
    made = json.loads(merged(AGENTS["claude"], ".mcp.json", text, ["ringi"]))
    assert made["mcpServers"]["ringi"]["env"] == {"A": "1"}


SETTINGS = ".claude/settings.local.json"
GUARD = {"type": "command", "command": "./guard.sh"}


def test_hooks_of_others_stay_where_they_are():
    text = json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [GUARD]}], "Stop": []}}, indent=2
    )
    kept = holders(AGENTS["claude"], SETTINGS, text)
    made = merged(AGENTS["claude"], SETTINGS, text, ["ringi"])
    groups = json.loads(made)["hooks"]["PreToolUse"]
    assert groups[0] == {"matcher": "Bash", "hooks": [GUARD]}
    assert groups[1]["hooks"][0]["command"] == "ringi hook claude || exit 2"
    assert kept == 2
    assert taken(AGENTS["claude"], SETTINGS, made, kept) == text


def test_ours_beside_another_hook_is_changed_alone():
    old = {"type": "command", "command": "'/old/ri ngi/ringi' hook claude || exit 2"}
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [GUARD, old]}]}}, indent=4)
    made = json.loads(merged(AGENTS["claude"], SETTINGS, text, ["ringi"]))
    [group] = made["hooks"]["PreToolUse"]
    assert group["matcher"] == "*"
    assert group["hooks"][0] == GUARD
    assert group["hooks"][1]["command"] == "ringi hook claude || exit 2"
    back = json.loads(taken(AGENTS["claude"], SETTINGS, json.dumps(made), 2))
    assert back["hooks"]["PreToolUse"] == [{"matcher": "*", "hooks": [GUARD]}]


@pytest.mark.parametrize(
    "command", ["ringi hook claudette", "stringi hook claude", "echo ringi", "ringi hook codex"]
)
def test_what_only_resembles_our_hook_is_another(command: str):
    text = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}})
    made = json.loads(merged(AGENTS["claude"], SETTINGS, text, ["ringi"]))
    assert len(made["hooks"]["PreToolUse"]) == 2
    assert taken(AGENTS["claude"], SETTINGS, text, 2) == text
