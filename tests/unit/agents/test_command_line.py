import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.agents.command_line import (
    ask_command,
    batch_command,
    parse,
    resume_command,
    with_message,
    without_sandbox,
)
from ringi.agents.table import AGENTS, agent_of
from tests.tables import each


def again(*argv: str, more: tuple[str, ...] = (), terminal: bool = True, conversation: str = "") -> list[str]:
    resume = AGENTS[argv[0]].resume
    assert resume
    return [*resume_command(resume, argv, "MESSAGE", more, terminal=terminal, conversation=conversation)]


@each(
    ("command", "expected"),
    [
        ("claude", "claude --continue MESSAGE"),
        ("claude fix", "claude --continue MESSAGE"),
        ("claude --model opus fix", "claude --continue MESSAGE --model opus"),
        ("claude -p fix --model=opus", "claude --print --continue --model=opus -- MESSAGE"),
        ("claude fix --allowedTools Bash Edit", "claude --continue MESSAGE --allowedTools Bash Edit"),
        ("claude --verbose fix", "claude --continue MESSAGE --verbose"),
        ("claude --resume 0123 fix -c", "claude --continue MESSAGE"),
        ("claude --session-id 0123 -- --fix", "claude --continue MESSAGE"),
        ("codex", "codex resume --last MESSAGE"),
        ("codex -m o3 fix", "codex -m o3 resume --last MESSAGE"),
        (
            "codex exec -s workspace-write --json fix",
            "codex exec -s workspace-write --json resume --last -- MESSAGE",
        ),
        ("codex e -i a.png b.png -c a=1 -", "codex exec -c a=1 resume --last -- MESSAGE"),
        ("codex -a never exec --json fix", "codex -a never exec --json resume --last -- MESSAGE"),
        ("codex exec resume --last -mo3 more", "codex exec -mo3 resume --last -- MESSAGE"),
        ("opencode", "opencode run --continue -- MESSAGE"),
        ("opencode run -m a/b --auto fix it", "opencode run --continue -m a/b --auto -- MESSAGE"),
        ("opencode --prompt fix --agent plan", "opencode run --continue --agent plan -- MESSAGE"),
        ("opencode --mini --port 80 app", "opencode run --continue --port 80 --dir=app -- MESSAGE"),
        ("gemini -m pro", "gemini -m pro --resume latest --prompt-interactive MESSAGE"),
        ("gemini -y -p fix -m pro", "gemini -y -m pro --resume latest --prompt=MESSAGE"),
        ("gemini -pfix --model=pro", "gemini --model=pro --resume latest --prompt=MESSAGE"),
        (
            "aider --yes-always --message fix --model gpt a.py b.py",
            "aider --restore-chat-history --message MESSAGE --yes-always --model gpt a.py b.py",
        ),
    ],
)
def test_a_conversation_continues_with_the_options_it_was_started_with(command: str, expected: str):
    assert again(*command.split()) == expected.split()


def test_without_a_terminal_the_agent_answers_and_ends():
    assert again("claude", "fix", terminal=False) == ["claude", "--print", "--continue", "--", "MESSAGE"]
    assert again("codex", "fix", terminal=False) == ["codex", "exec", "resume", "--last", "--", "MESSAGE"]
    searching = again("codex", "--search", "-m", "o3", "fix", terminal=False)
    assert searching == ["codex", "--search", "exec", "-m", "o3", "resume", "--last", "--", "MESSAGE"]


def alone(*argv: str) -> list[str] | None:
    resume = AGENTS[argv[0]].resume
    assert resume
    found = batch_command(resume, argv)
    return None if found is None else [*found]


@each(
    ("command", "expected"),
    [
        ("claude fix", "claude --print -- fix"),
        ("claude --model opus fix --verbose", "claude --print --model opus --verbose -- fix"),
        ("claude fix --allowedTools Bash Edit", "claude --print --allowedTools Bash Edit -- fix"),
        ("claude --resume 0123 fix", "claude --print --resume 0123 -- fix"),
        ("claude -c -- --fix", "claude --print -c -- --fix"),
        ("claude -- doctor", "claude --print -- doctor"),
        ("codex fix", "codex exec -- fix"),
        ("codex -i a.png --search fix", "codex --search exec -i a.png -- fix"),
        ("codex -m o3 -- --fix", "codex exec -m o3 -- --fix"),
        ("codex -i a.png b.png -- fix", "codex exec -i a.png b.png -- fix"),
        ("codex --no-alt-screen -m o3 fix -a never", "codex --no-alt-screen -a never exec -m o3 -- fix"),
        ("codex resume --last fix", "codex exec resume --last -- fix"),
        ("codex resume 0123 fix -s read-only", "codex exec -s read-only resume -- 0123 fix"),
        ("gemini fix", "gemini --prompt=fix"),
        ("gemini -i fix -m pro", "gemini -m pro --prompt=fix"),
        ("gemini -y --resume latest fix", "gemini -y --resume latest --prompt=fix"),
        ("gemini -m pro -- --fix", "gemini -m pro --prompt=--fix"),
        ("opencode --prompt fix", "opencode run -- fix"),
        ("opencode -c --prompt=fix -m a/b --mini app", "opencode run -c -m a/b --dir=app -- fix"),
    ],
)
def test_without_a_terminal_a_first_message_is_answered_too(command: str, expected: str):
    assert alone(*command.split()) == expected.split()


def test_a_message_of_several_words_stays_one():
    assert alone("gemini", "fix", "the test", "-y") == ["gemini", "-y", "--prompt=fix the test"]
    assert alone("opencode", "--prompt", "fix it") == ["opencode", "run", "--", "fix it"]


