"""An agent that started us is known by its variables and by its process."""

from ringi.agents.agent_above import PRIVATE_VARIABLES, by_process, by_variable, is_ringi_with
from ringi.agents.table import AGENTS
from tests.tables import each


@each("agent", AGENTS.values())
def test_every_sign_of_an_agent_names_it(agent):
    for variable in agent.variables:
        assert str(by_variable({variable: "1"})) == f"{variable} is set, so {agent.title} started this."
        assert by_variable({variable: ""}) is None
        assert variable in PRIVATE_VARIABLES
    for process in agent.processes:
        assert by_process(process, ()) == process
        assert by_process("", (f"/opt/bin/{process}.js", "--more")) == process
        assert by_process("node", ("node", "--flag", f"/usr/bin/{process}")) == process
    for package in agent.packages:
        assert by_process("node", ("node", f"/lib/node_modules/{package}/cli.js")) in agent.processes


def test_no_variable_and_no_process_is_claimed_twice():
    for claimed in ("variables", "processes", "packages"):
        names = [name for agent in AGENTS.values() for name in getattr(agent, claimed)]
        assert len(names) == len(set(names))


@each(
    ("environment", "known"),
    [
        ({"AI_AGENT": "anything"}, True),
        ({"AGENT": "Claude"}, True),
        ({"AGENT": "ssh"}, False),
        ({"CODEX_HOME": "/x", "CLAUDE_CODE_SSE_PORT": "1"}, False),
        ({"RINGI_WITH": "abc"}, True),
    ],
)
def test_common_variables(environment: dict[str, str], known: bool):
    assert (by_variable(environment) is not None) == known


@each(
    ("argv", "agent"),
    [
        (("node", "--max-old-space-size=8192", "/usr/bin/gemini"), "gemini"),
        (("/usr/bin/python3.11", "-Im", "aider"), "aider"),
        (("claude", "--resume"), "claude"),
        (("/opt/homebrew/bin/codex",), "codex"),
        (("-bash",), None),
        (("bash", "-lc", "vim /home/someone/claude"), None),
        (("vim", "claude"), None),
        (("python3", "tool.py", "claude"), None),
        (("node",), None),
        ((), None),
    ],
)
def test_command_lines(argv: tuple[str, ...], agent: str | None):
    assert by_process("", argv) == agent


def test_ringi_with_is_known_below_an_interpreter():
    assert is_ringi_with(("/usr/bin/python3", "/opt/bin/ringi", "with", "claude"))
    assert is_ringi_with(("ringi", "with", "x"))
    assert not is_ringi_with(("ringi", "list"))
