"""The list of known failures: read strictly, and it only gets shorter."""

import pytest

from tests.walk.journeys import JOURNEYS
from tests.walk.known import LIST, BadList, read_known

ALLOWED = {
    "brief/click": "the playbook takes files by the words of a request, not by what it quotes",
    "run/toolz": "a run does not know yet which tests were red before it began",
}
"""Each journey that may be on the list, and why. Taking one off is always right; whoever adds one says here
why the program cannot be mended instead."""
IDS = {"run/a", "run/b"}
GOOD = 'run/a: it stops with "no such command anywhere"'


def test_list_only_gets_shorter():
    known = read_known(LIST.read_text(encoding="utf-8"), {one.id for one in JOURNEYS})
    assert sorted(known.keys() - ALLOWED.keys()) == [], "mend the program; the list only gets shorter"
    assert sorted(ALLOWED.keys() - known.keys()) == [], "off the list for good: take it off here as well"
    assert all(len(why.split()) > 3 for why in ALLOWED.values())


def test_good_line_is_read_with_what_it_quotes():
    known = read_known(f"# said above\n\n{GOOD}\n", IDS)
    assert list(known) == ["run/a"]
    assert known["run/a"].quotes == ["no such command anywhere"]
    assert known["run/a"].missing("… no such command anywhere …") == []
    assert known["run/a"].missing("something else") == ["no such command anywhere"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('run/a: it stops with ""', "too short"),
        ('run/a: it stops with "            "', "too short"),
        ('run/a: it stops with "exit code"', "too short"),
        (f'{GOOD} and ""', "too short"),
        ("run/a: it stops", "quotes nothing"),
        ("run/a", "quotes nothing"),
        (f'{GOOD} and "no end of this quote', "quotes nothing"),
        (f"{GOOD}\n{GOOD}", "twice"),
        (GOOD.replace("run/a", "run/c"), "no such journey"),
        (f" {GOOD}\n{GOOD}", "twice"),
    ],
)
def test_line_that_would_excuse_too_much_is_an_error(text: str, problem: str):
    with pytest.raises(BadList, match=problem):
        read_known(text, IDS)


def test_every_problem_is_named_at_once():
    with pytest.raises(BadList) as found:
        read_known('run/c: x ""\nrun/b: y\n', IDS)
    assert str(found.value).count("\n") == 2
