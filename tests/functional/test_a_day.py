"""A day beside agents, at a real terminal, with its keys counted."""

from collections.abc import Iterator

import pytest

from tests.functional.desk import Desk
from tests.functional.screens import Screen

NAMES = [f"src/part{number}.py" for number in range(1, 7)]
ALL_SIX = "for file in src/*.py; do sed -i '1s/.*/def first() -> str:/' $file; done"


class Day:
    """The person's desk; `keys` is what was pressed since the last errand began."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.keys = 0
        self.screen: Screen | None = None

    def begin(self, *words: str) -> Screen:
        """A command typed at the shell, which is not counted, and its screen."""
        self.end()
        self.keys = 0
        self.screen = Screen.ringi(self.desk.root, *words)
        return self.screen

    def press(self, *keys: str) -> None:
        assert self.screen
        for key in keys:
            self.screen.press(key)
            self.keys += 1

    def end(self) -> None:
        if self.screen:
            self.screen.end()

    def text(self, name: str) -> str:
        return (self.desk.root / name).read_text()

    def edit(self, name: str, before: str, after: str) -> None:
        """In the person's own editor."""
        text = self.text(name)
        assert before in text
        (self.desk.root / name).write_text(text.replace(before, after))


@pytest.fixture
def day(desk: Desk) -> Iterator[Day]:
    (desk.root / "src").mkdir()
    body = "def first():\n" + "".join(f"    line{number} = {number}\n" for number in range(2, 41))
    for name in NAMES:
        (desk.root / name).write_text(body)
    desk.git("add", "-A")
    desk.git("commit", "-q", "-m", "six parts")
    day = Day(desk)
    yield day
    day.end()


def test_six_files_are_taken_with_one_key(day: Day) -> None:
    day.desk.agent(ALL_SIX)
    screen = day.begin("review")
    screen.wait(r"\[a\]pply")
    day.press("a")
    assert screen.exit_code == 0
    assert "6 files written" in screen.text
    assert all(day.text(name).startswith("def first() -> str:\n") for name in NAMES)
    assert day.keys == 1


def test_the_last_plan_is_taken_back_with_one_answer(day: Day) -> None:
    """And what was written since stays."""
    day.desk.agent(ALL_SIX)
    before = {name: day.text(name) for name in NAMES}
    screen = day.begin("review")
    screen.wait(r"\[a\]pply")
    day.press("a")
    assert screen.exit_code == 0
    day.edit("src/part6.py", "line40 = 40\n", "line40 = 40  # later\n")
    screen = day.begin("undo")
    screen.wait("1 keeps your later line")
    day.press("y", "enter")
    assert screen.exit_code == 0
    assert all(day.text(name) == before[name] for name in NAMES[:5])
    assert day.text("src/part6.py") == before["src/part6.py"].replace("= 40\n", "= 40  # later\n")
    assert day.keys == 2
