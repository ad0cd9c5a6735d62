"""Agents with a screen, at a person's terminal: they ask for no trust in a copy of a project that has it."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pexpect
import pytest

from tests.agents.agent_desk import AgentDesk, agent_desk
from tests.agents.cases import ASKED, CLAUDE, CODEX, SAID, TOLD, Case, installed
from tests.functional.beside_desk import walled
from tests.functional.desk import RINGI

_START: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude", ASKED, "--model", "two", "--permission-mode", "acceptEdits",
               "--allowedTools", "Bash(python3:*)"),
    "codex": ("codex", "-m", "two", "-s", "workspace-write", "--no-alt-screen", ASKED),
}  # fmt: skip
_LEAVE = {"claude": "/exit", "codex": "/quit"}
_PATIENCE_SEC = 60


def _at_the_screen(desk: AgentDesk, words: tuple[str, ...], done: Callable[[], bool]) -> str:
    """Types nothing until the model has had its say, then leaves."""
    child = pexpect.spawn(
        RINGI[0],
        [*RINGI[1:], *words],
        cwd=str(desk.root),
        env=dict(desk.environment),
        encoding="utf-8",
        dimensions=(40, 100),
    )
    seen, end = "", time.monotonic() + _PATIENCE_SEC
    try:
        while not done() and time.monotonic() < end:
            seen += _more(child)
        assert done(), seen[-4000:]
        while child.isalive() and time.monotonic() < end:
            child.send(_LEAVE[desk.case.name])
            seen += _more(child)
            child.send("\r")
            seen += _more(child)
        return seen + _more(child)
    finally:
        child.close(force=True)


def _more(child: pexpect.spawn) -> str:
    """What comes within half a second; it also answers what the agent asks of a terminal."""
    found = child.expect([pexpect.TIMEOUT, pexpect.EOF, r"\x1b\[6n", r"\x1b\[c"], timeout=0.5)
    if found == 2:  # where the cursor is
        child.send("\x1b[1;1R")
    elif found == 3:  # what kind of terminal this is
        child.send("\x1b[?62c")
    return str(child.before or "") if found else ""


def _is_over(desk: AgentDesk, phrase: str) -> bool:
    """Whether the agent has told the model what the last tool gave."""
    found = [asked for asked in desk.model.turns if asked.said and phrase in asked.said[-1]]
    script = desk.case.work(desk.root) if phrase == ASKED else desk.case.more(desk.root)
    return bool(found) and len(found[-1].results) >= len(script) - 1


@walled
@pytest.mark.parametrize("case", [CLAUDE, CODEX], ids=lambda case: case.name)
def test_an_agent_with_a_screen_starts_at_once_and_continues_its_conversation(case: Case, base: Path) -> None:
    with agent_desk(installed(case), base) as desk:
        seen = _at_the_screen(desk, ("with", *_START[case.name]), lambda: _is_over(desk, ASKED))
        assert "ringi review p1" in seen, seen[-3000:]
        assert "+    return 'good day'" in desk.ringi("show", "p1", "--diff")
        desk.comment("p1", "app/hello.py", 2, "write down why")
        seen = _at_the_screen(desk, ("with", "--resume"), lambda: _is_over(desk, TOLD))
        assert "p1 is now version 2" in seen, seen[-3000:]
        assert SAID in desk.model.turns[-1].whole
        assert desk.model.turns[-1].model == "two"
