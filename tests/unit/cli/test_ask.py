"""A question at a terminal: what was typed before does not answer it, what is typed at once does."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.cli.app import App
from ringi.cli.ask import ask
from ringi.cli.ui import Ui
from ringi.kernel.text import Text

QUESTION = "Sure? [y/n]"


class Screen(io.StringIO):
    """Somebody types as soon as the question is on it."""

    def __init__(self, keyboard: int, answer: str) -> None:
        super().__init__()
        self._keyboard, self._answer = keyboard, answer

    def write(self, text: str) -> int:
        if QUESTION in text:
            os.write(self._keyboard, self._answer.encode())
        return super().write(text)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of a terminal; nothing waits where nothing was typed."""
    ours, theirs = os.openpty()
    os.set_blocking(theirs, False)
    with os.fdopen(theirs, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)


def asked(monkeypatch: pytest.MonkeyPatch, keyboard: int, answer: str) -> str:
    monkeypatch.setattr(sys, "stdout", Screen(keyboard, answer))
    return ask(App({}, Path(), Ui(as_json=False, environment={})), Text(QUESTION))


def test_an_answer_that_comes_at_once_is_heard(keyboard: int, monkeypatch: pytest.MonkeyPatch):
    assert asked(monkeypatch, keyboard, "y\n") == "y"


def test_what_was_typed_before_is_not(keyboard: int, monkeypatch: pytest.MonkeyPatch):
    os.write(keyboard, b"y\ny\n")
    assert asked(monkeypatch, keyboard, "n\n") == "n"


def test_a_terminal_that_is_closed_ends_it(keyboard: int, monkeypatch: pytest.MonkeyPatch):
    os.write(keyboard, b"y\n")
    with pytest.raises(EOFError):
        asked(monkeypatch, keyboard, "\x04")
