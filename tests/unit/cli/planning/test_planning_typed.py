"""Answers typed at a real pseudo-terminal: several lines, pastes, what came too early, what came late."""

import io
import os
import termios
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from ringi.cli.planning.typed import Reminder, TypedLines
from ringi.cli.ui import Ui
from ringi.kernel.text import Text


class Seat(NamedTuple):
    lines: TypedLines
    keyboard: int
    terminal: int
    ui: Ui

    @property
    def shown(self) -> str:
        assert isinstance(self.ui.out, io.StringIO)
        return self.ui.out.getvalue()

    def type(self, text: str | bytes) -> None:
        os.write(self.keyboard, text.encode() if isinstance(text, str) else text)

    def type_at_prompt(self, *pieces: str | bytes, pause: float = 0.15) -> None:
        """Each piece when the prompt stands there, or some time after the one before."""

        def work() -> None:
            while not self.shown.endswith("> "):
                time.sleep(0.005)
            for number, piece in enumerate(pieces):
                if number:
                    time.sleep(pause)
                self.type(piece)

        threading.Thread(target=work, daemon=True).start()

    def ask(self, *pieces: str | bytes, reminder: Reminder | None = None) -> str:
        assert isinstance(self.ui.out, io.StringIO)
        self.ui.out.truncate(0)
        self.ui.out.seek(0)
        self.type_at_prompt(*pieces)
        return self.lines.ask("> ", reminder)


@pytest.fixture
def seat() -> Iterator[Seat]:
    keyboard, terminal = os.openpty()
    ui = Ui(as_json=False, environment={})
    ui.out = io.StringIO()
    yield Seat(TypedLines(ui, terminal), keyboard, terminal, ui)
    os.close(keyboard)
    os.close(terminal)


def test_one_line(seat: Seat) -> None:
    assert seat.ask("an answer\n") == "an answer"


def test_a_backslash_lets_it_go_on(seat: Seat) -> None:
    assert seat.ask("one\\\n", "two\\\n", "three\n") == "one\ntwo\nthree"
    assert "… " in seat.shown


def test_two_backslashes_are_one(seat: Seat) -> None:
    assert seat.ask("C:\\dir\\\\\n") == "C:\\dir\\"


def test_pasted_lines_belong_together(seat: Seat) -> None:
    assert seat.ask("one\ntwo \\\n\nthree\n") == "one\ntwo \\\n\nthree"


def test_the_rest_of_a_paste_waits_for_enter(seat: Seat) -> None:
    assert seat.ask("one\ntwo\nthr", "ee\n") == "one\ntwo\nthree"


def test_a_paste_of_many_lines(seat: Seat) -> None:
    text = "\n".join(f"line {number}" for number in range(200))
    assert seat.ask(text + "\n") == text


@pytest.mark.parametrize("early", ["y\n", "half a line", "one\ntwo"])
def test_what_was_typed_before_does_not_answer(seat: Seat, early: str) -> None:
    seat.type(early)
    time.sleep(0.05)
    assert seat.ask("late\n") == "late"
    assert f"not taken: {early.strip()}".replace("\n", r"\n") in seat.shown.replace("\n> ", "")


def test_a_paste_that_answers_one_question_is_not_taken_for_the_next(seat: Seat) -> None:
    assert seat.ask("one\ntwo\n") == "one\ntwo"
    assert seat.ask("next\n") == "next"
    assert "not taken" not in seat.shown


@pytest.mark.req("IP-10")
def test_silence_is_told_once_and_what_was_typed_stays(seat: Seat) -> None:
    reminder = Reminder(0.3, Text("Still there?"))
    assert seat.ask("half of ", "the answer\n", reminder=reminder) == "half of the answer"
    assert seat.shown.count("Still there?") == 0
    reminder = Reminder(0.1, Text("Still there?"))
    assert seat.ask("half of ", "", "", "the answer\n", reminder=reminder) == "half of the answer"
    assert seat.shown.count("Still there?") == 1
    assert seat.shown.endswith("> half of ")
    assert seat.ask("", "", "now\n", reminder=reminder) == "now"
    assert "Still there?" not in seat.shown


def test_the_end_of_the_input_is_no_answer(seat: Seat) -> None:
    with pytest.raises(EOFError):
        seat.ask(b"\x04")
    with pytest.raises(EOFError):
        seat.ask(b"goes on\\\n", b"\x04")


def test_bytes_that_are_no_text_answer_nothing(seat: Seat) -> None:
    assert seat.ask(b"\xff\xfe\n") == ""
    assert "no text" in seat.shown


def test_a_line_that_the_terminal_cut_is_not_taken(seat: Seat) -> None:
    if os.uname().sysname != "Linux":
        pytest.skip("how much a terminal keeps of a line differs")
    assert seat.ask("x" * 5000 + "\n") == ""
    assert "cut a line off" in seat.shown


def test_the_terminal_is_left_as_it_was(seat: Seat) -> None:
    before = termios.tcgetattr(seat.terminal)
    seat.ask("one\ntwo\n")
    assert termios.tcgetattr(seat.terminal) == before
