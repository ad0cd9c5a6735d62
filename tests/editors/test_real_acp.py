"""Real agents behind `ringi acp`, with the official SDK as the editor, against a scripted model."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tools import editors

from tests.agents.agent_desk import PERSON, AgentDesk, agent_desk
from tests.agents.cases import ASKED, CLAUDE, CODEX, GEMINI, OPENCODE, SAID, Case, installed
from tests.functional.beside_desk import walled
from tests.functional.desk import RINGI

WANTED = os.environ.get("RINGI_EDITORS") == "1"
STARTS = {
    "claude": ("claude-agent-acp",),
    "codex": ("codex-acp",),
    "gemini": ("gemini", "--acp", "-m", "gemini-two"),
    "opencode": ("opencode", "acp"),
}


@pytest.fixture
def base() -> Iterator[Path]:
    if not WANTED:
        pytest.skip("real editors and agents take minutes: make test-editors")
    if not editors.SDK.exists():
        pytest.skip("the SDK could not be installed: python3 tools/editors.py")
    with tempfile.TemporaryDirectory(prefix="ringi-editors-", dir="/var/tmp") as folder:
        yield Path(folder).resolve()


@contextmanager
def acp_desk(case: Case, base: Path) -> Iterator[AgentDesk]:
    name, root = STARTS[case.name][0], base / "repo"
    adapter = editors.ADAPTERS.get(name)
    if adapter is None:
        installed(case)
    elif not adapter.exists():
        pytest.skip(f"{name} could not be installed: python3 tools/editors.py")
    scripts = {"Go on": case.more(root), "Once more": case.more(root), ASKED: case.work(root)}
    with agent_desk(case, base, scripts=scripts) as desk:
        if adapter is not None:
            (base / "bin" / name).symlink_to(adapter)
        yield desk


class SdkDesk:
    def __init__(self, desk: AgentDesk, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.began = self._read()
        self.desk = desk

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, "the editor ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def prompt(self, text: str) -> dict[str, Any]:
        assert self._process.stdin
        print(json.dumps(text), file=self._process.stdin, flush=True)
        return self._read()


@contextmanager
def sdk_editor(desk: AgentDesk, *command: str, session: str = "") -> Iterator[SdkDesk]:
    script = Path(__file__).with_name("sdk_editor.py")
    with subprocess.Popen(
        [str(editors.SDK), str(script), str(desk.root), *command],
        cwd=desk.root,
        env={
            **desk.environment,
            "SDK_SESSION": session,
            "OPENCODE_CONFIG_CONTENT": json.dumps({"model": "scripted/two"}),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield SdkDesk(desk, process)
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(60)


def _updates(heard: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [one for one in heard if one.get("sessionUpdate") == kind]


def _plan(heard: list[dict[str, Any]]) -> list[str]:
    """The files of the plan in the thread."""
    calls = [one for one in _updates(heard, "tool_call_update") if one["toolCallId"].startswith("ringi-")]
    return [block["path"] for block in calls[-1]["content"] if block["type"] == "diff"] if calls else []


def _said(heard: list[dict[str, Any]]) -> str:
    return "".join(one["content"].get("text", "") for one in _updates(heard, "agent_message_chunk"))


def _heard_by(desk: AgentDesk, text: str) -> bool:
    """Whether the model was told that, in words or as a result."""
    return any(text in said for asked in desk.model.turns for said in (*asked.said, *asked.results))


@walled
@pytest.mark.parametrize("case", [CLAUDE, CODEX, GEMINI, OPENCODE], ids=lambda case: case.name)
def test_a_real_agent_edits_hears_what_was_said_and_goes_on_after_the_apply(case: Case, base: Path) -> None:
    # As root, Codex cannot make its own sandbox inside ours.
    who = PERSON if case is CODEX else ()
    with acp_desk(case, base) as desk:
        hello, notes = desk.root / "app/hello.py", desk.root / "NOTES.md"
        before = hello.read_text()
        with sdk_editor(desk, *who, *RINGI, "acp", "--", *STARTS[case.name]) as editor:
            heard = editor.prompt(ASKED)["heard"]
            assert _plan(heard) == [str(hello)], (heard, desk.model.asked)
            assert SAID in _said(heard)
            assert "ringi review p1" in _said(heard)
            assert hello.read_text() == before, "the project itself is untouched"
            assert _heard_by(desk, "tested good day")
            assert case is not CLAUDE or {"permission": "Edit app/hello.py"} in heard
            desk.comment("p1", "app/hello.py", 2, "write down why")
            heard = editor.prompt("Go on")["heard"]
            assert _heard_by(desk, "write down why")
            assert _plan(heard) == [str(notes), str(hello)]
            assert "p1 is now version 2" in _said(heard)
            desk.apply("p1")
            assert "good day" in hello.read_text()
            assert notes.read_text() == "notes\n"
            notes.unlink()  # so that there is something to do once more
            heard = editor.prompt("Once more")["heard"]
            assert _heard_by(desk, "applied it to the project")
            assert _plan(heard) == [str(notes)]
            assert "ringi review p2" in _said(heard)
            session = editor.began["session"]
        if case is GEMINI:
            return  # 0.61 finds no conversation here, without ringi as well
        # The next day: the same conversation, in the same copy.
        desk.comment("p2", "NOTES.md", 1, "say more")
        with sdk_editor(desk, *RINGI, "acp", "--", *STARTS[case.name], session=session) as editor:
            heard = editor.prompt("What is new?")["heard"]
            assert "say more" in " ".join(desk.model.turns[-1].said)
            assert SAID in desk.model.turns[-1].whole, "it remembers what it said"
            assert "p2 stays as it was" in _said(heard)
