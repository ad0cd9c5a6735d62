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


@pytest.mark.req("PT-8")
def test_high_risk_is_typed(desk: Desk) -> None:
    name = desk.agent("rm README.md")
    terminal = desk.terminal("review", name, "--plain")
    terminal.answer(MENU, "a")
    terminal.wanted()
    terminal.type("yes")
    assert "nothing was approved" in terminal.read("approved")
    terminal.answer(MENU, "a")
    wanted = terminal.wanted()
    assert (desk.root / "README.md").exists()
    terminal.type(wanted)
    assert terminal.end()[0] == 0
    assert not (desk.root / "README.md").exists()
    proof = desk.root.joinpath(".agent/logs/plans").glob("*/approval.json")
    assert f'"answer": "{wanted}"' in next(proof).read_text()


@pytest.mark.req("PT-8")
def test_what_was_applied_can_still_be_seen(desk: Desk) -> None:
    name = desk.agent(CHANGE + "; rm README.md; ln -s app link")
    terminal = desk.terminal("review", name, "--plain")
    assert "not in the plan: link" in terminal.answer(MENU, "a")
    terminal.type(terminal.wanted())
    assert terminal.end()[0] == 0
    (desk.root / "notes.txt").write_text("mine\n")
    shown = desk.run("show", name, "--diff").stdout
    assert '+    return "hi"' in shown
    assert "-# Sample" in shown
    assert "-mine" not in shown


def test_a_file_that_cannot_be_carried_out_can_be_dropped(desk: Desk) -> None:
    name = desk.agent("head -c 11000000 /dev/zero > big.bin; echo t >> README.md")
    terminal = desk.terminal("review", name, "--plain")
    terminal.answer(MENU, "a")
    terminal.read("cannot be carried out")
    terminal.answer(MENU, "d")
    terminal.answer(r"1 to 2:", "2")
    terminal.answer(MENU, "a")
    assert terminal.end()[0] == 0
    assert not (desk.root / "big.bin").exists()


def test_a_long_diff_is_cut_short(desk: Desk) -> None:
    name = desk.agent("seq 5000 > long.txt")
    terminal = desk.terminal("review", name, "--plain")
    seen = terminal.answer(MENU, "x")
    assert "lines more" in seen
    assert len(seen) < 20000
    assert "+1" not in terminal.answer(MENU, "q")
    assert terminal.end()[0] == 3


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
def test_below_an_agent_a_typed_answer_is_refused(desk: Desk) -> None:
    name = desk.agent(CHANGE)
    before = desk.files()
    code, seen = desk.terminal("review", name, CLAUDECODE="1").end()
    assert code == 3
    assert "Claude Code" in seen
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


def test_in_japanese(desk: Desk) -> None:
    name = desk.agent(CHANGE + "; rm README.md")
    terminal = desk.terminal("--lang", "ja", "review", name, "--plain")
    seen = terminal.answer(r"\[q\]", "a")
    assert "README.md" in seen
    terminal.type(terminal.wanted())
    code, rest = terminal.end()
    assert code == 0
    assert "ファイル" in rest
    terminal = desk.terminal("undo", LANG="ja_JP.UTF-8")
    terminal.answer(r"\[y/n\]", "y")
    code, rest = terminal.end()
    assert code == 0
    assert "files" not in rest


def test_the_screen_fits_and_can_be_read_without_colour(desk: Desk) -> None:
    name = desk.agent(CHANGE)
    terminal = desk.terminal("review", name, "--plain")
    seen = terminal.answer(MENU, "q")
    assert "\x1b[" not in seen
    assert terminal.end()[0] == 3


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


def test_the_editor_in_the_dialogue(shop: Desk) -> None:
    name = shop.agent(TWO_HUNKS)
    terminal = shop.terminal("review", name, "--plain", EDITOR="sed -i s/three/drei/")
    terminal.answer(MENU, "e")
    terminal.answer(r"As 2:14.*:", "1")
    assert "+line drei" in terminal.answer(MENU, "q")
    assert terminal.end()[0] == 3


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


def test_an_agent_discards_no_plan_by_command(desk: Desk) -> None:
    name = desk.agent("echo 1 > one.txt")
    done = desk.run("discard", name, CLAUDECODE="1")
    assert done.returncode == 3
    assert [f"p{ref['number']}" for ref in desk.json("list")] == [name]


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
