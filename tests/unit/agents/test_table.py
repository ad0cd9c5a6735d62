"""The table of agents: what each can write."""

from pathlib import Path

from ringi.agents.table import AGENTS, ANY, agent_of
from tests.tables import each

HOME = {"HOME": "/home/u"}
CODEX_LAYERS = ("skills", "packages", "app-server-daemon", "app-server-control")


def paths(name: str, **variables: str) -> list[str]:
    return [str(place.path) for place in AGENTS[name].places({**HOME, **variables})]


@each("name", ["claude", "codex", "gemini", "aider", "opencode"])
def test_an_agent_is_known_by_its_name_wherever_it_lies(name: str):
    for command in (name, f"/opt/x/{name}", f"./{name}"):
        assert agent_of([command, "--more"]) is AGENTS[name]
    for command in (f"{name}-other", f"/opt/{name}/bin/run", "sh"):
        assert agent_of([command, name]) is ANY
    assert agent_of([]) is ANY


@each(
    ("command", "name"),
    [
        ("claude-agent-acp", "claude"),
        ("npx -y @zed-industries/claude-code-acp@0.6.0", "claude"),
        ("/opt/codex-acp -c model=x", "codex"),
    ],
)
def test_an_adapter_for_editors_has_the_state_of_its_agent_and_not_its_command_line(command: str, name: str):
    found = agent_of(command.split())
    assert found.state == AGENTS[name].state
    assert (found.resume, found.own_sandbox) == (None, None)
    assert agent_of(["sh", "codex-acp"]) is ANY


@each(
    ("name", "variables", "expected"),
    [
        ("claude", {}, [".claude", ".claude.json", ".local/state/claude", ".cache/claude-cli-nodejs"]),
        (
            "claude",
            {"CLAUDE_CONFIG_DIR": "/c", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "relative"},
            ["/c", "/s/claude", ".cache/claude-cli-nodejs"],
        ),
        ("codex", {}, [".codex", *(f".codex/{name}" for name in CODEX_LAYERS)]),
        (
            "codex",
            {"CODEX_HOME": "/c", "CODEX_SQLITE_HOME": "/q"},
            ["/c", "/q", *(f"/c/{name}" for name in CODEX_LAYERS)],
        ),
        ("gemini", {}, [".gemini"]),
        ("gemini", {"GEMINI_CLI_HOME": "/g"}, ["/g/.gemini"]),
        ("aider", {}, [".aider"]),
        (
            "opencode",
            {"XDG_DATA_HOME": "/d"},
            [
                "/d/opencode",
                "/d/opencode/snapshot",
                ".local/state/opencode",
                ".cache/opencode",
                ".config/opencode",
            ],
        ),
    ],
)
def test_where_an_agent_keeps_its_state(name: str, variables: dict[str, str], expected: list[str]):
    assert paths(name, **variables) == [str(Path("/home/u", path)) for path in expected]


def test_a_variable_that_names_no_place_names_none():
    assert paths("codex", CODEX_HOME="relative") == ["/home/u/.codex"]
    assert AGENTS["aider"].places({}) == ()


def test_only_a_file_has_content():
    kinds = {place.path.name: place.content for place in AGENTS["claude"].places(HOME)}
    assert kinds.pop(".claude.json") == b"{}\n"
    assert set(kinds.values()) == {None}
