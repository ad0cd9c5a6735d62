"""Real agents as clients of `ringi mcp`, and Claude Code under the hook: outside a copy, in the project."""

import re
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from ringi.agents.table import AGENTS
from tests.agents.agent_desk import AgentDesk, agent_desk
from tests.agents.cases import ASKED, CLAUDE, CODEX, GEMINI, OPENCODE, SAID, Case, installed
from tests.agents.scripted_model import Asked, Call, Say, Script

_SPEC = {"kind": "write", "path": "app/hello.py", "content": "def hello():\n    return 'good day'\n"}
# As a person starts them, but without a screen. Nobody is asked whether a tool may be called.
_START: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude", "-p", ASKED),
    "codex": ("codex", "exec", ASKED),
    "gemini": ("gemini", "-p", ASKED, "-m", "gemini-two"),
    "opencode": ("opencode", "run", ASKED),
}


def _set_up(desk: AgentDesk) -> None:
    """The person applies the plan that `ringi init` proposes; then there is nothing left to do."""
    proposed = desk.run("init", "--agents", desk.case.name)
    assert proposed.returncode == 3, proposed.stdout + proposed.stderr
    desk.apply("p1")
    again = desk.ringi("init", "--agents", desk.case.name)
    assert f"{AGENTS[desk.case.name].title} is set up" in again
    assert "!" not in again


def _plan(asked: Asked) -> str:
    found = re.search(r"(?:\b|\\n)(p\d+)\b", asked.results[0])  # some clients send it as JSON
    assert found, asked.results
    return found[1]


@pytest.mark.parametrize("case", [CLAUDE, CODEX, OPENCODE, GEMINI], ids=lambda case: case.name)
def test_an_agent_proposes_waits_for_the_approval_and_executes(case: Case, base: Path) -> None:
    desks: list[AgentDesk] = []
    people: list[threading.Thread] = []

    def wait(asked: Asked) -> Call:
        """The person approves while the agent waits."""
        plan = _plan(asked)
        people.append(threading.Thread(target=desks[0].approve, args=[plan]))
        people[0].start()
        return Call("plan_wait", {"plan_id": plan, "seconds": 50})

    script: Script = [
        Call("plan_propose", {"content": "Say good day"}),
        lambda asked: Call("plan_set_action_specs", {"plan_id": _plan(asked), "specs": [_SPEC]}),
        lambda asked: Call("plan_request_approval", {"plan_id": _plan(asked)}),
        wait,
        lambda asked: Call("plan_execute", {"plan_id": _plan(asked)}),
        Say(SAID),
    ]
    with agent_desk(installed(case), base, scripts={ASKED: script}) as desk:
        desks.append(desk)
        _set_up(desk)
        done = desk.agent(*_START[case.name])
        for person in people:
            person.join()
        told = [asked.results[-1:] for asked in desk.model.turns]
        assert done.returncode == 0, done.stdout + done.stderr
        assert (desk.root / "app/hello.py").read_text().endswith("'good day'\n"), (told, done.stderr)
        assert "approved" in desk.model.turns[-1].results[3]


def test_the_hook_keeps_claude_from_editing_the_project_but_not_its_copy(base: Path) -> None:
    with agent_desk(installed(CLAUDE), base) as desk:
        _set_up(desk)
        desk.agent(*CLAUDE.start)
        assert (desk.root / "app/hello.py").read_text().endswith("'hello'\n")
        assert "ringi" in desk.model.turns[2].results[1]
        assert "ringi review p2" in desk.ringi("with", *CLAUDE.start)
        assert "+    return 'good day'" in desk.ringi("show", "p2", "--diff")


def test_what_claudes_shell_writes_to_the_project_is_told_to_it_and_to_the_person(base: Path) -> None:
    script: Script = [
        Call("Bash", {"command": "echo x >> app/hello.py", "description": "write"}),
        Call("Bash", {"command": "echo y >> app/hello.py; exit 1", "description": "fail"}),
        Say(SAID),
    ]
    with agent_desk(installed(CLAUDE), base, scripts={ASKED: script}) as desk:
        _set_up(desk)
        done = desk.agent("claude", "-p", ASKED, "--allowedTools", "Bash")
        assert done.returncode == 0, done.stdout + done.stderr
        first, second = (asked.whole for asked in desk.model.turns[1:3])
        notice = "changed without an approved plan: app/hello.py"
        assert notice in first
        assert second.count(notice) == 2
        assert "claude: app/hello.py" in desk.ringi()
