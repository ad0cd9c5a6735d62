"""`r` in a review: the agent continues at once in the same terminal, and the review comes back."""

import sys
from pathlib import Path

import pytest

from tests.functional.desk import MENU, Desk
from tests.functional.screens import Screen

# Writes a file; told something, does what it is told.
AGENT = """\
import os, pathlib, sys, time
said = os.environ.get("RINGI_FEEDBACK")
if said is None:
    pathlib.Path("notes.txt").write_text("one\\ntwo\\nthree\\n")
    sys.exit(0)
words = pathlib.Path(said).read_text()
print("agent: I was told", flush=True)
if "spell" in words:
    pathlib.Path("notes.txt").write_text("one\\nTWO\\nthree\\n")
if "four" in words:
    pathlib.Path("notes.txt").write_text("one\\nTWO\\nthree\\nfour\\n")
if "fail" in words:
    sys.exit(1)
if "wait" in words:
    try:
        print("agent: waiting", flush=True)
        while True:
            time.sleep(60)
    except KeyboardInterrupt:
        print("agent: interrupted", flush=True)
        sys.exit(130)
"""
QUESTION = r"continue now, in this terminal\? \[y/n\]"
SINCE = "This changed since you last looked:"


def work(desk: Desk, folder: Path, *options: str) -> None:
    agent = folder / "agent.py"
    agent.write_text(AGENT)
    done = desk.process("--json", "with", *options, "--", sys.executable, str(agent))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def worked(desk: Desk, tmp_path: Path) -> Desk:
    """An agent has made p1."""
    work(desk, tmp_path)
    return desk


def sent_back(desk: Desk, words: str) -> Screen:
    """In a review, rejected with these words; the question waits."""
    screen = Screen.ringi(desk.root, "review", "p1")
    screen.wait(r"\[a\]pply")
    screen.press("r")
    screen.wait("What should the proposer change")
    screen.type(words, enter=True)
    screen.wait(QUESTION)
    return screen


def version(desk: Desk) -> int:
    return int(desk.json("show", "p1")["plan"]["version"])


def test_the_agent_continues_and_the_review_comes_back(worked: Desk) -> None:
    with sent_back(worked, "spell it") as screen:
        assert "Let agent.py continue" in screen.text
        screen.press("y")
        screen.wait(SINCE)
        screen.wait("since version 1")
        assert "+TWO" in screen.text
        assert "+three" not in screen.text, screen.framed()  # which was there before
        assert b"agent: I was told" in screen.raw
        assert b"decided elsewhere" not in screen.raw
        screen.press("t")
        screen.wait(r"\+three")
        # And once more.
        screen.press("r")
        screen.wait("What should the proposer change")
        screen.type("and four", enter=True)
        screen.wait(QUESTION)
        screen.press("y")
        screen.wait(r"\+four")
        screen.press("a")
        assert screen.exit_code == 0, screen.framed()
    assert (worked.root / "notes.txt").read_text() == "one\nTWO\nthree\nfour\n"
    assert version(worked) == 3


def test_line_by_line_too(worked: Desk) -> None:
    with worked.terminal("review", "p1", "--plain") as terminal:
        terminal.answer(MENU, "r")
        terminal.answer(r"change\?", "spell it")
        terminal.answer(QUESTION, "y")
        seen = terminal.read(MENU)
        assert "agent: I was told" in seen
        assert "p1 is now version 2." in seen
        assert "p1 version 1 → p1 version 2" in seen
        terminal.type("a")
        assert terminal.end()[0] == 0
    assert (worked.root / "notes.txt").read_text() == "one\nTWO\nthree\n"


@pytest.mark.parametrize("key", ["enter", "ctrl-c"])
def test_any_other_key_is_a_no(worked: Desk, key: str) -> None:
    with sent_back(worked, "spell it") as screen:
        screen.press(key)
        assert screen.exit_code == 5, screen.framed()
        assert b"p1 sent back with your feedback." in screen.raw
        assert b"ringi with --resume p1" in screen.raw
    state = worked.json("show", "p1")["state"]
    assert (state["status"], state["feedback"][0]["text"]) == ("proposed", "spell it")
    assert version(worked) == 1


def test_ctrl_c_is_the_agents_while_it_works(worked: Desk) -> None:
    with sent_back(worked, "spell it and wait") as screen:
        screen.press("y")
        screen.wait("agent: waiting")
        screen.send("\x03")
        screen.wait("The agent or a check failed")
        assert b"agent: interrupted" in screen.raw
        screen.press("q")
        assert screen.exit_code == 3
    assert version(worked) == 2


def test_ctrl_c_in_the_checks_keeps_the_work(desk: Desk, tmp_path: Path) -> None:
    work(desk, tmp_path, "--check", "if grep TWO notes.txt; then sleep 600; fi")
    with sent_back(desk, "spell it") as screen:
        screen.press("y")
        screen.wait("Checking: ")
        screen.send("\x03")
        assert screen.exit_code == 130, screen.framed()
        assert b"The work is in p1; what came after was interrupted." in screen.raw
    assert version(desk) == 2
