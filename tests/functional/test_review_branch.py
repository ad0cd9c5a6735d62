"""`ringi review BRANCH`: what was made elsewhere, reviewed here."""

import json
from pathlib import Path

import pytest

from tests.functional.desk import MENU, Desk
from tests.functional.screens import Screen
from tests.helpers import fingerprint


@pytest.fixture
def branched(desk: Desk) -> Desk:
    """With a branch `agent/greet` of two commits, the checkout one commit further."""
    desk.git("checkout", "-q", "-b", "agent/greet")
    (desk.root / "app" / "hello.py").write_text('def hello():\n    return "good day"\n')
    desk.git("commit", "-qam", "Greet politely\n\nThe old greeting was rude.")
    (desk.root / "NEWS.md").write_text("news\n")
    desk.git("add", "NEWS.md")
    desk.git("commit", "-qm", "Say it in the news")
    desk.git("checkout", "-q", "main")
    (desk.root / "README.md").write_text("# Sample\n\nMine.\n")
    desk.git("commit", "-qam", "mine")
    return desk


def test_without_a_terminal_it_proposes_and_needs_a_person(branched: Desk) -> None:
    before = fingerprint(branched.root)
    done = branched.run("review", "agent/greet")
    assert done.returncode == 3
    assert "p1: 2 commits of agent/greet since" in done.stdout
    assert "p1  Greet politely   2 files  +2 -1" in done.stdout
    assert "A person runs this in a terminal of their own: ringi review p1" in done.stderr
    assert fingerprint(branched.root) == before
    done = branched.run("--json", "review", "agent/greet")
    assert done.returncode == 3
    answer = json.loads(done.stdout)
    assert answer["plan"]["number"] == 1
    assert answer["source"]["form"] == "branch"
    assert answer["source"]["commits"] == 2
    assert "p1 has all of agent/greet." in done.stderr
    why = branched.run("show", "p1").stdout
    assert "why: Greet politely: The old greeting was rude. · Say it in the news" in why


def test_in_a_terminal_it_is_the_same_review(branched: Desk) -> None:
    with Screen.ringi(branched.root, "review", "agent/greet") as screen:
        screen.wait("Greet politely")
        screen.wait("good day")
        screen.press("a")
        assert screen.exit_code == 0, screen.framed()
        assert "2 files written" in screen.text
    assert (branched.root / "NEWS.md").read_text() == "news\n"
    assert branched.git("rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    done = branched.run("review", "agent/greet")
    assert done.returncode == 0
    assert "Nothing to take: p1 brought all of agent/greet here." in done.stdout
    assert json.loads(branched.run("--json", "review", "agent/greet").stdout)["plan"] is None


def test_a_branch_that_moves_on_while_its_plan_waits(branched: Desk, tmp_path: Path) -> None:
    assert branched.run("review", "agent/greet").returncode == 3
    other = tmp_path / "other"
    branched.git("worktree", "add", "-q", str(other), "agent/greet")
    (other / "NEWS.md").write_text("more news\n")
    said = branched.run("review", "agent/greet").stdout
    assert f"agent/greet is checked out in {other}; with what is not committed there:" in said
    assert f"→ ringi review {other}" in said
    branched.git("-C", str(other), "commit", "-qam", "More")
    done = branched.run("review", "agent/greet")
    assert "p1: 3 commits of agent/greet since" in done.stdout
    assert "p1 is now version 2." in done.stdout
    (other / "NEWS.md").write_text("not committed\n")
    with branched.terminal("review", "--plain", str(other)) as terminal:
        seen = terminal.read(MENU)
        assert "p2: 3 commits of other since" in seen
        assert "+not committed" in seen
        assert "! p1" in seen  # which changes the same files
        terminal.type("q")
        assert terminal.end()[0] == 3


def test_a_plan_comes_before_a_branch(branched: Desk) -> None:
    branched.git("branch", "p1", "agent/greet")
    branched.json("propose", "--title", "A plan")
    done = branched.run("review", "p1")
    assert "p1 is also a branch; this is the plan." in done.stdout
    assert "→ ringi review refs/heads/p1" in done.stdout
    assert "p2  Greet politely" in branched.run("review", "refs/heads/p1").stdout


def test_odd_words_do_not_reach_the_terminal(desk: Desk) -> None:
    name = "-b-\u202eevil"
    desk.git("checkout", "-q", "--detach")
    (desk.root / "README.md").write_text("x\n")
    desk.git("-c", "user.name=E\x1b[31mvil", "commit", "-qam", "Clear\x1b[2J the screen\n\nwhy\x07")
    desk.git("update-ref", f"refs/heads/{name}", "HEAD")
    desk.git("checkout", "-q", "main")
    done = desk.run("review", "--", name)
    assert done.returncode == 3, done.stderr
    assert "Clear\\x1b[2J the screen" in done.stdout
    shown = done.stdout + done.stderr + desk.run("show", "p1").stdout + desk.run().stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
