"""What is shown while a model works."""

import io
import threading
import time

import pytest

from ringi.cli.progress import Counter, ModelStatusLine, ProgressPace
from ringi.cli.ui import Ui
from ringi.kernel.process.progress import Count
from ringi.kernel.text import Text
from ringi.models.prompt import ModelProgress
from tests.tables import each

QUICK = ProgressPace(first=0.02, again=0.02, once=0.02)


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
    with ModelStatusLine(a_ui(), rewrites=True, out=out) as working:
        working(ModelProgress(0.0, 10))
    assert out.getvalue() == ""


def test_seconds_tokens_and_the_reason_in_one_line() -> None:
    out = io.StringIO()
    with ModelStatusLine(a_ui(), rewrites=True, out=out, pace=QUICK) as working:
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
    with ModelStatusLine(a_ui(), rewrites=True, out=out, pace=QUICK) as working:
        working(ModelProgress(0.0, 0, "evil \x1b[2J\r\n" + "x" * 200))
        time.sleep(0.1)
    assert "\x1b" not in out.getvalue()
    assert "\n" not in out.getvalue()
    assert max(map(len, out.getvalue().split("\r"))) < 80


def test_without_rewriting_one_line_after_a_while() -> None:
    out = io.StringIO()
    with ModelStatusLine(a_ui(), rewrites=False, out=out, pace=QUICK):
        time.sleep(0.1)
    assert out.getvalue() == "Reading the project … 0 s\n", "nothing was asked yet"


def test_an_error_erases_the_line_and_is_raised() -> None:
    out = io.StringIO()

    def work() -> None:
        with ModelStatusLine(a_ui(), rewrites=True, out=out, pace=QUICK):
            time.sleep(0.1)
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        work()
    assert out.getvalue()
    assert on_screen(out.getvalue()) == ""


@each(
    ("found", "words"),
    [
        ((0, 0), "Copying files …"),
        ((1200, 0), "Copying files: 1,200"),
        ((7, 30_000), "Copying files: 7 of 30,000"),
    ],
)
def test_a_counter_says_how_far_it_is_and_goes(found, words):
    out, looked = io.StringIO(), threading.Event()

    def look():
        if out.getvalue():
            looked.set()
        return found

    with Counter(a_ui(), Count(Text("Copying files"), look), out=out, pace=QUICK):
        assert looked.wait(60)
    shown = out.getvalue()
    assert words in shown
    assert shown.rpartition(words)[2].endswith(f"\r{' ' * len(words)}\r")


def test_short_work_shows_no_counter():
    out = io.StringIO()
    with Counter(a_ui(), Count(Text("Copying files"), lambda: (1, 2)), out=out, pace=ProgressPace(first=60)):
        pass
    assert out.getvalue() == ""
