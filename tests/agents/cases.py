"""Each agent as the tests use it: how it is started, what its model says, and the settings it needs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from tools import agents

from tests.agents.scripted_model import Call, Say, Script

ASKED = "say good day"
TOLD = "A person reviewed your change"
TEST = "python3 -c \"import app.hello as h; print('tested', h.hello())\""
SAID = "Now it says good day."
NOTED = "The notes are there."


class Case(NamedTuple):
    name: str
    start: tuple[str, ...]
    """With options that must survive."""
    model: str
    """The name that the options give the model."""
    work: Callable[[Path], Script]
    """Edits app/hello.py and tests it."""
    more: Callable[[Path], Script]
    """Writes NOTES.md."""
    settings: Callable[[Path, Path, str], Mapping[str, str]]
    """Writes what the agent needs to its home; gives the variables."""
    screen: tuple[str, ...]
    """The same start as a person at a terminal types it, who can be asked."""
    role: str
    """The command that gives it a role in a run: only its model is chosen."""
    tests: bool = True
    """Whether it runs commands by itself."""

    @property
    def program(self) -> Path:
        return agents.PROGRAMS[self.name]


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _claude(home: Path, root: Path, url: str) -> Mapping[str, str]:
    trusted = {"hasTrustDialogAccepted": True}
    known = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {str(root): trusted},
    }
    _file(home / ".claude.json", json.dumps(known))
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
        # It starts without a server that is not there within 5 seconds, which a busy machine may need.
        "MCP_CONNECT_TIMEOUT_MS": "120000",
    }


def _codex(home: Path, root: Path, url: str) -> Mapping[str, str]:
    provider = {
        "name": "scripted",
        "base_url": f"{url}/v1",
        "env_key": "SCRIPTED_KEY",
        "wire_api": "responses",
    }
    lines = [
        'model = "scripted"',
        'model_provider = "scripted"',
        "[model_providers.scripted]",
        *(f"{name} = {json.dumps(value)}" for name, value in provider.items()),
        "request_max_retries = 1",
        f"[projects.{json.dumps(str(root))}]",
        'trust_level = "trusted"',
    ]
    _file(home / ".codex/config.toml", "\n".join(lines) + "\n")
    return {"SCRIPTED_KEY": "dummy"}


def _opencode(home: Path, _root: Path, url: str) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"one": {"name": "One"}, "two": {"name": "Two"}},
    }
    document = {"model": "scripted/one", "provider": {"scripted": provider}}
    _file(home / ".config/opencode/opencode.json", json.dumps(document))
    return {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _gemini(home: Path, root: Path, url: str) -> Mapping[str, str]:
    _file(
        home / ".gemini/settings.json",
        json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}),
    )
    _file(home / ".gemini/trustedFolders.json", json.dumps({str(root): "TRUST_FOLDER"}))
    return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url}


def _aider(_home: Path, _root: Path, url: str) -> Mapping[str, str]:
    return {
        "OPENAI_API_BASE": f"{url}/v1",
        "OPENAI_API_KEY": "dummy",
        "AIDER_ANALYTICS": "false",
        "AIDER_CHECK_UPDATE": "false",
    }


_OLD, _NEW = "return 'hello'", "return 'good day'"
_NOTES = "notes\n"
_LINE = "    {}\n"


def _block(old: str, new: str) -> str:
    """As aider's models edit."""
    return f"```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"


CLAUDE = Case(
    "claude",
    ("claude", "-p", ASKED, "--model", "two", "--permission-mode", "acceptEdits",
     "--allowedTools", "Bash(python3:*)"),
    "two",
    lambda root: [
        Call("Read", {"file_path": f"{root}/app/hello.py"}),
        Call("Edit", {"file_path": f"{root}/app/hello.py", "old_string": _OLD, "new_string": _NEW}),
        Call("Bash", {"command": TEST, "description": "test"}),
        Say(SAID),
    ],
    lambda root: [Call("Write", {"file_path": f"{root}/NOTES.md", "content": _NOTES}), Say(NOTED)],
    _claude,
    screen=("claude", "--model", "two", ASKED, "--permission-mode", "acceptEdits",
            "--allowedTools", "Bash(python3:*)"),
    role="claude --model two",
)  # fmt: skip
CODEX = Case(
    "codex",
    ("codex", "exec", "-s", "workspace-write", "-m", "two", ASKED),
    "two",
    lambda _: [
        Call("exec_command", {"cmd": f'sed -i "s/{_OLD}/{_NEW}/" app/hello.py'}),
        Call("exec_command", {"cmd": TEST}),
        Say(SAID),
    ],
    lambda _: [Call("exec_command", {"cmd": "echo notes > NOTES.md"}), Say(NOTED)],
    _codex,
    screen=("codex", "--no-alt-screen", "-m", "two", ASKED, "-a", "never", "-s", "workspace-write"),
    role="codex -m two",
)
OPENCODE = Case(
    "opencode",
    ("opencode", "run", "-m", "scripted/two", ASKED),
    "two",
    lambda root: [
        Call("read", {"filePath": f"{root}/app/hello.py"}),
        Call("edit", {"filePath": f"{root}/app/hello.py", "oldString": _OLD, "newString": _NEW}),
        Call("bash", {"command": TEST, "description": "test"}),
        Say(SAID),
    ],
    lambda root: [Call("write", {"filePath": f"{root}/NOTES.md", "content": _NOTES}), Say(NOTED)],
    _opencode,
    screen=("opencode", "-m", "scripted/two", "--prompt", ASKED, "--mini"),
    role="opencode -m scripted/two",
)
GEMINI = Case(
    "gemini",
    ("gemini", "-p", ASKED, "--approval-mode", "yolo", "-m", "gemini-two"),
    "gemini-two",
    lambda root: [
        Call("replace", {"file_path": f"{root}/app/hello.py", "old_string": _OLD, "new_string": _NEW,
                         "instruction": ASKED}),
        Call("run_shell_command", {"command": TEST, "description": "test"}),
        Say(SAID),
    ],
    lambda root: [Call("write_file", {"file_path": f"{root}/NOTES.md", "content": _NOTES}), Say(NOTED)],
    _gemini,
    screen=("gemini", "-m", "gemini-two", "-i", ASKED, "--approval-mode", "yolo"),
    role="gemini -m gemini-two",
)  # fmt: skip
AIDER = Case(
    "aider",
    ("aider", "--model", "openai/two", "--edit-format", "diff", "--no-stream", "--yes-always",
     "--message", ASKED, "app/hello.py"),
    "two",
    lambda _: [
        Say(f"{SAID}\n\napp/hello.py\n{_block(_LINE.format(_OLD), _LINE.format(_NEW))}")
    ],
    lambda _: [Say(f"{NOTED}\n\nNOTES.md\n{_block('', _NOTES)}")],
    _aider,
    screen=("aider", "--model", "openai/two", "--edit-format", "diff", "--no-stream",
            "-m", ASKED, "app/hello.py"),
    role="aider --model openai/two --edit-format diff --no-stream",
    tests=False,
)  # fmt: skip
CASES = (CLAUDE, CODEX, OPENCODE, GEMINI, AIDER)


def installed(case: Case) -> Case:
    if not case.program.exists():
        pytest.skip(f"{case.name} could not be installed: python3 tools/agents.py")
    return case
