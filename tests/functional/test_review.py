"""Deciding at a real terminal."""

import shlex
import signal

import pytest

from tests.functional.desk import MENU, RINGI, Desk

CHANGE = "printf 'def hello():\\n    return \"hi\"\\n' > app/hello.py; echo new > notes.txt"


@pytest.mark.req("PT-4", "PT-6", "PT-8")
def test_apply_and_undo(desk: Desk) -> None:
    before, status = desk.files(), desk.git("status", "--porcelain")
    name = desk.agent(CHANGE)
    assert desk.files() == before
    terminal = desk.terminal("review", name, "--plain")
    seen = terminal.answer(MENU, "a")
    assert "notes.txt" in seen
    assert '+    return "hi"' in seen
    code, rest = terminal.end()
    assert code == 0
    assert "2 files written" in rest
    assert (desk.root / "notes.txt").read_text() == "new\n"
    assert desk.git("diff", "--cached") == ""
    assert desk.json("show", name)["state"]["status"] == "completed"
    terminal = desk.terminal("undo")
    terminal.answer(r"\[y/n\]", "y")
    assert terminal.end()[0] == 0
    assert desk.files() == before
    assert desk.git("status", "--porcelain") == status
    assert desk.run("log", "--verify").returncode == 0


@pytest.mark.req("PT-9", "PT-13")
def test_without_a_terminal_nothing_is_decided(desk: Desk) -> None:
    before = desk.files()
    name = desk.agent(CHANGE)
    for words in (["review", name], ["undo", name]):
        done = desk.run(*words)
        assert done.returncode == 3
        assert f"ringi {words[0]} {name}" in done.stderr
    assert desk.files() == before


