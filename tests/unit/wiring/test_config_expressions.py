"""Expressions that a project may name are quick in any text, and those that people need are taken."""

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ringi.wiring.config_expressions import could_take_for_ever


@pytest.mark.parametrize(
    "expression",
    [
        r"EMP-\d+",
        r"case (\d+)",
        r"\b[A-Z]{2}\d{6}[A-D]\b",
        r"\d{4}[- ]?\d{4}[- ]?\d{4}[- ]?\d{4}",
        r"[\w.+-]+@example\.co\.jp",
        r"(?:token|key)=(\S+)",
        r"(?i)customer:\s*(.+)",
        r"(?<=pin )\d{4}(?!\d)",
        r"社員番号[::]\s?(\d{5,8})",
        r"https?://internal\.\S+",
        r"[A-Z]{2,3}-?[A-Z0-9]{4,8}\b",
        r"(?:EMP|CASE)\w+ ",
    ],
)
def test_what_people_write_is_taken(expression: str) -> None:
    assert re.compile(expression)
    assert not could_take_for_ever(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "(a+)+$",
        "(a|a)*b",
        "(?:a?){30}b",
        "a?" * 12 + "a" * 12 + "b",
        "a*a*b",
        r"\S{0,400}[ab]+(?=1{5,}A+)",
        r" {5,}[^b]*\b",
        r"a+(?=a+b)",
        r"a+(?!.*b)c",
        r"b{0,16}b*\w{1,9} ",
        r".{0,16}A{5,}a+$",
        r"(\w+)\s\1",
        "a" * 501,
    ],
)
def test_what_could_take_long_is_not(expression: str) -> None:
    assert could_take_for_ever(expression)


_ATOMS = st.sampled_from(["a", "b", "1", r"\w", r"\d", ".", "[ab]", "[^b]", r"\S", "^", "$", r"\b"])
_TIMES = st.sampled_from(
    ["", "*", "+", "?", "{2,5}", "{0,16}", "{3}", "*?", "{1,9}", "{5,}", "*+", "{0,400}"]
)


def _sequence(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(parts, _TIMES).map("".join), min_size=1, max_size=5).map("".join)


def _grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    opened = st.sampled_from(["(", "(?:", "(?=", "(?!", "(?>", "(?i:"])
    either = st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})")
    return _sequence(st.tuples(opened, inner).map(lambda two: f"{two[0]}{two[1]})") | either | _ATOMS)


_TEXTS = ("a" * 500 + "!", "ab" * 250 + "!", "a1 " * 160 + "!", "b" * 500, "1" * 500 + "\0")


@given(st.recursive(_sequence(_ATOMS), _grouped, max_leaves=5))
@settings(max_examples=100, deadline=None)
def test_whatever_is_taken_comes_to_an_end_soon(expression: str) -> None:
    try:
        pattern = re.compile(expression)
    except (re.error, OverflowError):
        assume(False)
        return
    assume(not could_take_for_ever(expression))
    began = time.process_time()
    for text in _TEXTS:
        assert all(match.end() <= len(text) for match in pattern.finditer(text))
    assert time.process_time() - began < 1
