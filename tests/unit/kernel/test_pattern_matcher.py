"""Configured patterns match in a child; one that would take for ever is cut off."""

import re
import signal

import pytest

from ringi.kernel.pattern_matcher import PatternMatcher, spans
from tests.helpers import PATIENCE_SEC

SLOW = "(a+)+$"
"""Against many a and then a b: twice the time for each a more."""


@pytest.fixture
def matchers():
    made: list[PatternMatcher] = []

    def make(*patterns: str, seconds: float = PATIENCE_SEC) -> PatternMatcher:
        made.append(PatternMatcher(patterns, seconds=seconds))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize(
    "text", ["", "x", "case 4711\ncase 9 EMP-a", "社員 EMP-é \udcff EMP-b", "case 1" * 3000]
)
def test_the_child_finds_what_we_would(matchers, text: str):
    patterns = [r"case (\d+)", r"EMP-\w", "x*"]
    find = matchers(*patterns)
    wanted = spans(text, [re.compile(pattern) for pattern in patterns])
    assert find(text) == wanted
    assert find(text) == wanted


def test_without_patterns_nothing_is_started(matchers):
    find = matchers()
    assert find("text") == []
    assert find._child is None


@pytest.mark.req("PP-17")
def test_a_pattern_without_an_end_is_cut_off_and_the_next_text_is_matched_again(matchers):
    find = matchers(SLOW, r"PIN \d+", seconds=0.2)
    assert find("PIN 4711 " + "a" * 200 + "b") is None
    assert find("PIN 4711") == [(0, 8)]


def test_a_pattern_that_cannot_be_compiled_has_no_answer(matchers):
    assert matchers("(")("text") is None


def test_a_child_that_is_gone_is_replaced(matchers):
    find = matchers("a")
    assert find("a") == [(0, 1)]
    find._child.kill()
    find._child.wait()
    assert find("a") is None
    assert find("a") == [(0, 1)]


def test_an_answer_that_nobody_waited_for_is_not_that_to_the_next_text(matchers):
    find = matchers("a+", SLOW, seconds=1.0)
    assert find("a") == [(0, 1), (0, 1)]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            find("a" * 30 + "b" + "a" * 200 + "b")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert find("xa") == [(1, 2), (1, 2)]
