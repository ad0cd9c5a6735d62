"""A review on the full screen of a real terminal."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi import ActionSpec, SpecKind, open_workspace
from ringi.plans.document import PlanState, PlanStatus
from ringi.plans.effects import pack
from ringi.tree.action_spec import Encoding
from tests.functional.desk import Desk
from tests.functional.screens import Screen

MENU = r"\[q\]"
MANY = "\n".join(f"line {number}" for number in range(1, 41)) + "\n"
# Lines 3 and 30 are far enough from each other for two hunks.
CHANGED = MANY.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")
TWO_HUNKS = ActionSpec(SpecKind.WRITE, "many.txt", CHANGED)
BY_AGENT = "sed -i -e 's/^line 3$/line three/' -e 's/^line 30$/line thirty/' many.txt"


@pytest.fixture
def shop(desk: Desk) -> Desk:
    (desk.root / "many.txt").write_text(MANY)
    return desk


@pytest.fixture
def screens(desk: Desk) -> Iterator["Screens"]:
    opened = Screens(desk.root)
    yield opened
    for screen in opened.all:
        screen.end()


class Screens:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.all: list[Screen] = []

    def review(self, *words: str, columns: int = 80, rows: int = 24, **variables: str) -> Screen:
        screen = Screen.ringi(self.root, "review", *words, columns=columns, rows=rows, **variables)
        self.all.append(screen)
        return screen


def find(screen: Screen, pattern: str, *, most: int = 60) -> None:
    """The cursor on the first line like that."""
    screen.press("home")
    for _ in range(most):
        if any(line.startswith("▌") and re.search(pattern, line) for line in screen.settle().split("\n")):
            return
        screen.send("j")
    raise AssertionError(f"no line {pattern!r}:\n{screen.framed()}")


def apply_high(screen: Screen) -> str:
    """Types what a high risk asks for; answers with it."""
    screen.press("a")
    found = re.search("type ([0-9a-f]{6}):", screen.wait("type [0-9a-f]{6}:"))
    assert found
    screen.type(found[1], enter=True)
    return found[1]


def commit_all(desk: Desk) -> None:
    desk.git("add", "-A")
    desk.git("commit", "-q", "-m", "many")


def propose(desk: Desk, *specs: ActionSpec) -> str:
    with open_workspace(desk.root) as workspace:
        return workspace.plan_name(workspace.plan.propose_specs("numbers", specs, proposer="the agent"))


def state(desk: Desk, name: str) -> PlanState:
    with open_workspace(desk.root) as workspace:
        return workspace.plan.get_state(name)


@pytest.mark.req("PT-8")
def test_drop_a_hunk_edit_a_line_and_apply(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS)
    screen = screens.review(name)
    assert "hunk 1 of 2" in screen.wait(r"\[a\]pply")
    screen.press("n", "n", "d")
    assert "still applies" in screen.wait("hunk 2 of many.txt dropped")
    find(screen, r"\+line three")
    screen.press("e")
    screen.wait("Line 3:")
    screen.type("!")
    screen.press("enter")
    assert "line three!" in screen.wait("1 line edited · still applies")
    screen.press("a")
    assert screen.exit_code == 0
    assert "1 file written" in screen.text
    assert "will be told: 1 hunk dropped, 1 line edited by you" in screen.text
    assert (shop.root / "many.txt").read_text() == MANY.replace("line 3\n", "line three!\n")
    told = [given.text for given in state(shop, name).feedback]
    assert told == ["dropped hunk 2 of many.txt", "edited 1 line of many.txt"]


@pytest.mark.req("PT-6")
def test_comment_and_reject_reach_the_proposer(shop: Desk, screens: Screens) -> None:
    before = shop.files()
    name = propose(shop, TWO_HUNKS)
    screen = screens.review(name)
    screen.wait(r"\[a\]pply")
    find(screen, r"\+line three")
    screen.press("c")
    screen.wait("Your comment on many.txt:3")
    screen.type("why in words? なぜ", enter=True)
    seen = screen.wait("goes to the proposer")
    assert re.search(r"\+line three\n.*» why in words", seen)
    find(screen, "-line 30")
    screen.press("c")
    screen.wait("many.txt:30")
    screen.type("keep it", enter=True)
    screen.wait("» keep it")
    screen.press("r")
    screen.wait("What should the proposer change?")
    screen.press("esc")
    screen.wait("nothing was decided")
    screen.press("r")
    screen.wait("What should the proposer change?")
    screen.type("not like this", enter=True)
    assert screen.exit_code == 5
    now = state(shop, name)
    assert now.status is PlanStatus.PROPOSED
    assert now.feedback[-1].text == "not like this"
    said = [(one.line, one.side, one.text, one.quote) for one in now.comments or ()]
    assert said == [(3, "new", "why in words? なぜ", "line three"), (30, "old", "keep it", "line 30")]
    assert shop.files() == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_in_the_middle_decides_nothing(shop: Desk, number: signal.Signals) -> None:
    name = propose(shop, TWO_HUNKS)
    before = shop.files()
    # In a shell, which says afterwards in what state the terminal was left.
    script = f'{shlex.quote(sys.executable)} -m ringi review {name}; stty -a | tr ";" "\\n"; echo done'
    with Screen(["sh", "-c", script], cwd=shop.root) as screen:
        screen.wait(r"\[a\]pply")
        screen.press("r")
        screen.wait("What should")
        [child] = subprocess.run(
            ["pgrep", "-P", str(screen.child.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        os.kill(int(child), number)
        until = time.monotonic() + 60
        while not screen.raw.endswith((b"done\r\n", b"done\n")) and time.monotonic() < until:
            screen.settle()
        settings = set(screen.raw.decode(errors="replace").replace("\r", "").split())
        if number is not signal.SIGKILL:
            assert {"icanon", "echo", "isig"} <= settings
            assert screen.raw.rfind(b"\x1b[?1049l") > screen.raw.rfind(b"\x1b[?1049h")
    assert state(shop, name).status is PlanStatus.PENDING_REVIEW
    assert shop.files() == before


def test_a_closed_window_decides_nothing(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS)
    screen = screens.review(name)
    screen.wait(r"\[a\]pply")
    screen.hang_up()
    assert state(shop, name).status is PlanStatus.PENDING_REVIEW


@pytest.mark.req("PT-8")
def test_what_the_proposer_changes_meanwhile_is_not_applied(desk: Desk, screens: Screens) -> None:
    name = propose(desk, ActionSpec(SpecKind.CREATE, "new.txt", "harmless\n"))
    screen = screens.review(name)
    screen.wait("harmless")
    with open_workspace(desk.root) as workspace:
        workspace.plan.set_action_specs(name, [ActionSpec(SpecKind.CREATE, "new.txt", "other\n")])
    screen.wait(r"changed: version 2\. \[s\]")
    assert "harmless" in screen.text
    screen.press("a")
    screen.wait("changed since you looked")
    assert "other" in screen.wait("other")
    assert not (desk.root / "new.txt").exists()
    with open_workspace(desk.root) as workspace:
        workspace.plan.set_action_specs(name, [ActionSpec(SpecKind.CREATE, "new.txt", "third\n")])
    screen.wait("changed: version 3")
    screen.press("s")
    screen.wait("third")
    screen.press("a")
    assert screen.exit_code == 0
    assert (desk.root / "new.txt").read_text() == "third\n"


def test_keys_typed_ahead_answer_nothing(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS)
    screen = screens.review(name)
    screen.send("aaa")
    screen.wait(r"\[a\]pply")
    time.sleep(0.3)
    assert screen.alive
    # A pasted text is no answer, and neither is any key with a name.
    screen.paste("a\na\n")
    for key in ("up", "left", "ctrl-a", "delete"):
        screen.press(key)
    screen.send("\x1b[200~a\x1b[201~\x1bOa\x1b[1;5A")
    screen.settle()
    assert screen.alive
    assert state(shop, name).status is PlanStatus.PENDING_REVIEW


def test_a_dumb_terminal_gets_the_dialogue(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS)
    for screen in (screens.review(name, TERM="dumb"), screens.review(name, columns=19, rows=24)):
        screen.wait(r"\[q\]uit|uit")
        assert b"\x1b[?" not in screen.raw
        screen.type("q", enter=True)
        assert screen.exit_code == 3


sandboxed = pytest.mark.skipif(
    shutil.which("bwrap") is None, reason="checks of a review run in a sandbox only"
)


@sandboxed
@pytest.mark.req("PT-16")
def test_the_tests_run_again_after_a_change(shop: Desk, screens: Screens) -> None:
    commit_all(shop)
    check = "echo $(grep -c 'line t' many.txt) tests; test $(grep -c 'line t' many.txt) = 2"
    name = shop.agent(BY_AGENT, "--check", check)
    screen = screens.review(name)
    assert "exit code 0 on exactly these bytes" in screen.wait(r"\[a\]pply")
    find(screen, r"\+line three")
    screen.press("e")
    screen.type("!", enter=True)
    assert "1 line edited · still applies" in screen.wait("tests: exit code 0, 2 tests")
    screen.press("n", "d")
    assert "failed with exit code 1" in screen.wait("^1 tests$")
    screen.press("u")
    screen.wait("tests: exit code 0, 2 tests")
    screen.press("a")
    assert screen.exit_code == 0
    assert "line three!" in (shop.root / "many.txt").read_text()


@sandboxed
def test_killed_while_the_tests_run_leaves_nothing_behind(shop: Desk, screens: Screens) -> None:
    commit_all(shop)
    name = shop.agent(BY_AGENT, "--check", "! grep -q three! many.txt || sleep 614")
    screen = screens.review(name)
    screen.wait(r"\[a\]pply")
    find(screen, r"\+line three")
    screen.press("e")
    screen.type("!", enter=True)
    screen.wait("the tests run … [1-9] s")
    screen.child.kill(signal.SIGTERM)
    assert screen.exit_code == 130
    running = subprocess.run(["ps", "-axo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 614" not in running
    now = state(shop, name)
    assert now.status is PlanStatus.PENDING_REVIEW
    assert now.checks == ()


HOSTILE = {
    "escape.txt": b"safe \x1b]0;owned\x07 \x1b[2J\x1b[31mred text\n",
    "bidi.py": "access = '\u202euser\u2066' \u200b# \u2069\n".encode(),
    "crlf.txt": b"one\r\ntwo\r\n",
    "end.txt": b"no newline at the end",
    "empty.txt": b"",
    "latin.txt": b"caf\xe9 \xff\n",
    "tabs.mk": b"all:\n\techo\tx\n",
    "mixed.txt": b"a\rb\x0bc\x0cd\x85e\n",
}


def test_hostile_text_is_shown_and_written_byte_for_byte(desk: Desk, screens: Screens) -> None:
    specs = []
    for name, data in HOSTILE.items():
        content, encoding = pack(data)
        specs.append(ActionSpec(SpecKind.CREATE, name, content, encoding=encoding))
    with open_workspace(desk.root) as workspace:
        workspace.plan.propose_specs("x\x1b[2J \u202e title", specs, proposer="\x1b[31mme")
    screen = screens.review("p1", columns=100, rows=60)
    screen.wait(r"\[a\]pply")
    seen = screen.settle()
    for words in (
        r"safe \x1b]0;owned\x07 \x1b[2J\x1b[31mred",
        r"'\u202euser\u2066' \u200b#",
        r"+one\r",
        "(no newline at the end)",
        "an empty file",
        r"caf\xe9 \xff",
        "+    echo    x",
        r"a\rb\x0bc\x0cd\x85e",
        r"x\x1b[2J",
        r"\x1b[31mme",
    ):
        assert words in seen, words
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b]", screen.raw.decode(errors="replace"))
    assert b"owned\x07" not in screen.raw
    screen.press("i")
    screen.settle()
    screen.press("q")
    # A line with bytes that are no text keeps them when it is edited.
    find(screen, "caf")
    screen.press("e")
    screen.type("!", enter=True)
    screen.wait("1 line edited")
    find(screen, r"two\\r")
    screen.press("e")
    screen.type("!", enter=True)
    screen.wait(r"two!\\r")
    apply_high(screen)
    assert screen.exit_code == 0
    written = {name: (desk.root / name).read_bytes() for name in HOSTILE}
    edited = {"latin.txt": b"caf\xe9 \xff!\n", "crlf.txt": b"one\r\ntwo!\r\n"}
    assert written == {**HOSTILE, **edited}


@pytest.mark.parametrize("shape", ["5000 hunks", "1 MB line"])
def test_of_a_large_diff_only_a_screen_is_drawn(desk: Desk, screens: Screens, shape: str) -> None:
    if shape == "5000 hunks":
        lines = [f"line {number}" for number in range(50000)]
        before = "\n".join(lines)
        after = "\n".join(f"{line}!" if number % 10 == 5 else line for number, line in enumerate(lines))
    else:
        before, after = "x" * 1_000_000 + "\n", "x" * 500_000 + "\x1b[2J日本" + "y" * 500_000 + "\nend\n"
    (desk.root / "large.txt").write_text(before)
    with open_workspace(desk.root) as workspace:
        workspace.plan.propose_specs("large", [ActionSpec(SpecKind.WRITE, "large.txt", after)])
    screen = screens.review("p1")
    screen.wait(r"\[a\]pply")
    screen.settle()
    wrote = []
    for key in ("j", "n", "pgdn", "end", "p", "k", "home", "j", "j", "right", "left"):
        before = len(screen.raw)
        screen.press(key)
        screen.settle()
        wrote.append(len(screen.raw) - before)
    # A screen at most, whatever lies above and below it.
    assert max(wrote) < 20_000, wrote
    if shape == "5000 hunks":
        screen.press("home", "n", "n")
        screen.wait("hunk 2 of 5000")
        screen.press("end")
        screen.wait("hunk 5000 of 5000")
    else:
        screen.press("home", "j", "j")
        assert re.search(r"…\+\d{6}", screen.settle())
    apply_high(screen)
    assert screen.exit_code == 0
    assert (desk.root / "large.txt").read_text() == after


def test_every_kind_of_spec_is_shown_for_what_it_is(shop: Desk, screens: Screens) -> None:
    (shop.root / "data.bin").write_bytes(b"\0\1\2")
    specs = [
        ActionSpec(SpecKind.MKDIR, "folder"),
        ActionSpec(SpecKind.MOVE, "many.txt", target="moved.txt"),
        ActionSpec(SpecKind.DELETE, "README.md"),
        ActionSpec(SpecKind.WRITE, "data.bin", "AAAB", encoding=Encoding.BASE64),
        ActionSpec(SpecKind.WRITE, "app/hello.py", mode="0755"),
        ActionSpec(SpecKind.RUN, argv=("echo", "a b", "\x1b[2J"), timeout_sec=5, optional=True),
    ]
    with open_workspace(shop.root) as workspace:
        workspace.plan.propose_specs("all kinds", specs)
    screen = screens.review("p1", columns=100, rows=50)
    screen.wait(r"\[a\]pply")
    seen = screen.settle()
    for words in (
        "mkdir folder",
        "rename many.txt → moved.txt",
        "delete README.md",
        "-# Sample",
        "binary, 3 → 3 bytes",
        "permissions of app/hello.py: 0644 → 0755",
        r"run echo 'a b' '\x1b[2J'",
        "at most 5 s",
        "optional: if it fails",
    ):
        assert words in seen, words
    screen.press("n", "d")
    screen.wait(r"\[D\] drops the whole")
    screen.press("D")
    screen.wait("dropped · still applies")
    screen.press("q")
    assert screen.exit_code == 3


def test_search_goes_from_match_to_match(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS, ActionSpec(SpecKind.CREATE, "notes.txt", "Thirty days\n"))
    screen = screens.review(name)
    screen.wait(MENU)
    screen.press("/")
    screen.wait("Search for:")
    screen.type("thirty", enter=True)
    assert re.search(r"▌.*\+line thirty", screen.wait("/thirty"))
    screen.press("n")
    assert re.search(r"▌.*\+Thirty days", screen.settle())
    screen.press("n")
    assert re.search(r"▌.*\+line thirty", screen.settle())
    screen.press("N")
    assert re.search(r"▌.*\+Thirty days", screen.settle())
    screen.press("esc")
    screen.wait_gone("/thirty")
    screen.press("p")
    assert re.search(r"▌.*-line 30", screen.settle())
    screen.press("/")
    screen.wait("Search for:")
    screen.type("Thirtx", enter=True)
    assert "/thirty" not in screen.wait("Not found: Thirtx")


def test_a_file_is_chosen_from_the_list(shop: Desk, screens: Screens) -> None:
    specs = [ActionSpec(SpecKind.CREATE, f"new/{number:02}.txt", f"text {number}\n") for number in range(40)]
    screen = screens.review(propose(shop, *specs))
    screen.wait(MENU)
    screen.press("f")
    assert "1/40" in screen.wait("Files")
    screen.press("end", "k", "enter")
    assert re.search(r"▌.*\+text 38", screen.wait("file 39 of 40"))
    screen.press("f")
    assert "39/40" in screen.wait("Files")
    screen.press("q")
    assert re.search(r"▌.*\+text 38", screen.wait("file 39 of 40"))


def test_more_lines_around_a_hunk_and_wrapped_ones(shop: Desk, screens: Screens) -> None:
    long = "begin " + "日本語" * 40 + " end"
    name = propose(shop, ActionSpec(SpecKind.WRITE, "many.txt", CHANGED + long + "\n"))
    screen = screens.review(name, rows=30)
    assert "line 15\n" not in screen.wait(r"\[a\]pply") + "\n"
    screen.press("+")
    screen.wait("line 12$")
    assert "▌" in next(line for line in screen.lines if "line 3" in line and "-line" in line)
    screen.press("-")
    screen.wait_gone("line 12$")
    screen.press("-")
    screen.wait("no more lines")
    find(screen, r"\+begin")
    assert "end" not in screen.text
    screen.press("w")
    assert re.search(r"^▌ +…[日本語]+ end", screen.wait(r"… *[日本語]+ end"), re.MULTILINE)
    screen.press("home", "n", "d")
    screen.wait("hunk 1 of many.txt dropped")
    screen.press("a")
    assert screen.exit_code == 0
    assert (shop.root / "many.txt").read_text() == MANY.replace("line 30\n", "line thirty\n") + long + "\n"
