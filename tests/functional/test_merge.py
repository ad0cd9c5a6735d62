"""A person and agents write to the same files: what is merged, what a person decides, what is never lost.

Each in a real terminal, from the agent's copy to the files on the disk.
"""

import os
import signal
from collections.abc import Callable, Iterator

import pytest

from tests.functional.desk import Desk
from tests.functional.screens import Screen

LINES = "".join(f"line {number}\n" for number in range(1, 41))
FILE = "app/hello.py"


def text(**lines: str) -> str:
    """The file with other lines: l3="mine"."""
    found = LINES
    for name, line in lines.items():
        found = found.replace(f"line {name[1:]}\n", f"{line}\n" if line else "")
    return found


def sed(**lines: str) -> str:
    """An agent that changes these lines."""
    return (
        "sed -i " + " ".join(f"-e 's/^line {name[1:]}$/{line}/'" for name, line in lines.items()) + f" {FILE}"
    )


@pytest.fixture
def shop(desk: Desk) -> Desk:
    (desk.root / FILE).write_text(LINES)
    desk.git("add", "-A")
    desk.git("commit", "-q", "-m", "lines")
    return desk


@pytest.fixture
def review(desk: Desk) -> Iterator[Callable[..., Screen]]:
    opened: list[Screen] = []

    def screen(*words: str, **variables: str) -> Screen:
        opened.append(Screen.ringi(desk.root, "review", *words, rows=30, **variables))
        opened[-1].wait(r"\[q\]")
        return opened[-1]

    yield screen
    for one in opened:
        one.end()


def mine(desk: Desk, content: str | bytes, path: str = FILE) -> None:
    (desk.root / path).write_bytes(content if isinstance(content, bytes) else content.encode())


def now(desk: Desk, path: str = FILE) -> bytes:
    return (desk.root / path).read_bytes()


@pytest.mark.req("PT-12")
def test_my_line_far_from_the_agents_hunk(shop: Desk, review) -> None:
    """One key: both changes are there, and what was applied is what was shown."""
    shop.agent(sed(l3="agent"))
    mine(shop, text(l35="mine\nmore\nand more"))
    screen = review()
    assert "merged with your 3 lines" in screen.wait("v2")
    assert "-mine" not in screen.text
    screen.press("a")
    assert screen.exit_code == 0
    assert now(shop) == text(l3="agent", l35="mine\nmore\nand more").encode()
    assert "exactly the approved bytes" in shop.run("verify").stdout


def test_a_conflict_is_a_hunk_to_decide(shop: Desk, review) -> None:
    shop.agent(sed(l3="agent", l20="agent too"))
    mine(shop, text(l3="mine"))
    screen = review()
    shown = screen.wait("conflict")
    for part in ("before:", "|line 3", "yours:", "<mine", "sh:", ">agent", "undecided", "[<] yours"):
        assert part in shown
    screen.press("a")
    assert "You both changed app/hello.py:3. Decide it first." in screen.settle()
    assert shop.json("show", "p1")["state"]["status"] == "pending_review"
    screen.press(">")
    decided = screen.wait("version 2")
    assert "! Applying this deletes 1 line you wrote meanwhile (marked !)" in decided
    assert "3!-mine" in decided
    screen.press("a")
    assert screen.exit_code == 0
    assert now(shop) == text(l3="agent", l20="agent too").encode()


def test_killed_between_merge_and_approval(shop: Desk, review) -> None:
    """Nothing is half done: the merged version waits, and the next review goes on with it."""
    shop.agent(sed(l3="agent"))
    mine(shop, text(l35="mine"))
    before = shop.files()
    screen = review()
    screen.wait("merged with your 1 line")
    os.kill(screen.child.pid, signal.SIGKILL)
    assert screen.exit_code == 128 + signal.SIGKILL
    assert shop.files() == before
    state = shop.json("show", "p1")["state"]
    assert (state["status"], state["approvals"], state["merged_lines"]) == ("pending_review", [], 1)
    assert shop.run("doctor").returncode in {0, 1}
    screen = review()
    screen.wait("v2")
    screen.press("a")
    assert screen.exit_code == 0
    assert now(shop) == text(l3="agent", l35="mine").encode()


def test_killed_while_conflicts_are_open(shop: Desk, review) -> None:
    """What was decided is asked again; no marker is in any file."""
    shop.agent(sed(l3="agent", l30="agent 30"))
    mine(shop, text(l3="mine", l30="mine 30"))
    before = shop.files()
    screen = review()
    screen.press(">")
    screen.wait("1 conflict left")
    os.kill(screen.child.pid, signal.SIGKILL)
    assert screen.exit_code == 128 + signal.SIGKILL
    assert shop.files() == before
    screen = review()
    assert "2 conflicts: app/hello.py:3, app/hello.py:30" in screen.settle()


def test_two_reviews_at_once(shop: Desk, review) -> None:
    """Both decide the same conflict; only one of them counts, and the other one is shown what was decided."""
    shop.agent(sed(l3="agent"))
    mine(shop, text(l3="mine"))
    one, two = review(), review()
    one.press("=")
    one.wait("version 2")
    two.press(">")
    assert "v2" in two.wait("changed since you looked|version 2")
    one.press("a")
    assert one.exit_code == 0
    two.press("a")
    assert two.exit_code != 0
    assert now(shop) == text(l3="mine\nagent").encode()