@each(
    "command",
    [
        "claude -p fix",
        "claude fix --print",
        "claude -pc fix",
        "claude doctor",
        "claude mcp list",
        "claude --version",
        "codex exec fix",
        "codex -m o3 e resume --last fix",
        "codex exec review --uncommitted",
        "codex login",
        "gemini -p fix",
        "gemini --prompt=fix -m pro",
        "gemini -y mcp list",
        "gemini --list-sessions",
        "opencode run fix",
        "opencode run --command init",
        "opencode models",
        "aider --message fix a.py",
        "aider -mfix",
        "aider -f fix.md",
        "aider --lint a.py",
    ],
)
def test_without_a_terminal_what_ends_by_itself_stays_as_it_is(command: str):
    assert alone(*command.split()) == command.split()


@each(
    "command",
    [
        "claude", "claude -p", "claude --continue", "claude --model opus", "claude --allowedTools Bash Edit",
        "claude --", "codex", "codex exec", "codex exec -", "codex resume --last", "gemini -m pro",
        "gemini -i", "opencode", "opencode run", "opencode app", "aider", "aider a.py b.py",
    ],
)  # fmt: skip
def test_without_a_terminal_and_a_message_there_is_nothing_to_do(command: str):
    assert alone(*command.split()) is None


def test_an_empty_message_is_none():
    assert alone("claude", "") is None
    assert alone("aider", "--message", " ") is None


@each(
    ("name", "expected"),
    [
        ("claude", "claude --print MESSAGE"),
        ("codex", "codex exec MESSAGE"),
        ("gemini", "gemini --prompt=MESSAGE"),
        ("opencode", "opencode run MESSAGE"),
        ("aider", "aider --message MESSAGE"),
    ],
)
def test_the_start_that_is_shown_to_people_is_one_that_ends_by_itself(name: str, expected: str):
    resume = AGENTS[name].resume
    assert resume
    shown = with_message(resume, name, "MESSAGE")
    assert shown == tuple(expected.split())
    assert batch_command(resume, shown) == shown


_WORDS = ("fix", "it", "é", "doctor", "models", "run", "exec", "resume", "--", "")
_TYPED = {
    "claude": (
        "-p",
        "-c",
        "--model opus",
        "--model=opus",
        "--allowedTools Bash Edit",
        "-r 0123",
        "--version",
    ),
    "codex": ("-m o3", "-mo3", "--search", "-a never", "-i a.png b.png", "--json", "--last", "-c a=1"),
    "gemini": ("-p fix", "--prompt=fix", "-i fix", "-y", "-m pro", "-r latest", "--list-sessions"),
    "opencode": ("--prompt fix", "--mini", "--port 80", "-c", "-f a.png b.png", "--command init", "-s 0123"),
    "aider": ("--message fix", "-mfix", "-f fix.md", "--model gpt", "--lint", "--yes-always"),
}


@st.composite
def _typed(draw: st.DrawFn) -> list[str]:
    name = draw(st.sampled_from(sorted(_TYPED)))
    options = st.sampled_from(_TYPED[name]).map(str.split)
    parts = draw(st.lists(options | st.sampled_from(_WORDS).map(lambda word: [word]), max_size=8))
    return [name, *(word for part in parts for word in part)]


@given(_typed())
def test_whatever_is_typed_ends_by_itself_or_is_refused(argv: list[str]):
    resume = AGENTS[argv[0]].resume
    assert resume
    before = parse(resume.line, argv[1:])
    found = batch_command(resume, argv)
    if found is None:
        assert not before.message
        return
    after = parse(resume.line, found[1:])
    assert after.own == before.own
    assert after.own or after.once
    assert after.own or after.message == before.message
    assert batch_command(resume, found) == found, "the second time changes nothing"


def test_a_conversation_can_be_named_and_options_added():
    assert again("claude", conversation="0123") == ["claude", "--resume", "0123", "MESSAGE"]
    assert again("codex", more=("-m", "o3")) == ["codex", "-m", "o3", "resume", "--last", "MESSAGE"]


@each(
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


@pytest.mark.req("RN-9")
@each(
    ("line", "once"),
    [
        ("claude", "claude --print --allowedTools Bash --permission-mode acceptEdits -- BRIEF"),
        ("claude -p --allowedTools Read", "claude --print --allowedTools Read -- BRIEF"),
        ("claude --permission-mode plan", "claude --print --permission-mode plan -- BRIEF"),
        ("codex", "codex exec --sandbox workspace-write -- BRIEF"),
        ("codex exec --full-auto", "codex exec --full-auto -- BRIEF"),
        ("gemini --yolo", "gemini --yolo --prompt=BRIEF"),
        ("gemini -m pro", "gemini --approval-mode yolo -m pro --prompt=BRIEF"),
        ("aider --model x app.py", "aider --message BRIEF --yes-always --model x app.py"),
        ("opencode run --model a/b", "opencode run --auto --model a/b -- BRIEF"),
    ],
)  # fmt: skip
def test_an_agent_is_asked_without_a_terminal(line: str, once: str) -> None:
    agent = agent_of(line.split())
    assert agent.resume is not None
    options, unless = agent.unattended or ((), frozenset())
    assert shlex.join(ask_command(agent.resume, line.split(), "BRIEF", options, unless)) == once


@pytest.mark.req("RN-9")
def test_a_message_of_its_own_comes_first() -> None:
    agent = agent_of(["claude"])
    assert agent.resume is not None
    assert ask_command(agent.resume, ["claude", "-p", "Be brief."], "BRIEF")[-1] == "Be brief.\n\nBRIEF"
