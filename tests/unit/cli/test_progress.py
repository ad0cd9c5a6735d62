"""What is shown while a model works."""

import io
import time

import pytest

from ringi.cli.progress import Pace, Progress
from ringi.cli.ui import Ui
from ringi.domain.prompt import ModelProgress

QUICK = Pace(first=0.02, again=0.02, once=0.02)


def a_ui() -> Ui:
    return Ui(as_json=False, environment={})


def on_screen(written: str) -> str:
    """The one line, as a terminal shows it after all those carriage returns."""
    row: list[str] = []
    at = 0
    for character in written:
        if character == "\r":
            at = 0
            continue
        row[at : at + 1] = [character]
        at += 1
    return "".join(row).rstrip()


def test_whoever_answers_at_once_needs_none() -> None:
    out = io.StringIO()
    with Progress(a_ui(), rewrites=True, out=out) as working:
        working(ModelProgress(0.0, 10))
    assert out.getvalue() == ""


def test_seconds_tokens_and_the_reason_in_one_line() -> None:
    out = io.StringIO()
    with Progress(a_ui(), rewrites=True, out=out, pace=QUICK) as working:
        working(ModelProgress(0.0, 1240, "the service said to wait 12 s"))
        time.sleep(0.1)
        assert on_screen(out.getvalue()).endswith("0 s · 1,240 tokens · the service said to wait 12 s")
        working(ModelProgress(0.1, 1300))
        time.sleep(0.1)
        assert on_screen(out.getvalue()).endswith("0 s · 1,300 tokens")
    assert on_screen(out.getvalue()) == ""
    assert "\n" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_a_note_cannot_command_the_terminal() -> None:
    out = io.StringIO()
    with Progress(a_ui(), rewrites=True, out=out, pace=QUICK) as working:
        working(ModelProgress(0.0, 0, "evil \x1b[2J\r\n" + "x" * 200))
        time.sleep(0.1)
    assert "\x1b" not in out.getvalue()
    assert "\n" not in out.getvalue()
    assert max(map(len, out.getvalue().split("\r"))) < 80


def test_without_rewriting_one_line_after_a_while() -> None:
    out = io.StringIO()
    with Progress(a_ui(), rewrites=False, out=out, pace=QUICK):
        time.sleep(0.1)
    assert out.getvalue() == "The model works … 0 s\n"


def test_an_error_erases_the_line_and_is_raised() -> None:
    out = io.StringIO()

    def work() -> None:
        with Progress(a_ui(), rewrites=True, out=out, pace=QUICK):
            time.sleep(0.1)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        work()
    assert out.getvalue()
    assert on_screen(out.getvalue()) == ""
