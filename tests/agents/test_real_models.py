"""Real agents as models: they look around in a read-only copy before they answer."""

import json
import shlex
from pathlib import Path

import pytest

from tests.agents.agent_desk import AgentDesk, agent_desk
from tests.agents.cases import CLAUDE, CODEX, GEMINI, installed
from tests.agents.scripted_model import Asked, Call, Say
from tests.functional.beside_desk import walled

_PHRASE = "You are in a read-only copy of the project"


def _answer(asked: Asked) -> Say:
    """What it read becomes its question."""
    question = {
        "type": "scope",
        "question": f"It says {asked.results[0]!r}?"[-300:],
        "context": "",
        "options": [],
    }
    return Say(json.dumps({"questions": [question]}))


def _asked(desk: AgentDesk, *said: str) -> list[Asked]:
    """Asks it for questions; it asks about what it read."""
    desk.environment = {**desk.environment, "RINGI_MODEL": f"command:{desk.case.name}"}
    done = desk.run("plan", "say good day")
    assert done.returncode == 3, done.stdout + done.stderr + str(desk.model.asked)
    question = json.loads(done.stdout)["pending"]["question"]["question"]
    assert all(words in question for words in said), question
    assert (desk.root / "app/hello.py").read_text().endswith("'hello'\n")
    assert not (desk.root / "new.txt").exists()
    return desk.model.turns


@walled
@pytest.mark.parametrize("root", [True, False], ids=["root", "person"])
def test_claude_reads_the_copy_and_asks_about_what_it_read(root: bool, base: Path) -> None:
    script = [Call("Read", {"file_path": f"{base}/repo/app/hello.py"}), _answer]
    with agent_desk(installed(CLAUDE), base, root=root, scripts={_PHRASE: script}) as desk:
        tools = {tool for asked in _asked(desk, "return 'hello'") for tool in asked.tools}
        assert "Read" in tools
        assert not tools & {"Edit", "Write", "Bash", "WebFetch", "WebSearch"}


@walled
@pytest.mark.parametrize("root", [True, False], ids=["root", "person"])
def test_codex_reads_the_copy_and_cannot_write_to_it(root: bool, base: Path) -> None:
    command = "cat app/hello.py; echo x > new.txt || echo it cannot write"
    script = [Call("exec_command", {"cmd": command}), _answer]
    with agent_desk(installed(CODEX), base, root=root, scripts={_PHRASE: script}) as desk:
        # It ignores the settings of its home, so the service is named on the command line.
        provider = {"name": "scripted", "base_url": f"{desk.model.url}/v1", "env_key": "SCRIPTED_KEY"}
        words = [
            "-c",
            "model=scripted",
            "-c",
            "model_provider=scripted",
            "-c",
            "model_providers.scripted.wire_api=responses",
        ]
        words += [
            word
            for name, value in provider.items()
            for word in ("-c", f"model_providers.scripted.{name}={value}")
        ]
        wrapper = base / "bin" / "codex"
        wrapper.unlink()
        wrapper.write_text(f'#!/bin/sh\nexec {shlex.join([str(desk.case.program), *words])} "$@"\n')
        wrapper.chmod(0o755)
        assert _asked(desk, "return 'hello'", "it cannot write")


@walled
@pytest.mark.parametrize("root", [True, False], ids=["root", "person"])
def test_gemini_reads_the_copy_and_asks_about_what_it_read(root: bool, base: Path) -> None:
    script = [Call("read_file", {"file_path": f"{base}/repo/app/hello.py"}), _answer]
    with agent_desk(installed(GEMINI), base, root=root, scripts={_PHRASE: script}) as desk:
        tools = {tool for asked in _asked(desk, "def hello():") for tool in asked.tools}
        assert "read_file" in tools
        assert not tools & {"replace", "write_file", "run_shell_command", "web_fetch", "google_web_search"}