@pytest.mark.req("PT-9")
@pytest.mark.usefixtures("on_disk")
def test_the_agent_itself_cannot_review(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a terminal of its own, but it is not a person."""
    # In a sandbox it does not even see the plan.
    monkeypatch.setenv("RINGI_WITH_SANDBOX", "off")
    name = desk.agent(CHANGE)
    review = f"{shlex.join(RINGI)} --workspace '{desk.root}' review {name}"
    # Variables can be unset and moved; the process above stays.
    hidden = f"env -u RINGI_WITH RINGI_CACHE_DIR=/tmp/elsewhere {review} --plain"
    second = desk.agent(
        f"{review}; echo $? > code1; env -u RINGI_WITH {review}; echo $? > code2; {hidden}; echo $? > code3"
    )
    shown = desk.run("show", second, "--diff").stdout
    assert shown.count("\n  +3\n") == 3
    assert desk.json("show", name)["state"]["status"] == "pending_review"


def test_typed_ahead_does_not_answer(desk: Desk) -> None:
    name = desk.agent(CHANGE)
    terminal = desk.typed_ahead("a\n" * 3, "review", name, "--plain")
    terminal.answer(MENU, "q")
    code, _ = terminal.end()
    assert code == 3
    assert desk.json("show", name)["state"]["status"] == "pending_review"


def test_interrupt_and_closed_terminal_decide_nothing(desk: Desk) -> None:
    name = desk.agent(CHANGE)
    terminal = desk.terminal("review", name, "--plain")
    terminal.read(MENU)
    terminal.child.sendintr()
    assert terminal.end()[0] == 130
    terminal = desk.terminal("review", name, "--plain")
    terminal.read(MENU)
    terminal.child.sendeof()
    assert terminal.end()[0] == 3
    terminal = desk.terminal("review", name, "--plain")
    terminal.read(MENU)
    terminal.child.kill(signal.SIGHUP)
    terminal.child.close()
    assert desk.json("show", name)["state"]["status"] == "pending_review"


def test_hostile_text_is_shown_not_obeyed(desk: Desk) -> None:
    script = (
        "printf 'safe \\033]0;owned\\007 \\342\\200\\256 text\\n' > evil.txt; git add -A;"
        " git commit -qm \"$(printf 'x\\033[2Jy')\""
    )
    name = desk.agent(script)
    for seen in (desk.run("show", name, "--diff").stdout, desk.run("list").stdout, desk.run().stdout):
        assert "\x1b" not in seen
        assert "\u202e" not in seen
    assert "\\x1b]0;owned\\x07 \\u202e" in desk.run("show", name, "--diff").stdout


MANY = "\n".join(f"line {number}" for number in range(1, 41)) + "\n"
TWO_HUNKS = "sed -i -e 's/^line 3$/line three/' -e 's/^line 30$/line thirty/' many.txt"


@pytest.fixture
def shop(desk: Desk) -> Desk:
    (desk.root / "many.txt").write_text(MANY)
    desk.git("add", "-A")
    desk.git("commit", "-q", "-m", "many")
    return desk


@pytest.mark.req("PT-8")
def test_hunks_and_lines_in_the_dialogue(shop: Desk) -> None:
    name = shop.agent(TWO_HUNKS)
    terminal = shop.terminal("review", name, "--plain")
    assert "d  drop a file" not in terminal.answer(MENU, "?")
    assert "as 2.3" in terminal.answer(MENU, "u")
    assert "no change of yours" in terminal.answer(MENU, "d")
    terminal.answer(r"1 to 1:", "1.2")
    seen = terminal.answer(MENU, "d")
    assert "hunk 2 of many.txt dropped · still applies · low · version 2" in seen
    assert "+line thirty" not in seen
    terminal.answer(r"1 to 1:", "1.7")
    assert "There is no hunk" in terminal.answer(MENU, "e")
    terminal.answer(r"As 2:14.*:", "1:3")
    assert "line three" in terminal.answer(r"instead.*:", "line III")
    assert "1 line edited · still applies" in terminal.answer(MENU, "e")
    terminal.answer(r"As 2:14.*:", "many.txt:4")
    terminal.answer(r"instead.*:", "line IV")
    assert "+line IV" in terminal.answer(MENU, "u")
    seen = terminal.answer(MENU, "c")
    assert "taken back: 1 line edited" in seen
    assert "line IV" not in seen
    terminal.answer(r"As 2:14.*:", "1:3")
    terminal.answer(r"many.txt:3", "roman?")
    assert "Noted" in terminal.answer(MENU, "a")
    code, rest = terminal.end()
    assert code == 0
    assert "will be told: 1 hunk dropped, 1 line edited, 1 comment by you" in rest
    assert (shop.root / "many.txt").read_text() == MANY.replace("line 3\n", "line III\n")
    assert shop.json("show", name)["state"]["comments"][0]["text"] == "roman?"


def test_a_plan_can_be_thrown_away(desk: Desk) -> None:
    first, second = desk.agent("echo 1 > one.txt"), desk.agent("echo 2 > two.txt")
    terminal = desk.terminal("review", first, "--plain")
    terminal.answer(MENU, "X")
    terminal.answer(r"\[y/n\]", "n")
    terminal.answer(MENU, "X")
    terminal.answer(r"\[y/n\]", "y")
    code, said = terminal.end()
    assert code == 5
    assert f"ringi propose --fork {first}" in said
    assert [ref["status"] for ref in desk.json("list")] == ["pending_review"]
    assert "discarded" in desk.run("list", "--status", "discarded").stdout
    assert desk.json("discard", second, "--reason", "a duplicate")["status"] == "discarded"
    assert desk.json("list") == desk.json("list", "--pending") == desk.json()["waiting"] == []
    assert "two.txt" in desk.run("show", second).stdout
    assert "a duplicate" in desk.run("log", second).stdout
    assert desk.run("review", second).returncode == 6
    assert desk.run("log", "--verify").returncode == 0


def test_apply_shows_asks_and_carries_out(desk: Desk) -> None:
    low, high = desk.agent("echo 1 > one.txt"), desk.agent("rm README.md")
    terminal = desk.terminal("apply", low)
    terminal.answer(r"\[a\]pply  \[s\]how again  \[q\]uit", "d")
    terminal.answer(r"\[q\]uit", "q")
    assert terminal.end()[0] == 3
    terminal = desk.terminal("apply", low)
    assert "one.txt" in terminal.answer(r"\[q\]uit", "a")
    code, said = terminal.end()
    assert (code, "1 file written" in said) == (0, True)
    terminal = desk.terminal("apply", high)
    terminal.answer(r"\[q\]uit", "a")
    terminal.type(terminal.wanted())
    assert terminal.end()[0] == 0
    assert not (desk.root / "README.md").exists()
    done = desk.run("apply", desk.agent("echo 2 > two.txt"))
    assert done.returncode == 3
    assert "ringi apply p3" in done.stderr
