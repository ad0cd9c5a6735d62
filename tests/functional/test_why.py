"""The approval, the step and the request behind a line, in any clone."""

from pathlib import Path

import pytest

from tests.functional.range_desk import AGENT, NUMBERS, Office
from tests.tables import each


@pytest.fixture
def office(tmp_path: Path) -> Office:
    made = Office(tmp_path)
    made.two_steps()
    return made


def squashed(office: Office) -> None:
    office.git("merge", "--squash", "work")
    office.commit(f"All of it{AGENT}")


def test_each_line_of_a_squash_has_the_approval_that_brought_it(office: Office) -> None:
    squashed(office)
    for number, step, level in ((10, "S1", "signed"), (40, "S2", "signed")):
        told = office.desk.json("why", f"numbers.txt:{number}")
        assert told["approval"]["step"]["step_id"] == step
        assert (told["approval"]["level"], told["approval"]["by"]) == (level, "alice")
        assert (told["commit"], told["title"]) == (office.id(), "All of it")
    shown = office.desk.run("why", "numbers.txt:10").stdout
    assert "step S1 of run run-1, request request-1" in shown
    assert "signed by alice" in shown


def test_a_line_that_nobody_approved(office: Office) -> None:
    office.edit("numbers.txt", "\n30\n", "\nthirty\n")
    office.commit(f"By an agent{AGENT}")
    told = office.desk.json("why", "numbers.txt:30")
    assert "approval" not in told
    assert "no note of an approval" in office.desk.run("why", "numbers.txt:30").stdout


@each("path", ["語 and more.txt", 'a "b"\\c.txt', "-L1.txt", "tab\tin.txt"])
def test_any_name_of_a_file(office: Office, path: str) -> None:
    office.write(path, "one\n")
    office.commit("First")
    office.write(path, "one\ntwo\n")
    office.commit(f"Second{AGENT}")
    office.approve("HEAD~1", "HEAD", step="S9")
    told = office.desk.json("why", f"./{path}:2")
    assert (told["path"], told["approval"]["step"]["step_id"]) == (path, "S9")


def test_a_link_stands_for_its_file(office: Office) -> None:
    link = "docs/link.txt"
    squashed(office)
    (office.root / link).parent.mkdir(exist_ok=True)
    (office.root / link).symlink_to(office.root / "numbers.txt")
    told = office.desk.json("why", f"{link}:10")
    assert (told["path"], told["approval"]["by"]) == ("numbers.txt", "alice")


@each(
    ("place", "words"),
    [
        ("numbers.txt", "Name a file and a line"),
        ("numbers.txt:x", "Name a file and a line"),
        (":3", "Name a file and a line"),
        ("numbers.txt:0", "no line numbers.txt:0"),
        ("numbers.txt:51", "no line numbers.txt:51"),
        ("none.txt:1", "no file in the newest commit none.txt"),
        ("../outside.txt:1", "no file in"),
        ("/etc/passwd:1", "no file in"),
        ("docs:1", "no file in the newest commit docs"),
    ],
)
def test_what_is_not_there(office: Office, place: str, words: str) -> None:
    assert NUMBERS.count("\n") == 50
    done = office.desk.run("why", place)
    assert done.returncode == 2
    assert words in done.stderr
