import pytest

from ringi.agents.command_line import resumed, without_sandbox
from ringi.agents.table import AGENTS


def again(*argv: str, more: tuple[str, ...] = (), terminal: bool = True, conversation: str = "") -> list[str]:
    resume = AGENTS[argv[0]].resume
    assert resume
    return [*resumed(resume, argv, "MESSAGE", more, terminal=terminal, conversation=conversation)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("claude", "claude --continue MESSAGE"),
        ("claude fix", "claude --continue MESSAGE"),
        ("claude --model opus fix", "claude --continue MESSAGE --model opus"),
        ("claude -p fix --model=opus", "claude --print --continue MESSAGE --model=opus"),
        ("claude fix --allowedTools Bash Edit", "claude --continue MESSAGE --allowedTools Bash Edit"),
        ("claude --verbose fix", "claude --continue MESSAGE --verbose"),
        ("claude --resume 0123 fix -c", "claude --continue MESSAGE"),
        ("claude --session-id 0123 -- --fix", "claude --continue MESSAGE"),
        ("codex", "codex resume --last MESSAGE"),
        ("codex -m o3 fix", "codex -m o3 resume --last MESSAGE"),
        (
            "codex exec -s workspace-write --json fix",
            "codex exec -s workspace-write --json resume --last MESSAGE",
        ),
        ("codex e -i a.png b.png -c a=1 -", "codex exec -c a=1 resume --last MESSAGE"),
        ("codex exec resume --last -mo3 more", "codex exec -mo3 resume --last MESSAGE"),
        ("opencode", "opencode run --continue MESSAGE"),
        ("opencode run -m a/b --auto fix it", "opencode run --continue -m a/b --auto MESSAGE"),
        ("opencode --prompt fix --agent plan", "opencode run --continue --agent plan MESSAGE"),
        ("gemini -m pro", "gemini -m pro --resume latest --prompt-interactive MESSAGE"),
        ("gemini -y -p fix -m pro", "gemini -y -m pro --resume latest --prompt MESSAGE"),
        (
            "aider --yes-always --message fix --model gpt a.py b.py",
            "aider --restore-chat-history --message MESSAGE --yes-always --model gpt a.py b.py",
        ),
    ],
)
def test_a_conversation_continues_with_the_options_it_was_started_with(command: str, expected: str):
    assert again(*command.split()) == expected.split()


def test_without_a_terminal_the_agent_answers_and_ends():
    assert again("claude", "fix", terminal=False) == ["claude", "--print", "--continue", "MESSAGE"]
    assert again("codex", "fix", terminal=False) == ["codex", "exec", "resume", "--last", "MESSAGE"]


def test_a_conversation_can_be_named_and_options_added():
    assert again("claude", conversation="0123") == ["claude", "--resume", "0123", "MESSAGE"]
    assert again("codex", more=("-m", "o3")) == ["codex", "-m", "o3", "resume", "--last", "MESSAGE"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("codex", "codex OFF"),
        ("codex exec -s workspace-write fix", "codex OFF exec fix"),
        ("codex --sandbox=workspace-write -m o3", "codex OFF -m o3"),
        ("codex exec -s read-only fix", "codex exec -s read-only fix"),
        ("codex -- -s read-only", "codex OFF -- -s read-only"),
    ],
)
def test_a_sandbox_of_the_agent_is_switched_off_unless_it_allows_less(command: str, expected: str):
    codex = AGENTS["codex"]
    assert codex.own_sandbox
    assert codex.resume
    off = " ".join(codex.own_sandbox.off)
    found = without_sandbox(codex.own_sandbox, codex.resume.line, command.split())
    assert found == tuple(expected.replace("OFF", off).split())
